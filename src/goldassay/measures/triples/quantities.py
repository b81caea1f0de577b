"""Quantities compare by value and unit: 100 is not 1000, and 1 km is 1000 m.

The value must agree within ``tolerance`` (a share of gold's value, 0 by default) or lie within gold's own bounds. Units
are the same when they name one unit, or when both are known and the value agrees after conversion. A unit on one side
only is a difference.

Source: Wikidata's quantity datatype, https://www.wikidata.org/wiki/Help:Data_type#Quantity
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldassay.measures.triples.texts import normal

UNITS: tuple[tuple[str, str, float], ...] = (
    ("length", "Q11573 m metre meter metres meters mètre mètres", 1.0),
    ("length", "Q174728 cm centimetre centimeter centimetres centimeters zentimeter centimètre centimètres", 0.01),
    ("length", "Q174789 mm millimetre millimeter millimetres millimeters millimètre millimètres", 0.001),
    ("length", "Q828224 km kilometre kilometer kilometres kilometers kilomètre kilomètres", 1000.0),
    ("length", "Q253276 mi mile miles mijl", 1609.344),
    ("length", "Q3710 ft foot feet", 0.3048),
    ("area", "Q25343 m² m2 sqm", 1.0),
    ("area", "Q712226 km² km2", 1_000_000.0),
    ("area", "Q35852 ha hectare hectares hektar", 10_000.0),
    ("mass", "Q11570 kg kilogram kilograms kilogramm kilogramme kilogrammes", 1.0),
    ("mass", "Q41803 g gram grams gramm gramme grammes", 0.001),
    ("mass", "Q191118 t tonne tonnes ton tons", 1000.0),
    ("money", "Q4916 € eur euro euros", 1.0),
    ("dollar", "Q4917 $ usd dollar dollars", 1.0),
    ("share", "Q11229 % percent procent prozent pourcent", 1.0),
)
KNOWN = {name: (kind, factor) for kind, names, factor in UNITS for name in names.split()}
SCALES = {
    "thousand": 1e3, "duizend": 1e3, "tausend": 1e3, "mille": 1e3, "million": 1e6, "millions": 1e6, "miljoen": 1e6,
    "millionen": 1e6, "billion": 1e9, "miljard": 1e9, "milliarde": 1e9, "milliarden": 1e9, "milliard": 1e9,
    "milliards": 1e9,
}  # fmt: skip
NUMBER = re.compile(r"(?P<before>[€$]?)\s*(?P<number>[+\-−]?\d+(?:[.,\s'’]\d+)*)\s*(?P<after>\D*)")
NO_UNIT = ("", "1", "Q199")


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
        unit = _unit(str(raw.get("unit") or found.unit))
        return Quantity(found.readings, unit, _bound(raw.get("lowerBound")), _bound(raw.get("upperBound")))
    if isinstance(raw, bool) or raw is None:
        return None
    if isinstance(raw, (int, float)):
        return Quantity((float(raw),))
    parts = NUMBER.fullmatch(str(raw).strip())
    if parts is None:
        return None
    words = parts["after"].strip().split()
    scale = SCALES.get(words[0].casefold(), 1.0) if words else 1.0
    unit = _unit(" ".join(words[1:] if scale != 1.0 else words) or parts["before"])
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


def _unit(text: str) -> str:
    name = text.rsplit("/", 1)[-1].strip().removeprefix("wd:")
    return "" if name in NO_UNIT else name


def same(gold: Quantity, pred: Quantity, tolerance: float = 0.0) -> bool:
    """Whether value and unit agree.

    >>> same(read(100), read("1000")), same(read("1 km"), read("1000 m")), same(read("5 kg"), read("5"))
    (False, True, False)
    """
    factor = _factor(gold.unit, pred.unit)
    if factor is None:
        return False
    for wanted in gold.readings:
        for found in (value * factor for value in pred.readings):
            if gold.low is not None and gold.high is not None and gold.low <= found <= gold.high:
                return True
            if math.isclose(wanted, found, rel_tol=max(tolerance, 1e-9), abs_tol=1e-12):
                return True
    return False


def _factor(gold: str, pred: str) -> float | None:
    """What turns the predicted value into gold's unit; None where the units are of different kinds."""
    if gold == pred or normal(gold) == normal(pred) != "":
        return 1.0
    one, other = KNOWN.get(gold) or KNOWN.get(gold.casefold()), KNOWN.get(pred) or KNOWN.get(pred.casefold())
    return other[1] / one[1] if one and other and one[0] == other[0] else None
