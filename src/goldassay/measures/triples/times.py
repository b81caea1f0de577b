"""Times: dates as they are written, read and compared at their precision.

ISO 8601 and Wikidata's form are read, and dates in English, Dutch, German and French; what could be read in two ways
(``3/4/1885``, ``the 80s``) is not. A date is (year, month, day, precision), with 0 for what it does not say; years
before Christ are negative, and 1 BC is −1.

A year equals a year, and two days of one year differ: a prediction must be at least as precise as gold and agree at
gold's precision (``times="gold"``); ``times="coarser"`` is content with what both say. Where both name a calendar,
Julian days are turned into Gregorian ones; where one does not, it is read in the other's.

Source: Wikidata's time datatype (precisions 6 millennium, 7 century, 8 decade, 9 year, 10 month, 11 day),
https://www.wikidata.org/wiki/Help:Dates
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from goldassay._support.jsonl import JSON

MILLENNIUM = 6
CENTURY = 7
DECADE = 8
YEAR = 9
MONTH_PRECISION = 10
DAY = 11
MONTH_NAMES = (
    "jan janu januari january januar janvier", "feb febr februari february februar février fevrier févr",
    "mar mrt maart march märz mars maerz", "apr april avril avr", "may mei mai", "jun juni june juin",
    "jul juli july juillet juil", "aug augustus august août aout", "sep sept september septembre",
    "oct okt oktober october octobre", "nov november novembre", "dec dez december dezember décembre decembre",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(MONTH_NAMES, start=1) for name in names.split()}
MONTHS |= {f"{number:02d}": number for number in range(13)}
DATES = (
    r"(?P<year>[+-]?\d{3,})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?",
    r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|e)?\.?\s+(?:of\s+)?(?P<month>[^\W\d_]+)\.?,?\s+(?P<year>\d{1,4})",
    r"(?P<month>[^\W\d_]+)\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,\s*|\s+(?=\d{3}))(?P<year>\d{1,4})",
    r"(?P<month>[^\W\d_]+)\.?,?\s+(?P<year>\d{1,4})(?P<day>)",
)
ABOUT_TIME = re.compile(
    r"^(?:(?:in|on|op|am|im|en|c\.|ca\.|circa|about|around|omstreeks|rond|um|vers|anno|a\.?d\.?|early|late|mid)\s+"
    r"|mid-|the\s+(?=early|late|mid|\d+(?:st|nd|rd|th|'?s)\b)|le\s+(?=\d+(?:er)?\s))+",
    re.IGNORECASE,
)
BEFORE = r"b\.?\s?c\.?(?:\s?e\.?)?|v\.\s?chr\.?|voor christus|vor christus|av(?:\.|ant)\s?j\.?-c\.?"
AFTER = r"a\.?\s?d\.?|c\.?\s?e\.?|n\.\s?chr\.?|na christus|nach christus|ap(?:r\.|rès)\s?j\.?-c\.?"
ERA_SUFFIX = re.compile(rf"\s*\b(?:(?P<before>{BEFORE})|{AFTER})$", re.IGNORECASE)
ROMAN = {"I": 1, "V": 5, "X": 10}
AGES = re.compile(
    r"(\d{1,2}|[IVX]{1,5})(?:st|nd|rd|th|er|e|ème|eme|ste|de|\.)?\s*"
    r"(?:(?P<thousand>mill[eé]n+ium|jahrtausend|millénaire)|century|eeuw|jahrhundert|siècle|siecle)",
    re.IGNORECASE,
)
DECADES = re.compile(r"(\d{2,3})0(?:'?s|er(?:[-\s]jahre)?)", re.IGNORECASE)
PLAIN_YEAR = re.compile(r"(?:0+\s+)*([+-]?\d{1,4})")
ANY_YEAR = re.compile(r"(\d{1,9}|\d{1,3}(?:,\d{3}){1,2})")
JULIAN = "Q1985786"
GREGORIAN = "Q1985727"
CYCLES = ((4, 1461, 2), (400, 146097, 0))
"""The Julian and the Gregorian calendar: the years and days after which it repeats, and how early its year 0 begins."""


class Time(NamedTuple):
    """A point in time, as exact as ``precision`` says."""

    year: int
    month: int = 0
    day: int = 0
    precision: int = YEAR
    calendar: str | None = None


def read(raw: JSON) -> Time | None:
    """A time from Wikidata's form, ISO 8601 or a date as written in English, Dutch, German or French.

    >>> read("+1958-00-00T00:00:00Z").year, read("14 juli 1885")
    (1958, Time(year=1885, month=7, day=14, precision=11, calendar=None))
    >>> read("19th century").precision, read("Berlin") is None
    (7, True)
    """
    if isinstance(raw, Mapping):
        time = read(raw.get("time", raw.get("value")))
        model = str(raw.get("calendarmodel") or raw.get("calendar") or "").rsplit("/", 1)[-1]
        calendar = {"julian": JULIAN, "gregorian": GREGORIAN}.get(model.lower(), model) or None
        precision = raw.get("precision")
        if time is None or precision is None:
            return time and time._replace(calendar=calendar)
        try:
            return time._replace(precision=int(precision), calendar=calendar)
        except (ValueError, TypeError, OverflowError):  # "year" is not a precision
            return None
    return _written(str(raw)) if isinstance(raw, (str, int)) and not isinstance(raw, bool) else None


@lru_cache(maxsize=65536)
def _written(text: str) -> Time | None:
    """The date that a text is; None where it is none.

    >>> [tuple(_written(text))[:4] for text in ("14 juli 1885", "March 15, 44 BC", "AD 79", "5th century BC")]
    [(1885, 7, 14, 11), (-44, 3, 15, 11), (79, 0, 0, 9), (-450, 0, 0, 7)]
    >>> tuple(_written("450s BCE"))[:4], _written("3/4/1885")
    ((-450, 0, 0, 8), None)
    """
    bare = re.sub(r"(?<=\d)\.$", "", ABOUT_TIME.sub("", text.strip()))
    era = ERA_SUFFIX.search(bare)
    text = bare[: era.start()] if era else bare
    sign = -1 if era and era["before"] else 1
    for pattern in DATES:
        match = re.fullmatch(pattern, text)
        if match and (match["day"] or era or len(match["year"]) > 2):  # "May 45" is a month of a year with an era only
            month = MONTHS.get(match["month"].casefold())
            day = int(match["day"] or 0)
            if month is None or day > 31:
                return None
            precision = MONTH_PRECISION if month else YEAR
            return Time(int(match["year"]) * sign, month, day, DAY if day and month else precision)
    if match := AGES.fullmatch(text):
        size, precision = (1000, MILLENNIUM) if match["thousand"] else (100, CENTURY)
        figures = [0] if match[1].isdigit() else [*(ROMAN[letter] for letter in match[1].upper()), 0]
        number = sum(-figure if figure < after else figure for figure, after in pairwise(figures)) or int(match[1])
        return Time((number * size - size // 2) * sign, precision=precision)
    if match := DECADES.fullmatch(text):
        return Time(int(match[1]) * 10 * sign, precision=DECADE)
    match = (ANY_YEAR if era else PLAIN_YEAR).fullmatch(text)
    return Time(int(match[1].replace(",", "")) * sign) if match else None


def words(time: Time) -> str:
    """A time as exactly as it is known, in a form that `read` takes back.

    >>> [words(read(raw)) for raw in ("+1934-07-04T00:00:00Z", "May 1945", "44 v. Chr.", "19e eeuw", "450s BCE")]
    ['1934-07-04', '1945-05', '44 BC', '19th century', '450s BC']
    """
    years = abs(time.year)
    before = " BC" if time.year < 0 else ""
    if time.precision >= MONTH_PRECISION and time.month:
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
    level = min(gold.precision, DAY)
    if times == "coarser":
        level = min(level, pred.precision)
    if pred.precision < level:
        return False
    if gold.calendar and pred.calendar and gold.calendar != pred.calendar:
        gold = _gregorian(gold)
        pred = _gregorian(pred)
    if level < YEAR:
        return _age(gold.year, level) == _age(pred.year, level)
    return gold[: level - YEAR + 1] == pred[: level - YEAR + 1]


def _age(year: int, level: int) -> tuple[bool, int]:
    """The decade, century or millennium; the 5th century BC is 500 to 401 BC."""
    return year > 0, abs(year) // 10 if level == DECADE else (abs(year) - 1) // 10 ** (YEAR - level)


def _gregorian(time: Time) -> Time:
    """A Julian day in the Gregorian calendar."""
    if time.calendar != JULIAN or time.precision < DAY or not time.month:
        return time
    year, month, day = converted(time.year + (time.year < 0), time.month, time.day, GREGORIAN)  # 1 BC is the year 0
    return Time(year - (year <= 0), month, day, time.precision, GREGORIAN)


def converted(year: int, month: int, day: int, calendar: str) -> tuple[int, int, int]:
    """A date of the other calendar in this one, `JULIAN` or `GREGORIAN`; 1 BC is the year 0.

    >>> converted(1582, 10, 5, GREGORIAN), converted(1582, 10, 15, JULIAN), converted(1498, 6, 22, GREGORIAN)
    ((1582, 10, 15), (1582, 10, 5), (1498, 7, 1))
    """
    # From 2000 on, Python's dates have the leap years of either calendar's cycle.
    (years, days, early), (other_years, other_days, other_early) = CYCLES if calendar == JULIAN else CYCLES[::-1]
    start = date(2000, 1, 1)
    cycles, remainder = divmod(year, other_years)
    number = cycles * other_days + (date(2000 + remainder, month, 1) - start).days + day - 1 - other_early
    cycles, remainder = divmod(number + early, days)
    moment = start + timedelta(remainder)
    return cycles * years + moment.year - 2000, moment.month, moment.day
