"""Times compare at their precision: a year equals a year, and two days of one year differ.

A prediction must be at least as precise as gold and agree at gold's precision (``times="gold"``); ``times="coarser"``
is content with what both say. Where both name a calendar, Julian days are turned into Gregorian ones; where one does
not, it is read in the other's.

Source: Wikidata's time datatype (precisions 6 millennium, 7 century, 8 decade, 9 year, 10 month, 11 day),
https://www.wikidata.org/wiki/Help:Dates
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldassay.measures.triples import times_written
from goldassay.measures.triples.times_written import CENTURY, DAY, DECADE, MILLENNIUM, MONTH, YEAR

JULIAN, GREGORIAN = "Q1985786", "Q1985727"


@dataclass(frozen=True, slots=True)
class Time:
    """A point in time, as exact as ``precision`` says."""

    year: int
    month: int = 0
    day: int = 0
    precision: int = YEAR
    calendar: str | None = None


def read(raw: Any) -> Time | None:
    """A time from Wikidata's form, ISO 8601 or a date as written in English, Dutch, German or French.

    >>> read("+1958-00-00T00:00:00Z").year, read("14 juli 1885")
    (1958, Time(year=1885, month=7, day=14, precision=11, calendar=None))
    >>> read("19th century").precision, read("Berlin") is None
    (7, True)
    """
    if isinstance(raw, Mapping):
        inner = raw.get("time", raw.get("value"))
        time = read(inner) if inner is not None and not isinstance(inner, bool) else None
        if time is None:
            return None
        model = str(raw.get("calendarmodel") or raw.get("calendar") or "").rsplit("/", 1)[-1]
        calendar = {"julian": JULIAN, "gregorian": GREGORIAN}.get(model.lower(), model) or None
        precision = raw.get("precision", time.precision)
        return Time(time.year, time.month, time.day, int(precision), calendar)
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        return None
    found = times_written.read(str(raw))
    return Time(*found) if found else None


def words(time: Time) -> str:
    """A time as exactly as it is known, in a form that `read` takes back.

    >>> [words(read(said)) for said in ("+1934-07-04T00:00:00Z", "May 1945", "44 v. Chr.", "19e eeuw", "450s BCE")]
    ['1934-07-04', '1945-05', '44 BC', '19th century', '450s BC']
    """
    years, before = abs(time.year), " BC" if time.year < 0 else ""
    if time.precision >= MONTH and time.month:
        day = f"-{time.day:02d}" if time.precision >= DAY and time.day else ""
        return f"{'-' if before else ''}{years:04d}-{time.month:02d}{day}"
    if time.precision >= YEAR or time.precision < MILLENNIUM:
        return f"{years}{before}"
    if time.precision == DECADE:
        return f"{years // 10 * 10}s{before}"
    number = (years - 1) // 10 ** (YEAR - time.precision) + 1
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending} {'century' if time.precision == CENTURY else 'millennium'}{before}"


def same(gold: Time, pred: Time, times: str = "gold") -> bool:
    """Whether the prediction agrees at gold's precision.

    >>> day, year = read("1867-11-07"), read("1867")
    >>> same(year, day), same(day, year), same(day, year, "coarser"), same(day, read("1867-01-01"))
    (True, False, True, False)
    """
    level = gold.precision if times == "gold" else min(gold.precision, pred.precision)
    if pred.precision < min(level, DAY):
        return False
    if gold.calendar and pred.calendar and gold.calendar != pred.calendar:
        gold, pred = _gregorian(gold), _gregorian(pred)
    return _at(gold, level) == _at(pred, level)


def _at(time: Time, level: int) -> tuple[int, ...]:
    if level >= DAY:
        return time.year, time.month, time.day
    if level == MONTH:
        return time.year, time.month
    if level == YEAR:
        return (time.year,)
    years, sign = abs(time.year), -1 if time.year < 0 else 1  # the 5th century BC is 500 to 401 BC
    return (sign, years // 10) if level == DECADE else (sign, (years - 1) // 10 ** (9 - level))


def _gregorian(time: Time) -> Time:
    """A Julian day in the Gregorian calendar (by its Julian day number)."""
    if time.calendar != JULIAN or time.precision < DAY:
        return time
    shift = (14 - time.month) // 12
    year = time.year + (time.year < 0)  # 1 BC is the year 0 of the count
    years, months = year + 4800 - shift, time.month + 12 * shift - 3
    number = time.day + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083
    a = number + 32044
    b = (4 * a + 3) // 146097
    c = a - 146097 * b // 4
    d = (4 * c + 3) // 1461
    e = c - 1461 * d // 4
    m = (5 * e + 2) // 153
    year = 100 * b + d - 4800 + m // 10
    month, day = m + 3 - 12 * (m // 10), e - (153 * m + 2) // 5 + 1
    return Time(year - (year <= 0), month, day, time.precision, GREGORIAN)
