"""``brat``: standoff annotation, a folder of ``.txt`` files with an ``.ann`` beside each.

Read are T (text-bound, discontinuous ones too), R (relations), N (references to knowledge bases) and A
(attributes); events, notes and equivalences are left alone. A T is an entity; with an N it is a link, and with the
attribute ``NIL`` a link to nothing; an R is a triple of the texts of its arguments. In brat a line break inside a span
reads as a space. A gold record of entities keeps the other lines under ``meta``, so that writing gives them back.

Source: https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold.records import SPANS, Side, covered, fault

TASKS = ("extraction", "linking", "triples")
BOUND = re.compile(r"(T\S+)\t(\S+) (\d{1,15} \d{1,15}(?:;\d{1,15} \d{1,15})*)\t(.*)$")
RELATION = re.compile(r"(R\S+)\t(\S+) Arg1:(\S+) Arg2:(\S+)\s*$")
REFERENCE = re.compile(r"(N\S+)\tReference (\S+) ([^:\s]+):(\S+)(?:\t.*)?$")
ATTRIBUTE = re.compile(r"([AM]\S+)\t(\S+) (\S+)(?: (\S+))?\s*$")
PATTERNS = {"T": BOUND, "R": RELATION, "N": REFERENCE, "A": ATTRIBUTE, "M": ATTRIBUTE}
LINES = "brat"  # where ``meta`` holds the lines
SPACE = re.compile(r"\s")
UNSAFE = re.compile(r"^[/\\]|(?:^|[/\\])\.\.(?:[/\\]|$)|^[A-Za-z]:|\0")


@dataclass(slots=True)
class Standoff:
    """The annotations of one document."""

    spans: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    nil: set[str] = field(default_factory=set)
    relations: list[tuple[str, str, str, int]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def meta(self) -> dict[str, object]:
        """The lines in their order, a span's as its key alone; nothing where T1, T2 and so on are all."""
        plain = [f"T{number}" for number in range(1, len(self.spans) + 1)]
        return {} if self.lines == plain else {"meta": {LINES: self.lines}}


def read(path: str | Path, task: str, side: Side = "gold", *, wrong: Wrong = stop) -> list[dict[str, object]]:
    """One record a document; its id is the file's path in the folder, without the extension."""
    if task not in TASKS:
        raise GoldassayError(f"format brat holds {', '.join(TASKS)}, not {task}")
    place = Path(path)
    if not place.exists():
        raise DataError("no such file or folder", file=path)
    found = sorted(place.rglob("*.ann")) if place.is_dir() else [place.with_suffix(".ann")]
    if not found:
        raise DataError("no .ann file in this folder", file=path)
    base = place if place.is_dir() else place.parent
    records = []
    inside = base.resolve()
    for file in found:
        try:
            for one in (file, file.with_suffix(".txt")):
                if place.is_dir() and not one.resolve().is_relative_to(inside):
                    raise DataError("a link that leads out of the folder; put the file itself there", file=one)
            records.append(_record(file, file.relative_to(base).with_suffix("").as_posix(), task, side, wrong))
        except DataError as error:
            wrong(error)
    return records


def _record(file: Path, name: str, task: str, side: Side, wrong: Wrong) -> dict[str, Any]:
    beside = file.with_suffix(".txt")
    text = files.text(beside) if beside.exists() or side == "gold" else None
    marks = parse(file, name, text, wrong)
    record: dict[str, Any] = {"id": name}
    if text is not None and side == "gold":
        record["text"] = text
    if task == "extraction":
        return record | {"entities": list(marks.spans.values())} | (marks.meta() if side == "gold" else {})
    if task == "triples":
        return record | {"triples": list(_triples(marks, file, name, wrong))}
    return record | {"links": [_link(marks, key, side) for key in marks.spans if key in marks.ids or key in marks.nil]}


def parse(file: Path, name: str, text: str | None, wrong: Wrong = stop) -> Standoff:
    """The lines of an ``.ann`` file, spans proved against the text (an audit proves them itself)."""
    marks = Standoff()
    rows = files.lines(file) if file.exists() and file.stat().st_size else []
    for number, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        if row[0] not in PATTERNS:
            marks.lines.append(row)
            continue
        found = PATTERNS[row[0]].match(row)
        if found is None:
            wrong(DataError(f"not a brat annotation: {row[:60]!r}", file=file, line=number, record=name))
            continue
        marks.lines.append(found[1] if row[0] == "T" else row)
        if row[0] == "T":
            if found[1] in marks.spans:
                wrong(DataError(f"{found[1]} stands twice", file=file, line=number, record=name), "id")
            else:
                marks.spans[found[1]] = _span(found, file, number, name, text, proved=wrong is stop)
        elif row[0] == "R":
            marks.relations.append((found[2], found[3], found[4], number))
        elif row[0] == "N":
            marks.ids.setdefault(found[2], {}).setdefault(found[3].lower(), []).append(found[4])
        elif found[2] == "NIL":
            marks.nil.add(found[3])
    for key in sorted({*marks.ids, *marks.nil}):
        if key.startswith("T") and key not in marks.spans:
            wrong(
                DataError(f"a reference or NIL is about {key}, which is not here", file=file, record=name), "reference"
            )
    return marks


