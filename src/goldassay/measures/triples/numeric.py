"""Quantities and coordinates: numbers that need not agree to the last digit.

Quantities compare by value and unit: 100 is not 1000, and 1 km is 1000 m. The value must agree within ``tolerance`` (a
share of gold's value, 0 by default) or lie within gold's own bounds. Units are the same when they name one unit, or
when both are known and the value agrees after conversion. A known unit on one side only is a difference; a word that is
no unit only says what is counted ("15,000 employees" is 15,000). A unit goes by its item in Wikidata, its sign, and its
names in English, Dutch, German and French. Units of one measure can be turned into each other; temperatures and
currencies cannot, and each stands alone.

Coordinates compare by distance on the sphere: at most ``kilometres`` apart, or gold's own precision if that is more.
Places on two globes (the Moon, Mars) are never the same; where one side does not say its globe, it is the other's.

Source: Wikidata's quantity and globe coordinate datatypes, https://www.wikidata.org/wiki/Help:Data_type, and its items;
the International System of Units (BIPM, 9th edition); for miles, feet, inches, acres and pounds the international yard
and pound agreement of 1959; the haversine formula, mean Earth radius 6371.0088 km.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from importlib import resources
from itertools import product
from math import asin, cos, radians, sin, sqrt
from typing import NamedTuple

from goldassay.text.normal import normal

ABOUT = re.compile(
    r"^(?:(?:about|around|approximately|approx\.?|some|circa|c\.|ca\.?|ongeveer|rund|etwa|environ)\s+|[~≈]\s*)",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"(?P<before>(?:US|A|C)?\$|[€£¥]|\b[A-Z]{3}\b|)\s*(?P<number>[+\-−]?\d+(?:[.,]\d+|[\s'’]\d{3}(?!\d))*)\s*"
    r"(?P<after>\D*|k?m2|mi2)"
)
UNITS = json.loads(resources.files("goldassay").joinpath("data/units.json").read_text(encoding="utf-8"))
"""By measure, the size and the names of its units; ``scale`` are the words that multiply the number before them."""
SCALES = {name: size for size, *names in UNITS.pop("scale") for name in names}
KNOWN = {name: (kind, size) for kind, units in UNITS.items() for size, *names in units for name in names}
COUNTED = re.compile(r"[^\W\d_]{2}[^\W\d_ \-]*(?:[ \-][^\W\d_]+)*")
NO_UNIT = ("", "1", "Q199")
WORDS = ("in", "an")  # a unit at the end of a text, and a word before another one: "12 in total", "5 an hour"


class Quantity(NamedTuple):
    """A value (a text such as ``1.000`` may have two readings), its unit, and gold's bounds, if it has any."""

    readings: tuple[float, ...]
    unit: str = ""
    bounds: tuple[float, ...] = ()


def quantity(raw: object) -> Quantity | None:
    """A quantity from a number, from Wikidata's form or as written.

    >>> quantity("1,000 m²"), quantity("1.5 million").readings, quantity("many") is None
    (Quantity(readings=(1000.0,), unit='m²', bounds=()), (1500000.0,), True)
    """
    if isinstance(raw, Mapping):
        amount, *limits = (quantity(raw.get(name)) for name in ("amount", "lowerBound", "upperBound"))
        amount = amount or quantity(raw.get("value"))
        bounds = tuple(limit.readings[0] for limit in limits if limit)
        return amount and Quantity(amount.readings, named(str(raw.get("unit") or amount.unit)), bounds)
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return Quantity((float(raw),))
    parts = NUMBER.fullmatch(ABOUT.sub("", str(raw).strip()))
    if parts is None:
        return None
    words = parts["after"].split()
    scale = SCALES.get(words[0].casefold().rstrip(".")) if words else None
    unit = named(parts["before"] or " ".join(words[1:] if scale else words))
    return Quantity(tuple(number * (scale or 1.0) for number in _readings(parts["number"])), unit)


def _readings(text: str) -> list[float]:
    """The readings of a written number: ``1.000`` is a thousand in one country and one in another.

    >>> _readings("1.000"), _readings("1,000"), _readings("1.234,5")
    ([1.0, 1000.0], [1000.0], [1234.5])
    """
    text = re.sub(r"[\s'’]", "", text.replace("−", "-"))
    whole, signs = float(re.sub("[.,]", "", text)), re.findall("[.,]", text)
    head, _, tail = text.rpartition(signs[-1]) if signs else ("", "", "")
    if not signs or (len({*signs}) == 1 and (len(signs) > 1 or (signs == [","] and len(tail) == 3))):
        return [whole]
    decimal = float(f"{re.sub('[.,]', '', head)}.{tail}")
    return [decimal, whole] if len(signs) == 1 and len(tail) == 3 and len(head.lstrip("+-")) <= 3 else [decimal]


