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

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.audit.records import TABLES, Finding, LocatedRecord, RowsByTask, documents, unreadable
from goldassay.gold.records import labels_of
from goldassay.gold.sets import CARD, counted, tally
from goldassay.gold.shapes import Fields
from goldassay.measure import TASKS
from goldassay.statistics import Interval

Card = Mapping[str, Any]
TOLERANCE = 0.02  # a promised NIL ratio of 0.15 is kept by 0.13 to 0.17
AGREEMENT = "inter_annotator_agreement"
ROUNDING = 0.5e-4 + 1e-9


def check(card: Card, folder: Path, rows: RowsByTask, *, whole: bool) -> Iterator[Finding]:
    """Everything in a card that the records do not keep.

    Args:
        card: The card.
        folder: The folder of the set.
        rows: The records of each task.
        whole: Whether these are all tasks of the set, so that what they share can be counted.
    """
    founding, own = (_mapping(card.get(name)) for name in ("gold_standard_dataset", "tasks"))
    parts: Fields = {task: founding[key] for key, task in TABLES["founding_parts"].items() if key in founding} | {**own}
    for task, part in parts.items():
        if not isinstance(part, Mapping) or (task not in rows and not whole):
            continue
        if task in rows:
            yield from _recounted(part, task, rows[task])
        elif task in TASKS and ("file" in part or isinstance(part.get("records"), int)):
            message = f"{part.get('file') or f'{task}.jsonl'} is not there, and the card tells of it"
            yield Finding("reference", message, CARD, field=f"tasks.{task}")
        for what, field in _agreement(task, part.get(AGREEMENT), folder):
            yield _promise(what, f"tasks.{task}.{AGREEMENT}{field}")
    for task, of_task in rows.items():
        yield from _labels(card, _mapping(parts.get(task)), task, of_task)
    yield from _languages((founding.get("metadata") or card).get("languages"), rows, whole)
    if whole:
        yield from _shared(card, folder, rows)


def _mapping(value: object) -> Card:
    return value if isinstance(value, Mapping) else {}


def _promise(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)


