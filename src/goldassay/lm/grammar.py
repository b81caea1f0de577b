"""The JSON schema of a local model's answer: lists and texts bounded, copied fields limited to runs of the input.

Without bounds a small model fills a list until it runs out of tokens.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

from goldassay.lm.lines import CHARACTERS, ITEMS, LETTERS, TOP_CHARACTERS

MARKS = ".,;:!?()[]\"'“”„‘’«»"
# One line, with the separators of json.dumps: what the demonstrations look like, at two thirds of the tokens.
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def json_grammar(schema: dict[str, Any], source: str = "", items: int = ITEMS, characters: int = CHARACTERS) -> str:
    """llama.cpp's grammar of a schema.

    Args:
        schema: the JSON schema of the answer.
        source: what copied fields are copied from; nothing is copied from an empty source.
        items: the most items of a list whose schema states no limit.
        characters: the most characters of a text in a list, likewise.
    """
    runs = _runs(source, max(1, characters // LETTERS))
    bounded = bound(schema, items, characters, runs)
    grammar: str = import_module("xllamacpp").json_schema_to_grammar(json.dumps({**bounded, "x-guidance": COMPACT}))
    return grammar


def bound(schema: Any, items: int = ITEMS, characters: int = CHARACTERS, runs: list[str] | None = None) -> Any:
    """The schema with every list and free text bounded, and every copied text one of ``runs``.

    ``characters`` bounds the texts inside lists and definitions (names, labels); a text that is an output field of its
    own, such as an answer or a reasoning, may have 400.

    >>> bound({"type": "array", "items": {"type": "string"}}, items=3, characters=20)
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 20}, 'maxItems': 3}
    >>> bound({"type": "object", "properties": {"answer": {"type": "string"}}})["properties"]["answer"]["maxLength"]
    400
    >>> bound({"type": "string", "copied": True}, runs=["in Delft", "Delft"])
    {'enum': ['in Delft', 'Delft', '']}
    """
    return _bound(schema, items, characters, max(characters, TOP_CHARACTERS), runs or [])


def _bound(schema: Any, items: int, inner: int, length: int, runs: list[str]) -> Any:
    if isinstance(schema, list):
        return [_bound(part, items, inner, length, runs) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if runs and schema.get("copied") and schema.get("type") == "string":
        return {"enum": [*runs, ""]}
    deeper = {"items", "prefixItems", "$defs", "definitions"}
    bounded = {
        key: _bound(part, items, inner, inner if key in deeper else length, runs) for key, part in schema.items()
    }
    if bounded.get("type") == "array":
        bounded.setdefault("maxItems", items)
    if bounded.get("type") == "string" and not bounded.keys() & {"enum", "const", "pattern", "format"}:
        bounded.setdefault("maxLength", length)
    fields = schema.get("properties")
    if isinstance(fields, dict):
        text = fields.get("text")
        if runs and isinstance(text, dict) and text.get("type") == "string" and fields.keys() & {"type", "label"}:
            bounded["properties"]["text"] = {"enum": runs}
    return bounded


def _runs(source: str, words: int) -> list[str]:
    """All runs of at most so many words that stand on one line, each also without the marks around it.

    >>> _runs("in Delft (1667)", 2)
    ['in', 'in Delft', 'Delft', 'Delft (1667)', 'Delft (1667', '(1667)', '1667']
    """
    runs: dict[str, None] = {}
    for line in source.splitlines():
        spans = [match.span() for match in re.finditer(r"\S+", line)]
        for i, (start, _) in enumerate(spans):
            for _, end in spans[i : i + words]:
                run = line[start:end]
                runs[run] = None
                if run.strip(MARKS):
                    runs[run.strip(MARKS)] = None
    return list(runs)
