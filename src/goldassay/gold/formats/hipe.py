"""``hipe``: the TSV of the HIPE campaigns (2020 and 2022), any column.

Documents begin at a ``document_id`` comment (``# hipe2022:document_id = …`` or ``# document_id = …``). Text is rebuilt
from the MISC column: a line break after ``EndOfLine``, nothing after ``NoSpaceAfter``, else one space. A cell of a NEL
column is an id, ``NIL``, or alternatives ``a|b|c``; its mentions end where the cell changes and, for NIL alone, where
the NE-COARSE column of the same reading begins a mention (``adjacent="nil"``, HIPE-2022). ``adjacent="all"`` begins one
there for every id, ``adjacent="none"`` joins equal neighbours (HIPE-2020).

Source: https://github.com/hipe-eval/HIPE-2022-data and https://github.com/hipe-eval/HIPE-scorer

Writing ``hipe``: from records alone, or into a copy of the file that they came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold import marking, offsets
from goldassay.gold import tokens as tagged
from goldassay.gold.alignment import align
from goldassay.gold.records import Side
from goldassay.gold.tokens import Document, mentions, once
from goldassay.text import tagging

DEFAULT = {"extraction": "NE-COARSE-LIT", "linking": "NEL-LIT"}
TASKS = tuple(DEFAULT)
COMMENT = re.compile(r"#\s*(?:[\w.-]+:)?(?P<key>[\w.-]+)\s*=\s*(?P<value>.*?)\s*$")
UNLINKED = frozenset(("_", "-", "O", ""))


def read(
    path: str | Path,
    task: str,
    side: Side = "gold",
    *,
    column: str | None = None,
    repeated: str = "error",
    wrong: Wrong = stop,
    **options: Any,
) -> list[dict[str, Any]]:
    """The records of a HIPE file, one a document."""
    return records(documents(path, task, column, repeated, wrong), task, side, path, wrong=wrong, **options)


def pairs(
    task: str, gold: str | Path, pred: str | Path, *, column: str | None = None, repeated: str = "error", **options: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Both sides, the system's tokens laid on gold's."""
    left = documents(gold, task, column, repeated)
    right = align(left, documents(pred, task, column, repeated), file=pred)
    bare = all(cell == "_" for document in left for cell in document.cells)
    said = f"column {column or DEFAULT[task]} of {gold} is not annotated: every cell is _, so nothing can be right"
    return (
        records(left, task, "gold", gold, **options),
        records(right, task, "pred", pred, **options),
        [said] if bare else [],
    )


def records(
    found: Sequence[Document],
    task: str,
    side: Side,
    path: str | Path,
    *,
    scheme: str | None = None,
    malformed: str = "conlleval",
    adjacent: str = "nil",
    tokens: bool = False,
    wrong: Wrong = stop,
) -> list[dict[str, Any]]:
    """Tokenised documents as records of the task."""
    if task == "extraction":
        return tagged.records(found, side, file=path, scheme=scheme, malformed=malformed, tokens=tokens, wrong=wrong)
    return [
        tagged.base(document, side, tokens)
        | {"links": [_link(mention, side) for mention in mentions(document, linked(document, adjacent))]}
        for document in found
    ]