def _recounted(part: Card, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """A task's part of the card against its records."""
    counts, where = counted(task, [row.record for row in rows]), f"tasks.{task}"
    yield from _differences(part, {name: counts.get(TABLES["count_names"].get(name, name)) for name in part}, where)
    groups: Mapping[str, int] = counts.get("types" if task == "extraction" else "labels") or {}
    least, names = part.get("samples_per_type", part.get("samples_per_label")), part.get("entity_types")
    for key in dict.fromkeys((*(map(str, names) if isinstance(names, list) else ()), *groups)):
        if isinstance(least, int) and groups.get(key, 0) < least:
            message = f"{least} samples a type are promised, and {key} has {groups.get(key, 0)}"
            yield _promise(message, f"{where}.samples_per_type")
    if part.get("balanced") is True and len(set(groups.values())) > 1:
        low, high = min(groups, key=groups.__getitem__), max(groups, key=groups.__getitem__)
        message = f"balanced is promised, and {low} has {groups[low]}, {high} {groups[high]}"
        yield _promise(message, f"{where}.balanced")
    ratio, actual = part.get("nil_ratio"), counts["nil"] / counts["links"] if counts.get("links") else None
    if isinstance(ratio, (int, float)) and (actual is None or abs(actual - ratio) > TOLERANCE):
        what = "there are no links" if actual is None else f"it is {actual:.3f}"
        yield _promise(f"a NIL ratio of {ratio} is promised, and {what}", f"{where}.nil_ratio")
    least = part.get("judgements_per_query", part.get("judgments_per_query"))
    for row in rows if task == "retrieval" and isinstance(least, int) else ():
        if (judged := len(row.record["relevant"])) < (least or 0):
            message = f"{least} judgements a query are promised, and this has {judged}"
            yield row.finding("promise", message, "relevant")


def _differences(declared: object, counts: Card, where: str) -> Iterator[Finding]:
    """Declared numbers, and tables of numbers, that are not the counted ones."""
    stated = _mapping(declared)
    names = [name for name, value in counts.items() if isinstance(stated.get(name), type(value))]
    expected, actual = (_flat({name: table[name] for name in names}) for table in (stated, counts))
    for path in {**expected, **actual}:
        number, count = expected.get(path, 0), actual.get(path, 0)
        if number != count:
            yield Finding("count", f"{number:,} declared, {count:,} counted", CARD, field=f"{where}.{path}")


def _flat(table: Card) -> Fields:
    """``{"records": 9, "types": {"TOP": 8}}`` as ``{"records": 9, "types.TOP": 8}``."""
    flat: Fields = {}
    for name, value in table.items():
        flat |= (
            {f"{name}.{key}": number for key, number in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    return flat


def _labels(card: Card, part: Card, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """Types, labels and grades that the card does not name, if it names any."""
    field, key = TABLES["top_level"].get(task, ("", ""))
    lists = [card.get(field), *(part.get(name) for name in TABLES["allowed"].get(task, ()))]
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
        for place, value in used:
            if value not in allowed:
                yield row.finding("label", f"{value!r} is not among those that the card names", place)


def _languages(declared: Any, rows: RowsByTask, whole: bool) -> Iterator[Finding]:
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


def _shared(card: Card, folder: Path, rows: RowsByTask) -> Iterator[Finding]:
    """The documents of all tasks and the rows of the tables beside them, recounted."""
    by_id = {str(row.record["id"]): row.record for row in reversed(list(documents(rows)))}
    counts: Fields = {"records": len(by_id)}
    for name in ("splits", "languages"):
        counts[name] = tally(filter(None, (record.get(name[:-1]) for record in by_id.values())))
    yield from _differences(card.get("documents"), counts, "documents")
    for name, table in _mapping(card.get("tables")).items():
        if isinstance(file := _mapping(table).get("file"), str):
            try:
                size = sum(1 for _ in files.json_lines(folder / file))
            except DataError as error:
                yield unreadable(error, file)
            else:
                yield from _differences(table, {"records": size}, f"tables.{name}")


def _agreement(task: str, stated: Any, folder: Path) -> Iterator[tuple[str, str]]:
    """What is wrong with the agreement that a card states, measured again between its passes, and in which field."""
    from goldassay.gold.agreement import agree_files

    if stated is None:
        return
    figures = _mapping(stated)
    passes = figures.get("passes")
    if not isinstance(passes, list) or len(passes) < 2 or not all(isinstance(name, str) for name in passes):
        what = "agreement" if figures else f"agreement of {stated}"
        yield f"{what} is stated without 'passes', the list of files that it was measured on", ""
        return
    if outside := [name for name in passes if not (folder / name).resolve().is_relative_to(folder.resolve())]:
        yield f"{outside[0]!r} lies outside the set", ".passes"
        return
    try:
        agreement = agree_files([folder / name for name in passes], task)
    except (GoldassayError, OSError) as error:
        yield f"agreement is stated, and its passes cannot be compared: {error}", ".passes"
        return
    measured: dict[str, Interval] = {}
    for figure in agreement.figures:
        if figure.type is None and figure.interval is not None:
            # Of several pairs the lowest counts.
            lowest = measured.setdefault(figure.name, figure.interval)
            measured[figure.name] = min(lowest, figure.interval, key=lambda interval: interval.value)
    for name, value in figures.items():
        if name == "records" and value != agreement.records:
            yield f"{value} records are stated, and the passes share {agreement.records}", f".{name}"
        elif isinstance(value, Mapping) and name not in measured:
            yield f"{name} is stated, and the passes give {', '.join(measured)}", f".{name}"
        for part in ("value", "low", "high") if isinstance(value, Mapping) and name in measured else ():
            actual = getattr(measured[name], part)
            number = value.get(part, actual)
            if not isinstance(number, (int, float)) or not abs(number - actual) <= ROUNDING:
                yield f"{name} {part} {number} is stated, and {actual:.4f} was measured between the passes", f".{name}"
