"""Findings of an audit, and the repair of those that have one right answer.

`located` reads every record by itself, so that one bad line does not hide the next one's faults. `repaired` writes the
copy that ``gold validate --fix`` asks for: only offsets and edges of spans are changed there.
"""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Unpack

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError, StorageError
from goldassay.files import Faults
from goldassay.gold import formats
from goldassay.gold.formats import ReadOptions, entries
from goldassay.gold.reading import rows, source_of
from goldassay.gold.records import SPANS

KINDS = {
    "unreadable": "a file or a line that cannot be read",
    "schema": "a record that does not have its task's shape",
    "offset": "a span that is not where it says",
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
    "reference": "a document, passage or fact that does not exist",
    "count": "a declared count that differs from the real one",
    "language": "a language that is not declared, or not a language tag",
    "promise": "a promise of the card that is not kept",
    "text": "an empty text, or characters that do not belong in one",
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

    def finding(
        self, kind: str, message: str, field: str | None = None, fix: Mapping[str, object] | None = None
    ) -> Finding:
        """A fault of this record."""
        return Finding(kind, message, self.file, self.line, str(self.record["id"]), field, fix)


RowsByTask = Mapping[str, Sequence[LocatedRecord]]


def located(
    path: Path, task: str, name: str, format: str | None = None, **options: Unpack[ReadOptions]
) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, and what cannot be read in it; ``name`` is how findings call the file."""
    faults = Faults(math.inf)

    def shown(file: object) -> str:
        """A file of a folder by its place in it."""
        if not path.is_dir() or file in (None, path):
            return name
        return ("" if name == "." else f"{name}/") + Path(str(file)).relative_to(path).as_posix()

    records: list[LocatedRecord] = []
    try:
        source = source_of(path, task, "gold", format, faults=faults, audit=True, **options)
        records += (LocatedRecord(task, row.record, shown(row.file), row.line) for row in rows(source))
    except DataError as error:
        faults.report(error)
    return records, [unreadable(e, shown(e.file), kind) for e, kind in zip(faults.errors, faults.kinds, strict=True)]


def unreadable(error: DataError, name: str, kind: str = "unreadable") -> Finding:
    """A reader's error as a finding."""
    record = None if error.record is None else str(error.record)
    return Finding(kind, error.what, name, error.line, record, error.field)


def repaired(source: Path, target: Path, findings: Iterable[Finding]) -> int:
    """Write a copy of ``source`` (a file or a folder) with the fixes of the findings; returns how many were made."""
    if target.resolve() == source.resolve() or target.resolve().is_relative_to(source.resolve()):
        raise GoldassayError(f"the repaired copy needs a place of its own, not {target}")
    if target.exists() and (target.is_dir() or source.is_dir()):
        raise GoldassayError(f"{target} exists already; name a new place for the repaired copy")
    fixes = [finding for finding in findings if finding.fix]
    if not source.is_dir():
        return _repair(source, target, fixes)
    try:
        shutil.copytree(source, target)
    except OSError as error:  # shutil's own Error is one too, with a list of files in place of a reason
        reason = error.strerror or "not all files could be copied"
        raise StorageError(f"{target}: cannot be written: {reason}") from None
    names = dict.fromkeys(fix.file for fix in fixes)
    return sum(_repair(target / name, target / name, [fix for fix in fixes if fix.file == name]) for name in names)


def _repair(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    """Repair one file; lines without a fix stay byte for byte."""
    kind = formats.by_name(source)
    if kind == "jsonl":
        lines = files.text(source).split("\n")
        for fix in fixes:
            raw = lines[(fix.line or 0) - 1]
            record = jsonl.value(raw, file=source, line=fix.line)
            field, index = _index(fix)
            if field == "answers":
                record["answer_starts"][index] = (fix.fix or {})["start"]
            else:
                record[field][index].update(fix.fix or {})
            lines[(fix.line or 0) - 1] = json.dumps(record, ensure_ascii=False) + ("\r" if raw.endswith("\r") else "")
        files.save(target, "\n".join(lines))
        return len(fixes)
    if kind == "json":
        content = files.json_value(source)
        repairs = list(_entry_repairs(content, fixes))
        files.save_json(target, content)
        return len(repairs)
    raise DataError("a repaired copy is written of jsonl and json; convert it first (gold convert)", file=source)


def _index(fix: Finding) -> tuple[str, int]:
    """Field and place of ``entities[3]``."""
    name, _, rest = str(fix.field).partition("[")
    return name, int(rest.rstrip("]"))


def _entry_repairs(content: Any, fixes: Sequence[Finding]) -> Iterator[Finding]:
    """Repair whole entries; only annotated spans have offsets of their own, links are where these are."""
    for entry in content if isinstance(content, list) else [content]:
        spans = entry.get(entries.PARTS["extraction"]) or []
        for fix in fixes:
            field, index = _index(fix)
            if field != SPANS["extraction"] or fix.record != str(entry.get("id")) or index >= len(spans):
                continue
            # Two entries may have one id: only the words that are there are put there.
            values = fix.fix or {}
            if entry["text"].startswith(values.get("text", spans[index].get("text")) or "\0", values["start"]):
                spans[index].update(values)
                yield fix
