"""Findings of an audit, and the records that it looks at: each read by itself, so that one fault hides no other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.files import Faults
from goldassay.gold.reading import rows, source_of

KINDS = {
    "unreadable": "a file or a line that cannot be read",
    "schema": "a record that does not have its task's shape",
    "offset": "a span that is not where it says",
    "repeated": "the same thing twice in one record",
    "id": "an id that another record has",
    "duplicate": "a text that another record has",
    "near": "a text that is nearly another record's",
    "leak": "the same or nearly the same text on two sides of a split",
    "conflict": "records that contradict each other",
    "label": "a type, label or grade that the card does not name",
    "identifier": "an identifier that is not well formed",
    "reference": "a file, document or passage that does not exist",
    "count": "a declared count that differs from the real one",
    "language": "a language that is not declared, or has no record",
    "promise": "a promise of the card that is not kept",
    "text": "an empty text",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, its place, and how to repair it (``fix``: the new values of the field)."""

    kind: str
    message: str
    file: str
    line: int | None = None
    record: str | None = None
    field: str | None = None
    fix: Mapping[str, Any] | None = None

    @property
    def place(self) -> str:
        """File, line, record and field."""
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        return " ".join(part for part in (file, self.record, self.field) if part)


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit; ``records`` counts the records of each task (or kit file), ``figures`` what follows."""

    name: str
    findings: Sequence[Finding]
    records: Mapping[str, int]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def kinds(self) -> dict[str, int]:
        """How many findings of each kind."""
        return dict(Counter(finding.kind for finding in self.findings))

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "clean": self.clean, "kinds": self.kinds}


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """A record that has its task's shape, and its place."""

    task: str
    record: dict[str, Any]
    file: str
    line: int | None = None

    def finding(self, kind: str, message: str, field: str, fix: Mapping[str, object] | None = None) -> Finding:
        """A fault of this record."""
        return Finding(kind, message, self.file, self.line, str(self.record["id"]), field, fix)


RowsByTask = Mapping[str, Sequence[LocatedRecord]]


def located(path: Path, task: str, name: str, **options: Any) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, and what cannot be read in it; ``name`` is how findings call the file."""
    faults = Faults(math.inf)

    def shown(file: object) -> str:
        """A file of a folder by its place in it."""
        if not path.is_dir() or file in (None, path):
            return name
        return (Path(name) / Path(str(file)).relative_to(path)).as_posix()

    records: list[LocatedRecord] = []
    try:
        source = source_of(path, task, "gold", faults=faults, audit=True, **options)
        records += (LocatedRecord(task, row.record, shown(row.file), row.line) for row in rows(source))
    except DataError as error:
        faults.report(error)
    return records, [unreadable(e, shown(e.file), kind) for e, kind in zip(faults.errors, faults.kinds, strict=True)]


def unreadable(error: DataError, name: str, kind: str = "unreadable") -> Finding:
    """A reader's error as a finding."""
    record = None if error.record is None else str(error.record)
    return Finding(kind, error.what, name, error.line, record, error.field)
