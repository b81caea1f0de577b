"""The rows of a HIPE file: documents of tokens with the cells of one column, the mentions that NEL cells make of them
(where one begins and ends), and a copy of the file with other cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold import tokens as tokenised
from goldassay.gold.records import SPANS, Side
from goldassay.gold.tokens import Document, once
from goldassay.text import tagging

DEFAULT = {"extraction": "NE-COARSE-LIT", "linking": "NEL-LIT"}


COMMENT = re.compile(r"#\s*(?:[\w.-]+:)?(?P<key>[\w.-]+)\s*=\s*(?P<value>.*?)\s*$")


FACTS = ("date", "decade", "document_type", "dataset", "newspaper", "place")  # what the comments say of a document


UNLINKED = frozenset(("_", "-", "O", ""))


PROTOCOLS = (None, "hipe", "hipe2020")


def documents(
    path: str | Path,
    task: str,
    column: str | None = None,
    repeated: str | None = None,
    wrong: Wrong = stop,
    protocol: str | None = None,
) -> list[Document]:
    """The tokenised documents of a file, with the cells of one column.

    Args:
        path: The file.
        task: The task.
        repeated: What an id that stands twice is: ``error``, ``number`` (the second is ``ID#2``) or ``keep``.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
        protocol: The official protocol whose reading rules count, ``hipe`` or ``hipe2020``; none without one.
    """
    if task not in DEFAULT:
        raise GoldassayError(f"format hipe holds {' and '.join(DEFAULT)}, not {task}")
    if protocol not in PROTOCOLS:
        raise GoldassayError(f"format hipe has no protocol {protocol!r}; there are hipe and hipe2020")
    rows = files.lines(path)
    header = rows[0].split("\t")
    place = _columns(header, column or DEFAULT[task], path)
    if task == "linking" and protocol == "hipe" and place[2] < 0:
        said = "no column NE-COARSE, which bounds the mentions under the protocol hipe; score without it, or hipe2020"
        raise DataError(said, file=path, line=1)
    found: list[Document] = []
    notes: dict[str, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        note = COMMENT.match(row.replace("\t", " ")) if row.startswith("#") else None
        if note is not None or _remark(row, len(header)) or (protocol and row.startswith(("#", "\t"))):
            key = note["key"] if note else ""
            if key == "document_id" and note:
                found.append(Document(note["value"], line=number))
            if note and (key == "language" or key in FACTS):
                notes[key] = note["value"]
            if found and not found[-1].forms:
                _facts(found[-1], notes)
            continue
        if not row.strip(" \t"):
            continue
        if not found:
            found.append(Document(Path(path).stem, line=number, unnamed=True))
            _facts(found[-1], notes)
        cells = row.split("\t")
        if protocol and len(cells) < len(header):
            cells += ["_"] * (len(header) - len(cells))
            found[-1].short += 1
        try:
            _token(found[-1], cells, place, number, len(header), path)
        except DataError as error:
            wrong(error)
    if not any(document.forms for document in found):
        raise DataError("no tokens under the header", file=path)
    if protocol:
        found = [document for document in found if document.forms]
    once(found, path, repeated or ("number" if protocol else "error"))
    return found


def _facts(document: Document, notes: dict[str, str]) -> None:
    """Take what comments said: the language, and facts as strata; a date also gives the decade."""
    document.language = notes.pop("language", document.language)
    if year := re.match(r"\d{3}(?=\d)", notes.get("date", "")):
        notes.setdefault("decade", f"{year[0]}0s")
    document.strata |= notes
    notes.clear()


def others(path: str | Path, name: str) -> dict[str, int]:
    """The annotated columns beside the one that is read, with how many documents have any annotation there."""
    rows = files.lines(path)
    header = rows[0].split("\t")
    seen: dict[str, set[int]] = {}
    document = 0
    for row in rows[1:]:
        note = COMMENT.match(row.replace("\t", " ")) if row.startswith("#") else None
        document += bool(note and note["key"] == "document_id")
        if not row.startswith("# "):
            for key, cell in zip(header, row.split("\t"), strict=False):
                if key.startswith(("NE-", "NEL-")) and key != name and cell.strip() not in UNLINKED:
                    seen.setdefault(key, set()).add(document)
    return {key: len(seen[key]) for key in header if key in seen}


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


def cells_of(record: Mapping[str, Any], places: Sequence[tuple[int, int]], task: str, scheme: str) -> list[str]:
    """One cell a token."""
    spans = record[SPANS[task]]
    runs = tokenised.covered(spans, places, record["id"])
    if task == "extraction":
        return tokenised.tags([(start, end, spans[number]["type"]) for start, end, number in runs], len(places), scheme)
    cells = ["_"] * len(places)
    for start, end, number in runs:
        ids = [one for found in spans[number].get("ids", {}).values() for one in found]
        ids += [found["id"] for found in spans[number].get("candidates", [])]
        cells[start:end] = ["|".join(ids) or "NIL"] * (end - start)
    return cells


def replaced(
    source: str | Path,
    records: Sequence[Mapping[str, object]],
    task: str,
    column: str,
    scheme: str | None,
    repeated: str,
) -> str:
    """The source with new cells; where nothing is to be said, a cell that said nothing stays as it was.

    Args:
        source: The file.
        records: What its documents have now; one without a record has nothing.
        task: The task.
        column: The column whose cells are written.
        scheme: The tagging scheme, such as IOB2; told by the tags without one.
        repeated: What an id that stands twice is: ``error``, ``number`` (the second is ``ID#2``) or ``keep``.
    """
    given = {record["id"]: record for record in records}
    found = documents(source, task, column, repeated)
    content = files.text(source)
    rows = content.split("\n")
    index = rows[0].rstrip("\r").split("\t").index(column)
    known = tagging.named(scheme, {tag for document in found for tag in document.cells}) if task == "extraction" else ""
    for document in found:
        record = given.pop(document.id, {"id": document.id, SPANS[task]: []})
        cells = cells_of(record, document.places(), task, known)
        for number, old, new in zip(document.lines, document.cells, cells, strict=True):
            if old != new and not (old in UNLINKED and new in UNLINKED):
                parts = rows[number - 1].split("\t")
                parts[index] = new
                rows[number - 1] = "\t".join(parts)
    if given:
        raise DataError("this document is not in the source file", file=source, record=next(iter(given)))
    return "\n".join(rows)


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


def bounded(document: Document, side: Side) -> list[tuple[int, int, str]]:
    """The linked mentions of HIPE-2022, bounded by NE-COARSE: (first token, token after the last, cell).

    >>> cells, marks = ["Q1", "Q1", "_", "NIL", "Q4"], ["B-LOC", "B-LOC", "O", "B-PERS", "O"]
    >>> bounded(Document("d", cells=cells, marks=marks), "gold")
    [(0, 1, 'Q1'), (1, 2, 'Q1'), (3, 4, 'NIL'), (4, 5, 'Q4')]
    """
    found: list[tuple[int, int, str]] = []
    start, kind, link = -1, "", ""
    for place, (cell, mark) in enumerate(zip([*document.cells, "_"], [*document.marks, "O"], strict=True)):
        inside = mark != "O" and start >= 0 and mark[2:] == kind and mark[:1] != "B"
        if inside and (cell == link or side == "gold" or mark[:1] != "I"):
            continue
        if start >= 0:
            found.append((start, place, link))
            start = -1
        if mark == "O":
            found.append((place, place + 1, cell))
        else:
            start, kind, link = place, mark[2:], cell
    return [mention for mention in found if mention[2] not in UNLINKED]


def link_of(mention: dict[str, Any], side: Side, protocol: str | None = None) -> dict[str, object]:
    """A mention as a link: gold's with its ids, a system's with its candidates; under a protocol gold has one id."""
    cell = mention.pop("type")
    ids = [] if cell == "NIL" else [one for one in cell.split("|") if one]
    if side == "gold" and protocol:
        ids = [one for one in ids[:1] if one != "NIL"]
    if side == "gold":
        return {**mention, "ids": {"wikidata": ids} if ids else {}}
    return {**mention, "candidates": [{"id": one, "score": 1 / rank} for rank, one in enumerate(ids, start=1)]}
