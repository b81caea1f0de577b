"""``audit`` a gold set: everything that is wrong in it, found in one pass and reported with its place.

`records` has the faults of records, `declared` those of cards and of the YAML files of a Wikidata kit.

>>> import json, tempfile
>>> from pathlib import Path
>>> file = Path(tempfile.mkdtemp()) / "extraction.jsonl"
>>> span = {"start": 4, "end": 9, "type": "TOP", "text": "Delft"}
>>> _ = file.write_text(json.dumps({"id": "a", "text": "In Delft", "entities": [span]}))
>>> finding = audit(file).findings[0]
>>> finding.kind, finding.message, finding.fix
('offset', '4:9 reaches beyond the text, which has 8 characters; it is at 3:8', {'start': 3, 'end': 8})
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Unpack

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.measure import TASKS
from goldassay.gold import sets
from goldassay.gold.audit import records
from goldassay.gold.audit.declared import audit_kit, check_card
from goldassay.gold.audit.findings import (
    FINDING_KINDS,
    Finding,
    GoldAudit,
    LocatedRecord,
    located_records,
    unreadable,
)
from goldassay.gold.formats import ReadOptions

__all__ = ["FINDING_KINDS", "Finding", "GoldAudit", "audit", "repaired"]


def audit(
    name_or_path: str | Path, *, task: str | None = None, format: str | None = None, **options: Unpack[ReadOptions]
) -> GoldAudit:
    """The faults of a set, a file of gold, or a YAML file (or folder) of a Wikidata kit.

    Args:
        name_or_path: A set's name, its folder, or a file.
        task: The task of a file; of a set, the one that is wanted.
        format: The format of a file; guessed if not given.
        options: How a file is read (`goldassay.gold.formats.ReadOptions`).
    """
    path = sets.find(name_or_path)
    if format is None and not (path.is_dir() and (sets.is_set(path) or sets.standoff(path))):
        of_kit = [path] if path.is_file() else sorted(path.glob("*"))
        if of_kit := [file for file in of_kit if file.suffix in (".yaml", ".yml")]:
            return audit_kit(path.name, of_kit)
    gold = sets.load(path, task=task, format=format, **options)
    rows: dict[str, list[LocatedRecord]] = {name: [] for name in gold.tasks}
    findings: list[Finding] = []
    for name, task_set in gold.tasks.items():
        for source in task_set.sources:
            how = {**source}
            file = how.pop("path")
            split = how.pop("split", None)
            label = file.relative_to(path).as_posix() if path.is_dir() and file.is_relative_to(path) else file.name
            of_file, faults = located_records(file, name, label, **how)
            for row in of_file if split else ():
                row.record.setdefault("split", split)
            rows[name] += of_file
            findings += faults
    passages: dict[str, str] | None = None
    if (path / "passages.jsonl").exists():
        try:
            passages = {row["id"]: row["text"] for row in sets.passages(path / "passages.jsonl")}
        except DataError as error:
            findings.append(unreadable(error, "passages.jsonl"))
    findings += (finding for name in rows if name in TASKS for row in rows[name] for finding in records.check(row))
    inputs = {name: task_set.content([row.record for row in rows[name]]) for name, task_set in gold.tasks.items()}
    findings += records.compare(rows, passages, inputs)
    if gold.card:
        findings += check_card(gold.card, path, rows, whole=task is None)
    return GoldAudit(path.name, findings, {name: len(of_task) for name, of_task in rows.items()})


def repaired(source: Path, target: Path, findings: Iterable[Finding]) -> int:
    """Write a copy of a set or a JSON Lines file with the offsets that have one right answer; returns how many.

    Lines without a fix stay byte for byte.

    Raises:
        GoldassayError: The target exists, or is inside of the source.
    """
    if target.exists() or target.resolve().is_relative_to(source.resolve()):
        raise GoldassayError(f"the repaired copy needs a new place of its own, not {target}")
    fixes: dict[Path, list[tuple[int, str, Mapping[str, object]]]] = {}
    for finding in findings:
        if finding.fix and finding.line:
            file = Path(finding.file) if source.is_dir() else Path()
            fixes.setdefault(file, []).append((finding.line - 1, str(finding.field), finding.fix))
    with jsonl.writing(target):
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name, of_file in fixes.items():
        lines = files.text(target / name).split("\n")
        for line, location, fix in of_file:
            record = json.loads(lines[line])
            field, index = re.split(r"[\[\]]", location)[:2]
            if field == "answers":
                record["answer_starts"][int(index)] = fix["start"]
            else:
                record[field][int(index)].update(fix)
            lines[line] = json.dumps(record, ensure_ascii=False)
        files.save(target / name, "\n".join(lines))
    return sum(map(len, fixes.values()))
