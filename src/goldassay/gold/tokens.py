"""Tokenised documents: tokens with the white space after them, so that text and character offsets can be rebuilt.

With one tag a token they become extraction records. The way back is here too: spans of characters as one cell a token,
for the writers of tokenised formats.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypedDict

from goldassay.exceptions import DataError
from goldassay.files import Wrong, stop
from goldassay.gold.records import Side
from goldassay.text import tagging, words


@dataclass(slots=True)
class Document:
    """Tokens of one document, one cell of annotation each.

    ``after`` is the white space behind a token and ``lines`` where it stood in the file; ``cells`` are the annotations
    of the column that was asked for, ``marks`` those of the column that bounds them; ``breaks`` are the indices at
    which a sentence begins. ``base`` and ``where`` are set when the tokens stand in another text: that text and their
    places in it. ``theirs`` are a system's own forms, where it was laid by position on tokens that it writes otherwise.
    ``short`` is how many rows had fewer cells than the header, where those count as ``_``.
    """

    id: str
    forms: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    breaks: list[int] = field(default_factory=lambda: [0])
    language: str | None = None
    strata: dict[str, str] = field(default_factory=dict)
    line: int = 0
    unnamed: bool = False
    base: str | None = None
    where: list[tuple[int, int]] | None = None
    theirs: list[str] | None = None
    short: int = 0

    def text(self) -> str:
        """The text; what follows the last token is left out."""
        if self.base is not None:
            return self.base
        parts: list[str] = []
        for form, space in zip(self.forms, self.after, strict=True):
            parts += (form, space)
        return "".join(parts[:-1])

    def starts(self) -> list[int]:
        """The offset at which each token starts."""
        return [start for start, _ in self.places()]

    def places(self) -> list[tuple[int, int]]:
        """The offsets of each token."""
        if self.where is not None:
            return self.where
        place, found = 0, []
        for form, space in zip(self.forms, self.after, strict=True):
            end = place + len(form)
            found.append((place, end))
            place = end + len(space)
        return found

    def sentences(self) -> list[tuple[int, int]]:
        """The ranges of tokens between the breaks."""
        bounds = sorted({0, *self.breaks, len(self.forms)})
        return list(pairwise(bounds))


def mentions(document: Document, spans: Sequence[tuple[int, int, str]]) -> list[dict[str, object]]:
    """Token spans (first, after the last, type) as records with character offsets and text.

    Where a system writes these tokens otherwise, its own stand, joined, under ``form``.
    """
    places, text, found = document.places(), document.text(), []
    for first, last, kind in spans:
        start, end = places[first][0], places[last - 1][1]
        made = {"start": start, "end": end, "type": kind, "text": text[start:end]}
        if document.theirs is not None:
            form = "".join(document.theirs[first:last])
            if form != "".join(document.forms[first:last]):
                made["form"] = form
        found.append(made)
    return found


def columns(column: str | None) -> tuple[str | None, str | None]:
    """The column of gold and that of predictions: ``2:3`` where they differ, as in one file that holds both.

    >>> columns("2:3"), columns("NEL-LIT"), columns(None)
    (('2', '3'), ('NEL-LIT', 'NEL-LIT'), (None, None))
    """
    gold, colon, pred = (column or "").partition(":")
    return (gold or None, pred or None) if colon else (column, column)


def once(documents: Sequence[Document], file: object, repeated: str = "error") -> None:
    """Raise if an id is used twice; ``repeated="number"`` names the second ``ID#2``, ``"keep"`` leaves it as it is."""
    if repeated == "keep":
        return
    seen: dict[str, list[int]] = {}
    for document in documents:
        lines = seen.setdefault(document.id, [])
        if lines and repeated != "number":
            raise DataError(
                f"duplicate document id (first in line {lines[0]}); give it its own, or read with repeated='number'",
                file=file,
                line=document.line,
                record=document.id,
            )
        lines.append(document.line)
        if len(lines) > 1:
            document.id = f"{document.id}#{len(lines)}"


class TokenOptions(TypedDict, total=False):
    """How the tags of tokens are read: the words of `records` that readers hand on."""

    scheme: str | None
    malformed: str
    tokens: bool


def records(
    documents: Sequence[Document],
    side: Side,
    *,
    file: object,
    scheme: str | None = None,
    malformed: str = "conlleval",
    sentences: bool = False,
    tokens: bool = False,
    wrong: Wrong = stop,
) -> list[dict[str, object]]:
    """One record a document; with ``sentences``, no entity crosses a sentence break.

    Args:
        documents: The tokenised documents.
        side: ``gold`` or ``pred``.
        file: The file that errors name.
        scheme: The tagging scheme, such as IOB2; told by the tags without one.
        malformed: How tags outside the scheme are read: ``conlleval`` or ``strict``.
        tokens: Whether records keep their tokenisation.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    name = tagging.named(scheme, {tag for document in documents for tag in document.cells})
    return [
        base(document, side, tokens)
        | {"entities": mentions(document, spans(document, name, malformed, file, sentences, wrong))}
        for document in documents
    ]


def base(document: Document, side: Side, tokens: bool = False) -> dict[str, object]:
    """Id, and on gold's side language, strata and text, and the tokenisation when it is asked for."""
    record: dict[str, Any] = {"id": document.id}
    if side == "gold":
        if document.language:
            record["language"] = document.language
        if document.strata:
            record["strata"] = dict(document.strata)
        record["text"] = document.text()
        if tokens:
            record["tokens"] = document.places()
    return record


