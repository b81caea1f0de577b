"""Times compare at their precision: a year equals a year, and two days of one year differ.

A prediction must be at least as precise as gold and agree at gold's precision (``times="gold"``); ``times="coarser"``
is content with what both say. Where both name a calendar, Julian days are turned into Gregorian ones; where one does
not, it is read in the other's.

Source: Wikidata's time datatype (precisions 7 century, 8 decade, 9 year, 10 month, 11 day),
https://www.wikidata.org/wiki/Help:Dates
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

CENTURY, DECADE, YEAR, MONTH, DAY = 7, 8, 9, 10, 11
JULIAN, GREGORIAN = "Q1985786", "Q1985727"
NAMES = (
    "jan janu januari january januar janvier", "feb febr februari february februar février fevrier févr",
    "mar mrt maart march märz mars maerz", "apr april avril avr", "may mei mai", "jun juni june juin",
    "jul juli july juillet juil", "aug augustus august août aout", "sep sept september septembre",
    "oct okt oktober october octobre", "nov november novembre", "dec dez december dezember décembre decembre",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(NAMES, start=1) for name in names.split()}
ISO = re.compile(r"([+-]?)(\d{3,})-(\d\d)(?:-(\d\d))?(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")
DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|e)?\.?\s+(?:of\s+)?([^\W\d_]+)\.?,?\s+(\d{1,4})")
MONTH_FIRST = re.compile(r"([^\W\d_]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{3,4})")
MONTH_ONLY = re.compile(r"([^\W\d_]+)\.?,?\s+(\d{3,4})")
ABOUT = re.compile(r"^(?:in|c\.|ca\.|circa|about|around|omstreeks|rond|um|vers|anno)\s+", re.IGNORECASE)
ERA = re.compile(r"\s*(bc|bce|v\.\s?chr\.?|av\.\s?j\.?-c\.?)$", re.IGNORECASE)
ROMAN = {"I": 1, "V": 5, "X": 10}
CENTURIES = re.compile(
    r"(\d{1,2}|[IVX]{1,5})(?:st|nd|rd|th|er|e|ème|eme|ste|de|\.)?\s*(?:century|eeuw|jahrhundert|siècle|siecle)",
    re.IGNORECASE,
)
DECADES = re.compile(r"(\d{3})0(?:'?s|er(?:[-\s]jahre)?)", re.IGNORECASE)
YEARS = re.compile(r"(?:0+\s+)*([+-]?\d{1,4})")


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
        found = read(inner) if inner is not None and not isinstance(inner, bool) else None
        if found is None:
            return None
        model = str(raw.get("calendarmodel") or raw.get("calendar") or "").rsplit("/", 1)[-1]
        calendar = {"julian": JULIAN, "gregorian": GREGORIAN}.get(model.lower(), model) or None
        precision = raw.get("precision", found.precision)
        return Time(found.year, found.month, found.day, int(precision), calendar)
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        return None
    return _written(str(raw).strip())


@lru_cache(maxsize=65536)
def _written(text: str) -> Time | None:
    text = ABOUT.sub("", text)
    before = ERA.search(text)
    text, sign = (text[: before.start()], -1) if before else (text, 1)
    if found := ISO.fullmatch(text):
        year = int(found[2]) * (-1 if found[1] == "-" else 1)
        return _time(year, int(found[3]), int(found[4] or 0))
    if found := DAY_FIRST.fullmatch(text):
        return _named(int(found[3]) * sign, found[2], int(found[1]))
    if found := MONTH_FIRST.fullmatch(text):
        return _named(int(found[3]) * sign, found[1], int(found[2]))
    if found := CENTURIES.fullmatch(text):
        return Time((_number(found[1]) * 100 - 50) * sign, precision=CENTURY)
    if found := DECADES.fullmatch(text):
        return Time(int(found[1]) * 10 * sign, precision=DECADE)
    if found := MONTH_ONLY.fullmatch(text):
        return _named(int(found[2]) * sign, found[1], 0)
    if found := YEARS.fullmatch(text):
        return Time(int(found[1]) * sign)
    return None


def _number(text: str) -> int:
    """A number in Arabic or Roman figures.

    >>> _number("19"), _number("XIX"), _number("ix")
    (19, 19, 9)
    """
    if text.isdigit():
        return int(text)
    figures = [ROMAN[letter] for letter in text.upper()]
    return sum(-one if one < following else one for one, following in zip(figures, [*figures[1:], 0], strict=True))


def _named(year: int, month: str, day: int) -> Time | None:
    number = MONTHS.get(month.casefold())
    return None if number is None else _time(year, number, day)


def _time(year: int, month: int, day: int) -> Time | None:
    if month > 12 or day > 31:
        return None
    return Time(year, month, day, DAY if day and month else MONTH if month else YEAR)


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
    return (time.year // 10,) if level == DECADE else ((time.year - 1) // 10 ** (9 - level),)


def _gregorian(time: Time) -> Time:
    """A Julian day in the Gregorian calendar (by its Julian day number)."""
    if time.calendar != JULIAN or time.precision < DAY:
        return time
    shift = (14 - time.month) // 12
    years, months = time.year + 4800 - shift, time.month + 12 * shift - 3
    number = time.day + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083
    a = number + 32044
    b = (4 * a + 3) // 146097
    c = a - 146097 * b // 4
    d = (4 * c + 3) // 1461
    e = c - 1461 * d // 4
    m = (5 * e + 2) // 153
    return Time(
        100 * b + d - 4800 + m // 10, m + 3 - 12 * (m // 10), e - (153 * m + 2) // 5 + 1, time.precision, GREGORIAN
    )
