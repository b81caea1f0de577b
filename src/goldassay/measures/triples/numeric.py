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

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import asin, cos, radians, sin, sqrt

from goldassay.text.normal import normal

ABOUT = re.compile(
    r"^(?:(?:about|around|approximately|approx\.?|some|circa|c\.|ca\.?|ongeveer|rund|etwa|environ)\s+|[~≈]\s*)",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"(?P<before>(?:US|A|C)?\$|[€£¥]|\b[A-Z]{3}\b|)\s*(?P<number>[+\-−]?\d+(?:[.,]\d+|[\s'’]\d{3}(?!\d))*)\s*"
    r"(?P<after>\D*|k?m2|mi2)"
)

UNITS = """
length 1 Q11573, m, metre, meter, metres, meters, mètre, mètres
length 0.01 Q174728, cm, centimetre, centimeter, centimetres, centimeters, zentimeter, centimètres
length 0.001 Q174789, mm, millimetre, millimeter, millimetres, millimeters, millimètre, millimètres
length 1000 Q828224, km, kilometre, kilometer, kilometres, kilometers, kilomètre, kilomètres
length 1609.344 Q253276, mi, mile, miles, mijl, meilen
length 0.3048 Q3710, ft, foot, feet, voet, fuß, pieds
length 0.0254 Q218593, in, inch, inches
area 1 Q25343, m², sqm, sq m, square metre, square metres, square meter, square meters, vierkante meter,
  quadratmeter, mètres carrés
area 1000000 Q712226, km², sq km, square kilometre, square kilometres, square kilometer, square kilometers,
  vierkante kilometer, quadratkilometer, kilomètres carrés
area 2589988.110336 Q232291, mi², sq mi, square mile, square miles
area 10000 Q35852, ha, hectare, hectares, hektar
area 4046.8564224 Q81292, acre, acres
mass 1 Q11570, kg, kilogram, kilograms, kilogramm, kilogramme, kilogrammes
mass 0.001 Q41803, g, gram, grams, gramm, gramme, grammes
mass 1000 Q191118, t, tonne, tonnes, ton, tons
mass 0.45359237 Q100995, lb, lbs, pounds weight
duration 1 Q11574, s, sec, second, seconds, seconde, seconden, sekunde, sekunden, secondes
duration 60 Q7727, min, minute, minutes, minuut, minuten
duration 3600 Q25235, h, hr, hrs, hour, hours, uur, stunde, stunden, heure, heures
duration 86400 Q573, day, days, dag, dagen, tag, tage, jour, jours
duration 604800 Q23387, week, weeks, weken, woche, wochen, semaine, semaines
years 1 Q577, year, years, jaar, jaren, jahr, jahre, an, ans, années
speed 1 Q182429, m/s, metres per second, meters per second
speed 0.2777777777777778 Q180154, km/h, kmh, kph, kilometres per hour, kilometers per hour
speed 0.44704 Q211256, mph, miles per hour
celsius 1 Q25267, °c, degree celsius, degrees celsius, graad celsius, grad celsius, degrés celsius
fahrenheit 1 Q42289, °f, degree fahrenheit, degrees fahrenheit
kelvin 1 Q11579, k, kelvin
euro 1 Q4916, €, eur, euro, euros
dollar 1 Q4917, $, us$, usd, dollar, dollars, us dollar, us dollars, united states dollars
sterling 1 Q25224, £, gbp, pound sterling, pounds sterling, pound, pounds
yen 1 Q8146, ¥, jpy, yen
share 1 Q11229, %, percent, per cent, procent, prozent, pourcent, pour cent
"""
"""A measure, the size of a unit in it, and its names; a line that begins with spaces goes on."""
KNOWN = {
    name.strip(): (kind, float(size))
    for kind, size, names in (line.split(None, 2) for line in UNITS.replace("\n  ", " ").strip().splitlines())
    for name in names.split(",")
}
KNOWN |= {"m2": KNOWN["m²"], "km2": KNOWN["km²"], "mi2": KNOWN["mi²"]}
SCALES = {
    name: size
    for size, names in (
        (1e3, "thousand duizend tausend mille"),
        (1e6, "million millions miljoen millionen mio mln"),
        (1e9, "billion billions bn miljard milliarde milliarden milliard milliards mrd mld"),
    )
    for name in names.split()
}
COUNTED = re.compile(r"[^\W\d_]{2}[^\W\d_ \-]*(?:[ \-][^\W\d_]+)*")
WIKIDATA = "www.wikidata.org/entity/"
NO_UNIT = ("", "1", "Q199")
WORDS = ("in", "an")  # a unit at the end of a text, and a word before another one: "12 in total", "5 an hour"


