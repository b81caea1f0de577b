"""A card against the records: declared counts recounted, label sets, languages, and promises of size and agreement.

Two layouts of cards are read: a card of goldassay (``tasks: {extraction: {records, entities, types, …}}``) and the
founding schema (``gold_standard_dataset: {metadata, ner_annotations: {entity_types, samples_per_type, …}, …}``). What
the tasks share (documents, and the tables beside them) is recounted too.

``inter_annotator_agreement: ">0.85"`` is a promise. A card may also state figures, with the passes they come from; each
is measured again from these files of the set, and must agree to four places (the bootstrap is seeded)::

    inter_annotator_agreement:
      passes: [first/extraction.jsonl, second/extraction.jsonl]
      records: 60
      strict_f1: {value: 0.9727, low: 0.9527, high: 0.9893}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.audit.findings import Finding, LocatedRecord, RowsByTask, unreadable
from goldassay.gold.records import grades
from goldassay.gold.sets import CARD
from goldassay.gold.stats import counted, nil_ratio, tally
from goldassay.measure import TASKS
from goldassay.statistics import Interval

Card = Mapping[str, Any]
PARTS = {
    "ner_annotations": "extraction",
    "type_classification": "classification",
    "entity_linking": "linking",
    "retrieval": "retrieval",
    "qa": "answering",
    "triples": "triples",
}
COUNT_NAMES = {"samples": "records", "judgments": "judgements"}
NOT_COUNTS = ("samples_per_type", "samples_per_label", "judgements_per_query", "judgments_per_query", "nil_ratio")
ALLOWED = {
    "extraction": ("entity_types", "types"),
    "classification": ("label_set",),
    "answering": ("question_types", "answer_types"),
    "retrieval": ("graded_relevance",),
}
TOP_LEVEL = {"extraction": ("tag_set", "type"), "classification": ("label_set", "label")}
TOLERANCE = 0.02  # a promised NIL ratio of 0.15 is kept by 0.13 to 0.17
NUMBER = re.compile(r"(\d*\.\d+|\d+)")
AGREEMENT = "inter_annotator_agreement"
ROUNDING = 0.5e-4 + 1e-9


def check(
    card: Card, folder: Path, rows: RowsByTask, passages: Mapping[str, str], measured: Mapping[str, float]
) -> Iterator[Finding]:
    """Everything in a card that the records do not keep.

    Args:
        card: The card.
        folder: The folder of the set.
        rows: The records of each task.
        passages: The texts of the passage collection by id.
        measured: The agreement of annotators by task.
    """
    parts = _parts(card)
    for task, of_task in rows.items():
        if task in TASKS:
            yield from _recounted(parts.get(task, {}), task, of_task)
    yield from _shared(card, folder, rows, passages)
    for task, part in parts.items():
        stated = part.get(AGREEMENT)
        if task in TASKS and isinstance(stated, Mapping):
            yield from _stated_agreement(task, stated, folder)
        if task in TASKS and task not in rows and ("file" in part or isinstance(part.get("records"), int)):
            message = f"{part.get('file') or f'{task}.jsonl'} is not there, and the card tells of it"
            yield Finding("reference", message, CARD, field=f"tasks.{task}")
        yield from _promised_agreement(task, stated, measured.get(task))


def _parts(card: Card) -> dict[str, Mapping[str, Any]]:
    """What the card declares about each task."""
    founding, own = card.get("gold_standard_dataset"), card.get("tasks")
    parts = (
        {task: founding[key] for key, task in PARTS.items() if key in founding} if isinstance(founding, Mapping) else {}
    )
    parts |= own if isinstance(own, Mapping) else {}
    return {str(task): part for task, part in parts.items() if isinstance(part, Mapping)}


def languages(card: Card) -> list[str]:
    """The languages that the card declares."""
    founding = card.get("gold_standard_dataset")
    about = founding.get("metadata", {}) if isinstance(founding, Mapping) else card
    declared = about.get("languages") or []
    return [str(language) for language in declared] if isinstance(declared, list) else []


def allowed(card: Card, task: str) -> set[str] | None:
    """The types, labels or grades that the card names for a task; None if it names none."""
    field, key = TOP_LEVEL.get(task, ("", ""))
    if isinstance(card.get(field), list):
        return {str(item.get(key) if isinstance(item, Mapping) else item) for item in card[field]}
    part = _parts(card).get(task, {})
    lists = [part[name] for name in ALLOWED.get(task, ()) if isinstance(part.get(name), list)]
    return {str(item) for item in lists[0]} if lists else None


def _recounted(part: Card, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """A task's part of the card against its records."""
    records = [row.record for row in rows]
    counts = counted(task, records)
    declared = {name: value for name, value in part.items() if name not in NOT_COUNTS}
    yield from _differences(
        declared, {name: counts.get(COUNT_NAMES.get(name, name)) for name in declared}, f"tasks.{task}"
    )
    yield from _sizes(task, part, counts.get("types" if task == "extraction" else "labels") or {})
    ratio = part.get("nil_ratio")
    if task == "linking" and isinstance(ratio, (int, float)):
        actual = nil_ratio(records)
        if actual is None or abs(actual - ratio) > TOLERANCE:
            what = "there are no links" if actual is None else f"it is {actual:.3f}"
            yield _promise(f"a NIL ratio of {ratio} is promised, and {what}", f"tasks.{task}.nil_ratio")
    wanted = part.get("judgements_per_query", part.get("judgments_per_query"))
    for row in rows if task == "retrieval" and isinstance(wanted, int) else ():
        if len(row.record["relevant"]) < (wanted or 0):
            message = f"{wanted} judgements a query are promised, and this has {len(row.record['relevant'])}"
            yield row.finding("promise", message, "relevant")


