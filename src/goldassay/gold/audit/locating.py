"""The records of one file with their places, and everything that cannot be read in it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.files import Faults
from goldassay.gold import reading
from goldassay.gold.audit.findings import Finding, LocatedRecord, unreadable


def located_records(path: Path, task: str, name: str, **options: Any) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, each read by itself, so that one fault hides no other, and what cannot be read in it.

    ``name`` is how findings call the file; a file of a folder is called by its place in it.
    """
    faults = Faults(math.inf)
    located: list[LocatedRecord] = []

    def shown(file: Any) -> str:
        inside = path.is_dir() and file not in (None, path)
        return (Path(name) / Path(str(file)).relative_to(path)).as_posix() if inside else name

    try:
        source = reading.source_of(path, task, "gold", faults=faults, audit=True, **options)
        located += (LocatedRecord(task, row.record, shown(row.file), row.line) for row in reading.rows(source))
    except DataError as error:
        faults.report(error)
    return located, [unreadable(e, shown(e.file), kind) for e, kind in zip(faults.errors, faults.kinds, strict=True)]
