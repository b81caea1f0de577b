"""``audit`` a gold set: everything that is wrong in it, found in one pass and reported with its place.

The YAML files of a Wikidata kit are audited too: declared counts, repeated items, ids, verdicts, a rate recomputed.

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

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from goldassay.exceptions import DataError
from goldassay.gold import sets
from goldassay.gold.audit import across, card, kits, records
from goldassay.gold.audit.findings import KINDS, Audit, Finding, LocatedRecord, located, repaired, unreadable
from goldassay.gold.formats import ReadOptions
from goldassay.measure import TASKS
from goldassay.text.similarity import NEAR


def audit(
    name_or_path: str | Path,
    *,
    task: str | None = None,
    format: str | None = None,
    near: float = NEAR,
    agreement: Mapping[str, float] | None = None,
    **options: Unpack[ReadOptions],
) -> Audit:
    """All that is wrong in a set, a file of gold, or a YAML file (or folder) of a Wikidata kit.

    Args:
        name_or_path: A set's name, its folder, or a file.
        task: The task of a file; of a set, the one whose findings are wanted.
        format: The format of a file; guessed if not given.
        near: From how many per cent of similar characters two texts are nearly the same.
        agreement: The agreement that was measured between annotators, by task.
        options: How a file is read (`goldassay.gold.formats.ReadOptions`).
    """
    place = sets.find(name_or_path)
    whole_set = place.is_dir() and format is None and sets.is_set(place)
    if place.is_file() and place.suffix in kits.YAML:
        return kits.audit(place.name, [place])
    if place.is_dir() and format is None and not whole_set and not sets.standoff(place):
        yamls = sorted(file for file in place.iterdir() if file.suffix in kits.YAML)
        if yamls:
            return kits.audit(place.name, yamls)
    gold = sets.load(place, task=task, format=format, **options)
    if whole_set and task is not None:
        gold = sets.load(place)
    rows, findings, task_of_file = _read(gold, place)
    passages = _passages(place, rows, findings)
    for job, of_task in rows.items():
        if job in TASKS:
            findings += (finding for row in of_task for finding in records.check(row))
            findings += across.duplicates(of_task, near)
        else:
            findings += across.own_task(of_task, near)
        findings += across.slips(of_task)
    findings += across.across_tasks(gold.card, rows, passages)
    findings += card.check(gold.card, place, rows, passages or {}, agreement or {}) if gold.card else ()
    if whole_set and task is not None:
        # A set is read as a whole, because its card counts what tasks share; then only this task's findings are kept.
        findings = [
            finding
            for finding in findings
            if task_of_file.get(finding.file) == task
            or (finding.file == sets.CARD and str(finding.field).startswith(f"tasks.{task}"))
        ]
        rows = {task: rows.get(task, [])}
    return Audit(place.name, findings, {job: len(of_task) for job, of_task in rows.items()})


def _read(gold: sets.GoldSet, place: Path) -> tuple[dict[str, list[LocatedRecord]], list[Finding], dict[str, str]]:
    """The records of each task, the findings of reading them, and the task of each file."""
    rows: dict[str, list[LocatedRecord]] = {}
    findings: list[Finding] = []
    task_of_file: dict[str, str] = {}
    for task, part in gold.tasks.items():
        rows[task] = []
        for source in part.sources:
            file = source["path"]
            name = file.relative_to(place).as_posix() if place.is_dir() and file.is_relative_to(place) else file.name
            options = {key: value for key, value in source.items() if key not in ("path", "split")}
            of_file, faults = located(file, task, name, **options)
            for row in of_file if "split" in source else ():
                row.record.setdefault("split", source["split"])
            rows[task] += of_file
            findings += faults
            task_of_file[name] = task
    return rows, findings, task_of_file


def _passages(place: Path, rows: Mapping[str, list[LocatedRecord]], findings: list[Finding]) -> dict[str, Any] | None:
    """The texts of a set's passage collection by id; None if it has none."""
    file = place / "passages.jsonl"
    if not place.is_dir() or not file.exists():
        return None
    try:
        collection = sets.passages(file)
    except DataError as error:
        findings.append(unreadable(error, file.name))
        return None
    findings += across.collection(collection, rows)
    return {row["id"]: row["text"] for row in collection}


__all__ = ["KINDS", "Audit", "Finding", "audit", "repaired"]
