"""A passage collection: what retrieval searches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold import files


def passages(file: Path) -> list[dict[str, Any]]:
    """A passage collection: one JSON object a line with an id (``id`` or ``doc_id``) and a text."""
    found = []
    for number, line in enumerate(files.lines(file), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"not JSON: {getattr(error, 'msg', 'nested too deeply')}", file=file, line=number) from None
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("text"), str)
            or not (row.get("id") or row.get("doc_id"))
        ):
            raise DataError("a passage is an object with an id and a text", file=file, line=number)
        row["id"] = str(row.get("id") or row["doc_id"])
        found.append(row)
    return found