@dataclass(frozen=True, slots=True)
class Quantity:
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
    return Quantity(tuple(sorted(number * (scale or 1.0) for number in _numbers(parts["number"]))), unit)


def _numbers(text: str) -> set[float]:
    """The readings of a written number: ``1.000`` is a thousand in one country and one in another.

    >>> sorted(_numbers("1.000")), sorted(_numbers("1,000")), sorted(_numbers("1.234,5"))
    ([1.0, 1000.0], [1000.0], [1234.5])
    """
    text = re.sub(r"[\s'’]", "", text.replace("−", "-"))
    whole, signs = float(re.sub("[.,]", "", text)), re.findall("[.,]", text)
    if not signs:
        return {whole}
    head, tail = text.rsplit(signs[-1], 1)
    decimal = float(f"{re.sub('[.,]', '', head)}.{tail}")
    if len(set(signs)) == 1 and (len(signs) > 1 or (signs == [","] and len(tail) == 3)):
        return {whole}
    return {whole, decimal} if len(signs) == 1 and len(tail) == 3 and len(head.lstrip("+-")) <= 3 else {decimal}


def same_quantity(gold: Quantity, pred: Quantity, tolerance: float = 0.0) -> bool:
    """Whether value and unit agree.

    >>> same_quantity(quantity(100), quantity("1000")), same_quantity(quantity("1 km"), quantity("1000 m"))
    (False, True)
    >>> same_quantity(quantity("5 kg"), quantity("5"))
    False
    """
    size = factor(gold.unit, pred.unit)
    values = [reading * size for reading in pred.readings] if size else []
    if len(gold.bounds) == 2 and any(gold.bounds[0] <= value <= gold.bounds[1] for value in values):
        return True
    close = partial(math.isclose, rel_tol=max(tolerance, 1e-9), abs_tol=1e-12)
    return any(close(*pair) for pair in product(gold.readings, values))


def named(text: str) -> str:
    """The unit that a text begins with; the text itself where none is known.

    >>> named("http://www.wikidata.org/entity/Q11573"), named("m above sea level"), named("km/h"), named("employees")
    ('Q11573', 'm', 'km/h', 'employees')
    >>> named("in"), named("in total"), named("an hour")
    ('in', 'in total', 'an hour')
    """
    name = text.rpartition(WIKIDATA)[2].strip().removeprefix("wd:")
    words = name.split()
    for end in range(min(3, len(words)), 0, -1):
        first = " ".join(words[:end]).rstrip(".,;")
        if _known(first) and (first not in WORDS or end == len(words)):
            return first
    return "" if name in NO_UNIT else name


def factor(gold: str, pred: str) -> float | None:
    """What turns a predicted value into gold's unit; None where the units are of different kinds.

    >>> factor("Q11573", "km"), factor("kg", "m"), factor("", "employees"), factor("", "km")
    (1000.0, None, 1.0, None)
    """
    if gold == pred or normal(gold) == normal(pred) != "":
        return 1.0
    (kind, size), (other_kind, other_size) = _known(gold) or ("", 0.0), _known(pred) or ("", 0.0)
    if not gold and not other_kind and COUNTED.fullmatch(pred):
        return 1.0  # a word that is no unit: what is counted
    return other_size / size if kind and kind == other_kind else None


def _known(unit: str) -> tuple[str, float] | None:
    """The measure that a unit belongs to, and its size in it."""
    return KNOWN.get(unit) or KNOWN.get(unit.casefold())


RADIUS = 6371.0088
GLOBE = re.compile(r"\bQ[1-9]\d*")
POINT = re.compile(r"point\s*\(\s*([-+]?[\d.]+)\s+([-+]?[\d.]+)\s*\)", re.IGNORECASE)
PAIR = re.compile(r"([-+]?\d{1,2}(?:\.\d+)?)\s*°?\s*[,;/ ]\s*([-+]?\d{1,3}(?:\.\d+)?)\s*°?")
ANGLE = re.compile(
    r"(\d{1,3}(?:\.\d+)?)\s?(?:°|(?=\s?[NSEWOZ]\b))\s*(?:(\d{1,2})[′'’]\s*)?"
    r"(?:(\d{1,2}(?:\.\d+)?)[″\"”]\s*)?([NSEWOZ])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Coordinate:
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
