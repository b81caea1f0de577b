"""The records of one file with their places, and everything that cannot be read in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from goldassay._support.exceptions import DataError
from goldassay._support.files import Faults
from goldassay.gold import reading
from goldassay.gold.audit.findings import Finding, LocatedRecord, unreadable

MANY = 10  # records with the same fault that nobody mends one by one


def located_records(path: Path, task: str, name: str, **options: Any) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, each read by itself, so that one fault hides no other, and what cannot be read in it.

    ``name`` is how findings call the file; a file of a folder is called by its place in it.
    """
    faults = Faults(math.inf)
    located: list[LocatedRecord] = []

    is_folder = path.is_dir()

    def shown(file: object) -> str:
        inside = is_folder and file not in (None, path)
        return (Path(name) / Path(str(file)).relative_to(path)).as_posix() if inside else name

    try:
        source = reading.source_of(path, task, "gold", faults=faults, audit=True, **options)
        located += (LocatedRecord(task, row.record, shown(row.file), row.line) for row in reading.rows(source))
    except DataError as error:
        faults.report(error)
    pairs = zip(faults.errors, faults.kinds, strict=True)
    return located, list(_counted(unreadable(error, shown(error.file), kind) for error, kind in pairs))


def _counted(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings; what many records lack alike, such as a column of a table, is one with their number."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.kind, finding.message, finding.file, str(finding.field))
        groups.setdefault(key, []).append(finding)
    for alike in groups.values():
        if len(alike) < MANY:
            yield from alike
        else:
            message = f"{alike[0].message} (in {len(alike):,} records, this is the first)"
            yield replace(alike[0], message=message, records=len(alike))
