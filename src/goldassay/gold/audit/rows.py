"""What an audit says: findings, and what could be counted; and how it reads: every record by itself.

So one bad line does not hide the next one's faults.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold import anyfields, formats
from goldassay.gold.formats import entries, questions
from goldassay.gold.reading import TOKENISED, given
from goldassay.gold.records import adapter, check, complaints
from goldassay.measure import TASKS

KINDS = {
    "unreadable": "a file or a line that cannot be read",
    "schema": "a record that is not as its task's shape",
    "offset": "a span that does not stand where it says",
    "edge": "a span that begins or ends with a space",
    "crossing": "two spans that overlap without one holding the other",
    "repeated": "the same thing twice in one record",
    "id": "an id that another record has",
    "duplicate": "a text that another record has",
    "near": "a text that is nearly another record's",
    "leak": "the same or nearly the same text on two sides of a split",
    "conflict": "records that contradict each other",
    "label": "a type, label or grade that the card does not name, that looks like another one, or that occurs once",
    "identifier": "an identifier that is not well formed",
    "reference": "a document, passage or fact that is not there",
    "count": "a declared count that is not what is there",
    "language": "a language that is not declared, or not a language tag",
    "promise": "a promise of the card that is not kept",
    "text": "an empty text, or characters that do not belong in one",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is off, where it is, and how to mend it (``fix``: the new values of the field)."""

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
    """The findings of an audit; ``records`` says for each task how many records were looked at."""

    name: str
    findings: Sequence[Finding]
    records: Mapping[str, int]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether nothing is off."""
        return not self.findings

    @property
    def kinds(self) -> dict[str, int]:
        """How many findings of each kind."""
        return dict(Counter(found.kind for found in self.findings))

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "clean": self.clean, "kinds": self.kinds}


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """A record that has its task's shape, and where it stands."""

    task: str
    record: dict[str, Any]
    file: str
    line: int | None = None

    def finding(
        self, kind: str, message: str, field: str | None = None, fix: Mapping[str, object] | None = None
    ) -> Finding:
        """Something that is off in this record."""
        return Finding(kind, message, self.file, self.line, str(self.record["id"]), field, fix)


def rows(
    path: Path, task: str, name: str, format: str | None = None, **options: Any
) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, and what cannot be read in it; ``name`` is how findings call the file."""
    renamed = anyfields.mapping(options.pop("map", None))
    try:
        if task not in TASKS or renamed:
            return [LocatedRecord(task, record, name) for record in anyfields.read(path, task, renamed, format)], []
        kind = format or formats.guess(path, task)
        asked = given(kind, task, options.pop("column", None), options)
        if kind == "jsonl":
            return _lines(path, task, name)
        if kind == "json" and task in entries.TASKS:
            return _entries(path, task, name)
        return _read(path, task, name, kind, asked)
    except DataError as error:
        return [], [unreadable(error, name)]


def unreadable(error: DataError, name: str, kind: str = "unreadable") -> Finding:
    """A reader's error as a finding."""
    record = None if error.record is None else str(error.record)
    return Finding(kind, error.what, name, error.line, record, error.field)


def _read(
    path: Path, task: str, name: str, format: str, options: Mapping[str, Any]
) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of another format, whose reader tells what is wrong and goes on."""
    findings: list[Finding] = []
    inside = "" if name == "." else f"{name}/"

    def shown(file: object) -> str:
        """A file of a folder by its place in it."""
        return inside + Path(str(file)).relative_to(path).as_posix() if path.is_dir() and file != path else name

    def wrong(error: DataError, kind: str = "unreadable") -> None:
        findings.append(unreadable(error, shown(error.file or path), kind))

    known = {"repeated": "keep"} if format in TOKENISED else {}
    try:
        records = formats.module(format).read(path, task, "gold", **{**options, **known, "wrong": wrong})
    except DataError as error:
        wrong(error)
        return [], findings
    files_of = {row["id"]: shown(path / f"{row['id']}.ann") for row in records} if path.is_dir() else {}
    return [LocatedRecord(task, record, files_of.get(record["id"], name)) for record in records], findings


def _lines(path: Path, task: str, name: str) -> tuple[list[LocatedRecord], list[Finding]]:
    found: list[LocatedRecord] = []
    findings: list[Finding] = []
    validate = adapter(task).validate_json
    for number, line in enumerate(files.lines(path), start=1):
        if not line.strip():
            continue
        try:
            found.append(LocatedRecord(task, validate(line), name, number))
        except ValidationError as error:
            findings += _wrong(error, line, name, number)
    return found, findings


def _wrong(error: ValidationError, line: str, name: str, number: int) -> Iterator[Finding]:
    try:
        raw = json.loads(line)  # whatever else is wrong with it
    except (ValueError, RecursionError):
        raw = None
    key = str(raw["id"]) if isinstance(raw, dict) and "id" in raw else None
    for complaint in complaints(error):
        kind = "schema" if isinstance(raw, dict) else "unreadable"
        yield Finding(kind, complaint.what, name, number, key, complaint.field)


def _entries(path: Path, task: str, name: str) -> tuple[list[LocatedRecord], list[Finding]]:
    """The entries of the founding format, whose spans are audited and not proved while reading."""
    found: list[LocatedRecord] = []
    findings: list[Finding] = []
    content = files.json_value(path)
    if task == questions.TASK and questions.flat(content):
        records = questions.from_objects(
            content, path, "gold", lambda error, kind="unreadable": findings.append(unreadable(error, name, kind))
        )
        return [LocatedRecord(task, record, name) for record in records], findings
    for number, entry in enumerate(content if isinstance(content, list) else [content]):
        if not isinstance(entry, dict) or "id" not in entry or not isinstance(entry.get("text"), str):
            findings.append(
                Finding("schema", "an entry is an object with an 'id' and a 'text'", name, field=f"[{number}]")
            )
        elif entries.PART[task] in entry:
            try:
                found += [LocatedRecord(task, check(record, task), name) for record in entries.READERS[task](entry)]
            except DataError as error:
                findings.append(Finding("schema", error.what, name, record=str(entry["id"]), field=error.field))
            except (AttributeError, KeyError, TypeError) as error:
                part = entries.PART[task]
                findings.append(
                    Finding("schema", f"not as in the format: {error}", name, record=str(entry["id"]), field=part)
                )
    return found, findings