def _differences(declared: Card, counts: Card, where: str) -> Iterator[Finding]:
    """Declared numbers, and tables of numbers, that are not the counted ones."""
    for name, count in counts.items():
        value = declared.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and isinstance(count, int) and value != count:
            yield Finding("count", f"{value:,} declared, {count:,} counted", CARD, field=f"{where}.{name}")
        if isinstance(value, Mapping) and isinstance(count, Mapping):
            table = {str(key): number for key, number in value.items()}
            for key in dict.fromkeys((*table, *count)):
                if table.get(key, 0) != count.get(key, 0):
                    message = f"{table.get(key, 0)} declared, {count.get(key, 0)} counted"
                    yield Finding("count", message, CARD, field=f"{where}.{name}.{key}")


def _sizes(task: str, part: Card, groups: Mapping[str, int]) -> Iterator[Finding]:
    """Samples that are promised for each type or label."""
    names = part.get("entity_types")
    wanted = part.get("samples_per_type", part.get("samples_per_label"))
    listed = map(str, names) if isinstance(names, list) else ()
    for key in dict.fromkeys((*listed, *groups)) if isinstance(wanted, int) else ():
        if groups.get(key, 0) < (wanted or 0):
            message = f"{wanted} samples a type are promised, and {key} has {groups.get(key, 0)}"
            yield _promise(message, f"tasks.{task}.samples_per_type")
    if part.get("balanced") is True and len(set(groups.values())) > 1:
        low, high = min(groups, key=groups.__getitem__), max(groups, key=groups.__getitem__)
        message = f"balanced is promised, and {low} has {groups[low]}, {high} {groups[high]}"
        yield _promise(message, f"tasks.{task}.balanced")


def _promise(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)


def _shared(card: Card, folder: Path, rows: RowsByTask, passages: Mapping[str, str]) -> Iterator[Finding]:
    """Documents and tables, recounted."""
    documents: dict[str, Mapping[str, Any]] = {}
    for task, of_task in rows.items():
        for row in of_task if task not in ("retrieval", "answering") else ():
            documents.setdefault(str(row.record["id"]), row.record)
    declared = card.get("documents")
    if isinstance(declared, Mapping):
        counts: dict[str, Any] = {"records": len(documents)}
        for name, key in (("splits", "split"), ("languages", "language")):
            counts[name] = tally(record[key] for record in documents.values() if record.get(key))
        yield from _differences(declared, counts, "documents")
    tables = card.get("tables")
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        if isinstance(table, Mapping) and isinstance(table.get("file"), str):
            yield from _table(str(name), table, folder, rows)
    retrieval = _parts(card).get("retrieval", {})
    if "cross_lingual" in retrieval and passages:
        language = {name: record.get("language") for name, record in documents.items()}
        cross_lingual = sum(
            any(
                grade > 0 and language.get(document) not in (None, row.record.get("language"))
                for document, grade in grades(row.record).items()
            )
            for row in rows.get("retrieval", ())
        )
        yield from _differences(retrieval, {"cross_lingual": cross_lingual}, "tasks.retrieval")


