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
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

MILLENNIUM, CENTURY, DECADE, YEAR, MONTH, DAY = 6, 7, 8, 9, 10, 11
Date = tuple[int, int, int, int]
NAMES = (
    "jan janu januari january januar janvier", "feb febr februari february februar février fevrier févr",
    "mar mrt maart march märz mars maerz", "apr april avril avr", "may mei mai", "jun juni june juin",
    "jul juli july juillet juil", "aug augustus august août aout", "sep sept september septembre",
    "oct okt oktober october octobre", "nov november novembre", "dec dez december dezember décembre decembre",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(NAMES, start=1) for name in names.split()}
MONTHS |= {f"{number:02d}": number for number in range(13)}
DATES = tuple(
    map(
        re.compile,
        (
            r"(?P<year>[+-]?\d{3,})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?",
            r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|e)?\.?\s+(?:of\s+)?(?P<month>[^\W\d_]+)\.?,?\s+(?P<year>\d{1,4})",
            r"(?P<month>[^\W\d_]+)\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,\s*|\s+(?=\d{3}))(?P<year>\d{1,4})",
        ),
    )
)
MONTH_ONLY = re.compile(r"(?P<month>[^\W\d_]+)\.?,?\s+(?P<year>\d{1,4})")
ABOUT = re.compile(
    r"^(?:(?:in|on|op|am|im|en|c\.|ca\.|circa|about|around|omstreeks|rond|um|vers|anno|a\.?d\.?|early|late|mid)\s+"
    r"|mid-|the\s+(?=early|late|mid|\d+(?:st|nd|rd|th|'?s)\b)|le\s+(?=\d+(?:er)?\s))+",
    re.IGNORECASE,
)
BEFORE = r"b\.?\s?c\.?(?:\s?e\.?)?|v\.\s?chr\.?|voor christus|vor christus|av(?:\.|ant)\s?j\.?-c\.?"
AFTER = r"a\.?\s?d\.?|c\.?\s?e\.?|n\.\s?chr\.?|na christus|nach christus|ap(?:r\.|rès)\s?j\.?-c\.?"
ERA = re.compile(rf"\s*\b(?:(?P<before>{BEFORE})|{AFTER})$", re.IGNORECASE)
ROMAN = {"I": 1, "V": 5, "X": 10}
AGES = re.compile(
    r"(\d{1,2}|[IVX]{1,5})(?:st|nd|rd|th|er|e|ème|eme|ste|de|\.)?\s*"
    r"(?:(?P<thousand>mill[eé]n+ium|jahrtausend|millénaire)|century|eeuw|jahrhundert|siècle|siecle)",
    re.IGNORECASE,
)
DECADES = re.compile(r"(\d{2,3})0(?:'?s|er(?:[-\s]jahre)?)", re.IGNORECASE)
YEARS = re.compile(r"(?:0+\s+)*([+-]?\d{1,4})")
ANY_YEAR = re.compile(r"\d{1,9}|\d{1,3}(?:,\d{3}){1,2}")
JULIAN, GREGORIAN = "Q1985786", "Q1985727"


@dataclass(frozen=True, slots=True)
class Time:
    """A point in time, as exact as ``precision`` says."""

    year: int
    month: int = 0
    day: int = 0
    precision: int = YEAR
    calendar: str | None = None


