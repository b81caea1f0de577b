"""Coordinates compare by distance on the sphere: at most ``kilometres`` apart, or gold's own precision if that is more.

Places on two globes (the Moon, Mars) are never the same; where one side does not say its globe, it is the other's.

Source: haversine formula, mean Earth radius 6371.0088 km; Wikidata's globe coordinate datatype.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt
from typing import Any

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


def read(raw: object) -> Coordinate | None:
    """A place from Wikidata's form, ``Point(4.88 52.36)`` (longitude first), ``52.36, 4.88`` or ``52°21′36″N 4°53′E``.

    >>> read("Point(4.885 52.36)")
    Coordinate(latitude=52.36, longitude=4.885, precision=0.0, globe='')
    >>> read("52°21′36″N 4°53′6″E") == read("52.36, 4.885") == read("Point(4.885 52.36)")
    True
    """
    if isinstance(raw, Mapping):
        latitude, longitude = raw.get("latitude", raw.get("lat")), raw.get("longitude", raw.get("lon"))
        if latitude is None or longitude is None:
            return read(raw.get("value")) if raw.get("value") is not None else None
        return _place(float(latitude), float(longitude), float(raw.get("precision") or 0.0), _globe(raw.get("globe")))
    if isinstance(raw, (list, tuple)) and len(raw) == 2:
        return _place(float(raw[0]), float(raw[1]))
    if not isinstance(raw, str):
        return None
    if found := POINT.search(raw):
        return _place(float(found[2]), float(found[1]), globe=_globe(raw[: found.start()]))
    angles = ANGLE.findall(raw)
    if len(angles) == 2:
        north, east = (round(_degrees(*angle), 9) for angle in angles)
        return _place(north, east)
    found = PAIR.fullmatch(raw.strip())
    return _place(float(found[1]), float(found[2])) if found else None


def _place(latitude: float, longitude: float, precision: float = 0.0, globe: str = "") -> Coordinate | None:
    return Coordinate(latitude, longitude, precision, globe) if abs(latitude) <= 90 and abs(longitude) <= 360 else None


def _globe(said: Any) -> str:
    found = GLOBE.search(str(said or ""))
    return found[0] if found else ""


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


def same(gold: Coordinate, pred: Coordinate, kilometres: float = 1.0) -> bool:
    """Whether the two are as close as asked.

    >>> same(Coordinate(52.36, 4.885), Coordinate(52.361, 4.886)), same(Coordinate(52.36, 4.885), Coordinate(51.9, 4.5))
    (True, False)
    """
    if gold.globe and pred.globe and gold.globe != pred.globe:
        return False
    return distance(gold, pred) <= max(kilometres, gold.precision * 111.32)
