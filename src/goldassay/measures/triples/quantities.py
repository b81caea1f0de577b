"""Quantities compare by value and unit: 100 is not 1000, and 1 km is 1000 m.

The value must agree within ``tolerance`` (a share of gold's value, 0 by default) or lie within gold's own bounds. Units
are the same when they name one unit, or when both are known and the value agrees after conversion. A known unit on one
side only is a difference; a word that is no unit only says what is counted ("15,000 employees" is 15,000).

Source: Wikidata's quantity datatype, https://www.wikidata.org/wiki/Help:Data_type#Quantity
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldassay.measures.triples.units import SCALES, factor, named

ABOUT = re.compile(
    r"^(?:(?:about|around|approximately|approx\.?|some|circa|c\.|ca\.?|ongeveer|rund|etwa|environ)\s+|[~≈]\s*)",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"(?P<before>(?:US|A|C)?\$|[€£¥]|\b[A-Z]{3}\b|)\s*(?P<number>[+\-−]?\d+(?:[.,]\d+|[\s'’]\d{3}(?!\d))*)\s*"
    r"(?P<after>\D*|k?m2|mi2)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value (a text such as ``1.000`` may have two readings), its unit, and gold's bounds."""

    readings: tuple[float, ...]
    unit: str = ""
    low: float | None = None
    high: float | None = None


def read(raw: Any) -> Quantity | None:
    """A quantity from a number, from Wikidata's form or as written.

    >>> read("1,000 m²"), read("1.5 million").readings, read("many") is None
    (Quantity(readings=(1000.0,), unit='m²', low=None, high=None), (1500000.0,), True)
    """
    if isinstance(raw, Mapping):
        found = read(raw.get("amount", raw.get("value")))
        if found is None:
            return None
        unit = named(str(raw.get("unit") or found.unit))
        return Quantity(found.readings, unit, _bound(raw.get("lowerBound")), _bound(raw.get("upperBound")))
    if isinstance(raw, bool) or raw is None:
        return None
    if isinstance(raw, (int, float)):
        return Quantity((float(raw),))
    parts = NUMBER.fullmatch(ABOUT.sub("", str(raw).strip()))
    if parts is None:
        return None
    words = parts["after"].strip().split()
    scale = SCALES.get(words[0].casefold().rstrip("."), 1.0) if words else 1.0
    unit = named(parts["before"] or " ".join(words[1:] if scale != 1.0 else words))
    return Quantity(tuple(sorted({number * scale for number in _numbers(parts["number"])})), unit)


def _numbers(text: str) -> set[float]:
    """The readings of a written number: ``1.000`` is a thousand in one country and one in another.

    >>> sorted(_numbers("1.000")), sorted(_numbers("1,000")), sorted(_numbers("1.234,5"))
    ([1.0, 1000.0], [1000.0], [1234.5])
    """
    text = re.sub(r"[\s'’]", "", text.replace("−", "-"))
    signs = [character for character in text if character in ".,"]
    if not signs:
        return {float(text)}
    last = signs[-1]
    head, tail = text.rsplit(last, 1)
    if len(set(signs)) == 2:
        return {float(f"{re.sub('[.,]', '', head)}.{tail}")}
    joined = float(re.sub("[.,]", "", text))
    if len(signs) > 1 or (last == "," and len(tail) == 3):
        return {joined}
    decimal = float(f"{head}.{tail}")
    return {joined, decimal} if len(tail) == 3 and len(head.lstrip("+-")) <= 3 else {decimal}


def _bound(raw: Any) -> float | None:
    found = read(raw) if raw is not None else None
    return found.readings[0] if found else None


def same(gold: Quantity, pred: Quantity, tolerance: float = 0.0) -> bool:
    """Whether value and unit agree.

    >>> same(read(100), read("1000")), same(read("1 km"), read("1000 m")), same(read("5 kg"), read("5"))
    (False, True, False)
    """
    size = factor(gold.unit, pred.unit)
    if size is None:
        return False
    for wanted in gold.readings:
        for found in (value * size for value in pred.readings):
            if gold.low is not None and gold.high is not None and gold.low <= found <= gold.high:
                return True
            if math.isclose(wanted, found, rel_tol=max(tolerance, 1e-9), abs_tol=1e-12):
                return True
    return False
