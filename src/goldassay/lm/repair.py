"""An answer that was cut short keeps its complete parts.

What a constrained model writes is JSON up to the point where the tokens ended. Of that, complete fields and complete
items of lists are kept. Text that was being written as a field of its own is kept as far as it goes, like any answer
that ends at ``max_tokens``; anything else that was begun is dropped.
"""

from __future__ import annotations

import json
import re
from typing import Any

DECODER = json.JSONDecoder()
KEY = re.compile(r'\s*,?\s*("(?:[^"\\]|\\.)*")\s*:\s*')
AFTER = re.compile(r"[\s,\]}]")
BETWEEN = re.compile(r"[\s,]*")


def complete(text: str) -> tuple[str, bool]:
    """The JSON object that a cut answer surely holds, and whether anything was cut off.

    >>> complete('{"entities": [{"type": "TOP", "text": "Delft"}, {"type": "TM')
    ('{"entities": [{"type": "TOP", "text": "Delft"}]}', True)
    >>> complete('{"entities": [{"type": "TOP"')
    ('{"entities": []}', True)
    >>> complete('{"label": "Museum"}')
    ('{"label": "Museum"}', False)
    """
    try:
        json.loads(text)
    except json.JSONDecodeError:
        start = text.find("{")
        return (json.dumps(_fields(text, start + 1), ensure_ascii=False) if start >= 0 else text), True
    return text, False


def _fields(text: str, place: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    while key := KEY.match(text, place):
        whole = _value(text, key.end())
        if whole is None:
            part = _begun(text, key.end())
            return fields if part is None else {**fields, json.loads(key[1]): part}
        fields[json.loads(key[1])], place = whole
    return fields


def _value(text: str, place: int) -> tuple[Any, int] | None:
    """A complete value and where it ends. A number with nothing after it may lack digits."""
    try:
        value, end = DECODER.raw_decode(text, place)
    except json.JSONDecodeError:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    unsure = number and not AFTER.match(text, end)
    return None if unsure else (value, end)


def _begun(text: str, place: int) -> Any:
    """What is sure of a value that was cut: the complete items of a list, the words of a text so far."""
    if text[place : place + 1] == "[":
        items, place = [], place + 1
        while found := _value(text, _skip(text, place)):
            items.append(found[0])
            place = found[1]
        return items
    if text[place : place + 1] == '"':
        for end in range(len(text), max(place, len(text) - 12), -1):  # the end may cut an escape (\ud83d\ude00) in two
            if found := _value(f'{text[place:end]}"', 0):
                return found[0].encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return None


def _skip(text: str, place: int) -> int:
    found = BETWEEN.match(text, place)
    return found.end() if found else place