def spans(
    document: Document, scheme: str, malformed: str, file: object, sentences: bool, wrong: Wrong = stop
) -> tagging.Spans:
    """The spans of a document's tags; a tag outside the scheme is an error with its line.

    Args:
        malformed: How tags outside the scheme are read: ``conlleval`` or ``strict``.
        file: The file that errors name.
        sentences: Whether a sentence break ends an entity.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    faults = {tag: error for tag in set(document.cells) if (error := _fault(tag, scheme))}
    for tag, line in zip(document.cells, document.lines, strict=True) if faults else ():
        if tag in faults:
            wrong(faults[tag].at(file=file, line=line, record=document.id), "label")
    cells = ["O" if tag in faults else tag for tag in document.cells] if faults else document.cells
    found: tagging.Spans = []
    for first, last in document.sentences() if sentences else [(0, len(cells))]:
        here = tagging.spans(cells[first:last], scheme, malformed)
        found += [(first + start, first + end, kind) for start, end, kind in here]
    return found


def _fault(tag: str, scheme: str) -> DataError | None:
    try:
        tagging.split(tag, scheme)
    except DataError as error:
        return error
    return None


LETTERS = {
    "IOB1": ("I", "I", "I", "I"),
    "IOB2": ("B", "I", "I", "B"),
    "IOE": ("I", "I", "E", "E"),
    "IOE1": ("I", "I", "I", "I"),
    "IOE2": ("I", "I", "E", "E"),
    "IOBES": ("B", "I", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
}
Place = tuple[int, int]


def places(record: Mapping[str, Any], field: str) -> list[Place]:
    """The tokens of a record: its own, or words and signs, cut where a span begins or ends.

    >>> places({"text": "L'année 1800", "entities": [{"start": 8, "end": 10}]}, "entities")
    [(0, 1), (1, 2), (2, 7), (8, 10), (10, 12)]
    """
    own = record.get("tokens")
    found = [(start, end) for start, end in own] if own else words.places(record["text"])
    edges = sorted({edge for span in record[field] for edge in (span["start"], span["end"])})
    out: list[Place] = []
    for start, end in found:
        inner = [edge for edge in edges if start < edge < end]
        bounds = [start, *inner, end]
        out += pairwise(bounds)
    return out


def covered(spans: Sequence[Mapping[str, Any]], tokens: Sequence[Place], record: object) -> list[tuple[int, int, int]]:
    """For each span its tokens (first, after the last) and its number, in order; overlaps cannot be told by tags."""
    firsts = {start: index for index, (start, _) in enumerate(tokens)}
    lasts = {end: index + 1 for index, (_, end) in enumerate(tokens)}
    found = []
    for number, span in enumerate(spans):
        if span.get("fragments") or span["start"] not in firsts or span["end"] not in lasts:
            raise DataError("this span is not a run of tokens; write jsonl or brat", record=record, field=f"[{number}]")
        found.append((firsts[span["start"]], lasts[span["end"]], number))
    found.sort()
    for (_, end, _), (start, _, number) in pairwise(found):
        if start < end:
            raise DataError("this span overlaps another; write jsonl or brat", record=record, field=f"[{number}]")
    return found


def tags(
    spans: Sequence[tuple[int, int, str]], size: int, scheme: str = "IOB2", breaks: Container[int] = ()
) -> list[str]:
    """Tags of a sequence of tokens from spans (first, after the last, type) that do not overlap.

    ``breaks`` are the tokens with which a sentence begins: IOB1 and IOE1 mark neighbours within a sentence alone.

    >>> tags([(0, 2, "TOP"), (2, 3, "TOP")], 4)
    ['B-TOP', 'I-TOP', 'B-TOP', 'O']
    >>> tags([(0, 2, "TOP"), (2, 3, "TOP")], 4, "IOBES")
    ['B-TOP', 'E-TOP', 'S-TOP', 'O']
    """
    first, inner, last, single = LETTERS[scheme]
    found = ["O"] * size
    before: tuple[int, str] = (-1, "")
    for start, end, kind in spans:
        if any(character.isspace() for character in kind) or not kind:
            raise DataError(f"a type with white space ({kind!r}) cannot stand in a tag")
        letters = [single] if end - start == 1 else [first, *[inner] * (end - start - 2), last]
        if before == (start, kind) and start not in breaks:
            if scheme == "IOB1":
                letters[0] = "B"
            elif scheme == "IOE1":
                found[start - 1] = f"E-{kind}"
        found[start:end] = [f"{letter}-{kind}" for letter in letters]
        before = (end, kind)
    return found