def _table(name: str, declared: Card, folder: Path, rows: RowsByTask) -> Iterator[Finding]:
    """A table beside the records: its rows, and how many of them the links use."""
    try:
        ids = [
            row.get("id") if isinstance(row, dict) else None for _, row in files.json_lines(folder / declared["file"])
        ]
    except DataError as error:
        yield unreadable(error, declared["file"])
        return
    links = [link for row in rows.get("linking", ()) for link in row.record["links"]]
    linked = {identifier for link in links for several in link["ids"].values() for identifier in several}
    used = sum(name is not None and str(name) in linked for name in ids)
    counts = {"records": len(ids)} | ({"used": used, "distractors": len(ids) - used} if "used" in declared else {})
    yield from _differences(declared, counts, f"tables.{name}")


def _promised_agreement(task: str, promise: object, measured: float | None) -> Iterator[Finding]:
    """Agreement that is promised (``">0.85 …"``) against what was measured."""
    number = None if promise is None or isinstance(promise, Mapping) else NUMBER.search(str(promise))
    if number is None:
        return
    least = float(number[0])
    if measured is None:
        message = f"agreement of {promise} is promised, and none was measured: name the files of the annotators"
    elif measured < least or (">" in str(promise) and measured == least):
        message = f"agreement of {promise} is promised, and {measured:.3f} was measured"
    else:
        return
    yield _promise(message, f"tasks.{task}.{AGREEMENT}")


def _stated_agreement(task: str, stated: Card, folder: Path) -> Iterator[Finding]:
    """Agreement that a card states, measured again between the passes that it names."""
    from goldassay.gold.agreement import agree_files

    where, passes = f"tasks.{task}.{AGREEMENT}", stated.get("passes")
    if not isinstance(passes, list) or len(passes) < 2 or not all(isinstance(name, str) for name in passes):
        yield _promise("agreement is stated without 'passes', the list of files that it was measured on", where)
        return
    outside = [name for name in passes if not (folder / name).resolve().is_relative_to(folder.resolve())]
    if outside:
        yield _promise(f"{outside[0]!r} lies outside the set", f"{where}.passes")
        return
    try:
        agreement = agree_files([folder / name for name in passes], task)
    except (GoldassayError, OSError) as error:
        yield _promise(f"agreement is stated, and its passes cannot be compared: {error}", f"{where}.passes")
        return
    measured: dict[str, Interval] = {}
    for figure in agreement.figures:
        if figure.type is None and figure.interval is not None:
            # Of several pairs the lowest counts, as for promises.
            lowest = measured.setdefault(figure.name, figure.interval)
            measured[figure.name] = min(lowest, figure.interval, key=lambda interval: interval.value)
    for name, value in stated.items():
        if name == "records" and value != agreement.records:
            yield _promise(f"{value} records are stated, and the passes share {agreement.records}", f"{where}.{name}")
        elif isinstance(value, Mapping) and name not in measured:
            yield _promise(f"{name} is stated, and the passes give {', '.join(measured)}", f"{where}.{name}")
        for part in ("value", "low", "high") if isinstance(value, Mapping) and name in measured else ():
            actual = getattr(measured[name], part)
            number = value.get(part, actual)
            if not isinstance(number, (int, float)) or not abs(number - actual) <= ROUNDING:
                message = f"{name} {part} {number} is stated, and {actual:.4f} was measured between the passes"
                yield _promise(message, f"{where}.{name}")