@lru_cache(maxsize=65536)
def date_written(text: str) -> Date | None:
    """The date that a text is; None where it is none.

    >>> date_written("14 juli 1885"), date_written("March 15, 44 BC"), date_written("AD 79")
    ((1885, 7, 14, 11), (-44, 3, 15, 11), (79, 0, 0, 9))
    >>> date_written("5th century BC"), date_written("450s BCE"), date_written("3/4/1885")
    ((-450, 0, 0, 7), (-450, 0, 0, 8), None)
    """
    bare = re.sub(r"(?<=\d)\.$", "", ABOUT.sub("", text.strip()))
    era = ERA.search(bare)
    text, sign = (bare[: era.start()], -1 if era["before"] else 1) if era else (bare, 1)
    for pattern in DATES:
        if match := pattern.fullmatch(text):
            return _date(int(match["year"]) * sign, match["month"], int(match["day"] or 0))
    if match := AGES.fullmatch(text):
        size, precision = (1000, MILLENNIUM) if match["thousand"] else (100, CENTURY)
        return (_number(match[1]) * size - size // 2) * sign, 0, 0, precision
    if match := DECADES.fullmatch(text):
        return int(match[1]) * 10 * sign, 0, 0, DECADE
    if (match := MONTH_ONLY.fullmatch(text)) and (era or len(match["year"]) > 2):
        return _date(int(match["year"]) * sign, match["month"])
    if match := ANY_YEAR.fullmatch(text) if era else YEARS.fullmatch(text):
        return int(match[era is None].replace(",", "")) * sign, 0, 0, YEAR
    return None


def _number(text: str) -> int:
    """A number in Arabic or Roman figures.

    >>> _number("19"), _number("XIX"), _number("ix")
    (19, 19, 9)
    """
    if text.isdigit():
        return int(text)
    figures = [ROMAN[letter] for letter in text.upper()]
    return sum(-left if left < right else left for left, right in pairwise([*figures, 0]))


def _date(year: int, month: str, day: int = 0) -> Date | None:
    number = MONTHS.get(month.casefold())
    if number is None or day > 31:
        return None
    return year, number, day, DAY if day and number else MONTH if number else YEAR


def read(raw: object) -> Time | None:
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
        return time and replace(time, precision=int(raw.get("precision", time.precision)), calendar=calendar)
    date = date_written(str(raw)) if isinstance(raw, (str, int)) and not isinstance(raw, bool) else None
    return Time(*date) if date else None


def words(time: Time) -> str:
    """A time as exactly as it is known, in a form that `read` takes back.

    >>> [words(read(raw)) for raw in ("+1934-07-04T00:00:00Z", "May 1945", "44 v. Chr.", "19e eeuw", "450s BCE")]
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
    if level >= YEAR:
        return (time.year, time.month, time.day)[: level - YEAR + 1]
    years = abs(time.year)
    age = years // 10 if level == DECADE else (years - 1) // 10 ** (YEAR - level)  # the 5th century BC: 500 to 401 BC
    return time.year // max(years, 1), age


def _gregorian(time: Time) -> Time:
    """A Julian day in the Gregorian calendar."""
    if time.calendar != JULIAN or time.precision < DAY:
        return time
    number = day_number(time.year + (time.year < 0), time.month, time.day, julian=True)  # 1 BC is the year 0
    year, month, day = date_of(number, julian=False)
    return Time(year - (year <= 0), month, day, time.precision, GREGORIAN)


def day_number(year: int, month: int, day: int, *, julian: bool) -> int:
    """The Julian day number of a date of the Julian or the Gregorian calendar; 1 BC is the year 0.

    >>> day_number(1582, 10, 4, julian=True) + 1 == day_number(1582, 10, 15, julian=False)
    True
    """
    late = (14 - month) // 12  # years begin in March, so that the leap day is the last
    years, months = year + 4800 - late, month + 12 * late - 3
    leaps = years // 4 - 32083 if julian else years // 4 - years // 100 + years // 400 - 32045
    return day + (153 * months + 2) // 5 + 365 * years + leaps


def date_of(number: int, *, julian: bool) -> tuple[int, int, int]:
    """The year (1 BC is 0), month and day of a Julian day number.

    >>> date_of(day_number(1498, 6, 22, julian=True), julian=False)
    (1498, 7, 1)
    """
    rest, centuries = number + 32082, 0
    if not julian:
        centuries = (4 * (number + 32044) + 3) // 146097
        rest = number + 32044 - 146097 * centuries // 4
    years = (4 * rest + 3) // 1461
    days = rest - 1461 * years // 4
    months = (5 * days + 2) // 153
    late = months // 10
    return 100 * centuries + years - 4800 + late, months + 3 - 12 * late, days - (153 * months + 2) // 5 + 1