def _span(
    found: re.Match[str], file: Path, number: int, name: str, text: str | None, *, proved: bool
) -> dict[str, Any]:
    pieces = [(int(start), int(end)) for start, end in (piece.split() for piece in found[3].split(";"))]
    span: dict[str, Any] = {"start": pieces[0][0], "end": pieces[-1][1], "type": found[2], "text": found[4]}
    if len(pieces) > 1:
        span["fragments"] = pieces
    if text is not None:
        stands = covered(text, span)
        if span["end"] <= len(text) and SPACE.sub(" ", stands) == SPACE.sub(" ", found[4]):
            span["text"] = stands
        elif proved and (what := fault(text, span)):
            raise DataError(what, file=file, line=number, record=name, field=found[1])
    return span


def _link(marks: Standoff, key: str, side: Side) -> dict[str, Any]:
    span = {name: marks.spans[key][name] for name in ("start", "end", "text", "type")}
    ids = marks.ids.get(key, {})
    if side == "gold":
        return {**span, "ids": ids}
    return {**span, "candidates": [{"id": one, "kb": kb} for kb, found in ids.items() for one in found]}


def _triples(marks: Standoff, file: Path, name: str, wrong: Wrong) -> Iterator[dict[str, Any]]:
    for predicate, *ends, line in marks.relations:
        absent = next((key for key in ends if key not in marks.spans), None)
        if absent is None:
            first, second = (marks.spans[key]["text"] for key in ends)
            yield {"subject": first, "predicate": predicate, "object": second}
        else:
            said = f"relation {predicate} names {absent}, which is not here"
            wrong(DataError(said, file=file, line=line, record=name), "reference")


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write a folder of ``.txt`` and ``.ann`` files; entities and links, spans with their types."""
    if task not in ("extraction", "linking"):
        raise GoldassayError("format brat is written for extraction and linking")
    for record in records:
        name = record["id"]
        if not name or UNSAFE.search(name):
            raise DataError("this id cannot be the name of a file inside the folder", record=name)
        file = Path(path) / f"{name}.txt"
        if "text" in record:
            files.save(file, record["text"])
        files.save(file.parent / (file.name.removesuffix(".txt") + ".ann"), _annotations(record, task))


def _annotations(record: Mapping[str, Any], task: str) -> str:
    spans, notes = _lines(record, task)
    kept = (record.get("meta") or {}).get(LINES) if task == "extraction" else None
    keys = [line for line in kept if re.fullmatch(r"T\S+", line)] if kept else []
    if kept and len(keys) == len(spans):
        lines = {key: line.partition("\t")[2] for key, line in zip(keys, spans, strict=True)}
        return "".join(f"{line}\t{lines[line]}" if line in lines else f"{line}\n" for line in kept)
    return "".join([*spans, *notes])


def _lines(record: Mapping[str, Any], task: str) -> tuple[list[str], list[str]]:
    """The lines of the spans, and those of their references."""
    lines, notes = [], []
    for number, span in enumerate(record[SPANS[task]], start=1):
        kind = span.get("type") or "Mention"
        if kind.split() != [kind]:
            raise DataError(f"a type with white space ({kind!r}) cannot stand in brat", record=record["id"])
        places = ";".join(f"{start} {end}" for start, end in span.get("fragments") or [(span["start"], span["end"])])
        stands = covered(record["text"], span) if "text" in record else span.get("text", "")
        lines.append(f"T{number}\t{kind} {places}\t{SPACE.sub(' ', stands)}\n")
        if task == "linking":
            ids = [(kb, one) for kb, found in span.get("ids", {}).items() for one in found]
            ids += [(found.get("kb", "wikidata"), found["id"]) for found in span.get("candidates", [])]
            notes += [(f"Reference T{number} {kb}:{one}", stands) for kb, one in ids]
            if not ids:
                lines.append(f"A{number}\tNIL T{number}\n")
    return lines, [f"N{number}\t{note}\t{SPACE.sub(' ', text)}\n" for number, (note, text) in enumerate(notes, start=1)]
