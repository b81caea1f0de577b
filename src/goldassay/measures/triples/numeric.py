"""Quantities and coordinates: numbers that need not agree to the last digit.

Quantities compare by value and unit: 100 is not 1000, and 1 km is 1000 m. The value must agree within ``tolerance`` (a
share of gold's value, 0 by default) or lie within gold's own bounds. Units are the same when they name one unit, or
when both are known and the value agrees after conversion. A known unit on one side only is a difference; a word that is
no unit only says what is counted ("15,000 employees" is 15,000). A unit goes by its item in Wikidata, its sign, and its
names in English, Dutch, German and French. Units of one measure can be turned into each other; temperatures and
currencies cannot: each is only equal to itself.

Coordinates compare by distance on the sphere: at most ``kilometres`` apart, or gold's own precision if that is more.
Places on two globes (the Moon, Mars) are never the same; where one side does not say its globe, it is the other's.

Source: Wikidata's quantity and globe coordinate datatypes, https://www.wikidata.org/wiki/Help:Data_type, and its items;
the International System of Units (BIPM, 9th edition); for miles, feet, inches, acres and pounds the international yard
and pound agreement of 1959; the haversine formula, mean Earth radius 6371.0088 km.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from math import asin, cos, radians, sin, sqrt
from typing import Any, NamedTuple

from goldassay._support import files
from goldassay._support.jsonl import JSON
from goldassay.text.normal import normal

ABOUT_AMOUNT = re.compile(
    r"^(?:(?:about|around|approximately|approx\.?|some|circa|c\.|ca\.?|ongeveer|rund|etwa|environ)\s+|[~≈]\s*)",
    re.IGNORECASE,
)
WRITTEN_AMOUNT = re.compile(
    r"(?P<before>(?:US|A|C)?\$|[€£¥]|\b[A-Z]{3}\b|)\s*(?P<number>[+\-−]?\d+(?:[.,]\d+|[\s'’]\d{3}(?!\d))*)\s*"
    r"(?P<after>\D*|k?m2|mi2)"
)
TRIPLES_DATA = files.resource("triples.json")
"""The size and the names of the units of each measure; the ``scales`` are words that multiply the number before them;
the names of value types; well-known prefixes."""
UNIT_KINDS = TRIPLES_DATA["units"]
SCALES = {name: size for size, *names in TRIPLES_DATA["scales"] for name in names}
UNIT_SIZES = {name: (kind, size) for kind, units in UNIT_KINDS.items() for size, *names in units for name in names}
COUNTED_NOUN = re.compile(r"[^\W\d_]{2}[^\W\d_ \-]*(?:[ \-][^\W\d_]+)*")
NO_UNIT = ("", "1", "Q199")


class Quantity(NamedTuple):
    """A value (a text such as ``1.000`` may have two readings), its unit, and gold's bounds, if it has any.

    ``unit`` is the measure of a known unit, with its ``size`` in it, else the unit as it is written.
    """

    readings: tuple[float, ...]
    unit: str = ""
    size: float = 1.0
    bounds: tuple[float, ...] = ()


def quantity(raw: JSON) -> Quantity | None:
    """A quantity from a number, from Wikidata's form or as written.

    >>> quantity("1,000 km²"), quantity("1.5 million").readings, quantity("many") is None
    (Quantity(readings=(1000.0,), unit='area', size=1000000, bounds=()), (1500000.0,), True)
    """
    if isinstance(raw, Mapping):
        amount = quantity(raw.get("amount")) or quantity(raw.get("value"))
        if amount is None:
            return None
        limits = [quantity(raw.get("lowerBound")), quantity(raw.get("upperBound"))]
        unit, size = _unit(str(raw["unit"])) if raw.get("unit") else amount[1:3]
        return Quantity(amount.readings, unit, size, tuple(limit.readings[0] for limit in limits if limit))
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return Quantity((float(raw),))
    return _written(str(raw))


@lru_cache(maxsize=65536)
def _written(text: str) -> Quantity | None:
    parts = WRITTEN_AMOUNT.fullmatch(ABOUT_AMOUNT.sub("", text.strip()))
    if parts is None:
        return None
    words = parts["after"].split()
    scale = SCALES.get(words[0].casefold().rstrip("."), 0) if words else 0
    readings = tuple(number * (scale or 1) for number in _readings(parts["number"]))
    return Quantity(readings, *_unit(parts["before"] or " ".join(words[scale > 0 :])))


def _readings(text: str) -> list[float]:
    """The readings of a written number: ``1.000`` is a thousand in one country and one in another.

    >>> _readings("1.000"), _readings("1,000"), _readings("1.234,5")
    ([1.0, 1000.0], [1000.0], [1234.5])
    """
    text = re.sub(r"[\s'’]", "", text.replace("−", "-"))
    signs = re.findall("[.,]", text)
    *groups, tail = re.split("[.,]", text)
    integer = float("".join([*groups, tail]))
    grouped = len({*signs}) == 1 and (len(signs) > 1 or (signs == [","] and len(tail) == 3))
    if not signs or grouped:
        return [integer]
    decimal = float(f"{''.join(groups)}.{tail}")
    return [decimal, integer] if signs == ["."] and len(tail) == 3 and len(groups[0].lstrip("+-")) <= 3 else [decimal]


def same_quantity(gold: Quantity, pred: Quantity, tolerance: float = 0.0) -> bool:
    """Whether value and unit agree.

    >>> same_quantity(quantity(100), quantity("1000")), same_quantity(quantity("1 km"), quantity("1000 m"))
    (False, True)
    >>> same_quantity(quantity("5 kg"), quantity("5"))
    False
    """
    same_unit = (normal(gold.unit) or gold.unit) == (normal(pred.unit) or pred.unit)
    counted = not gold.unit and pred.unit not in UNIT_KINDS and COUNTED_NOUN.fullmatch(pred.unit)  # "15,000 employees"
    if not same_unit and not counted:
        return False
    values = [reading * pred.size / gold.size for reading in pred.readings]
    if len(gold.bounds) == 2 and any(gold.bounds[0] <= value <= gold.bounds[1] for value in values):
        return True
    near = max(tolerance, 1e-9)
    return any(math.isclose(*pair, rel_tol=near, abs_tol=1e-12) for pair in product(gold.readings, values))


def _unit(text: str) -> tuple[str, float]:
    """The measure and the size of the unit that a text begins with; the text itself where none is known.

    >>> _unit("http://www.wikidata.org/entity/Q11573"), _unit("km above sea level"), _unit("employees")
    (('length', 1), ('length', 1000), ('employees', 1.0))
    >>> _unit("in"), _unit("in total"), _unit("an hour")
    (('length', 0.0254), ('in total', 1.0), ('an hour', 1.0))
    """
    name = text.rpartition("www.wikidata.org/entity/")[2].strip().removeprefix("wd:")
    words = name.split()
    for end in range(min(3, len(words)), 0, -1):
        first = " ".join(words[:end]).rstrip(".,;")
        unit = UNIT_SIZES.get(first) or UNIT_SIZES.get(first.casefold())
        # a unit at the end of a text, and a word before another one: "12 in total", "5 an hour"
        if unit and (first not in ("in", "an") or end == len(words)):
            return unit
    return "" if name in NO_UNIT else name, 1.0


RADIUS = 6371.0088
GLOBE = re.compile(r"\bQ[1-9]\d*")
POINT = re.compile(r"point\s*\(\s*([-+]?[\d.]+)\s+([-+]?[\d.]+)\s*\)", re.IGNORECASE)
PAIR = re.compile(r"([-+]?\d{1,2}(?:\.\d+)?)\s*°?\s*[,;/ ]\s*([-+]?\d{1,3}(?:\.\d+)?)\s*°?")
ANGLE = re.compile(
    r"(\d{1,3}(?:\.\d+)?)\s?(?:°|(?=\s?[NSEWOZ]\b))\s*(?:(\d{1,2})[′'’]\s*)?"
    r"(?:(\d{1,2}(?:\.\d+)?)[″\"”]\s*)?([NSEWOZ])",
    re.IGNORECASE,
)


class Coordinate(NamedTuple):
    """Degrees north and east; ``precision`` in degrees; the item of the globe, empty where it is not said."""

    latitude: float
    longitude: float
    precision: float = 0.0
    globe: str = ""


def coordinate(raw: JSON) -> Coordinate:
    """A place from Wikidata's form, ``Point(4.88 52.36)`` (longitude first), ``52.36, 4.88`` or ``52°21′36″N 4°53′E``.

    >>> coordinate("Point(4.885 52.36)")
    Coordinate(latitude=52.36, longitude=4.885, precision=0.0, globe='')
    >>> coordinate("52°21′36″N 4°53′6″E") == coordinate("52.36, 4.885") == coordinate("Point(4.885 52.36)")
    True
    """
    precision = 0.0
    globe = ""
    degrees: Any = raw
    if isinstance(raw, Mapping):
        if raw.get("value") is not None:
            return coordinate(raw["value"])
        precision = float(raw.get("precision") or 0.0)
        globe = str(raw.get("globe") or "")
        degrees = (raw.get("latitude", raw.get("lat")), raw.get("longitude", raw.get("lon")))
    elif isinstance(raw, str):
        angles = ANGLE.findall(raw)
        if match := POINT.search(raw):
            globe = raw[: match.start()]
            degrees = match.group(2, 1)
        elif len(angles) == 2:  # degrees, minutes and seconds; negative in the south and the west
            sizes = [sum(float(digits or 0) / 60**n for n, digits in enumerate(parts)) for *parts, _ in angles]
            degrees = [round(-n if angle[-1] in "SWZswz" else n, 9) for n, angle in zip(sizes, angles, strict=True)]
        else:
            match = PAIR.fullmatch(raw.strip())
            degrees = match.groups() if match else ()
    latitude, longitude = map(float, degrees)
    if not math.isfinite(latitude + longitude):
        raise ValueError(f"{raw!r} is not a place")
    item = GLOBE.search(globe)
    return Coordinate(latitude, longitude, precision, item[0] if item else "")


def distance(gold: Coordinate, pred: Coordinate) -> float:
    """Kilometres between two places.

    >>> round(distance(Coordinate(0, 0), Coordinate(0, 1)))
    111
    """
    up = radians(pred.latitude - gold.latitude)
    across = radians(pred.longitude - gold.longitude)
    half = sin(up / 2) ** 2 + cos(radians(gold.latitude)) * cos(radians(pred.latitude)) * sin(across / 2) ** 2
    return 2 * RADIUS * asin(sqrt(min(1.0, half)))


def same_place(gold: Coordinate, pred: Coordinate, kilometres: float = 1.0) -> bool:
    """Whether the two are as close as asked.

    >>> museum = Coordinate(52.36, 4.885)
    >>> same_place(museum, Coordinate(52.361, 4.886)), same_place(museum, Coordinate(51.9, 4.5))
    (True, False)
    """
    if gold.globe and pred.globe and gold.globe != pred.globe:
        return False
    return distance(gold, pred) <= max(kilometres, gold.precision * 111.32)
