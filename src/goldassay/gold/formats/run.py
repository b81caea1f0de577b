"""``run``: the predictions that a run folder keeps (``rows.jsonl``), and the gold beside them.

What a program returned beside the task's fields (its reasoning, say) is left out. An example that failed has no
prediction. Of an example that was tried again the last row counts, and of one with repeats the first answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from goldassay import files
from goldassay import jsonl as strict
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.gold.records import check
from goldassay.gold.shapes import SHAPES, Side
from goldassay.measure import TASKS as TASKS

OPTIONS = ()
WHOLE = {"entities": ("start", "end"), "links": ("start", "end", "candidates")}  # null if a prediction lacks them


def rows_of(path: str | Path) -> Path:
    """The file of a run's rows."""
    return Path(path) / "rows.jsonl" if Path(path).is_dir() else Path(path)


def ids_of(path: str | Path) -> set[str]:
    """The ids of all examples of a run, also of those that failed."""
    return {str(row["id"]) for _, row in files.json_lines(rows_of(path)) if isinstance(row, dict) and "id" in row}


def rows(source: Source) -> Iterator[Row]:
    """The prediction of each row that did not fail, or the gold that it was measured against."""
    empty, file = True, rows_of(source.path)
    for number, offset, raw in files.raw_lines(file):
        if raw.strip():
            value = strict.value(files.decoded(raw, file, number, offset), file=file, line=number)
            try:
                record = record_of(value, source)
            except DataError as error:
                raise error.at(file=file, line=number) from None
            if record is not None:
                empty = False
                yield Row(record, number, offset=offset)
    if empty:
        raise DataError("no predictions; did every example fail?", file=file)


def record_of(row: Any, source: Source) -> dict[str, Any] | None:
    """The record of a row; None if its example failed."""
    if not isinstance(row, dict) or "id" not in row or row.get("repeat", 1) != 1:
        return None
    predicted = source.side == "pred"
    parts = [row.get(part) for part in (("prediction",) if predicted else ("inputs", "gold"))]
    if predicted and not isinstance(parts[0], Mapping):
        return None
    fields = {key: value for part in parts if isinstance(part, Mapping) for key, value in part.items()}
    if source.task not in TASKS:
        return {**fields, "id": str(row["id"])}
    record = {**_known_fields(fields, SHAPES[source.side][source.task], source.side), "id": row["id"]}
    try:
        return check(record, source.task, source.side)
    except DataError:
        if predicted and "error" in row:  # this is why it failed
            return None
        raise


@cache
def _fields(shape: Any) -> dict[str, Any]:
    """The fields of a shape; of a list of objects the shape of one."""
    hints = get_type_hints(shape)
    return {name: get_args(hint)[0] if get_origin(hint) is list else None for name, hint in hints.items()}


def _known_fields(value: Any, shape: Any, side: Side) -> Any:
    """A value with the fields that its shape has, and no others."""
    if not isinstance(value, Mapping) or not hasattr(shape, "__required_keys__"):
        return value
    fields: dict[str, Any] = {}
    for name, item in value.items():
        if name in _fields(shape):
            inner = _fields(shape)[name]
            fields[name] = item
            if inner is not None and isinstance(item, list):
                absent = dict.fromkeys(WHOLE.get(name, ())) if side == "pred" else {}
                cleaned = [_known_fields(part, inner, side) for part in item]
                fields[name] = [{**absent, **part} if isinstance(part, dict) else part for part in cleaned]
    return fields
