"""``iob2`` and ``conll``: a token and a tag a line, an empty line between sentences; IOB1, IOB2, IOE, IOBES, BILOU.

The token is the first column, the tag the last, or the column that is named by its number (1 is the first). Documents
begin at ``-DOCSTART-`` or at a comment with an id (``# id …``, ``# newdoc id = …``, ``# document_id = …``); without
either, each sentence is a document, named by its number. Text is the tokens with a space between them and a line break
between sentences.

Source: https://www.clips.uantwerpen.be/conll2003/ner/

Both are written from records alone, or into a copy of the file that they came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold import tokens as tokenised
from goldassay.gold.alignment import align
from goldassay.gold.records import Side
from goldassay.gold.tokens import Document, TokenOptions, once
from goldassay.text import tagging

TASKS = ("extraction",)
NAME = re.compile(r"# \s*(?:newdoc\s+id\s*=|(?:[\w.-]+:)?document_id\s*=|id\s*=?)\s*(\S+)")
REMARK = re.compile(r"# \s*(?:[\w.: -]+=|id\s|newdoc\b|newpar\b)")
TAG = re.compile(r"O|_|[BIESLUMW](?:-\S+)?")
DOCSTART = "-DOCSTART-"


def read(
    path: str | Path,
    task: str,
    side: Side = "gold",
    *,
    column: str | None = None,
    repeated: str = "error",
    wrong: Wrong = stop,
    **options: Unpack[TokenOptions],
) -> list[dict[str, object]]:
    """The records of a file, one a document (or a sentence, where it marks no documents).

    Args:
        path: The file.
        task: The task.
        side: ``gold`` or ``pred``.
        column: The column of tags, such as ``NE-COARSE-LIT``.
        repeated: What an id that stands twice is: ``error``, ``number`` (the second is ``ID#2``) or ``keep``.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    found = documents(path, task, column, repeated, wrong)
    return tokenised.records(found, side, file=path, sentences=True, wrong=wrong, **options)


def pairs(
    task: str,
    gold: str | Path,
    pred: str | Path,
    *,
    column: str | None = None,
    repeated: str = "error",
    wrong: Wrong = stop,
    **options: Unpack[TokenOptions],
) -> tuple[list[dict[str, object]], list[dict[str, object]], list[str]]:
    """Both sides, the system's tokens laid on gold's.

    Args:
        task: The task.
        pred: The system's file.
        column: The number of the column of tags; ``2:3`` where that of predictions is another (`tokens.columns`).
        repeated: What an id that stands twice is: ``error``, ``number`` (the second is ``ID#2``) or ``keep``.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    ours, theirs = tokenised.columns(column)
    left = documents(gold, task, ours, repeated, wrong)
    right = align(left, documents(pred, task, theirs, repeated, wrong), file=pred)
    return (
        tokenised.records(left, "gold", file=gold, sentences=True, wrong=wrong, **options),
        tokenised.records(right, "pred", file=pred, sentences=True, wrong=wrong, **options),
        [],
    )


def documents(
    path: str | Path, task: str, column: str | None = None, repeated: str = "error", wrong: Wrong = stop
) -> list[Document]:
    """The tokenised documents of a file.

    Args:
        path: The file.
        task: The task.
        column: The column of tags, such as ``NE-COARSE-LIT``.
        repeated: What an id that stands twice is: ``error``, ``number`` (the second is ``ID#2``) or ``keep``.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    if task != "extraction":
        raise GoldassayError(f"format iob2 holds extraction, not {task}")
    index = column_index(column)
    found: list[Document] = []
    marked, open_sentence = False, False
    for number, row in enumerate(files.lines(path), start=1):
        name = NAME.match(row) if row.startswith("#") else None
        start = row.startswith(DOCSTART)
        if start or (name is not None and _is_remark(row, index)):
            title = name[1] if name else _title(row)
            marked = True
            found.append(Document(title or str(len(found) + 1), line=number, unnamed=not title))
            open_sentence = False
        elif row.startswith("#") and _is_remark(row, index):
            continue
        elif not row.strip():
            open_sentence = False
        else:
            if not open_sentence:
                if not marked:
                    found.append(Document(str(len(found) + 1), line=number, unnamed=True))
                elif found[-1].forms:
                    found[-1].breaks.append(len(found[-1].forms))
                    found[-1].after[-1] = "\n"
                open_sentence = True
            try:
                _token(found[-1], row, number, index, path)
            except DataError as error:
                wrong(error)
    found = [document for document in found if document.forms]
    if not found:
        raise DataError("no tokens in the file", file=path)
    once(found, path, repeated)
    return found


def column_index(column: str | None) -> int:
    """The place of a column in a row that its number names; the last one where none is named."""
    if column is None:
        return -1
    if not column.isdigit() or column == "0":
        raise GoldassayError(f"iob2 names a column by its number (1 is the first), not {column!r}")
    return int(column) - 1


def _is_remark(row: str, index: int = -1) -> bool:
    """A comment, and not a token that begins with ``#``: that has a tag in its place, and no more words.

    >>> [_is_remark(row) for row in ("# made by hand", "#", "# id d1", "# O", "#us\tB-LOC", "#us NN B-LOC")]
    [True, True, True, False, False, False]
    """
    cells = row.split("\t") if "\t" in row else row.split()
    return REMARK.match(row) is not None or len(cells) < 2 or index >= len(cells) or not TAG.fullmatch(cells[index])


def _title(row: str) -> str:
    """The id after ``-DOCSTART-``, where it is in brackets or stands behind ``id=``."""
    found = re.search(r"\(([^()\s]+)[^()]*\)|id\s*=\s*(\S+)", row)
    return (found[1] or found[2]) if found else ""


def _token(document: Document, row: str, number: int, index: int, path: str | Path) -> None:
    cells = row.split("\t") if "\t" in row else row.split()
    if len(cells) < 2:
        raise DataError(f"one column ({row.strip()!r}); a token and a tag are needed", file=path, line=number)
    if index >= len(cells):
        raise DataError(f"no column {index + 1}; this line has {len(cells)}", file=path, line=number)
    document.forms.append(cells[0])
    document.after.append(" ")
    document.cells.append(cells[index].strip())
    document.marks.append("O")
    document.lines.append(number)


def write(
    path: str | Path,
    records: Iterable[Mapping[str, Any]],
    task: str,
    side: Side = "gold",
    *,
    scheme: str | None = None,
    column: str | None = None,
    source: str | Path | None = None,
) -> None:
    """Write documents, a line break in the text as a sentence break; a document's id stands in a comment above it.

    With ``source``, that file with other tags where the spans are others (everywhere, if a scheme is named), all else
    byte for byte.

    Args:
        path: The file.
        records: The records to write.
        task: The task.
        side: ``gold`` or ``pred``.
        column: The column of tags, such as ``NE-COARSE-LIT``.
    """
    if task != "extraction":
        raise GoldassayError(f"format iob2 holds extraction, not {task}")
    if source is not None:
        files.save(path, _replaced(source, list(records), column, scheme))
        return
    name = tagging.named(scheme or "IOB2", ())
    lines = []
    for record in records:
        if "text" not in record:
            raise DataError("iob2 needs the text; give these predictions theirs, or write jsonl", record=record["id"])
        lines.append(f"# document_id = {record['id']}\n")
        tokens = tokenised.places(record, "entities")
        runs = tokenised.covered(record["entities"], tokens, record["id"])
        spans = [(start, end, record["entities"][number]["type"]) for start, end, number in runs]
        breaks = _breaks(record["text"], tokens, runs)
        for index, tag in enumerate(tokenised.tags(spans, len(tokens), name, breaks)):
            start, end = tokens[index]
            lines.append(("\n" if index in breaks else "") + f"{record['text'][start:end]}\t{tag}\n")
        lines.append("\n")
    files.save(path, "".join(lines))


def _breaks(text: str, tokens: Sequence[tuple[int, int]], runs: Sequence[tuple[int, int, int]]) -> set[int]:
    """The tokens behind a line break, where no entity runs over it."""
    inside = {token for start, end, _ in runs for token in range(start + 1, end)}
    return {
        index
        for index, ((_, end), (start, _)) in enumerate(pairwise(tokens), start=1)
        if index not in inside and "\n" in text[end:start]
    }


def _replaced(source: str | Path, records: Sequence[Mapping[str, Any]], column: str | None, scheme: str | None) -> str:
    """The source with new tags."""
    given = {record["id"]: record for record in records}
    found = documents(source, "extraction", column)
    rows, index = files.text(source).split("\n"), column_index(column)
    known = tagging.named(None, {tag for document in found for tag in document.cells})
    name = tagging.named(scheme, ()) if scheme else known
    for document in found:
        record = given.pop(document.id, {"id": document.id, "entities": []})
        runs = tokenised.covered(record["entities"], document.places(), record["id"])
        spans = [(start, end, record["entities"][number]["type"]) for start, end, number in runs]
        if scheme is None and spans == tokenised.spans(document, known, "conlleval", source, sentences=True):
            continue
        tags = tokenised.tags(spans, len(document.forms), name, set(document.breaks))
        for number, tag in zip(document.lines, tags, strict=True):
            row = rows[number - 1]
            cells = [*re.finditer(r"[^\t]+" if "\t" in row else r"\S+", row.rstrip("\r"))]
            rows[number - 1] = row[: cells[index].start()] + tag + row[cells[index].end() :]
    if given:
        raise DataError("this document is not in the source file", file=source, record=next(iter(given)))
    return "\n".join(rows)
