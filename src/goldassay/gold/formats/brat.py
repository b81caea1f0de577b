"""``brat``: standoff annotation, a folder of ``.txt`` files with an ``.ann`` beside each.

It reads T (text-bound, also discontinuous), R (relations), N (references to knowledge bases) and A (attributes), and
leaves events, notes and equivalences alone. A T is an entity; with an N it is a link, and with the attribute ``NIL`` a
link to nothing; an R is a triple of the texts of its arguments. In brat a line break inside a span reads as a space. A
gold record of entities keeps the other lines under ``meta``, so that writing gives them back.

Source: https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.gold.records import SPANS, covered, span_fault
from goldassay.gold.shapes import Side

TASKS = ("extraction", "linking", "triples")
WRITTEN = ("extraction", "linking")
OPTIONS = ()
BOUND = re.compile(r"(T\S+)\t(\S+) (\d{1,15} \d{1,15}(?:;\d{1,15} \d{1,15})*)\t(.*)$")
RELATION = re.compile(r"(R\S+)\t(\S+) Arg1:(\S+) Arg2:(\S+)\s*$")
REFERENCE = re.compile(r"(N\S+)\tReference (\S+) ([^:\s]+):(\S+)(?:\t.*)?$")
ATTRIBUTE = re.compile(r"([AM]\S+)\t(\S+) (\S+)(?: (\S+))?\s*$")
PATTERNS = {"T": BOUND, "R": RELATION, "N": REFERENCE, "A": ATTRIBUTE, "M": ATTRIBUTE}
LINES = "brat"  # the key under ``meta`` that holds the lines
SPACE = re.compile(r"\s")
UNSAFE = re.compile(r"^[/\\]|(?:^|[/\\])\.\.(?:[/\\]|$)|^[A-Za-z]:|\0")


def rows(source: Source) -> Iterator[Row]:
    """One record a document; its id is the file's path in the folder, without the extension."""
    place = source.path
    if not place.exists():
        raise DataError("no such file or folder", file=place)
    base, several = (
        (place, sorted(place.rglob("*.ann"))) if place.is_dir() else (place.parent, [place.with_suffix(".ann")])
    )
    if not several:
        raise DataError("no .ann file in this folder", file=place)
    inside = base.resolve()
    for file in several:
        with source.checking("unreadable"):
            for part in (file, file.with_suffix(".txt")):
                if place.is_dir() and not part.resolve().is_relative_to(inside):
                    raise DataError("a link that leads out of the folder; put the file itself there", file=part)
            name = file.relative_to(base).with_suffix("").as_posix()
            yield Row(_record(file, name, source), file=file)


def _record(file: Path, name: str, source: Source) -> dict[str, Any]:
    beside = file.with_suffix(".txt")
    gold = source.side == "gold"
    text = files.text(beside) if gold or beside.exists() else None
    spans, ids, relations, lines = parse(file, source, name, text)
    record: dict[str, Any] = {"id": name, **({"text": text} if gold else {})}
    if source.task == "triples":
        return record | {"triples": list(_triples(relations, spans, file, source, name))}
    if source.task == "extraction":
        plain = [f"T{number}" for number in range(1, len(spans) + 1)]  # lines that writing makes by itself
        meta = {"meta": {LINES: lines}} if gold and lines != plain else {}
        return record | {"entities": list(spans.values()), **meta}
    links = []
    for key, span in spans.items():
        if key in ids:
            candidates = [
                {"id": identifier, "kb": base} for base, several in ids[key].items() for identifier in several
            ]
            links.append({**span, **({"ids": ids[key]} if gold else {"candidates": candidates})})
    return record | {"links": links}


Spans = dict[str, dict[str, Any]]
Relation = tuple[str, str, str, int]  # predicate, two keys of spans, line


