"""Bounds for a JSON schema, so that a constrained answer ends before the tokens do."""

from __future__ import annotations

from typing import Any

ITEMS, CHARACTERS = 12, 120


def bounded(schema: Any, items: int = ITEMS, characters: int = CHARACTERS) -> Any:
    """The schema with every array and every free string bounded; limits that it states itself are kept.

    >>> bounded({"type": "array", "items": {"type": "string"}})
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 120}, 'maxItems': 12}
    """
    if isinstance(schema, list):
        return [bounded(part, items, characters) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: bounded(part, items, characters) for key, part in schema.items()}
    if out.get("type") == "array":
        out.setdefault("maxItems", items)
    if out.get("type") == "string" and not out.keys() & {"enum", "const", "pattern", "format"}:
        out.setdefault("maxLength", characters)
    return out