def documents(
    path: str | Path, task: str, column: str | None = None, repeated: str = "error", wrong: Wrong = stop
) -> list[Document]:
    """The tokenised documents of a file, with the cells of one column."""
    if task not in DEFAULT:
        raise GoldassayError(f"format hipe holds {' and '.join(DEFAULT)}, not {task}")
    rows = files.lines(path)
    header = rows[0].split("\t")
    place = _columns(header, column or DEFAULT[task], path)
    found: list[Document] = []
    notes: dict[str, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        note = COMMENT.match(row.replace("\t", " ")) if row.startswith("#") else None
        if note is not None or _remark(row, len(header)):
            key = note["key"] if note else ""
            if key == "document_id" and note:
                found.append(Document(note["value"], line=number, language=notes.get("language")))
                notes = {}
            elif key == "language" and note:
                notes["language"] = note["value"]
                if found and not found[-1].forms:
                    found[-1].language = notes.pop("language")
            continue
        if not row.strip():
            continue
        if not found:
            found.append(Document(Path(path).stem, line=number, unnamed=True, language=notes.pop("language", None)))
        try:
            _token(found[-1], row.split("\t"), place, number, len(header), path)
        except DataError as error:
            wrong(error)
    if not any(document.forms for document in found):
        raise DataError("no tokens under the header", file=path)
    once(found, path, repeated)
    return found


def _columns(header: Sequence[str], name: str, path: str | Path) -> tuple[int, int, int, int]:
    """Where token, cell, bounding mark and flags stand; -1 for a column that the file does not have."""
    if "TOKEN" not in header:
        raise DataError("no TOKEN column in the first line; is this a HIPE file?", file=path, line=1)
    if name not in header:
        raise DataError(f"no column {name}; there are {', '.join(header)}", file=path, line=1)
    bounds = "NE-COARSE-METO" if name.endswith("METO") else "NE-COARSE-LIT"
    return tuple(header.index(key) if key in header else -1 for key in ("TOKEN", name, bounds, "MISC"))  # type: ignore[return-value]


def _remark(row: str, width: int) -> bool:
    """A comment that sets nothing; a token that begins with ``#`` fills the columns of the header."""
    return row.startswith("#") and (row[1:2] == " " or row.count("\t") != width - 1)


def _token(
    document: Document,
    cells: Sequence[str],
    place: tuple[int, int, int, int],
    number: int,
    width: int,
    path: str | Path,
) -> None:
    token, cell, mark, misc = place
    if len(cells) <= max(token, cell):
        raise DataError(
            f"{len(cells)} columns where the header has {width}; is the line cut off?", file=path, line=number
        )
    flags = cells[misc].split("|") if 0 <= misc < len(cells) else []
    document.forms.append(cells[token])
    document.after.append("\n" if "EndOfLine" in flags else "" if "NoSpaceAfter" in flags else " ")
    document.cells.append(cells[cell].strip())
    document.marks.append(cells[mark] if 0 <= mark < len(cells) else "O")
    document.lines.append(number)
    if "EndOfSentence" in flags:
        document.breaks.append(len(document.forms))


def linked(document: Document, adjacent: str = "nil") -> list[tuple[int, int, str]]:
    """The mentions of a document's NEL cells: (first token, token after the last, cell)."""
    if adjacent not in ("nil", "all", "none"):
        raise GoldassayError(f"adjacent must be nil, all or none, not {adjacent!r}")
    found = []
    start, current = 0, ""
    for place, (cell, mark) in enumerate(zip([*document.cells, "_"], [*document.marks, "O"], strict=True)):
        begins = mark[:2] in ("B-", "S-", "U-") and (adjacent == "all" or (adjacent == "nil" and cell == "NIL"))
        if cell == current and not begins:
            continue
        if current not in UNLINKED:
            found.append((start, place, current))
        start, current = place, cell
    return found


def _link(mention: dict[str, Any], side: Side) -> dict[str, Any]:
    cell = mention.pop("type")
    ids = [] if cell == "NIL" else cell.split("|")
    if side == "gold":
        return {**mention, "ids": {"wikidata": ids} if ids else {}}
    return {**mention, "candidates": [{"id": one, "score": 1 / rank} for rank, one in enumerate(ids, start=1)]}


def write(
    path: str | Path,
    records: Iterable[Mapping[str, Any]],
    task: str,
    side: Side = "gold",
    *,
    column: str | None = None,
    source: str | Path | None = None,
    scheme: str | None = None,
    repeated: str = "error",
) -> None:
    """Write a HIPE file; with ``source``, that file with the cells of the column replaced, all else byte for byte."""
    if task not in DEFAULT:
        raise GoldassayError(f"format hipe holds {' and '.join(DEFAULT)}, not {task}")
    name = column or DEFAULT[task]
    if source is not None:
        files.save(path, _replaced(source, list(records), task, name, scheme, repeated))
        return
    lines = ["TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC\n" if name in DEFAULT.values() else f"TOKEN\t{name}\tMISC\n"]
    for record in records:
        if "text" not in record:
            raise DataError("hipe needs the text; name the source file, or write jsonl", record=record["id"])
        lines.append(f"# hipe2022:document_id = {record['id']}\n")
        if record.get("language"):
            lines.append(f"# hipe2022:language = {record['language']}\n")
        places = marking.places(record, offsets.FIELDS[task])
        cells = _cells(record, places, task, scheme or "IOB2")
        marks = _marks(record, places) if task == "linking" else []
        for index, (start, end) in enumerate(places):
            gap = record["text"][end : places[index + 1][0]] if index + 1 < len(places) else " "
            misc = "EndOfLine" if "\n" in gap else "_" if gap else "NoSpaceAfter"
            pair = [cells[index], "_"] if task == "extraction" else [marks[index], cells[index]]
            shown = pair if name in DEFAULT.values() else [cells[index]]
            lines.append("\t".join([record["text"][start:end], *shown, misc]) + "\n")
    files.save(path, "".join(lines))


def _cells(record: Mapping[str, Any], places: Sequence[tuple[int, int]], task: str, scheme: str) -> list[str]:
    """One cell a token."""
    spans = record[offsets.FIELDS[task]]
    runs = marking.covered(spans, places, record["id"])
    if task == "extraction":
        return marking.tags([(start, end, spans[number]["type"]) for start, end, number in runs], len(places), scheme)
    cells = ["_"] * len(places)
    for start, end, number in runs:
        ids = [one for found in spans[number].get("ids", {}).values() for one in found]
        ids += [found["id"] for found in spans[number].get("candidates", [])]
        cells[start:end] = ["|".join(ids) or "NIL"] * (end - start)
    return cells


def _marks(record: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> list[str]:
    """NE-COARSE cells that keep neighbouring mentions apart."""
    runs = marking.covered(record["links"], places, record["id"])
    kinds = [(start, end, record["links"][number].get("type") or "ent") for start, end, number in runs]
    return marking.tags(kinds, len(places))


def _replaced(
    source: str | Path,
    records: Sequence[Mapping[str, Any]],
    task: str,
    column: str,
    scheme: str | None,
    repeated: str,
) -> str:
    """The source with new cells; where nothing is to be said, a cell that said nothing stays as it was."""
    given = {record["id"]: record for record in records}
    found = documents(source, task, column, repeated)
    content = files.text(source)
    rows = content.split("\n")
    index = rows[0].rstrip("\r").split("\t").index(column)
    known = tagging.named(scheme, {tag for document in found for tag in document.cells}) if task == "extraction" else ""
    for document in found:
        record = given.pop(document.id, {"id": document.id, offsets.FIELDS[task]: []})
        cells = _cells(record, document.places(), task, known)
        for number, old, new in zip(document.lines, document.cells, cells, strict=True):
            if old != new and not (old in UNLINKED and new in UNLINKED):
                parts = rows[number - 1].split("\t")
                parts[index] = new
                rows[number - 1] = "\t".join(parts)
    if given:
        raise DataError("this document is not in the source file", file=source, record=next(iter(given)))
    return "\n".join(rows)
