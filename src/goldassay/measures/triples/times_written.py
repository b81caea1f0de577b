"""Times as they are written: ISO 8601 and Wikidata's form, and dates in English, Dutch, German and French.

A date is read as (year, month, day, precision), with 0 for what it does not say; years before Christ are negative, and
1 BC is −1. What could be read in two ways (``3/4/1885``, ``the 80s``) is not read.
"""

from __future__ import annotations

import re
from functools import lru_cache

MILLENNIUM, CENTURY, DECADE, YEAR, MONTH, DAY = 6, 7, 8, 9, 10, 11
Date = tuple[int, int, int, int]
NAMES = (
    "jan janu januari january januar janvier", "feb febr februari february februar février fevrier févr",
    "mar mrt maart march märz mars maerz", "apr april avril avr", "may mei mai", "jun juni june juin",
    "jul juli july juillet juil", "aug augustus august août aout", "sep sept september septembre",
    "oct okt oktober october octobre", "nov november novembre", "dec dez december dezember décembre decembre",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(NAMES, start=1) for name in names.split()}
ISO = re.compile(r"([+-]?)(\d{3,})-(\d\d)(?:-(\d\d))?(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")
DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|e)?\.?\s+(?:of\s+)?([^\W\d_]+)\.?,?\s+(\d{1,4})")
MONTH_FIRST = re.compile(r"([^\W\d_]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,\s*(\d{1,4})|\s+(\d{3,4}))")
MONTH_ONLY = re.compile(r"([^\W\d_]+)\.?,?\s+(\d{1,4})")
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


@lru_cache(maxsize=65536)
def read(text: str) -> Date | None:
    """The date that a text is; None where it is none.

    >>> read("14 juli 1885"), read("March 15, 44 BC"), read("AD 79")
    ((1885, 7, 14, 11), (-44, 3, 15, 11), (79, 0, 0, 9))
    >>> read("5th century BC"), read("450s BCE"), read("3/4/1885")
    ((-450, 0, 0, 7), (-450, 0, 0, 8), None)
    """
    bare = re.sub(r"(?<=\d)\.$", "", ABOUT.sub("", text.strip()))
    era = ERA.search(bare)
    text, sign = (bare[: era.start()], -1 if era["before"] else 1) if era else (bare, 1)
    if found := ISO.fullmatch(text):
        return _date(int(found[2]) * (-1 if found[1] == "-" else 1), int(found[3]), int(found[4] or 0))
    if found := DAY_FIRST.fullmatch(text):
        return _named(int(found[3]) * sign, found[2], int(found[1]))
    if found := MONTH_FIRST.fullmatch(text):
        return _named(int(found[3] or found[4]) * sign, found[1], int(found[2]))
    if found := AGES.fullmatch(text):
        size, precision = (1000, MILLENNIUM) if found["thousand"] else (100, CENTURY)
        return (_number(found[1]) * size - size // 2) * sign, 0, 0, precision
    if found := DECADES.fullmatch(text):
        return int(found[1]) * 10 * sign, 0, 0, DECADE
    if (found := MONTH_ONLY.fullmatch(text)) and (era or len(found[2]) > 2):
        return _named(int(found[2]) * sign, found[1], 0)
    if found := ANY_YEAR.fullmatch(text) if era else YEARS.fullmatch(text):
        return int(found[era is None].replace(",", "")) * sign, 0, 0, YEAR
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


def _named(year: int, month: str, day: int) -> Date | None:
    number = MONTHS.get(month.casefold())
    return None if number is None else _date(year, number, day)


def _date(year: int, month: int, day: int) -> Date | None:
    if month > 12 or day > 31:
        return None
    return year, month, day, DAY if day and month else MONTH if month else YEAR
