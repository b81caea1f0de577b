"""Tokenised documents: tokens with their tags and their offsets in the rebuilt text.

With one tag a token they become extraction records; a system's tokens are laid on gold's (`align`, `by_position`); and
for the writers of tokenised formats, spans of characters become one tag a token (`tags`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.text import tagging, words

OPTIONS = ("column", "scheme", "malformed", "tokens", "repeated")
Place = tuple[int, int]


class Token(NamedTuple):
    """A token: its offsets in the document's text, its form, its tag, the tag that bounds mentions, and its line."""

    start: int
    end: int
    form: str
    tag: str
    mark: str = "O"
    line: int = 0


@dataclass(slots=True)
class Document:
    """The tokens of one document; ``breaks`` are the indices at which a sentence begins.

    ``pieces`` are forms and the white space behind each. ``unnamed`` is a document without an id of its own, ``short``
    how many rows had fewer cells than the header.
    """

    id: str
    tokens: list[Token] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=lambda: [0])
    language: str | None = None
    strata: dict[str, str] = field(default_factory=dict)
    line: int = 0
    unnamed: bool = False
    short: int = 0
    size: int = 0

    def add(self, form: str, tag: str, mark: str, line: int, space: str = " ") -> None:
        """Add a token.

        Args:
            form: Its form.
            tag: Its tag.
            mark: The tag that bounds mentions.
            line: Its line in the file.
            space: The white space behind it.
        """
        self.tokens.append(Token(self.size, self.size + len(form), form, tag, mark, line))
        self.pieces += (form, space)
        self.size += len(form) + len(space)

    def text(self) -> str:
        """The text; what follows the last token is left out."""
        return "".join(self.pieces[:-1])

    def tags(self) -> list[str]:
        """The tag of each token."""
        return [token.tag for token in self.tokens]

    def sentences(self) -> list[Place]:
        """The ranges of tokens between the breaks."""
        return list(pairwise(sorted({0, *self.breaks, len(self.tokens)})))


def mentions(document: Document, spans: Sequence[tuple[int, int, str]]) -> list[dict[str, Any]]:
    """Token spans (first, after the last, type) as records; ``form`` is the system's own spelling if it differs."""
    text, records = document.text(), []
    for first, last, kind in spans:
        tokens = document.tokens[first:last]
        start, end = tokens[0].start, tokens[-1].end
        mention = {"start": start, "end": end, "type": kind, "text": text[start:end]}
        form = "".join(token.form for token in tokens)
        if form != "".join(text[token.start : token.end] for token in tokens):
            mention["form"] = form
        records.append(mention)
    return records


def column_of(source: Source) -> str | None:
    """The column of tags: ``2:3`` is column 2 of gold and column 3 of predictions, as in one file that holds both.

    >>> column_of(Source(Path("x"), "extraction", "iob2", "pred", {"column": "2:3"}))
    '3'
    """
    column = source.option("column")
    gold, colon, pred = str(column or "").partition(":")
    return ((gold if source.side == "gold" else pred) or None) if colon else column


def check_ids(documents: Sequence[Document], source: Source, repeated: str = "error") -> None:
    """Raise if an id is used twice; with ``repeated="number"`` the second becomes ``ID#2``, ``"keep"`` leaves it."""
    repeated = "keep" if source.audit else source.option("repeated", repeated)
    lines: dict[str, list[int]] = {}
    for document in documents if repeated != "keep" else ():
        before = lines.setdefault(document.id, [])
        if before and repeated != "number":
            what = f"duplicate document id (first in line {before[0]}); give it its own, or read with repeated='number'"
            raise DataError(what, file=source.path, line=document.line, record=document.id)
        before.append(document.line)
        if len(before) > 1:
            document.id = f"{document.id}#{len(before)}"


