"""Wikidata items: labels, aliases, sitelinks and statements, the statements as gold triples.

A statement's value stands as `measures.triples` reads it: an item as its id, a time as Wikibase's own (``time``,
``precision``, ``calendarmodel``), a quantity (``amount``, ``unit``), a coordinate (``latitude``, ``longitude``), a
text (``text``, ``language``) or a string.

Source: Wikibase's data model, https://www.mediawiki.org/wiki/Wikibase/DataModel

Dates differ between Wikidata's RDF and JSON. In RDF a day is Gregorian whatever calendar it is noted in, and 1 BCE is
the year 0; in JSON a day stands in its own calendar, and 1 BCE is the year -1. Coarser than a day, calendars make no
difference; coarser than a year, neither do years BCE.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format#Time and
https://phabricator.wikimedia.org/T246731
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldassay.measures.triples.times import DAY, JULIAN, YEAR, date_of, day_number


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an item."""

    property: str
    value: Any
    type: str
    """Wikidata's data type: ``wikibase-item``, ``time``, ``quantity``, ``globe-coordinate``, ``external-id`` …"""
    rank: str = "normal"


@dataclass(frozen=True, slots=True)
class Item:
    """One item as a source holds it, with the day on which it was fetched."""

    id: str
    labels: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sitelinks: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Statement, ...] = ()
    fetched: str = ""

    def names(self) -> tuple[str, ...]:
        """Labels first, then aliases, each once.

        >>> Item("Q1", labels={"en": "universe", "nl": "heelal"}, aliases={"en": ["cosmos"]}).names()
        ('universe', 'heelal', 'cosmos')
        """
        return tuple(dict.fromkeys([*self.labels.values(), *(name for some in self.aliases.values() for name in some)]))

    def items(self, property: str | None = None) -> list[str]:
        """The ids of the items that are values of its statements, or of one property's."""
        return [
            statement.value
            for statement in self.statements
            if statement.type == "wikibase-item"
            and isinstance(statement.value, str)
            and property in (None, statement.property)
        ]

    def triples(self, names: Mapping[str, Sequence[str]] | None = None) -> list[dict[str, Any]]:
        """The statements as gold triples; ``names`` gives the labels and aliases of items that are values.

        >>> item = Item("Q42", labels={"en": "Douglas Adams"}, statements=(Statement("P31", "Q5", "wikibase-item"),))
        >>> item.triples({"Q5": ["human"]})[0]["object"], item.triples({"Q5": ["human"]})[0]["object_labels"]
        ('human', ['human'])
        """
        subject = next(iter(self.names()), self.id)
        triples = []
        for statement in self.statements:
            triple: dict[str, Any] = {
                "subject": subject,
                "subject_id": self.id,
                "predicate": statement.property,
                "object": statement.value,
                "object_type": statement.type,
                "rank": statement.rank,
            }
            if statement.type == "wikibase-item":
                labels = list((names or {}).get(statement.value, ()))
                triple |= {"object_id": statement.value, "object_labels": labels}
                triple["object"] = labels[0] if labels else statement.value
            triples.append(triple)
        return triples


TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(T.*)?")
JULIAN_YEARS = range(-4712, 1465073)
"""The years, 1 BCE being 0, whose Julian days Wikibase converts; it leaves others as they are."""


def from_rdf(time: str, precision: int = DAY, calendar: str = "") -> str:
    """A time of Wikidata's RDF as its JSON has it.

    >>> from_rdf("1498-07-01T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985786")
    '+1498-06-22T00:00:00Z'
    >>> from_rdf("-0457-01-01T00:00:00Z", 9)
    '-0458-01-01T00:00:00Z'
    """
    match = TIME.fullmatch(time)
    if match is None:
        return time
    year, month, day = int(match[2]) * (-1 if match[1] == "-" else 1), int(match[3]), int(match[4])
    if _is_julian(year, precision, calendar):
        year, month, day = date_of(day_number(year, month, day, julian=False), julian=True)
    if year <= 0 and precision >= YEAR:
        year -= 1
    return f"{'' if year < 0 else '+'}{_pad(year)}-{month:02d}-{day:02d}{match[5] or 'T00:00:00Z'}"


def _is_julian(year: int, precision: int, calendar: str) -> bool:
    return precision >= DAY and calendar.endswith(JULIAN) and year in JULIAN_YEARS


def _pad(year: int) -> str:
    return f"{'-' if year < 0 else ''}{abs(year):04d}"