def same_quantity(gold: Quantity, pred: Quantity, tolerance: float = 0.0) -> bool:
    """Whether value and unit agree.

    >>> same_quantity(quantity(100), quantity("1000")), same_quantity(quantity("1 km"), quantity("1000 m"))
    (False, True)
    >>> same_quantity(quantity("5 kg"), quantity("5"))
    False
    """
    values = [reading * factor(gold.unit, pred.unit) for reading in pred.readings]
    if len(gold.bounds) == 2 and any(gold.bounds[0] <= value <= gold.bounds[1] for value in values):
        return True
    near = max(tolerance, 1e-9)
    return any(math.isclose(*pair, rel_tol=near, abs_tol=1e-12) for pair in product(gold.readings, values))


def named(text: str) -> str:
    """The unit that a text begins with; the text itself where none is known.

    >>> named("http://www.wikidata.org/entity/Q11573"), named("m above sea level"), named("km/h"), named("employees")
    ('Q11573', 'm', 'km/h', 'employees')
    >>> named("in"), named("in total"), named("an hour")
    ('in', 'in total', 'an hour')
    """
    name = text.rpartition("www.wikidata.org/entity/")[2].strip().removeprefix("wd:")
    words = name.split()
    for end in range(min(3, len(words)), 0, -1):
        first = " ".join(words[:end]).rstrip(".,;")
        if _known(first)[0] and (first not in WORDS or end == len(words)):
            return first
    return "" if name in NO_UNIT else name


def factor(gold: str, pred: str) -> float:
    """What turns a predicted value into gold's unit; not a number where the units are of different kinds.

    >>> factor("Q11573", "km"), factor("kg", "m"), factor("", "employees"), factor("", "km")
    (1000.0, nan, 1.0, nan)
    """
    (kind, size), (other_kind, other_size) = _known(gold), _known(pred)
    if kind and kind == other_kind:
        return other_size / size
    counted = not gold and not other_kind and COUNTED.fullmatch(pred)  # a word that is no unit: what is counted
    return 1.0 if gold == pred or normal(gold) == normal(pred) != "" or counted else math.nan


def _known(unit: str) -> tuple[str, float]:
    """The measure that a unit belongs to, and its size in it."""
    return KNOWN.get(unit) or KNOWN.get(unit.casefold(), ("", 0.0))


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


def coordinate(raw: object) -> Coordinate | None:
    """A place from Wikidata's form, ``Point(4.88 52.36)`` (longitude first), ``52.36, 4.88`` or ``52°21′36″N 4°53′E``.

    >>> coordinate("Point(4.885 52.36)")
    Coordinate(latitude=52.36, longitude=4.885, precision=0.0, globe='')
    >>> coordinate("52°21′36″N 4°53′6″E") == coordinate("52.36, 4.885") == coordinate("Point(4.885 52.36)")
    True
    """
    precision, globe = 0.0, ""
    if isinstance(raw, Mapping):
        if raw.get("value") is not None:
            return coordinate(raw["value"])
        precision, globe = float(raw.get("precision") or 0.0), str(raw.get("globe") or "")
        raw = raw.get("latitude", raw.get("lat")), raw.get("longitude", raw.get("lon"))
    elif isinstance(raw, str):
        if match := POINT.search(raw):
            globe, raw = raw[: match.start()], match.group(2, 1)
        elif len(angles := ANGLE.findall(raw)) == 2:
            raw = [round(_degrees(*angle), 9) for angle in angles]
        elif match := PAIR.fullmatch(raw.strip()):
            raw = match.groups()
    if not isinstance(raw, (list, tuple)) or len(raw) != 2 or None in raw:
        return None
    latitude, longitude = map(float, raw)
    item = GLOBE.search(globe)
    place = Coordinate(latitude, longitude, precision, item[0] if item else "")
    return place if abs(latitude) <= 90 and abs(longitude) <= 360 else None


def _degrees(degrees: str, minutes: str, seconds: str, side: str) -> float:
    value = float(degrees) + int(minutes or 0) / 60 + float(seconds or 0) / 3600
    return -value if side.upper() in "SWZ" else value


def distance(gold: Coordinate, pred: Coordinate) -> float:
    """Kilometres between two places.

    >>> round(distance(Coordinate(0, 0), Coordinate(0, 1)))
    111
    """
    up, across = radians(pred.latitude - gold.latitude), radians(pred.longitude - gold.longitude)
    half = sin(up / 2) ** 2 + cos(radians(gold.latitude)) * cos(radians(pred.latitude)) * sin(across / 2) ** 2
    return 2 * RADIUS * asin(sqrt(min(1.0, half)))


def same_place(gold: Coordinate, pred: Coordinate, kilometres: float = 1.0) -> bool:
    """Whether the two are as close as asked.

    >>> here = Coordinate(52.36, 4.885)
    >>> same_place(here, Coordinate(52.361, 4.886)), same_place(here, Coordinate(51.9, 4.5))
    (True, False)
    """
    if gold.globe and pred.globe and gold.globe != pred.globe:
        return False
    return distance(gold, pred) <= max(kilometres, gold.precision * 111.32)
