"""``iob2`` and ``conll``: a token and a tag a line, an empty line between sentences; IOB1, IOB2, IOE, IOBES, BILOU.

The token is the first column, the tag the last, or the column that is named by its number (1 is the first). Documents
begin at ``-DOCSTART-`` or at a comment with an id (``# id …``, ``# newdoc id = …``, ``# document_id = …``); without
either, each sentence is a document, named by its number, and a warning says so. Text is the tokens with a space between
them and a line break between sentences.

Source: https://www.clips.uantwerpen.be/conll2003/ner/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import tokens as tokenised
from goldassay.gold.formats import Row, Source
from goldassay.gold.shapes import Side
from goldassay.gold.tokens import OPTIONS as OPTIONS
from goldassay.gold.tokens import Document
from goldassay.text import tagging

TASKS = ("extraction",)
NAME = re.compile(r"# \s*(?:newdoc\s+id\s*=|(?:[\w.-]+:)?document_id\s*=|id\s*=?)\s*(\S+)")
COMMENT = re.compile(r"# \s*(?:[\w.: -]+=|id\s|newdoc\b|newpar\b)")
TAG = re.compile(r"O|_|[BIESLUMW](?:-\S+)?")
DOCSTART = "-DOCSTART-"
TITLE = re.compile(r"\(([^()\s]+)[^()]*\)|id\s*=\s*(\S+)")  # in brackets behind -DOCSTART-, or behind id=


def rows(source: Source) -> Iterator[Row]:
    """The records of a file, one a document (or a sentence, if it marks no documents)."""
    return tokenised.rows(documents(source), source, sentences=True)


def pair_rows(gold: Source, pred: Source) -> tuple[Iterator[Row], Iterator[Row]]:
    """Both sides, the system's tokens laid on gold's."""
    left = documents(gold)
    right = tokenised.align(left, documents(pred), file=pred.path)
    return tokenised.rows(left, gold, sentences=True), tokenised.rows(right, pred, sentences=True)


def documents(source: Source) -> list[Document]:
    """The tokenised documents of a file."""
    index = _column_index(tokenised.column_of(source))
    result: list[Document] = []
    marked, in_sentence = False, False
    for number, row in enumerate(files.lines(source.path), start=1):
        name = NAME.match(row) if row.startswith("#") else None
        if row.startswith(DOCSTART) or (name is not None and _is_comment(row, index)):
            title = name or TITLE.search(row)
            label = next((group for group in title.groups() if group), "") if title else ""
            result.append(Document(label or str(len(result) + 1), line=number, unnamed=not label))
            marked, in_sentence = True, False
        elif row.startswith("#") and _is_comment(row, index):
            continue
        elif not row.strip():
            in_sentence = False
        else:
            if not in_sentence and not marked:
                result.append(Document(str(len(result) + 1), line=number, unnamed=True))
            elif not in_sentence and result[-1].tokens:
                result[-1].breaks.append(len(result[-1].tokens))
                result[-1].pieces[-1] = "\n"
            in_sentence = True
            with source.checking("unreadable", line=number):
                cells = row.split("\t") if "\t" in row else row.split()
                if len(cells) < 2:
                    raise DataError(f"one column ({row.strip()!r}); a token and a tag are needed")
                if index >= len(cells):
                    raise DataError(f"no column {index + 1}; this line has {len(cells)}")
                result[-1].add(cells[0], cells[index].strip(), "O", number)
    result = [document for document in result if document.tokens]
    if not result:
        raise DataError("no tokens in the file", file=source.path)
    if source.side == "gold" and not marked and len(result) > 1:
        message = "names no documents, so its sentences count as independent; put -DOCSTART- where one begins"
        source.warnings.append(f"{source.path} {message}")
    tokenised.check_ids(result, source)
    return result


def _column_index(column: str | None) -> int:
    """The place of the column with this number in a row; the last column if none is named."""
    if column is None:
        return -1
    if not column.isdigit() or column == "0":
        raise GoldassayError(f"iob2 names a column by its number (1 is the first), not {column!r}")
    return int(column) - 1


def _is_comment(row: str, index: int = -1) -> bool:
    """A comment, and not a token that begins with ``#``: that has a tag in its place, and no more words.

    >>> [_is_comment(row) for row in ("# made by hand", "#", "# id d1", "# O", "#us\tB-LOC", "#us NN B-LOC")]
    [True, True, True, False, False, False]
    """
    cells = row.split("\t") if "\t" in row else row.split()
    return COMMENT.match(row) is not None or len(cells) < 2 or index >= len(cells) or not TAG.fullmatch(cells[index])


def write(
    path: str | Path,
    records: Iterable[Mapping[str, Any]],
    task: str,
    side: Side = "gold",
    *,
    scheme: str | None = None,
) -> None:
    """Write documents, a line break in the text as a sentence break; a document's id is in a comment above it.

    Args:
        path: The file.
        records: The records.
        task: The task.
        side: ``gold`` or ``pred``.
        scheme: The tagging scheme; IOB2 if not given.
    """
    name = tagging.named(scheme or "IOB2", ())
    lines = []
    for record in records:
        if "text" not in record:
            raise DataError("iob2 needs the text; give these predictions theirs, or write jsonl", record=record["id"])
        text, tokens = record["text"], tokenised.places(record, "entities")
        runs = tokenised.token_runs(record["entities"], tokens, record["id"])
        spans = [(start, end, span["type"]) for start, end, span in runs]
        # A sentence ends at a line break in the text, unless an entity runs over it.
        inside = {index for start, end, _ in spans for index in range(start + 1, end)}
        neighbours = enumerate(pairwise(tokens), start=1)
        gaps = {index for index, ((_, end), (start, _)) in neighbours if "\n" in text[end:start]}
        breaks = gaps - inside
        lines.append(f"# document_id = {record['id']}\n")
        for index, tag in enumerate(tokenised.tags(spans, len(tokens), name, breaks)):
            start, end = tokens[index]
            lines.append(("\n" if index in breaks else "") + f"{text[start:end]}\t{tag}\n")
        lines.append("\n")
    files.save(path, "".join(lines))
