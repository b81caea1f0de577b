"""Findings, what all parts of an audit make them with, and the records of a file with their places."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from goldassay._support import files
from goldassay._support.exceptions import DataError, clipped
from goldassay._support.files import Faults
from goldassay._support.jsonl import JSON
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.gold import reading
from goldassay.gold.sets import CARD
from goldassay.results.view import Sentence, Table, TableRow, View

TABLES: dict[str, Fields] = files.resource("audit.json")
FINDING_KINDS: dict[str, str] = TABLES["kinds"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, its place, and how to repair it (``fix``: the new values of the field); ``records`` may have it."""

    kind: str
    message: str
    file: str
    line: int | None = None
    record: str | None = None
    field: str | None = None
    fix: Mapping[str, object] | None = None
    records: int = 1

    @property
    def place(self) -> str:
        """File, line, record and field."""
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        return " ".join(item for item in (file, self.record, self.field) if item)


@dataclass(frozen=True, slots=True)
class GoldAudit:
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

    def view(self) -> View:
        """How many findings there are of each kind, and the first of them."""
        counts = ", ".join(f"{name} {count:,}" for name, count in self.records.items())
        if self.clean:
            return [Sentence(f"{self.name}: no problems ({counts or 'no records'})")]
        fixable = any(finding.fix for finding in self.findings)
        findings: list[TableRow] = []
        for finding in self.findings:
            fix = "{start}:{end}".format(**finding.fix) if finding.fix else ""
            cells = [finding.kind, finding.place, finding.message, fix]
            findings.append(cells if fixable else cells[:-1])
        columns = ["kind", "where", "what", *(["fix"] if fixable else [])]
        title = f"{self.name}: {len(findings)} finding{'s' if len(findings) != 1 else ''} ({counts})"
        by_kind = Counter(finding.kind for finding in self.findings).most_common()
        kinds: list[TableRow] = [[kind, FINDING_KINDS[kind], count] for kind, count in by_kind]
        return [
            Table(title, ["kind", "meaning", "findings"], kinds, left=2),
            Table(None, columns, findings, left=len(columns), most=20),
        ]

    def state(self) -> JsonObject:
        """As JSON."""
        return {**asdict(self), "clean": self.clean, "kinds": self.kinds}


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """A record that has its task's shape, and its place."""

    task: str
    record: Fields
    file: str
    line: int | None = None

    def finding(self, kind: str, message: str, field: str, fix: Mapping[str, object] | None = None) -> Finding:
        """A fault of this record."""
        return Finding(kind, clipped(message), self.file, self.line, clipped(str(self.record["id"])), field, fix)


RowsByTask = Mapping[str, Sequence[LocatedRecord]]


def unreadable(error: DataError, name: str, kind: str = "unreadable") -> Finding:
    """A reader's error as a finding."""
    record = None if error.record is None else str(error.record)
    return Finding(kind, error.what, name, error.line, record, error.field)


def mapping(value: JSON) -> Record:
    """A value as a mapping; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def differences(declared: JSON, counts: Mapping[str, object], where: str, file: str = CARD) -> Iterator[Finding]:
    """Declared numbers, and tables of numbers, that are not the counted ones."""
    table = mapping(declared)
    names = [name for name, value in counts.items() if isinstance(table.get(name), type(value))]
    expected = _flat({name: table[name] for name in names})
    actual = _flat({name: counts[name] for name in names})
    for path in {**expected, **actual}:
        number = expected.get(path, 0)
        count = actual.get(path, 0)
        if number != count:
            yield Finding("count", f"{number:,} declared, {count:,} counted", file, field=f"{where}.{path}".lstrip("."))


def _flat(table: JsonObject) -> JsonObject:
    """``{"records": 9, "types": {"TOP": 8}}`` as ``{"records": 9, "types.TOP": 8}``."""
    flat: JsonObject = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": number for key, number in value.items()}
        else:
            flat[name] = value
    return flat


MANY = 10  # records with the same fault that nobody mends one by one


def located_records(path: Path, task: str, name: str, **options: Any) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, each read by itself, so that one fault hides no other, and what cannot be read in it.

    ``name`` is how findings call the file; a file of a folder is called by its place in it. What many records lack
    alike, such as a column of a table, is one finding with their number.
    """
    faults = Faults(math.inf)
    located: list[LocatedRecord] = []

    def shown(file: Path | str | None) -> str:
        if file in (None, path) or not path.is_dir():
            return name
        return (Path(name) / Path(str(file)).relative_to(path)).as_posix()

    try:
        source = reading.source_of(path, task, faults=faults, audit=True, **options)
        located += (LocatedRecord(task, row.record, shown(row.file), row.line) for row in reading.rows(source))
    except DataError as error:
        faults.report(error)
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for fault, kind in zip(faults.errors, faults.kinds, strict=True):
        finding = unreadable(fault, shown(fault.file), kind)
        key = (finding.kind, finding.message, finding.file, str(finding.field))
        groups.setdefault(key, []).append(finding)
    findings: list[Finding] = []
    for alike in groups.values():
        if len(alike) < MANY:
            findings += alike
        else:
            message = f"{alike[0].message} (in {len(alike):,} records, this is the first)"
            findings.append(replace(alike[0], message=message, records=len(alike)))
    return located, findings