def parse(
    file: Path, source: Source, name: str, text: str | None
) -> tuple[Spans, dict[str, dict[str, list[str]]], list[Relation], list[str]]:
    """The spans of an ``.ann`` file, the ids of those that are linked, relations, and the lines that are not spans.

    Spans are proved against the text, except in an audit, which does that itself.
    """
    spans: Spans = {}
    ids: dict[str, dict[str, list[str]]] = {}
    relations: list[Relation] = []
    lines: list[str] = []
    for number, row in enumerate(files.lines(file) if file.exists() and file.stat().st_size else (), start=1):
        if not row.strip():
            continue
        match = PATTERNS[row[0]].match(row) if row[0] in PATTERNS else None
        with source.checking("unreadable", file=file, line=number, record=name):
            if match is None and row[0] in PATTERNS:
                raise DataError(f"not a brat annotation: {row[:60]!r}")
            lines.append(match[1] if match and row[0] == "T" else row)
        if match is None:
            continue
        if row[0] == "T":
            with source.checking("id", file=file, line=number, record=name):
                if match[1] in spans:
                    raise DataError(f"{match[1]} stands twice")
                spans[match[1]] = _span(match, text, source.audit)
        elif row[0] == "R":
            relations.append((match[2], match[3], match[4], number))
        elif row[0] == "N":
            ids.setdefault(match[2], {}).setdefault(match[3].lower(), []).append(match[4])
        elif match[2] == "NIL":
            ids.setdefault(match[3], {})
    for key in sorted(key for key in ids if key.startswith("T")):
        with source.checking("reference", file=file, record=name):
            spans[key]
    return spans, ids, relations, lines


def _span(match: re.Match[str], text: str | None, audit: bool) -> dict[str, Any]:
    pieces = [(int(start), int(end)) for start, end in (piece.split() for piece in match[3].split(";"))]
    span: dict[str, Any] = {"start": pieces[0][0], "end": pieces[-1][1], "type": match[2], "text": match[4]}
    if len(pieces) > 1:
        span["fragments"] = pieces
    if text is not None:
        actual = covered(text, span)
        if span["end"] <= len(text) and SPACE.sub(" ", actual) == SPACE.sub(" ", match[4]):
            span["text"] = actual
        elif not audit and (message := span_fault(text, span)):
            raise DataError(message, field=match[1])
    return span


def _triples(
    relations: Iterable[Relation], spans: Spans, file: Path, source: Source, name: str
) -> Iterator[dict[str, Any]]:
    for predicate, *ends, line in relations:
        with source.checking("reference", file=file, line=line, record=name):
            subject, value = (spans[key]["text"] for key in ends)
            yield {"subject": subject, "predicate": predicate, "object": value}


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write a folder of ``.txt`` and ``.ann`` files; entities and links, spans with their types."""
    for record in records:
        name = record["id"]
        if not name or UNSAFE.search(name):
            raise DataError("this id cannot be the name of a file inside the folder", record=name)
        if "text" in record:
            files.save(Path(path) / f"{name}.txt", record["text"])
        spans, notes = _lines(record, task)
        lines = (record.get("meta") or {}).get(LINES) if task == "extraction" else None
        keys = [line for line in lines or () if re.fullmatch(r"T\S+", line)]
        if lines and len(keys) == len(spans):
            new = {key: "\t".join([key, *span.split("\t")[1:]]) for key, span in zip(keys, spans, strict=True)}
            content = "".join(new.get(line, f"{line}\n") for line in lines)
        else:
            content = "".join([*spans, *notes])
        files.save(Path(path) / f"{name}.ann", content)


def _lines(record: Mapping[str, Any], task: str) -> tuple[list[str], list[str]]:
    """The lines of the spans, and those of their references."""
    lines: list[str] = []
    notes: list[str] = []
    for number, span in enumerate(record[SPANS[task]], start=1):
        kind = span.get("type") or "Mention"
        if kind.split() != [kind]:
            raise DataError(f"a type with white space ({kind!r}) cannot stand in brat", record=record["id"])
        places = ";".join(f"{start} {end}" for start, end in span.get("fragments") or [(span["start"], span["end"])])
        words = SPACE.sub(" ", covered(record["text"], span) if "text" in record else span.get("text", ""))
        lines.append(f"T{number}\t{kind} {places}\t{words}\n")
        if task == "linking":
            ids = [(base, identifier) for base, several in span.get("ids", {}).items() for identifier in several]
            ids += [(candidate.get("kb", "wikidata"), candidate["id"]) for candidate in span.get("candidates", [])]
            for base, identifier in ids:
                notes.append(f"N{len(notes) + 1}\tReference T{number} {base}:{identifier}\t{words}\n")
            if not ids:
                lines.append(f"A{number}\tNIL T{number}\n")
    return lines, notes
