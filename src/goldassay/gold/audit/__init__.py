"""``audit`` a gold set: everything that is wrong in it, found in one pass and reported with its place.

`records` has the faults of records, `card` what the card declares and the records do not keep. The YAML files of a
Wikidata kit are audited too: declared counts, repeated items, a rate recomputed.

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
from goldassay.gold.audit import card, records
from goldassay.gold.audit.records import KINDS, Audit, Finding, LocatedRecord, unreadable
from goldassay.gold.formats import ReadOptions, kits
from goldassay.gold.shapes import Record
from goldassay.measure import TASKS
from goldassay.measures.triples import VERDICTS, novel_discovery_rate

__all__ = ["KINDS", "Audit", "Finding", "audit", "repaired"]

TOTAL = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+)[- ](?=articles?\b)")
KEYS = {"benchmark": ("qid", "title"), "annotations": ("id", "id"), "alignment": ("wikidata_pid", "wikidata_pid")}
"""Of each kind of a kit's files, what identifies an entry, and what it is about."""


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
        findings += card.check(gold.card, place, rows, whole=task is None)
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
    declared: dict[str, tuple[Any, int]] = {"count": (head.get("count"), len(entries))}
    if total := TOTAL.search(str(head.get("description", ""))):
        declared["description"] = (int(total[1].replace(",", "")), len(entries))
    for part, of_part in head.items():
        for key, number in of_part.items() if isinstance(of_part, Mapping) else ():
            if key == "total_annotations" or part == "stratified_sampling" or key in VERDICTS:
                declared[f"{part}.{key}"] = number, len(entries) if key == "total_annotations" else of_kind[key]
    for field, (number, count) in declared.items():
        if isinstance(number, int) and number != count:
            yield Finding("count", f"{number:,} declared, {count:,} counted", name, field=field)
    stated = (head.get("metadata") or {}).get("validated_ndr")
    if isinstance(stated, float) and rate is not None and abs(stated - rate) > 0.0005:
        counts = f"({of_kind['correct']} correct, {of_kind['incorrect']} not)"
        message = f"{stated:.3f} declared, {rate:.3f} from the verdicts {counts}"
        yield Finding("count", message, name, field="metadata.validated_ndr")
