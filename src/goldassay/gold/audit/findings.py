"""Findings of an audit, and the records that it looks at: each read by itself, so that one fault hides no other."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Faults
from goldassay.gold.reading import rows, source_of

KINDS = {
    "unreadable": "a file or a line that cannot be read",
    "schema": "a record that does not have its task's shape",
    "offset": "a span that is not where it says",
    "crossing": "two spans that overlap without one holding the other",
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


def repaired(source: Path, target: Path, findings: Iterable[Finding]) -> int:
    """Write a copy of a set or a JSON Lines file with the offsets that have one right answer; returns how many.

    Lines without a fix stay byte for byte.
    """
    if target.exists() or target.resolve().is_relative_to(source.resolve()):
        raise GoldassayError(f"the repaired copy needs a new place of its own, not {target}")
    fixes: dict[Path, list[Finding]] = {}
    for finding in findings:
        if finding.fix and finding.line:
            fixes.setdefault(Path(finding.file) if source.is_dir() else Path(), []).append(finding)
    with jsonl.writing(target):
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name, of_file in fixes.items():
        lines = files.text(target / name).split("\n")
        for finding in of_file:
            record = json.loads(lines[(finding.line or 0) - 1])
            field, index = re.split(r"[\[\]]", str(finding.field))[:2]
            if field == "answers":
                record["answer_starts"][int(index)] = (finding.fix or {})["start"]
            else:
                record[field][int(index)].update(finding.fix or {})
            lines[(finding.line or 0) - 1] = json.dumps(record, ensure_ascii=False)
        files.save(target / name, "\n".join(lines))
    return sum(map(len, fixes.values()))


def unreadable(error: DataError, name: str, kind: str = "unreadable") -> Finding:
    """A reader's error as a finding."""
    record = None if error.record is None else str(error.record)
    return Finding(kind, error.what, name, error.line, record, error.field)
