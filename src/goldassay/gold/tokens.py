"""Tokenised documents: tokens with their tags, as IOB2 and HIPE files have them.

With one tag a token they become extraction records; a system's tags are laid on gold's tokens (`align`); and for the
writers of tokenised formats, spans of characters become one tag a token (`token_runs`, `tags`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from goldassay._support.exceptions import DataError
from goldassay.gold.formats import Source, SourceRecord
from goldassay.gold.shapes import Fields, Record
from goldassay.text import spans as tagging
from goldassay.text import words

OPTIONS = ("column", "scheme", "malformed", "tokens")
Place = tuple[int, int]


class Token(NamedTuple):
    """A token: its form, its tag, its line, the tag that bounds mentions, the white space behind it.

    ``spelling`` is how a system wrote it that was laid on gold's.
    """

    form: str
    tag: str
    line: int
    mark: str = "O"
    space: str = " "
    spelling: str = ""


@dataclass
class Document:
    """The tokens of one document.

    ``named`` says whether the file names it, ``breaks`` are the tokens with which a sentence begins, ``facts`` its
    language and strata.
    """

    id: str
    line: int = 0
    named: bool = True
    tokens: list[Token] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The text; what follows the last token is left out."""
        pieces = [piece for token in self.tokens for piece in (token.form, token.space)]
        return "".join(pieces[:-1])

    def places(self) -> list[Place]:
        """The offsets of each token in the text."""
        starts = accumulate((len(token.form + token.space) for token in self.tokens), initial=0)
        return [(start, start + len(token.form)) for start, token in zip(starts, self.tokens, strict=False)]

    def record(self, source: Source) -> Fields:
        """Its id, and on gold's side language, strata, text, and its tokens if the option ``tokens`` asks for them."""
        if source.side == "pred":
            return {"id": self.id}
        strata = dict(self.facts)
        language = strata.pop("language", None)
        tokens = self.places() if source.option("tokens") else None
        record = {"id": self.id, "language": language, "strata": strata, "text": self.text(), "tokens": tokens}
        return {name: value for name, value in record.items() if value or name == "text"}

    def mentions(self, spans: Sequence[tuple[int, int, str]]) -> list[Fields]:
        """Token spans (first, after the last, type) as records; ``form`` is a system's own spelling if it differs."""
        text = self.text()
        places = self.places()
        records = []
        for first, last, kind in spans:
            start = places[first][0]
            end = places[last - 1][1]
            mention = {"start": start, "end": end, "type": kind, "text": text[start:end]}
            covered = self.tokens[first:last]
            spelling = "".join(token.spelling or token.form for token in covered)
            if spelling != "".join(token.form for token in covered):
                mention["form"] = spelling
            records.append(mention)
        return records


def column_of(source: Source) -> str | None:
    """The column of tags: ``2:3`` is column 2 of gold and column 3 of predictions, as in one file that holds both.

    >>> column_of(Source(Path("x"), "extraction", "iob2", "pred", {"column": "2:3"}))
    '3'
    """
    column: str | None = source.option("column")
    gold, colon, pred = str(column or "").partition(":")
    if not colon:
        return column
    return (gold if source.side == "gold" else pred) or None


def rows(documents: Sequence[Document], source: Source, *, scheme: str | None = None) -> Iterator[SourceRecord]:
    """One extraction record a document; no entity crosses a sentence break."""
    tags = {token.tag for document in documents for token in document.tokens}
    name = tagging.named(source.option("scheme", scheme), tags)
    for document in documents:
        spans = document.mentions(_spans(document, name, source))
        yield SourceRecord({**document.record(source), "entities": spans}, document.line or None)


def _spans(document: Document, scheme: str, source: Source) -> tagging.Spans:
    """The spans of a document's tags; a tag outside the scheme is a fault, and counts as outside."""
    clean: list[str] = []
    for token in document.tokens:
        clean.append("O")
        with source.checking("label", line=token.line, record=document.id):
            tagging.split(token.tag, scheme)
            clean[-1] = token.tag
    spans: tagging.Spans = []
    for first, last in pairwise([0, *document.breaks, len(clean)]):
        inside = tagging.spans(clean[first:last], scheme, source.option("malformed", "conlleval"))
        spans += [(first + start, first + end, kind) for start, end, kind in inside]
    return spans


