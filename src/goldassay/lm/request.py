"""A canonical request of DSPy as the body of llama.cpp's chat completion.

Bounds for a JSON schema, so that a constrained answer ends before the tokens do, and the grammar it becomes.

Array and string limits that a schema states are kept. DSPy drops the limits of a top-level output field's annotation,
so without bounds here a small model fills a list until ``max_tokens``.
"""

from __future__ import annotations

import json
from typing import Any

from dspy.lm15 import TextPart

from goldassay.lm.server import library

SAMPLING = ("top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")


def body(request: Any, items: int, characters: int) -> dict[str, Any]:
    """The messages, the sampling settings, and the grammar that a wanted response format stands for."""
    config = request.config
    messages = [{"role": "system", "content": _text(request.system)}] if request.system else []
    messages += [{"role": message.role, "content": _text(message.parts)} for message in request.messages]
    made: dict[str, Any] = {
        "messages": messages,
        "temperature": config.temperature or 0.0,
        "max_tokens": config.max_tokens or 256,
        "cache_prompt": True,
    }
    made |= {key: getattr(config, key) for key in SAMPLING if getattr(config, key) is not None}
    if config.stop:
        made["stop"] = list(config.stop)
    if config.response_format:
        schema = config.response_format.get("schema") or {"type": "object"}
        made["grammar"] = grammar(bounded(schema, items, characters))
    return made


def _text(parts: Any) -> str:
    return parts if isinstance(parts, str) else "".join(part.text for part in parts if isinstance(part, TextPart))


ITEMS = 12
CHARACTERS = 64
TOP_CHARACTERS = 400
# One line, with the separators of json.dumps: what the demonstrations look like, at two thirds of the tokens.
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def bounded(schema: Any, items: int = ITEMS, characters: int = CHARACTERS) -> Any:
    """The schema with every array and every free string bounded.

    ``characters`` bounds the strings inside arrays and definitions (names, labels); a string that is an output field of
    its own, such as an answer or a reasoning, may have 400.

    >>> bounded({"type": "array", "items": {"type": "string"}}, items=3, characters=20)
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 20}, 'maxItems': 3}
    >>> bounded({"type": "object", "properties": {"answer": {"type": "string"}}})["properties"]["answer"]["maxLength"]
    400
    """
    return _bounded(schema, items, characters, max(characters, TOP_CHARACTERS))


def _bounded(schema: Any, items: int, inner: int, here: int) -> Any:
    if isinstance(schema, list):
        return [_bounded(part, items, inner, here) for part in schema]
    if not isinstance(schema, dict):
        return schema
    deeper = {"items", "prefixItems", "$defs", "definitions"}
    out = {key: _bounded(part, items, inner, inner if key in deeper else here) for key, part in schema.items()}
    if out.get("type") == "array":
        out.setdefault("maxItems", items)
    if out.get("type") == "string" and not out.keys() & {"enum", "const", "pattern", "format"}:
        out.setdefault("maxLength", here)
    return out


def grammar(schema: dict[str, Any]) -> str:
    """llama.cpp's grammar of a schema; answers come on one line where the build has llguidance (the wheels have)."""
    made: str = library().json_schema_to_grammar(json.dumps({**schema, "x-guidance": COMPACT}))
    return made
