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
from goldassay.gold.audit.findings import Finding, LocatedRecord, RowsByTask, unreadable
from goldassay.gold.audit.records import documents
from goldassay.gold.records import grades, labels_of
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
ALLOWED = {
    "extraction": ("entity_types", "types"),
    "classification": ("label_set",),
    "answering": ("question_types", "answer_types"),
    "retrieval": ("graded_relevance",),
}
TOP_LEVEL = {"extraction": ("tag_set", "type"), "classification": ("label_set", "label")}
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
    founding, own = card.get("gold_standard_dataset"), card.get("tasks")
    founding = founding if isinstance(founding, Mapping) else {}
    parts: dict[str, Any] = {task: founding[key] for key, task in PARTS.items() if key in founding}
    parts |= own if isinstance(own, Mapping) else {}
    for task, part in parts.items():
        if not isinstance(part, Mapping) or (task not in rows and not whole):
            continue
        if task in rows:
            yield from _recounted(part, task, rows[task])
        elif task in TASKS and ("file" in part or isinstance(part.get("records"), int)):
            message = f"{part.get('file') or f'{task}.jsonl'} is not there, and the card tells of it"
            yield Finding("reference", message, CARD, field=f"tasks.{task}")
        yield from _agreement(task, part.get(AGREEMENT), folder)
    for task, of_task in rows.items():
        yield from _labels(card, parts.get(task), task, of_task)
    about = founding.get("metadata") or card
    yield from _languages(about.get("languages"), rows, whole)
    if whole:
        yield from _shared(card, folder, rows)


def _promise(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)


