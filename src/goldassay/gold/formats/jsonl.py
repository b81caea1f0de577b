"""``jsonl``: the canonical records, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldassay.exceptions import DataError
from goldassay.gold import files, offsets
from goldassay.gold.records import Side, adapter, plain
from goldassay.measure import TASKS as TASKS


def read(path: str | Path, task: str, side: Side = "gold") -> list[dict[str, Any]]:
    """The records of a file, validated; spans are proved against the text."""
    validate = adapter(task, side).validate_json
    field = offsets.FIELDS.get(task)
    records: list[dict[str, Any]] = []
    with files.uncollected():
        for number, line in enumerate(files.lines(path), start=1):
            try:
                record = validate(line)
            except ValidationError as error:
                if not line or line.isspace():
                    continue
                raise plain(error, record=_id(line)).at(file=path, line=number) from None
            if field and "text" in record:
                try:
                    offsets.prove(record["text"], record[field], field, record["id"])
                except DataError as error:
                    raise error.at(file=path, line=number) from None
            records.append(record)
    return records


def dumps(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON Lines."""
    return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write records, one a line."""
    files.save(path, dumps(records))


def _id(line: str) -> str | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return str(found["id"]) if isinstance(found, dict) and "id" in found else None
