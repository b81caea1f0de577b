"""``iob2`` and ``conll``: a token and a tag a line, an empty line between sentences; IOB1, IOB2, IOE, IOBES, BILOU.

The token is the first column, the tag the last, or the column that is named by its number (1 is the first). Documents
begin at ``-DOCSTART-`` or at a comment with an id (``# id …``, ``# newdoc id = …``, ``# document_id = …``); without
either, each sentence is a document, named by its number, and a warning says so. Text is the tokens with a space between
them and a line break between sentences. Tags are written as IOB2.

Source: https://www.clips.uantwerpen.be/conll2003/ner/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import tokens as tokenised
from goldassay.gold.formats import Row, Source
from goldassay.gold.shapes import Side
from goldassay.gold.tokens import OPTIONS as OPTIONS
from goldassay.gold.tokens import Document, Token

TASKS = ("extraction",)
NAME = re.compile(r"# \s*(?:newdoc\s+id\s*=|(?:[\w.-]+:)?document_id\s*=|id\s*=?)\s*(\S+)")
COMMENT = re.compile(r"# \s*(?:[\w.: -]+=|id\s|newdoc\b|newpar\b)")
TAG = re.compile(r"O|_|[BIESLUMW](?:-\S+)?")
DOCSTART = "-DOCSTART-"
TITLE = re.compile(r"\(([^()\s]+)[^()]*\)|id\s*=\s*(\S+)")  # in brackets behind -DOCSTART-, or behind id=


def rows(source: Source) -> Iterator[Row]:
    """The records of a file, one a document (or a sentence, if it marks no documents)."""
    return tokenised.rows(documents(source), source)


def pair_rows(gold: Source, pred: Source) -> tuple[Iterator[Row], Iterator[Row]]:
    """Both sides, the system's tags laid on gold's tokens."""
    left = documents(gold)
    right = tokenised.align(left, documents(pred), pred.path)
    return tokenised.rows(left, gold), tokenised.rows(right, pred)


def documents(source: Source) -> list[Document]:
    """The tokenised documents of a file."""
    column = tokenised.column_of(source) or "0"
    if not column.isdigit():
        raise GoldassayError(f"iob2 names a column by its number (1 is the first), not {column!r}")
    index = int(column) - 1
    result: list[Document] = []
    marked, in_sentence = False, False
    for number, row in enumerate(files.lines(source.path), start=1):
        cells = row.split("\t") if "\t" in row else row.split()
        is_comment = row.startswith("#") and _is_comment(row, cells, index)
        name = NAME.match(row) if is_comment else None
        if row.startswith(DOCSTART) or name is not None:
            title = name or TITLE.search(row)
            label = next((group for group in title.groups() if group), "") if title else ""
            result.append(Document(label or str(len(result) + 1), number, named=bool(label)))
            marked, in_sentence = True, False
        elif is_comment:
            continue
        elif not row.strip():
            in_sentence = False
        else:
            if not in_sentence and not marked:
                result.append(Document(str(len(result) + 1), number, named=False))
            elif not in_sentence and (tokens := result[-1].tokens):
                result[-1].breaks.append(len(tokens))
                tokens[-1] = tokens[-1]._replace(space="\n")
            in_sentence = True
            with source.checking("unreadable", line=number):
                if len(cells) < 2 or index >= len(cells):
                    raise DataError(f"no column {max(index + 1, 2)} ({row.strip()!r}); a token and a tag are needed")
                result[-1].tokens.append(Token(cells[0], cells[index].strip(), number))
    result = [document for document in result if document.tokens]
    if not result:
        raise DataError("no tokens in the file", file=source.path)
    if source.side == "gold" and not marked and len(result) > 1:
        message = "names no documents, so its sentences count as independent; put -DOCSTART- where one begins"
        source.warnings.append(f"{source.path} {message}")
    return result


def _is_comment(row: str, cells: list[str], index: int) -> bool:
    """Whether a row that begins with ``#`` is no token: that has a tag in its place."""
    return COMMENT.match(row) is not None or not 1 < len(cells) > index or not TAG.fullmatch(cells[index])


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write documents, a line break in the text as a sentence break; a document's id is in a comment above it."""
    lines = []
    for record in records:
        tokens = tokenised.places(record, "entities")
        text, tags = record["text"], tokenised.cells(record["entities"], tokens, record["id"])
        lines.append(f"# document_id = {record['id']}\n")
        end = len(text)
        for (start, stop), tag in zip(tokens, tags, strict=True):
            # A sentence ends at a line break in the text, unless an entity runs over it.
            lines.append("\n" if "\n" in text[end:start] and tag[0] != "I" else "")
            lines.append(f"{text[start:stop]}\t{tag}\n")
            end = stop
        lines.append("\n")
    files.save(path, "".join(lines))
