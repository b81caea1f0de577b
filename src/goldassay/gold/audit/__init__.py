"""``audit`` a gold set: everything that is wrong in it, found in one pass and reported with its place.

The YAML files of a Wikidata kit are audited too: declared counts, repeated items, a rate recomputed.

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

from pathlib import Path
from typing import Any, Unpack

from goldassay.exceptions import DataError
from goldassay.gold import sets
from goldassay.gold.audit import card, kits, records
from goldassay.gold.audit.findings import KINDS, Audit, Finding, LocatedRecord, located, repaired, unreadable
from goldassay.gold.formats import ReadOptions
from goldassay.measure import TASKS


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
    if format is None and (yamls := kits.files_of(place)):
        return kits.audit(place.name, yamls)
    gold = sets.load(place, task=task, format=format, **options)
    rows: dict[str, list[LocatedRecord]] = {name: [] for name in gold.tasks}
    findings: list[Finding] = []
    for name, part in gold.tasks.items():
        for source in part.sources:
            reading: dict[str, Any] = {**source}
            file, split = reading.pop("path"), reading.pop("split", None)
            in_set = place.is_dir() and file.is_relative_to(place)
            of_file, faults = located(
                file, name, file.relative_to(place).as_posix() if in_set else file.name, **reading
            )
            for row in of_file if split else ():
                row.record.setdefault("split", split)
            rows[name] += of_file
            findings += faults
    passages: dict[str, str] | None = None
    if place.is_dir() and (place / "passages.jsonl").exists():
        try:
            passages = {row["id"]: row["text"] for row in sets.passages(place / "passages.jsonl")}
        except DataError as error:
            findings.append(unreadable(error, "passages.jsonl"))
    findings += (finding for name in rows if name in TASKS for row in rows[name] for finding in records.check(row))
    findings += records.compare(rows, passages)
    if gold.card:
        findings += card.check(gold.card, place, rows, whole=task is None)
    return Audit(place.name, findings, {name: len(of_task) for name, of_task in rows.items()})


__all__ = ["KINDS", "Audit", "Finding", "audit", "repaired"]
