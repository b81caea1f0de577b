"""Tokenised documents with one tag a token, as extraction records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold import tagging
from goldassay.gold.records import Side
from goldassay.gold.tokens import Document, mentions


def records(
    documents: Sequence[Document],
    side: Side,
    *,
    file: object,
    scheme: str | None = None,
    malformed: str = "conlleval",
    sentences: bool = False,
    tokens: bool = False,
) -> list[dict[str, Any]]:
    """One record a document; with ``sentences``, no entity crosses a sentence break."""
    name = tagging.named(scheme, {tag for document in documents for tag in document.cells})
    return [
        base(document, side, tokens)
        | {"entities": mentions(document, spans(document, name, malformed, file, sentences))}
        for document in documents
    ]


def base(document: Document, side: Side, tokens: bool = False) -> dict[str, Any]:
    """Id, and on gold's side language and text, and the tokenisation when it is asked for."""
    record: dict[str, Any] = {"id": document.id}
    if side == "gold":
        if document.language:
            record["language"] = document.language
        record["text"] = document.text()
        if tokens:
            record["tokens"] = document.places()
    return record


def spans(document: Document, scheme: str, malformed: str, file: object, sentences: bool) -> tagging.Spans:
    """The spans of a document's tags; a tag outside the scheme is an error with its line."""
    found: tagging.Spans = []
    for first, last in document.sentences() if sentences else [(0, len(document.cells))]:
        try:
            here = tagging.spans(document.cells[first:last], scheme, malformed)
        except DataError as error:
            raise error.at(file=file, line=_line(document, scheme), record=document.id) from None
        found += [(first + start, first + end, kind) for start, end, kind in here]
    return found


def _line(document: Document, scheme: str) -> int | None:
    for tag, line in zip(document.cells, document.lines, strict=True):
        try:
            tagging.split(tag, scheme)
        except DataError:
            return line
    return None