def rows(
    documents: Sequence[Document], source: Source, *, sentences: bool = False, scheme: str | None = None
) -> Iterator[Row]:
    """One extraction record a document; with ``sentences`` no entity crosses a sentence break."""
    name = tagging.named(source.option("scheme", scheme), {tag for document in documents for tag in document.tags()})
    for document in documents:
        token_spans = spans(document, name, source, sentences)
        yield Row({**base(document, source), "entities": mentions(document, token_spans)}, document.line or None)


def base(document: Document, source: Source) -> dict[str, Any]:
    """Id, and on gold's side language, strata and text, and the tokenisation if the option ``tokens`` asks for it."""
    record: dict[str, Any] = {"id": document.id}
    if source.side == "gold":
        record |= {"language": document.language} if document.language else {}
        record |= {"strata": dict(document.strata)} if document.strata else {}
        record["text"] = document.text()
        if source.option("tokens"):
            record["tokens"] = [(token.start, token.end) for token in document.tokens]
    return record


def spans(document: Document, scheme: str, source: Source, sentences: bool) -> tagging.Spans:
    """The spans of a document's tags; a tag outside the scheme is a fault, and counts as outside."""
    clean: list[str] = []
    for token in document.tokens:
        clean.append("O")
        with source.checking("label", line=token.line, record=document.id):
            tagging.split(token.tag, scheme)
            clean[-1] = token.tag
    spans_of_tags: tagging.Spans = []
    for first, last in document.sentences() if sentences else [(0, len(clean))]:
        inside = tagging.spans(clean[first:last], scheme, source.option("malformed", "conlleval"))
        spans_of_tags += [(first + start, first + end, kind) for start, end, kind in inside]
    return spans_of_tags


def align(gold: Sequence[Document], system: Sequence[Document], *, file: str | Path) -> list[Document]:
    """Gold's documents with the system's tags: both must have the same characters, however they are cut into tokens.

    A named document that the system lacks is left out. If a file names no documents, its tokens are laid on all of
    gold's, one document after the other.
    """
    if any(document.unnamed for document in (*gold, *system)):
        return _lay(gold, [token for document in system for token in document.tokens], file)
    by_id = {document.id: document for document in gold}
    laid: list[Document] = []
    for document in system:
        if document.id not in by_id:
            what = "prediction for a document that gold does not have"
            raise DataError(what, file=file, line=document.line, record=document.id)
        laid += _lay([by_id[document.id]], document.tokens, file)
    return laid


def by_position(gold: Sequence[Document], system: Sequence[Document]) -> list[Document] | None:
    """A system's tags on gold's tokens one by one, whatever the words, as the HIPE scorer does; None if counts differ.

    They fit if there are as many documents with as many tokens in each, or if the system's file is one document with as
    many tokens as all of gold's: that one is cut by gold's lengths.
    """
    lengths = [len(document.tokens) for document in gold]
    tokens = [token for document in system for token in document.tokens]
    joined = len(system) == 1 and len(gold) > 1 and len(tokens) == sum(lengths)
    if not joined and [len(document.tokens) for document in system] != lengths:
        return None
    rest = iter(tokens)
    return [
        replace(document, tokens=[next(rest)._replace(start=own.start, end=own.end) for own in document.tokens])
        for document in gold
    ]


def _lay(gold: Sequence[Document], tokens: Sequence[Token], file: str | Path) -> list[Document]:
    """One run of system tokens over gold documents that follow each other, placed by their characters."""
    laid, place = [], 0
    for document in gold:
        placed, place = _placed(document, tokens, place, file)
        starts = [document.tokens[index].start for index in document.breaks[1:] if index < len(document.tokens)]
        breaks = [next((k for k, token in enumerate(placed) if token.start >= at), len(placed)) for at in starts]
        laid.append(replace(document, tokens=placed, breaks=[0, *breaks]))
    if place < len(tokens):
        what = f"the system goes on with {tokens[place].form!r} after gold's last token"
        raise DataError(what, file=file, line=tokens[place].line, record=gold[-1].id)
    return laid


