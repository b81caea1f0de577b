"""Tokenised documents with one tag a token, as extraction records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold import tagging
from goldassay.gold.faults import Wrong, stop
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
    wrong: Wrong = stop,
) -> list[dict[str, Any]]:
    """One record a document; with ``sentences``, no entity crosses a sentence break."""
    name = tagging.named(scheme, {tag for document in documents for tag in document.cells})
    return [
        base(document, side, tokens)
        | {"entities": mentions(document, spans(document, name, malformed, file, sentences, wrong))}
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


def spans(
    document: Document, scheme: str, malformed: str, file: object, sentences: bool, wrong: Wrong = stop
) -> tagging.Spans:
    """The spans of a document's tags; a tag outside the scheme is an error with its line."""
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
