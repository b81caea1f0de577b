"""Wikidata's dates in RDF and in JSON: another year before Christ, and another calendar.

In RDF a day is Gregorian whatever calendar it is noted in (the note stays beside it), and 1 BCE is the year 0; in JSON
a day stands in its own calendar, and 1 BCE is the year -1. Coarser than a day, calendars make no difference; coarser
than a year, neither do years before Christ.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format#Time and
https://phabricator.wikimedia.org/T246731
"""

from __future__ import annotations

import re

from goldassay.measures.triples.times import DAY, JULIAN, MONTH, YEAR, date_of, day_number

WRITTEN = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(T.*)?")
SANE = range(-4712, 1465073)
"""The years, 1 BCE being 0, whose Julian days Wikibase turns; it leaves others as they are."""


def to_rdf(time: str, precision: int = DAY, calendar: str = "") -> str:
    """A time of Wikidata's JSON as its RDF has it.

    >>> to_rdf("+1498-06-22T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985786")
    '1498-07-01T00:00:00Z'
    >>> to_rdf("-0458-00-00T00:00:00Z", 9)
    '-0457-01-01T00:00:00Z'
    """
    found = WRITTEN.fullmatch(time)
    if found is None or not int(found[2]):
        return time.removeprefix("+")  # no date, or the year 0, which JSON does not have
    year = int(found[2])
    if found[1] == "-":
        year = 1 - year if precision >= YEAR else -year
    month = max(1, int(found[3])) if precision >= MONTH else 1
    day = max(1, int(found[4])) if precision >= DAY else 1
    if _turned(year, precision, calendar):
        year, month, day = date_of(day_number(year, month, day, julian=True), julian=False)
    return f"{_padded(year)}-{month:02d}-{day:02d}{found[5] or 'T00:00:00Z'}"


def from_rdf(time: str, precision: int = DAY, calendar: str = "") -> str:
    """A time of Wikidata's RDF as its JSON has it.

    >>> from_rdf("1498-07-01T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985786")
    '+1498-06-22T00:00:00Z'
    >>> from_rdf("-0457-01-01T00:00:00Z", 9)
    '-0458-01-01T00:00:00Z'
    """
    found = WRITTEN.fullmatch(time)
    if found is None:
        return time
    year, month, day = int(found[2]) * (-1 if found[1] == "-" else 1), int(found[3]), int(found[4])
    if _turned(year, precision, calendar):
        year, month, day = date_of(day_number(year, month, day, julian=False), julian=True)
    if year <= 0 and precision >= YEAR:
        year -= 1
    return f"{'' if year < 0 else '+'}{_padded(year)}-{month:02d}-{day:02d}{found[5] or 'T00:00:00Z'}"


def _turned(year: int, precision: int, calendar: str) -> bool:
    return precision >= DAY and calendar.endswith(JULIAN) and year in SANE


def _padded(year: int) -> str:
    return f"{'-' if year < 0 else ''}{abs(year):04d}"
