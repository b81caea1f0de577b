"""A passage collection: what retrieval searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold import formats
from goldassay.gold.formats import squad


def passages(file: Path) -> list[dict[str, Any]]:
    """A passage collection: one JSON object a line with an id (``id`` or ``doc_id``) and a text."""
    found = []
    for number, row in files.json_lines(file):
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("text"), str)
            or not (row.get("id") or row.get("doc_id"))
        ):
            raise DataError("a passage is an object with an id and a text", file=file, line=number)
        row["id"] = str(row.get("id") or row["doc_id"])
        found.append(row)
    return found


def paragraphs(sources: Iterable[Mapping[str, Any]], task: str) -> list[dict[str, Any]]:
    """The paragraphs of those sources that are SQuAD files, also such as nobody asked about."""
    if task not in squad.TASKS:
        return []
    found: list[dict[str, Any]] = []
    for source in sources:
        if (source.get("format") or formats.guess(source["path"], task)) == "squad":
            found += squad.passages(source["path"])
    return found


def contexts(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The paragraphs that questions were asked about, each once: where a record names one document, its context.

    >>> contexts([{"documents": ["d1"], "context": "In 1800 …"}, {"documents": ["d1"], "context": "In 1800 …"}])
    [{'id': 'd1', 'text': 'In 1800 …'}]
    """
    found = {
        str(record["documents"][0]): str(record["context"])
        for record in records
        if record.get("context") and len(record.get("documents") or ()) == 1
    }
    return [{"id": name, "text": text} for name, text in found.items()]
