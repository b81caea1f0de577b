"""Whether a value stands in a text: its words, a time's year, a quantity's number."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from goldassay.measures.triples import items, objects, quantities, times
from goldassay.measures.triples.texts import normal

NUMBERS = re.compile(r"\d+(?:[.,\s'’]\d{3})*(?:[.,]\d+)?")


def stands_in(value: Any, text: str) -> bool | None:
    """True or False; None for an id without a label, which cannot be looked for.

    >>> stands_in("ex:Marie_Curie", "Marie Curie was born in Warsaw."), stands_in("Q90", "in Paris")
    (True, None)
    >>> stands_in("14 July 1789", "stormed in 1789"), stands_in("1000", "a thousand"), stands_in("art", "the party")
    (True, False, False)
    """
    words = items.label(objects.written(value))
    if items.QID.fullmatch(words):
        return None
    looked, there = normal(words), f" {_folded(text)} "
    if looked and f" {looked} " in there:
        return True
    time = times.read(value if isinstance(value, dict) else words)
    if time is not None:
        return re.search(rf"(?<!\d)0*{abs(time.year)}(?!\d)", text) is not None
    number = quantities.read(value if isinstance(value, (dict, int, float)) else words)
    return number is not None and bool(set(number.readings) & _numbers(text))


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return normal(text)


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[float]:
    found: set[float] = set()
    for number in NUMBERS.finditer(text):
        said = quantities.read(number[0])
        found.update(said.readings if said else ())
    return frozenset(found)
