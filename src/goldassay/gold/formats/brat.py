"""``brat``: standoff annotation, a folder of ``.txt`` files with an ``.ann`` beside each.

It reads T (text-bound, also discontinuous), R (relations), N (references to knowledge bases) and A (attributes), and
leaves notes and equivalences alone; an E (event) stands for its trigger where an R, N or A names it. A T is an entity;
with an N it is a link, and with the attribute ``NIL`` a link to nothing; an R is a triple of the texts of its
arguments. In brat a line break inside a span reads as a space.

Source: https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, Record
from goldassay.gold.formats import Format, Source, SourceRecord
from goldassay.gold.records import SPANS, candidates, covered, span_fault
from goldassay.gold.shapes import Side

SPACE = re.compile(r"\s")
UNSAFE = re.compile(r"^[/\\]|(?:^|[/\\])\.\.(?:[/\\]|$)|^[A-Za-z]:|\0")


def _annotations(source: Source) -> Iterator[SourceRecord]:
    """One record a document; its id is the file's path in the folder, without the extension."""
    path = source.path
    folder = path if path.is_dir() else path.parent
    annotated = sorted(path.rglob("*.ann")) if path.is_dir() else [path.with_suffix(".ann")]
    if not annotated:
        raise DataError("no .ann file in this folder", file=path)
    for file in annotated:
        with source.checking("unreadable"):
            for member in (file, file.with_suffix(".txt")):
                if path.is_dir() and not member.resolve().is_relative_to(folder.resolve()):
                    raise DataError("a link that leads out of the folder; put the file itself there", file=member)
            yield SourceRecord(_record(file, file.relative_to(folder).with_suffix("").as_posix(), source), file=file)


def _record(file: Path, name: str, source: Source) -> Fields:
    """The record of an ``.ann`` file."""
    text_file = file.with_suffix(".txt")
    gold = source.side == "gold"
    text = files.text(text_file) if gold or text_file.exists() else None
    spans = {}
    triggers: dict[str, str] = {}  # the T of each E
    ids: dict[str, dict[str, list[str]]] = {}  # of each span that is linked, its ids by knowledge base
    relations: list[tuple[int, str, list[str]]] = []
    for number, row in enumerate(files.lines(file) if file.exists() and file.stat().st_size else (), start=1):
        with source.checking("unreadable", file=file, line=number, record=name):
            key, body, *words = row.split("\t") if row[:1] in ("T", "R", "N", "A", "M", "E") else ("", "")
            kind, _, arguments = body.partition(" ")
            if key in spans:
                raise DataError(f"{key} is there twice")
            if key[:1] == "T":
                quoted = words[0]
                pieces = [tuple(map(int, piece.split())) for piece in arguments.split(";")]
                span: Fields = {"start": pieces[0][0], "end": pieces[-1][1], "type": kind, "text": quoted}
                if len(pieces) > 1:
                    span["fragments"] = pieces
                if text is not None:  # an audit proves the span itself
                    actual = covered(text, span)
                    if span["end"] <= len(text) and SPACE.sub(" ", actual) == SPACE.sub(" ", quoted):
                        span["text"] = actual
                    elif not source.audit and (message := span_fault(text, span)):
                        raise DataError(message)
                spans[key] = span
            elif key[:1] == "E":
                triggers[key] = kind.partition(":")[2]
            elif key[:1] == "R":
                relations.append((number, kind, [argument.partition(":")[2] for argument in arguments.split()]))
            elif key[:1] == "N":
                target, reference = arguments.split()
                base, _, identifier = reference.partition(":")
                ids.setdefault(target, {}).setdefault(base.lower(), []).append(identifier)
            elif kind == "NIL":
                ids.setdefault(arguments.strip(), {})
    record: Fields = {"id": name, **({"text": text} if gold else {})}
    if source.task == "extraction":
        return record | {"entities": list(spans.values())}
    if source.task == "triples":
        record["triples"] = []
        for number, predicate, ends in relations:
            with source.checking("reference", file=file, line=number, record=name):
                subject, value = [spans[triggers.get(end, end)]["text"] for end in ends]
                triple = {"subject": subject, "predicate": predicate, "object": value}
                record["triples"].append(triple)
        return record
    record["links"] = []
    for key, by_base in ids.items():
        with source.checking("reference", file=file, record=name):
            linked = {"ids": by_base} if gold else {"candidates": candidates(by_base)}
            record["links"].append(spans[triggers.get(key, key)] | linked)
    record["links"].sort(key=lambda link: (link["start"], link["end"]))
    return record


def _write(path: str | Path, records: Iterable[Record], task: str, side: Side) -> None:
    """Write a folder of ``.txt`` and ``.ann`` files; entities and links, spans with their types."""
    for record in records:
        name = record["id"]
        text = record.get("text")
        if not name or UNSAFE.search(name):
            raise DataError("this id cannot be the name of a file inside the folder", record=name)
        if text is not None:
            files.save(Path(path) / f"{name}.txt", text)
        lines = []
        notes = 0
        for number, span in enumerate(record[SPANS[task]], start=1):
            kind = span.get("type") or "Mention"
            if kind.split() != [kind]:
                raise DataError(f"a type with white space ({kind!r}) is not allowed in brat", record=name)
            pieces = span.get("fragments") or [(span["start"], span["end"])]
            places = ";".join(f"{start} {end}" for start, end in pieces)
            words = SPACE.sub(" ", span.get("text", "") if text is None else covered(text, span))
            lines.append(f"T{number}\t{kind} {places}\t{words}\n")
            ids = [
                f"{base}:{identifier}"
                for base, identifiers in span.get("ids", {}).items()
                for identifier in identifiers
            ]
            ids += [f"{candidate.get('kb', 'wikidata')}:{candidate['id']}" for candidate in span.get("candidates", [])]
            for reference in ids:
                notes += 1
                lines.append(f"N{notes}\tReference T{number} {reference}\t{words}\n")
            if task == "linking" and not ids:
                lines.append(f"A{number}\tNIL T{number}\n")
        files.save(Path(path) / f"{name}.ann", "".join(lines))


BRAT_FORMAT = Format(("extraction", "linking", "triples"), _annotations, _write, written=tuple(SPANS))
