"""``neleval``: TAC's links as neleval prepares them, ``document start end id score type`` a line.

More candidates are more triples of id, score and type; the first by score is gold's. The end is the last character of a
mention. A document that gold does not mention has no links there. The text is in neither file.

Source: https://github.com/wikilinks/neleval (doc/formats.rst)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.jsonl import value as parse_json

TASKS = ("linking",)
OPTIONS = ()


def rows(source: Source) -> Iterator[Row]:
    """One record a document."""
    documents: dict[str, dict[tuple[int, int], dict[str, Any]]] = {}
    for number, line in enumerate(files.lines(source.path), start=1):
        if not line.strip():
            continue
        with source.checking("unreadable", line=number):
            name, *cells = line.rstrip("\t").split("\t")
            if len(cells) < 2 or not all(cell.isdigit() for cell in cells[:2]):
                raise DataError("a line is document, start, end, id, score and type, between tabs")
            start, end = int(cells[0]), int(cells[1]) + 1
            links = documents.setdefault(name, {})
            with source.checking("repeated", line=number, record=name):
                if (start, end) in links:
                    raise DataError(f"mention {start}–{end - 1} stands twice")
                links[start, end] = {"start": start, "end": end, **_candidates(cells[2:], source.side)}
    for name, links in documents.items():
        text = {"text": ""} if source.side == "gold" else {}
        yield Row({"id": name, **text, "links": list(links.values())})


def _candidates(cells: Sequence[str], side: str) -> dict[str, Any]:
    """The candidates with their scores, best first, and the type of the best one."""
    try:
        parts = (cells[at : at + 3] for at in range(0, len(cells), 3))
        rows = [(*row, "", "")[:3] for row in parts]
        ranked = sorted(rows, key=lambda row: -float(row[1] or 0))
    except ValueError:
        raise DataError("a score is a number") from None
    best, type_ = (ranked[0][0], ranked[0][2]) if ranked else ("NIL", "")
    if type_.startswith("{"):
        type_ = str(parse_json(type_).get("type", ""))
    if side == "gold":
        return {"ids": {"kb": [best]}, "type": type_}
    return {"candidates": [{"id": id_} for id_, _, _ in ranked], "type": type_}
