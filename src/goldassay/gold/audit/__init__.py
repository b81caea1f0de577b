"""``audit`` a gold set: everything that is wrong in it, found in one pass and reported with its place.

`records` has the faults of records; here are those of cards: declared counts recounted, label sets, languages, and
promises of size and agreement. The YAML files of a Wikidata kit are audited too: declared counts, repeated items, a
rate recomputed.

Two layouts of cards are read: a card of goldassay (``tasks: {extraction: {records, entities, types, …}}``) and the
founding schema (``gold_standard_dataset: {metadata, ner_annotations: {entity_types, samples_per_type, …}, …}``). What
the tasks share (documents, and the tables beside them) is recounted too.

``inter_annotator_agreement: ">0.85"`` is a promise. A card may also state figures, with the passes they come from; each
is measured again from these files of the set, and must agree to four places (the bootstrap is seeded)::

    inter_annotator_agreement:
      passes: [first/extraction.jsonl, second/extraction.jsonl]
      records: 60
      strict_f1: {value: 0.9727, low: 0.9527, high: 0.9893}

>>> import json, tempfile
>>> from pathlib import Path
>>> file = Path(tempfile.mkdtemp()) / "extraction.jsonl"
>>> span = {"start": 4, "end": 9, "type": "TOP", "text": "Delft"}
>>> _ = file.write_text(json.dumps({"id": "a", "text": "In Delft", "entities": [span]}))
>>> finding = audit(file).findings[0]
>>> finding.kind, finding.message, finding.fix
('offset', '4:9 reaches beyond the text, which has 8 characters; it stands at 3:8', {'start': 3, 'end': 8})
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Faults
from goldassay.gold import reading, sets
from goldassay.gold.audit import records
from goldassay.gold.audit.records import (
    KINDS,
    TABLES,
    Audit,
    Finding,
    LocatedRecord,
    RowsByTask,
    documents,
    unreadable,
)
from goldassay.gold.formats import ReadOptions, kits
from goldassay.gold.records import labels_of
from goldassay.gold.sets import CARD, counted, tally
from goldassay.gold.shapes import Fields, Record
from goldassay.measure import TASKS
from goldassay.measures.triples import VERDICTS, novel_discovery_rate
from goldassay.statistics import Interval

__all__ = ["KINDS", "Audit", "Finding", "audit", "repaired"]

TOTAL = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")
KEYS = {"benchmark": ("qid", "title"), "annotations": ("id", "id"), "alignment": ("wikidata_pid", "wikidata_pid")}
"""Of each kind of a kit's files, what identifies an entry, and what it is about."""
TOLERANCE = 0.02  # a promised NIL ratio of 0.15 is kept by 0.13 to 0.17
AGREEMENT = "inter_annotator_agreement"
ROUNDING = 0.5e-4 + 1e-9


def audit(
    name_or_path: str | Path, *, task: str | None = None, format: str | None = None, **options: Unpack[ReadOptions]
) -> Audit:
    """All that is wrong in a set, a file of gold, or a YAML file (or folder) of a Wikidata kit.

    Args:
        name_or_path: A set's name, its folder, or a file.
        task: The task of a file; of a set, the one that is wanted.
        format: The format of a file; guessed if not given.
        options: How a file is read (`goldassay.gold.formats.ReadOptions`).
    """
    place = sets.find(name_or_path)
    if format is None and not (place.is_dir() and (sets.is_set(place) or sets.standoff(place))):
        of_kit = [place] if place.is_file() else sorted(place.glob("*"))
        if of_kit := [file for file in of_kit if file.suffix in (".yaml", ".yml")]:
            return _kit(place.name, of_kit)
    gold = sets.load(place, task=task, format=format, **options)
    rows: dict[str, list[LocatedRecord]] = {name: [] for name in gold.tasks}
    findings: list[Finding] = []
    for name, part in gold.tasks.items():
        for source in part.sources:
            how: dict[str, Any] = {**source}
            file, split = how.pop("path"), how.pop("split", None)
            shown = file.relative_to(place).as_posix() if place.is_dir() and file.is_relative_to(place) else file.name
            of_file, faults = _located(file, name, shown, **how)
            for row in of_file if split else ():
                row.record.setdefault("split", split)
            rows[name] += of_file
            findings += faults
    passages: dict[str, str] | None = None
    if (place / "passages.jsonl").exists():
        try:
            passages = {row["id"]: row["text"] for row in sets.passages(place / "passages.jsonl")}
        except DataError as error:
            findings.append(unreadable(error, "passages.jsonl"))
    findings += (finding for name in rows if name in TASKS for row in rows[name] for finding in records.check(row))
    findings += records.compare(rows, passages)
    if gold.card:
        findings += check_card(gold.card, place, rows, whole=task is None)
    return Audit(place.name, findings, {name: len(of_task) for name, of_task in rows.items()})