def align(
    gold: Sequence[Document], system: Sequence[Document], file: str | Path, *, by_position: bool = False
) -> list[Document]:
    """Gold's documents with the system's tags: both have the same characters, however they are cut into tokens.

    Documents are found by their ids, and one that the system lacks is left out. If a file names no documents, its
    tokens are laid on all of gold's, one document after the other. ``by_position``, and if there are as many, they are
    laid on gold's tokens one by one whatever the words, as the HIPE scorer does.

    Raises:
        DataError: The two sides differ in their text, or a document is unknown to gold.
    """
    tokens = [token for document in system for token in document.tokens]
    if by_position and len(tokens) == sum(len(token.tokens) for token in gold):
        remaining = iter(tokens)
        return [
            replace(
                document,
                tokens=[
                    token._replace(tag=other.tag, mark=other.mark, line=other.line, spelling=other.form)
                    for token, other in zip(document.tokens, remaining, strict=False)
                ],
            )
            for document in gold
        ]
    if not all(document.named for document in (*gold, *system)):
        return _lay(gold, tokens, file)
    by_id = {document.id: document for document in gold}
    laid: list[Document] = []
    for document in system:
        if document.id not in by_id:
            what = "prediction for a document that gold does not have"
            raise DataError(what, file=file, line=document.line, record=document.id)
        laid += _lay([by_id[document.id]], document.tokens, file)
    return laid


def _lay(gold: Sequence[Document], tokens: Sequence[Token], file: str | Path) -> list[Document]:
    """System tokens over gold documents that follow each other, placed by their letters."""
    laid = []
    used = 0
    for document in gold:
        text = document.text()
        letters = [offset for offset, letter in enumerate(text) if not letter.isspace()]
        places: list[Place] = []
        first = used
        done = 0
        while done < len(letters) and used < len(tokens):
            form = "".join(tokens[used].form.split())
            start = letters[done]
            end = letters[min(done + len(form), len(letters)) - 1] + 1
            if "".join(text[start:end].split()) != form:
                what = f"{text[start:end]!r} in gold is {tokens[used].form!r} here; both files must hold the same text"
                raise DataError(what, file=file, line=tokens[used].line, record=document.id)
            places.append((start, end))
            done += len(form)
            used += 1
        if done < len(letters) or (document is gold[-1] and used < len(tokens)):
            what = (
                f"{used - first} tokens fit gold's text, of {len(tokens) - first}; both files must hold the same text"
            )
            raise DataError(what, file=file, line=tokens[used - 1].line if used else None, record=document.id)
        ends = [start for start, _ in places[1:]]
        cut = [
            token._replace(form=text[start:end], space=text[end:after])
            for token, (start, end), after in zip(tokens[first:used], places, [*ends, len(text)], strict=True)
        ]
        breaks = [document.places()[index][0] for index in document.breaks]
        starts = [start for start, _ in places]
        laid.append(replace(document, tokens=cut, breaks=[bisect_left(starts, offset) for offset in breaks]))
    return laid


def places(record: Record, field: str) -> list[Place]:
    """The tokens of a record: its own, or words and signs, cut where a span begins or ends.

    Raises:
        DataError: The record has no text.

    >>> places({"text": "L'année 1800", "entities": [{"start": 8, "end": 10}]}, "entities")
    [(0, 1), (1, 2), (2, 7), (8, 10), (10, 12)]
    """
    if "text" not in record:
        raise DataError(
            "this format needs the text; give these predictions theirs, or write jsonl", record=record["id"]
        )
    given_tokens = record.get("tokens")
    tokens = [(start, end) for start, end in given_tokens] if given_tokens else words.places(record["text"])
    edges = sorted({edge for span in record[field] for edge in (span["start"], span["end"])})
    cut: list[Place] = []
    for start, end in tokens:
        cut += pairwise([start, *(edge for edge in edges if start < edge < end), end])
    return cut


def cells(spans: Sequence[Record], tokens: Sequence[Place], record: object, *, links: bool = False) -> list[str]:
    """One cell a token: IOB2 tags, or the identifiers of links; tags cannot tell overlaps apart.

    Raises:
        DataError: A span is not a run of whole tokens, or its type has white space.

    >>> cells([{"start": 0, "end": 8, "type": "TOP"}], [(0, 3), (4, 8), (8, 9)], "d")
    ['B-TOP', 'I-TOP', 'O']
    """
    firsts = {start: index for index, (start, _) in enumerate(tokens)}
    lasts = {end: index + 1 for index, (_, end) in enumerate(tokens)}
    row = ["_" if links else "O"] * len(tokens)
    used: set[int] = set()
    for number, span in enumerate(spans):
        run = range(firsts.get(span["start"], 0), lasts.get(span["end"], 0))
        if span.get("fragments") or span["start"] not in firsts or not run or not used.isdisjoint(run):
            what = "this span is not a run of tokens of its own; write jsonl or brat"
            raise DataError(what, record=record, field=f"[{number}]")
        used.update(run)
        if links:
            ids = [identifier for identifiers in span.get("ids", {}).values() for identifier in identifiers]
            ids += [candidate["id"] for candidate in span.get("candidates", [])]
            row[run.start : run.stop] = ["|".join(ids) or "NIL"] * len(run)
        else:
            kind = span.get("type") or "ent"
            if kind.split() != [kind]:
                raise DataError(f"a type with white space ({kind!r}) is not allowed in a tag", record=record)
            row[run.start : run.stop] = [f"B-{kind}", *[f"I-{kind}"] * (len(run) - 1)]
    return row
