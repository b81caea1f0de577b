"""The audit of cards: declared counts recounted, label sets, languages, and promises of size.

Two layouts are read: a card of goldassay (``tasks: {extraction: {records, entities, types, …}}``) and the founding
schema (``gold_standard_dataset: {metadata, ner_annotations: {entity_types, samples_per_type, …}, …}``). What the tasks
share (documents, and the tables beside them) is recounted too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay._support.jsonl import JSON
from goldassay.core.measure import TASKS
from goldassay.gold.audit.findings import TABLES, Finding, LocatedRecord, RowsByTask, differences, mapping, unreadable
from goldassay.gold.audit.records import documents
from goldassay.gold.records import labels_of
from goldassay.gold.sets import CARD, counted, tally
from goldassay.gold.shapes import Fields, Record

TOLERANCE = 0.02  # a promised NIL ratio of 0.15 is kept by 0.13 to 0.17


def check_card(card: Record, folder: Path, rows: RowsByTask, *, whole: bool) -> Iterator[Finding]:
    """Everything in a card that the records do not keep.

    Args:
        card: The card.
        folder: The folder of the set.
        rows: The records of each task.
        whole: Whether these are all tasks of the set, so that what they share can be counted.
    """
    founding = mapping(card.get("gold_standard_dataset"))
    parts = {task: founding[key] for key, task in TABLES["founding_parts"].items() if key in founding}
    parts |= mapping(card.get("tasks"))
    for task, declared in parts.items():
        if not isinstance(declared, Mapping) or (task not in rows and not whole):
            continue
        if task in rows:
            yield from _recounted_task(declared, task, rows[task])
        elif task in TASKS and ("file" in declared or isinstance(declared.get("records"), int)):
            message = f"{declared.get('file') or f'{task}.jsonl'} is listed in the card, but it is missing"
            yield Finding("reference", message, CARD, field=f"tasks.{task}")
    for task, of_task in rows.items():
        yield from _labels(card, mapping(parts.get(task)), task, of_task)
    yield from _languages((founding.get("metadata") or card).get("languages"), rows, whole)
    if whole:
        yield from _shared(card, folder, rows)


def _promise(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)


def _recounted_task(declared: Record, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """A task's part of the card against its records."""
    counts = counted(task, [row.record for row in rows])
    where = f"tasks.{task}"
    yield from differences(
        declared, {name: counts.get(TABLES["count_names"].get(name, name)) for name in declared}, where
    )
    groups: Mapping[str, int] = counts.get("types" if task == "extraction" else "labels") or {}
    least = declared.get("samples_per_type", declared.get("samples_per_label"))
    names = declared.get("entity_types")
    for key in dict.fromkeys((*(map(str, names) if isinstance(names, list) else ()), *groups)):
        if isinstance(least, int) and groups.get(key, 0) < least:
            message = f"{least} samples a type are promised, and {key} has {groups.get(key, 0)}"
            yield _promise(message, f"{where}.samples_per_type")
    if declared.get("balanced") is True and len(set(groups.values())) > 1:
        low = min(groups, key=groups.__getitem__)
        high = max(groups, key=groups.__getitem__)
        message = f"balanced is promised, and {low} has {groups[low]}, {high} {groups[high]}"
        yield _promise(message, f"{where}.balanced")
    ratio = declared.get("nil_ratio")
    actual = counts["nil"] / counts["links"] if counts.get("links") else None
    if isinstance(ratio, (int, float)) and (actual is None or abs(actual - ratio) > TOLERANCE):
        what = "there are no links" if actual is None else f"it is {actual:.3f}"
        yield _promise(f"a NIL ratio of {ratio} is promised, and {what}", f"{where}.nil_ratio")
    least = declared.get("judgements_per_query", declared.get("judgments_per_query"))
    for row in rows if task == "retrieval" and isinstance(least, int) else ():
        if (judged := len(row.record["relevant"])) < (least or 0):
            message = f"{least} judgements a query are promised, and this has {judged}"
            yield row.finding("promise", message, "relevant")


def _labels(card: Record, declared: Record, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """Types, labels and grades that the card does not name, if it names any."""
    field, key = TABLES["top_level"].get(task, ("", ""))
    lists = [card.get(field), *(declared.get(name) for name in TABLES["allowed"].get(task, ()))]
    names = next((names for names in lists if isinstance(names, list)), None)
    if names is None:
        return
    allowed = {str(item.get(key) if isinstance(item, Mapping) else item) for item in names}
    for row in rows:
        record = row.record
        used: list[tuple[str, str]] = []
        if task == "extraction":
            used = [(f"entities[{index}].type", span["type"]) for index, span in enumerate(record["entities"])]
        elif task == "classification":
            used = labels_of(record)
        elif task == "answering" and record.get("answer_type"):
            used = [("answer_type", record["answer_type"])]
        elif task == "retrieval" and isinstance(record["relevant"], Mapping):
            used = [(f"relevant.{name}", f"{grade:g}") for name, grade in record["relevant"].items()]
        for location, value in used:
            if value not in allowed:
                yield row.finding("label", f"{value!r} is not among those that the card names", location)


def _languages(declared: JSON, rows: RowsByTask, whole: bool) -> Iterator[Finding]:
    """Languages that are not declared, and declared ones that no record has."""
    used: dict[str, LocatedRecord] = {}
    for row in (row for of_task in rows.values() for row in of_task):
        if language := row.record.get("language"):
            used.setdefault(language, row)
    if not isinstance(declared, list):
        return
    for language, row in used.items():
        if language not in declared:
            message = f"{language!r} is not declared; the card has {', '.join(map(str, declared))}"
            yield row.finding("language", message, "language")
    for language in declared if used and whole else ():
        if language not in used:
            message = f"{language!r} is declared, and no record has it"
            yield Finding("language", message, CARD, field="languages")


def _shared(card: Record, folder: Path, rows: RowsByTask) -> Iterator[Finding]:
    """The documents of all tasks and the rows of the tables beside them, recounted."""
    by_id = {str(row.record["id"]): row.record for row in reversed(list(documents(rows)))}
    counts: Fields = {"records": len(by_id)}
    for name in ("splits", "languages"):
        counts[name] = tally(filter(None, (record.get(name[:-1]) for record in by_id.values())))
    yield from differences(card.get("documents"), counts, "documents")
    for name, table in mapping(card.get("tables")).items():
        if isinstance(file := mapping(table).get("file"), str):
            try:
                size = sum(1 for _ in files.json_lines(folder / file))
            except DataError as error:
                yield unreadable(error, file)
            else:
                yield from differences(table, {"records": size}, f"tables.{name}")
