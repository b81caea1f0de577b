"""``jsonl``: the canonical records, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldassay import files
from goldassay import jsonl as strict
from goldassay.exceptions import DataError
from goldassay.files import Wrong, stop
from goldassay.gold import quick
from goldassay.gold.records import SPANS, Side, adapter, plain, prove
from goldassay.measure import TASKS as TASKS

LAST = ("strata", "meta")


def read(path: str | Path, task: str, side: Side = "gold", *, wrong: Wrong = stop) -> list[dict[str, Any]]:
    """The records of a file, validated; spans are proved against the text."""
    records: list[dict[str, Any]] = []
    with files.uncollected():
        for number, place, block in files.blocks(path):
            found = quick.rows(block, task, side)
            if found is None:
                found = list(by_line(block, path, number, place, task, side, wrong))
            records += found
    if not records:
        raise DataError("the file is empty", file=path)
    return records


def by_line(
    block: bytes, path: str | Path, number: int, place: int, task: str, side: Side, wrong: Wrong = stop
) -> Iterator[dict[str, object]]:
    """The records of a block, one at a time: what is wrong is told with its line.

    Args:
        block: Whole lines.
        path: The file that errors name.
        number: The number of its first line.
        place: How many bytes stand before it.
        task: The task.
        side: ``gold`` or ``pred``.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    for line in files.decoded(block, path, number, place).split("\n"):
        if line and not line.isspace():
            try:
                yield _record(line, task, side)
            except DataError as error:
                wrong(error.at(file=path, line=number))
        number += 1


def _record(line: str, task: str, side: Side) -> dict[str, Any]:
    """The record of a line; its spans are proved against its text."""
    try:
        checked = adapter(task, side).validate_json(line)
    except ValidationError as error:
        raise plain(error, record=_id(line)) from None
    record: dict[str, Any] = _as_written(checked, strict.value(line))
    field = SPANS.get(task)
    if field and "text" in record:
        prove(record["text"], record[field], field, record["id"])
    return record


def _as_written(checked: Any, written: Any) -> Any:
    """A checked value whose fields stand in the order in which they are written, as on the quick way."""
    if isinstance(checked, dict):
        return {key: _as_written(checked[key], value) for key, value in written.items()}
    if isinstance(checked, (list, tuple)):
        return type(checked)(map(_as_written, checked, written))
    return checked


def dumps(records: Iterable[Mapping[str, object]]) -> str:
    """Records as JSON Lines: what is about a record stands after what it says, and a whole grade is a whole number.

    >>> dumps([{"id": "q", "strata": {"tier": 1}, "query": "x", "relevant": {"d": 2.0}}])
    '{"id": "q", "query": "x", "relevant": {"d": 2}, "strata": {"tier": 1}}\\n'
    """
    return "".join(json.dumps(_laid_out(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def _laid_out(record: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in record.items() if key not in LAST}
    if isinstance(made.get("relevant"), Mapping):
        made["relevant"] = {
            key: int(grade) if isinstance(grade, float) and grade.is_integer() else grade
            for key, grade in made["relevant"].items()
        }
    return made | {key: record[key] for key in LAST if key in record}


def write(path: str | Path, records: Iterable[Mapping[str, object]], task: str, side: Side = "gold") -> None:
    """Write records, one a line."""
    files.save(path, dumps(records))


def _id(line: str) -> str | None:
    try:
        found = json.loads(line)  # whatever else is wrong with it
    except (ValueError, RecursionError):
        return None
    return str(found["id"]) if isinstance(found, dict) and "id" in found else None
