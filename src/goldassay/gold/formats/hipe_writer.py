"""Writing ``hipe``: from records alone, or into a copy of the file that they came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import files, marking, offsets, tagging
from goldassay.gold.formats.hipe import DEFAULT, UNLINKED, documents
from goldassay.gold.records import Side


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