def _located(path: Path, task: str, name: str, **options: Any) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, each read by itself, so that one fault hides no other, and what cannot be read in it.

    ``name`` is how findings call the file; a file of a folder is called by its place in it.
    """
    faults, located = Faults(math.inf), list[LocatedRecord]()

    def shown(file: Any) -> str:
        inside = path.is_dir() and file not in (None, path)
        return (Path(name) / Path(str(file)).relative_to(path)).as_posix() if inside else name

    try:
        source = reading.source_of(path, task, "gold", faults=faults, audit=True, **options)
        located += (LocatedRecord(task, row.record, shown(row.file), row.line) for row in reading.rows(source))
    except DataError as error:
        faults.report(error)
    return located, [unreadable(e, shown(e.file), kind) for e, kind in zip(faults.errors, faults.kinds, strict=True)]


def repaired(source: Path, target: Path, findings: Iterable[Finding]) -> int:
    """Write a copy of a set or a JSON Lines file with the offsets that have one right answer; returns how many.

    Lines without a fix stay byte for byte.
    """
    if target.exists() or target.resolve().is_relative_to(source.resolve()):
        raise GoldassayError(f"the repaired copy needs a new place of its own, not {target}")
    fixes: dict[Path, list[tuple[int, str, Record]]] = {}
    for finding in findings:
        if finding.fix and finding.line:
            file = Path(finding.file) if source.is_dir() else Path()
            fixes.setdefault(file, []).append((finding.line - 1, str(finding.field), finding.fix))
    with jsonl.writing(target):
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name, of_file in fixes.items():
        lines = files.text(target / name).split("\n")
        for line, place, fix in of_file:
            record = json.loads(lines[line])
            field, index = re.split(r"[\[\]]", place)[:2]
            if field == "answers":
                record["answer_starts"][int(index)] = fix["start"]
            else:
                record[field][int(index)].update(fix)
            lines[line] = json.dumps(record, ensure_ascii=False)
        files.save(target / name, "\n".join(lines))
    return sum(map(len, fixes.values()))


def _kit(name: str, paths: Sequence[Path]) -> Audit:
    """The findings of the YAML files of a Wikidata kit."""
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    figures: dict[str, float] = {}
    for path in paths:
        try:
            kind, head, entries = kits.load(path)
        except DataError as error:
            findings.append(unreadable(error, path.name))
            continue
        counts[path.name] = len(entries)
        verdicts = [verdict for entry in entries if (verdict := str(entry.get("verdict"))) in VERDICTS]
        rate = novel_discovery_rate(verdicts)["novel_discovery_rate"] if kind == "annotations" else None
        if rate is not None:
            figures["discovery_rate"] = rate
        findings += _recounted(kind, head, entries, path.name, rate)
        if kind in kits.TASK_OF_KIND:
            rows, faults = _located(path, kits.TASK_OF_KIND[kind], path.name, format="kit")
            findings += [*faults, *(finding for row in rows for finding in records.check(row))]
        key, about = KEYS[kind]
        first: dict[str, int] = {}
        for number, entry in enumerate(entries):
            other = first.setdefault(str(entry.get(key)), number)
            if other != number:
                message = f"{entry.get(key)} is also {kits.LISTS[kind]}[{other}], {entries[other].get(about)}"
                field = f"{kits.LISTS[kind]}[{number}].{key}"
                findings.append(Finding("id", message, path.name, record=str(entry.get(about)), field=field))
    return Audit(name, findings, counts, figures)


def _recounted(kind: str, head: Record, entries: Sequence[Record], name: str, rate: float | None) -> Iterator[Finding]:
    """What the head of a kit's file declares against what its list holds."""
    of_kind = Counter(str(entry.get("domain" if kind == "benchmark" else "verdict")) for entry in entries)
    declared: Fields = {"count": head.get("count")}
    if total := TOTAL.search(str(head.get("description", ""))):
        declared["description"] = int(total[1].replace(",", ""))
    counts: Fields = {"count": len(entries), "description": len(entries)}
    for part, of_part in head.items():
        for key, number in _mapping(of_part).items():
            if key == "total_annotations" or part == "stratified_sampling" or key in VERDICTS:
                declared[f"{part}.{key}"] = number
                counts[f"{part}.{key}"] = len(entries) if key == "total_annotations" else of_kind[key]
    yield from _differences(declared, counts, "", name)
    stated = (head.get("metadata") or {}).get("validated_ndr")
    if isinstance(stated, float) and rate is not None and abs(stated - rate) > 0.0005:
        correct, incorrect = of_kind["correct"], of_kind["incorrect"]
        message = f"{stated:.3f} declared, {rate:.3f} from the verdicts ({correct} correct, {incorrect} not)"
        yield Finding("count", message, name, field="metadata.validated_ndr")


def check_card(card: Record, folder: Path, rows: RowsByTask, *, whole: bool) -> Iterator[Finding]:
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
            yield from _recounted_task(part, task, rows[task])
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


def _mapping(value: object) -> Record:
    return value if isinstance(value, Mapping) else {}


def _promise(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)


def _recounted_task(part: Record, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
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


def _differences(declared: object, counts: Record, where: str, file: str = CARD) -> Iterator[Finding]:
    """Declared numbers, and tables of numbers, that are not the counted ones."""
    stated = _mapping(declared)
    names = [name for name, value in counts.items() if isinstance(stated.get(name), type(value))]
    expected, actual = (_flat({name: table[name] for name in names}) for table in (stated, counts))
    for path in {**expected, **actual}:
        number, count = expected.get(path, 0), actual.get(path, 0)
        if number != count:
            yield Finding("count", f"{number:,} declared, {count:,} counted", file, field=f"{where}.{path}".lstrip("."))


def _flat(table: Record) -> Fields:
    """``{"records": 9, "types": {"TOP": 8}}`` as ``{"records": 9, "types.TOP": 8}``."""
    flat: Fields = {}
    for name, value in table.items():
        flat |= (
            {f"{name}.{key}": number for key, number in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    return flat


def _labels(card: Record, part: Record, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
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


def _shared(card: Record, folder: Path, rows: RowsByTask) -> Iterator[Finding]:
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
