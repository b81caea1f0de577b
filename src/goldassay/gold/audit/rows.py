"""What an audit says: findings, and what could be counted; how it reads; and what it mends.

Every record is read by itself, so that one bad line does not hide the next one's faults. `repaired` is the copy that
``--fix`` writes: only what has one right answer is mended there (offsets, edges); the rest stays as it is.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Unpack

from pydantic import ValidationError

from goldassay import files, jsonl
from goldassay.exceptions import DataError, GoldassayError, StorageError
from goldassay.files import go_on
from goldassay.gold import anyfields, formats
from goldassay.gold.formats import ReadOptions, brat, entries, questions
from goldassay.gold.reading import TOKENISED, given
from goldassay.gold.records import SPANS, adapter, check, complaints
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

    def state(self) -> dict[str, object]:
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
    path: Path,
    task: str,
    name: str,
    format: str | None = None,
    column: str | None = None,
    **options: Unpack[ReadOptions],
) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, and what cannot be read in it; ``name`` is how findings call the file.

    Args:
        path: The file.
        task: The task.
        format: The format; told by the file without one.
        column: The column of tags.
    """
    renamed = anyfields.mapping(options.pop("map", None))
    try:
        if task not in TASKS or renamed:
            return [LocatedRecord(task, record, name) for record in anyfields.read(path, task, renamed, format)], []
        kind = format or formats.guess(path, task)
        asked = given(kind, task, column, options)
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
    path: Path, task: str, name: str, format: str, options: Mapping[str, object]
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


def repaired(source: Path, target: Path, findings: Iterable[Finding], name: str | None = None) -> int:
    """Write a copy of ``source`` (a file or a folder) with the fixes of the findings; how many were made."""
    if target.resolve() == source.resolve() or target.resolve().is_relative_to(source.resolve()):
        raise GoldassayError(f"the repaired copy needs a place of its own, not {target}")
    if target.exists() and (target.is_dir() or source.is_dir()):
        raise GoldassayError(f"{target} exists already; name a new place for the repaired copy")
    fixes = [found for found in findings if found.fix]
    if source.is_dir():
        try:
            shutil.copytree(source, target)
        except OSError as error:  # shutil's own Error is one too, with a list of files in place of a reason
            why = error.strerror or "not all files could be copied"
            raise StorageError(f"{target}: cannot be written: {why}") from None
        return sum(
            _mend_file(target / file, target / file, [found for found in fixes if found.file == file])
            for file in dict.fromkeys(found.file for found in fixes)
        )
    return _mend_file(source, target, fixes)


def _mend_file(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    kind = formats.by_name(source)
    if kind == "jsonl":
        return _mend_lines(source, target, fixes)
    if kind == "json":
        content = files.json_value(source)
        made = (
            _mend_squad(content, fixes)
            if isinstance(content, dict) and "data" in content
            else _mend_entries(content, fixes)
        )
        files.save_json(target, content)
        return made
    if kind == "brat":
        return _mend_standoff(source, target, fixes)
    raise DataError("a repaired copy is written of jsonl, json and brat; convert it first (gold convert)", file=source)


def _mend_lines(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    """Lines without a fix stay byte for byte."""
    content = files.text(source)
    lines = content.split("\n")
    by_line: dict[int, list[Finding]] = {}
    for found in fixes:
        by_line.setdefault(found.line or 0, []).append(found)
    for number, here in by_line.items():
        raw = lines[number - 1]
        record = jsonl.value(raw, file=source, line=number)
        for found in here:
            _mend(record, found)
        lines[number - 1] = json.dumps(record, ensure_ascii=False) + ("\r" if raw.endswith("\r") else "")
    files.save(target, "\n".join(lines))
    return len(fixes)


def _mend(record: dict[str, Any], found: Finding) -> None:
    field, _, rest = str(found.field).partition("[")
    index, fix = int(rest.rstrip("]")), found.fix or {}
    if field == "answers":
        record["answer_starts"][index] = fix["start"]
    else:
        record[field][index].update(fix)


def _mend_entries(content: Any, fixes: Sequence[Finding]) -> int:
    """Mend the founding format's entries in place."""
    made, name = 0, SPANS["extraction"]
    for entry in content if isinstance(content, list) else [content]:
        spans = entry.get(entries.PART["extraction"]) or []
        for found in fixes:
            field, _, rest = str(found.field).partition("[")
            # Only annotated spans have offsets of their own; links stand where these do.
            if field == name and found.record == str(entry.get("id")) and found.fix:
                span = spans[int(rest.rstrip("]"))] if int(rest.rstrip("]")) < len(spans) else {}
                # Two entries may have one id: only what stands there is put there.
                if entry["text"].startswith(found.fix.get("text", span.get("text")) or "\0", found.fix["start"]):
                    _mend({name: spans}, found)
                    made += 1
    return made


def _mend_squad(content: Any, fixes: Sequence[Finding]) -> int:
    """Mend the starts of SQuAD's answers in place."""
    by_id = {(found.record, found.field): found for found in fixes}
    made = 0
    for article in content["data"]:
        for paragraph in article.get("paragraphs", []):
            for qa in paragraph.get("qas", []):
                for index, answer in enumerate(qa.get("answers", [])):
                    found = by_id.get((str(qa.get("id")), f"answers[{index}]"))
                    # Two questions may have one id: only what stands there is put there.
                    if found and found.fix and paragraph["context"].startswith(answer["text"], found.fix["start"]):
                        answer["answer_start"] = found.fix["start"]
                        made += 1
    return made


def _mend_standoff(source: Path, target: Path, fixes: Sequence[Finding]) -> int:
    """The lines of an ``.ann`` file with mended offsets; the others stay byte for byte."""
    lines = files.text(source).split("\n")
    marks = brat.parse(source, source.stem, None, go_on)
    linked = [key for key in marks.spans if key in marks.ids or key in marks.nil]
    keys = {SPANS["extraction"]: list(marks.spans), SPANS["linking"]: linked}
    mended: dict[str, Finding] = {}
    for found in fixes:
        field, _, rest = str(found.field).partition("[")
        mended[keys[field][int(rest.rstrip("]"))]] = found
    for number, line in enumerate(lines):
        key, tab, rest = line.partition("\t")
        fix = mended[key].fix if tab and key in mended else None
        if fix:
            kind, words = rest.split(" ", 1)[0], fix.get("text", rest.partition("\t")[2])
            lines[number] = f"{key}\t{kind} {fix['start']} {fix['end']}\t{words}"
    files.save(target, "\n".join(lines))
    return len(mended)
