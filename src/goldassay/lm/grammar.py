"""The JSON schema of a local model's answer: lists and texts bounded, copied fields limited to runs of the input.

Without bounds a small model fills a list until it runs out of tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from goldassay.lm.lines import CHARACTERS, ITEMS, LETTERS, TOP_CHARACTERS

MARKS = ".,;:!?()[]\"'“”„‘’«»"
INNER = {"items", "prefixItems", "$defs", "definitions"}  # where texts are names and labels
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
    bounded = bound(schema, items, characters, _runs(source, max(1, characters // LETTERS)))
    grammar: str = import_module("xllamacpp").json_schema_to_grammar(json.dumps({**bounded, "x-guidance": COMPACT}))
    return grammar


def bound(schema: Any, items: int = ITEMS, characters: int = CHARACTERS, runs: Sequence[str] = ()) -> Any:
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

    def walk(part: Any, length: int) -> Any:
        if isinstance(part, list):
            return [walk(each, length) for each in part]
        if not isinstance(part, dict):
            return part
        if runs and part.get("copied") and part.get("type") == "string":
            return {"enum": [*runs, ""]}
        bounded = {key: walk(value, characters if key in INNER else length) for key, value in part.items()}
        if bounded.get("type") == "array":
            bounded.setdefault("maxItems", items)
        if bounded.get("type") == "string" and not bounded.keys() & {"enum", "const", "pattern", "format"}:
            bounded.setdefault("maxLength", length)
        fields = bounded.get("properties", {})
        if runs and fields.keys() & {"type", "label"} and fields.get("text", {}).get("type") == "string":
            fields["text"] = {"enum": [*runs]}
        return bounded

    return walk(schema, max(characters, TOP_CHARACTERS))


def _runs(source: str, words: int) -> list[str]:
    """All runs of at most so many words that stand on one line, each also without the marks around it.

    >>> _runs("in Delft (1667)", 2)
    ['in', 'in Delft', 'Delft', 'Delft (1667)', 'Delft (1667', '(1667)', '1667']
    """
    runs: list[str] = []
    for line in source.splitlines():
        spans = [match.span() for match in re.finditer(r"\S+", line)]
        for i, (start, _) in enumerate(spans):
            for _, end in spans[i : i + words]:
                runs += [line[start:end], line[start:end].strip(MARKS)]
    return list(dict.fromkeys(filter(None, runs)))