def _recounted(part: Card, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """A task's part of the card against its records."""
    records = [row.record for row in rows]
    counts, where = counted(task, records), f"tasks.{task}"
    yield from _differences(part, {name: counts.get(COUNT_NAMES.get(name, name)) for name in part}, where)
    groups: Mapping[str, int] = counts.get("types" if task == "extraction" else "labels") or {}
    names = part.get("entity_types")
    wanted = part.get("samples_per_type", part.get("samples_per_label"))
    listed = map(str, names) if isinstance(names, list) else ()
    for key in dict.fromkeys((*listed, *groups)) if isinstance(wanted, int) else ():
        if groups.get(key, 0) < (wanted or 0):
            message = f"{wanted} samples a type are promised, and {key} has {groups.get(key, 0)}"
            yield _promise(message, f"{where}.samples_per_type")
    if part.get("balanced") is True and len(set(groups.values())) > 1:
        low, high = min(groups, key=groups.__getitem__), max(groups, key=groups.__getitem__)
        message = f"balanced is promised, and {low} has {groups[low]}, {high} {groups[high]}"
        yield _promise(message, f"{where}.balanced")
    ratio, actual = part.get("nil_ratio"), nil_ratio(records) if task == "linking" else None
    if isinstance(ratio, (int, float)) and (actual is None or abs(actual - ratio) > TOLERANCE):
        what = "there are no links" if actual is None else f"it is {actual:.3f}"
        yield _promise(f"a NIL ratio of {ratio} is promised, and {what}", f"{where}.nil_ratio")
    wanted = part.get("judgements_per_query", part.get("judgments_per_query"))
    for row in rows if task == "retrieval" and isinstance(wanted, int) else ():
        if len(row.record["relevant"]) < (wanted or 0):
            message = f"{wanted} judgements a query are promised, and this has {len(row.record['relevant'])}"
            yield row.finding("promise", message, "relevant")


def _differences(declared: object, counts: Card, where: str) -> Iterator[Finding]:
    """Declared numbers, and tables of numbers, that are not the counted ones."""
    stated: Card = declared if isinstance(declared, Mapping) else {}
    names = [name for name, value in counts.items() if isinstance(stated.get(name), type(value))]
    expected, actual = (_flat({name: table[name] for name in names}) for table in (stated, counts))
    for path in {**expected, **actual}:
        number, count = expected.get(path, 0), actual.get(path, 0)
        if number != count:
            yield Finding("count", f"{number:,} declared, {count:,} counted", CARD, field=f"{where}.{path}")


def _flat(table: Card) -> dict[str, Any]:
    """``{"types": {"TOP": 8}}`` as ``{"types.TOP": 8}``."""
    tables = {name: value for name, value in table.items() if isinstance(value, Mapping)}
    inner = {f"{name}.{key}": number for name, value in tables.items() for key, number in value.items()}
    return {**{name: value for name, value in table.items() if name not in tables}, **inner}


def _labels(card: Card, part: Any, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """Types, labels and grades that the card does not name, if it names any."""
    field, key = TOP_LEVEL.get(task, ("", ""))
    names = card.get(field)
    if isinstance(names, list):
        names = [item.get(key) if isinstance(item, Mapping) else item for item in names]
    else:
        lists = [part[name] for name in ALLOWED.get(task, ()) if isinstance(part, Mapping) and name in part]
        names = next((names for names in lists if isinstance(names, list)), None)
    for row in rows if names is not None else ():
        for field, value in _used(task, row.record):
            if value not in map(str, names or ()):
                yield row.finding("label", f"{value!r} is not among those that the card names", field)


def _used(task: str, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The types, labels and grades of a record, each with its field."""
    if task == "extraction":
        return [(f"entities[{index}].type", span["type"]) for index, span in enumerate(record["entities"])]
    if task == "classification":
        return labels_of(record)
    if task == "answering" and record.get("answer_type"):
        return [("answer_type", record["answer_type"])]
    if task == "retrieval" and isinstance(record["relevant"], Mapping):
        return [(f"relevant.{key}", f"{grade:g}") for key, grade in grades(record).items()]
    return []


def _languages(declared: Any, rows: RowsByTask, whole: bool) -> Iterator[Finding]:
    """Languages that are not declared, and declared ones that no record has."""
    used: dict[str, LocatedRecord] = {}
    for row in (row for of_task in rows.values() for row in of_task):
        if language := row.record.get("language"):
            used.setdefault(language, row)
    for language, row in used.items() if isinstance(declared, list) else ():
        if language not in declared:
            message = f"{language!r} is not declared; the card has {', '.join(map(str, declared))}"
            yield row.finding("language", message, "language")
    for language in declared if isinstance(declared, list) and used and whole else ():
        if language not in used:
            message = f"{language!r} is declared, and no record has it"
            yield Finding("language", message, CARD, field="languages")


def _shared(card: Card, folder: Path, rows: RowsByTask) -> Iterator[Finding]:
    """The documents of all tasks and the rows of the tables beside them, recounted."""
    by_id = {str(row.record["id"]): row.record for row in reversed(list(documents(rows)))}
    counts: dict[str, Any] = {"records": len(by_id)}
    for name, key in (("splits", "split"), ("languages", "language")):
        counts[name] = tally(record[key] for record in by_id.values() if record.get(key))
    yield from _differences(card.get("documents"), counts, "documents")
    tables = card.get("tables")
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        if isinstance(table, Mapping) and isinstance(table.get("file"), str):
            try:
                size = sum(1 for _ in files.json_lines(folder / table["file"]))
            except DataError as error:
                yield unreadable(error, table["file"])
            else:
                yield from _differences(table, {"records": size}, f"tables.{name}")


def _agreement(task: str, stated: Any, folder: Path) -> Iterator[Finding]:
    """Agreement that a card states, measured again between the passes that it names."""
    from goldassay.gold.agreement import agree_files

    where = f"tasks.{task}.{AGREEMENT}"
    if stated is None:
        return
    passes = stated.get("passes") if isinstance(stated, Mapping) else None
    if not isinstance(passes, list) or len(passes) < 2 or not all(isinstance(name, str) for name in passes):
        what = "agreement" if isinstance(stated, Mapping) else f"agreement of {stated}"
        yield _promise(f"{what} is stated without 'passes', the list of files that it was measured on", where)
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
            # Of several pairs the lowest counts.
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
