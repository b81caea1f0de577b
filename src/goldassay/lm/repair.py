"""An answer that was cut short keeps its complete parts."""

from __future__ import annotations

import json
from typing import Any


def complete(text: str) -> tuple[str, bool]:
    """The longest JSON object that a cut answer surely holds, and whether anything was cut off.

    Complete items of arrays and complete fields are kept; what was being written when the answer ended is dropped.

    >>> complete('{"entities": [{"type": "TOP", "text": "Delft"}, {"type": "TM')
    ('{"entities": [{"type": "TOP", "text": "Delft"}]}', True)
    >>> complete('{"label": "Museum"}')
    ('{"label": "Museum"}', False)
    """
    try:
        json.loads(text)
    except json.JSONDecodeError:
        pass
    else:
        return text, False
    for end in _safe_ends(text):
        kept = text[:end].rstrip().rstrip(",")
        candidate = kept + "".join(reversed(_open(kept)))
        if _is_object(candidate):
            return candidate, True
    return text, True


def _safe_ends(text: str) -> list[int]:
    """Where a value may have ended, the last one first."""
    ends, inside, escaped = [], False, False
    for place, sign in enumerate(text):
        if inside:
            if escaped:
                escaped = False
            elif sign == "\\":
                escaped = True
            elif sign == '"':
                inside = False
                ends.append(place + 1)
            continue
        if sign == '"':
            inside = True
        elif sign in "}],":
            ends.append(place + (sign != ","))
        elif sign in "[{":
            ends.append(place + 1)
    return ends[::-1]


def _open(text: str) -> list[str]:
    """The closing signs that are still missing, outermost first."""
    stack: list[str] = []
    inside, escaped = False, False
    for sign in text:
        if inside:
            escaped, inside = (not escaped and sign == "\\"), not (sign == '"' and not escaped)
        elif sign == '"':
            inside = True
        elif sign in "[{":
            stack.append("]" if sign == "[" else "}")
        elif sign in "]}" and stack:
            stack.pop()
    return stack


def _is_object(text: str) -> bool:
    try:
        found: Any = json.loads(text)
    except json.JSONDecodeError:
        return False
    return isinstance(found, dict) and _whole(found)


def _whole(value: Any) -> bool:
    """Whether no item of an array has fewer fields than its first one: a half-written item is not kept."""
    if isinstance(value, dict):
        return all(_whole(part) for part in value.values())
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return all(item.keys() >= value[0].keys() for item in value) and all(map(_whole, value))
    return True
