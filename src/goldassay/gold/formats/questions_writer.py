"""Answering's tables written: the columns that `questions` reads, in cells that it reads back the same."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold import files
from goldassay.gold.formats import delimited
from goldassay.gold.formats.questions import FIELDS, LISTS, NAMED, NEEDED, VALUES, several
from goldassay.gold.records import Side


def save(path: str | Path, records: Iterable[Mapping[str, Any]], side: Side) -> None:
    """Write a table; the extension says which kind."""
    files.save(path, _table(records, side, "," if Path(path).suffix.lower() == ".csv" else "\t"))


def _table(records: Iterable[Mapping[str, Any]], side: Side, comma: str) -> str:
    """The table of records: the columns that one of them has, in the order of ``FIELDS``."""
    rows = list(records)
    names = [name for name in FIELDS[side] if name in ("id", *NEEDED[side]) or any(name in row for row in rows)]
    out = io.StringIO()
    writer = delimited.writer(out, comma)
    writer.writerow(names)
    for row in rows:
        cells = [_written(row.get(name), name) for name in names]
        for name, cell in zip(names, cells, strict=True):
            if comma == "\t" and any(mark in cell for mark in "\t\n\r"):
                what = "a tab or line break cannot stand in tsv; write csv or jsonl"
                raise DataError(what, record=row["id"], field=name)
        writer.writerow(cells)
    return out.getvalue()


def _written(value: Any, field: str) -> str:
    """A value as the cell that says the same."""
    if value is None:
        return ""
    if field in LISTS:
        if not value:
            return "" if field in NAMED else "[]"
        return value[0] if len(value) == 1 and several(value[0]) == value else json.dumps(value, ensure_ascii=False)
    if field in VALUES:
        return json.dumps(value, ensure_ascii=False)
    return str(value)
