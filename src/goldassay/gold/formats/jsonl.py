"""``jsonl``: the canonical records, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay import jsonl as strict
from goldassay.gold.formats import Row, Source
from goldassay.gold.shapes import Side
from goldassay.measure import TASKS as TASKS

OPTIONS = ()
LAST = ("strata", "meta")


def rows(source: Source) -> Iterator[Row]:
    """One record a line; empty lines are left out."""
    for number, offset, raw in files.raw_lines(source.path):
        if raw.strip():
            with source.checking("unreadable", line=number):
                text = files.decoded(raw, source.path, number, offset)
                yield Row(strict.value(text, line=number), number, offset=offset)


def record_of(value: Any, source: Source) -> Any:
    """The record that the object of a line is."""
    return value


def dumps(records: Iterable[Mapping[str, object]]) -> str:
    """Records as JSON Lines: strata and meta come last, and a whole grade is a whole number.

    >>> dumps([{"id": "q", "strata": {"tier": 1}, "query": "x", "relevant": {"d": 2.0}}])
    '{"id": "q", "query": "x", "relevant": {"d": 2}, "strata": {"tier": 1}}\\n'
    """
    lines = []
    for record in records:
        row: dict[str, Any] = {key: value for key, value in record.items() if key not in LAST}
        if isinstance(row.get("relevant"), Mapping):
            grades = row["relevant"].items()
            row["relevant"] = {key: int(grade) if float(grade).is_integer() else grade for key, grade in grades}
        row |= {key: record[key] for key in LAST if key in record}
        lines.append(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return "".join(lines)


def write(path: str | Path, records: Iterable[Mapping[str, object]], task: str, side: Side = "gold") -> None:
    """Write records, one a line."""
    files.save(path, dumps(records))
