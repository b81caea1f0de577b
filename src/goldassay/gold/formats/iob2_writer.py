"""Writing ``iob2`` and ``conll``: from records alone, or into a copy of the file that they came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import files, marking, tagged, tagging
from goldassay.gold.formats.iob2 import column_index, documents
from goldassay.gold.records import Side


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
        tokens = marking.places(record, "entities")
        runs = marking.covered(record["entities"], tokens, record["id"])
        spans = [(start, end, record["entities"][number]["type"]) for start, end, number in runs]
        breaks = _breaks(record["text"], tokens, runs)
        for index, tag in enumerate(marking.tags(spans, len(tokens), name, breaks)):
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
        runs = marking.covered(record["entities"], document.places(), record["id"])
        spans = [(start, end, record["entities"][number]["type"]) for start, end, number in runs]
        if scheme is None and spans == tagged.spans(document, known, "conlleval", source, sentences=True):
            continue
        tags = marking.tags(spans, len(document.forms), name, set(document.breaks))
        for number, tag in zip(document.lines, tags, strict=True):
            row = rows[number - 1]
            cells = [*re.finditer(r"[^\t]+" if "\t" in row else r"\S+", row.rstrip("\r"))]
            rows[number - 1] = row[: cells[index].start()] + tag + row[cells[index].end() :]
    if given:
        raise DataError("this document is not in the source file", file=source, record=next(iter(given)))
    return "\n".join(rows)