def _placed(gold: Document, tokens: Sequence[Token], place: int, file: str | Path) -> tuple[list[Token], int]:
    """The system's tokens from ``place`` on at their characters in gold's text, and where this document's end."""
    text = gold.text()
    # Every character of gold's tokens with its offset; white space inside of tokens does not count.
    letters = [
        (at, number)
        for number, token in enumerate(gold.tokens)
        for at in range(token.start, token.end)
        if not text[at].isspace()
    ]
    placed: list[Token] = []
    done = 0
    while done < len(letters):
        if place == len(tokens):
            number = letters[done][1]
            what = f"the system ends before token {number + 1} ({gold.tokens[number].form!r})"
            raise DataError(what, file=file, record=gold.id)
        token = tokens[place]
        form = "".join(token.form.split())
        stretch = letters[done : done + len(form)]
        if "".join(text[at] for at, _ in stretch) != form:
            differing = (pair for pair, letter in zip(stretch, form, strict=False) if text[pair[0]] != letter)
            number = next(differing, stretch[-1])[1]
            what = f"token {number + 1} is {gold.tokens[number].form!r} in gold and {token.form!r} in the system"
            what += "; both files must hold the same text"
            raise DataError(what, file=file, line=token.line, record=gold.id)
        if stretch:
            first, last = stretch[0][0], stretch[-1][0] + 1
            placed.append(token._replace(start=first, end=last, form=text[first:last]))
        done += len(form)
        place += 1
    return placed, place


LETTERS = {
    "IOB1": ("I", "I", "I", "I"),
    "IOB2": ("B", "I", "I", "B"),
    "IOE": ("I", "I", "E", "E"),
    "IOE1": ("I", "I", "I", "I"),
    "IOE2": ("I", "I", "E", "E"),
    "IOBES": ("B", "I", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
}


def places(record: Mapping[str, Any], field: str) -> list[Place]:
    """The tokens of a record: its own, or words and signs, cut where a span begins or ends.

    >>> places({"text": "L'année 1800", "entities": [{"start": 8, "end": 10}]}, "entities")
    [(0, 1), (1, 2), (2, 7), (8, 10), (10, 12)]
    """
    own = record.get("tokens")
    tokens = [(start, end) for start, end in own] if own else words.places(record["text"])
    edges = sorted({edge for span in record[field] for edge in (span["start"], span["end"])})
    cut: list[Place] = []
    for start, end in tokens:
        cut += pairwise([start, *(edge for edge in edges if start < edge < end), end])
    return cut


def token_runs(
    spans: Sequence[Mapping[str, Any]], tokens: Sequence[Place], record: object
) -> list[tuple[int, int, Mapping[str, Any]]]:
    """The tokens of each span (first, after the last) with the span, in order; tags cannot tell overlaps apart."""
    firsts = {start: index for index, (start, _) in enumerate(tokens)}
    lasts = {end: index + 1 for index, (_, end) in enumerate(tokens)}
    runs = []
    for number, span in enumerate(spans):
        if span.get("fragments") or span["start"] not in firsts or span["end"] not in lasts:
            raise DataError("this span is not a run of tokens; write jsonl or brat", record=record, field=f"[{number}]")
        runs.append((firsts[span["start"]], lasts[span["end"]], number))
    runs.sort()
    for (_, end, _), (start, _, number) in pairwise(runs):
        if start < end:
            raise DataError("this span overlaps another; write jsonl or brat", record=record, field=f"[{number}]")
    return [(first, last, spans[number]) for first, last, number in runs]


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
    cells = ["O"] * size
    before: tuple[int, str] = (-1, "")
    for start, end, kind in spans:
        if any(character.isspace() for character in kind) or not kind:
            raise DataError(f"a type with white space ({kind!r}) cannot stand in a tag")
        letters = [single] if end - start == 1 else [first, *[inner] * (end - start - 2), last]
        if before == (start, kind) and start not in breaks:
            if scheme == "IOB1":
                letters[0] = "B"
            elif scheme == "IOE1":
                cells[start - 1] = f"E-{kind}"
        cells[start:end] = [f"{letter}-{kind}" for letter in letters]
        before = (end, kind)
    return cells
