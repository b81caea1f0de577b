"""Wikidata items: labels, aliases, sitelinks and statements, the statements as gold triples, and JSON dumps.

A statement's value stands as `measures.triples` reads it: an item as its id, a time as Wikibase's own (``time``,
``precision``, ``calendarmodel``), a quantity (``amount``, ``unit``), a coordinate (``latitude``, ``longitude``), a
text (``text``, ``language``) or a string.

Source: Wikibase's data model, https://www.mediawiki.org/wiki/Wikibase/DataModel

Dates differ between Wikidata's RDF and JSON. In RDF a day is Gregorian whatever calendar it is noted in, and 1 BCE is
the year 0; in JSON a day stands in its own calendar, and 1 BCE is the year -1. Coarser than a day, calendars make no
difference; coarser than a year, neither do years BCE.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format#Time and
https://phabricator.wikimedia.org/T246731

Dumps hold an entity a line, with or without the array around them, compressed or not.

Source: https://www.mediawiki.org/wiki/Wikibase/DataModel/JSON
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import DataError
from goldassay.measures.triples.times import DAY, JULIAN, MONTH, YEAR, date_of, day_number


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
    merged: tuple[str, ...] = ()
    """Ids that were merged into it."""

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


def to_rdf(time: str, precision: int = DAY, calendar: str = "") -> str:
    """A time of Wikidata's JSON as its RDF has it.

    >>> to_rdf("+1498-06-22T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985786")
    '1498-07-01T00:00:00Z'
    >>> to_rdf("-0458-00-00T00:00:00Z", 9)
    '-0457-01-01T00:00:00Z'
    """
    match = TIME.fullmatch(time)
    if match is None or not int(match[2]):
        return time.removeprefix("+")  # no date, or the year 0, which JSON does not have
    year = int(match[2])
    if match[1] == "-":
        year = 1 - year if precision >= YEAR else -year
    month = max(1, int(match[3])) if precision >= MONTH else 1
    day = max(1, int(match[4])) if precision >= DAY else 1
    if _is_julian(year, precision, calendar):
        year, month, day = date_of(day_number(year, month, day, julian=True), julian=False)
    return f"{_pad(year)}-{month:02d}-{day:02d}{match[5] or 'T00:00:00Z'}"


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


FIRST_ID = re.compile(rb'\{\s*(?:"type"\s*:\s*"\w+"\s*,\s*)?"id"\s*:\s*"([A-Z]\d+)"')
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
UNREADABLE = (OSError, EOFError, zlib.error)  # what a damaged or truncated file raises


def read_dump(file: Path, qids: Iterable[str] | None = None) -> Iterator[Item]:
    """The items of a JSON dump, all or those of these ids; one at a time, so memory stays flat."""
    wanted = None if qids is None else set(qids)
    try:
        with OPENERS.get(file.suffix, open)(file, "rb") as raw:
            for number, line in enumerate(raw, start=1):
                text = line.strip().rstrip(b",")
                # most lines are not wanted: where the id comes first, as in Wikidata's own dumps, they are not parsed
                first = FIRST_ID.match(text) if wanted is not None else None
                if text in (b"", b"[", b"]") or (wanted is not None and first and first[1].decode() not in wanted):
                    continue
                entity = jsonl.value(text, file=file, line=number, unique=False)
                try:
                    if wanted is None or entity["id"] in wanted:
                        yield from_json(entity)
                except (KeyError, TypeError, AttributeError, ValueError) as error:
                    name = entity.get("id") if isinstance(entity, dict) else None
                    message = f"not an entity of Wikidata: {type(error).__name__} {error}"
                    raise DataError(message, file=file, line=number, record=name) from None
    except UNREADABLE as error:
        raise DataError(f"cannot be read: {error}", file=file) from None


def from_json(entity: dict[str, Any]) -> Item:
    """An entity of a dump as an item."""
    statements = tuple(
        Statement(
            name,
            _snak_value(claim["mainsnak"]),
            str(claim["mainsnak"].get("datatype") or "string"),
            str(claim.get("rank", "normal")),
        )
        for name, claims in (entity.get("claims") or {}).items()
        for claim in claims
        if claim["mainsnak"].get("snaktype") != "novalue"
    )
    return Item(
        str(entity["id"]),
        {code: label["value"] for code, label in (entity.get("labels") or {}).items()},
        {code: [alias["value"] for alias in some] for code, some in (entity.get("aliases") or {}).items()},
        {site: link["title"] for site, link in (entity.get("sitelinks") or {}).items()},
        statements,
    )


def _snak_value(snak: dict[str, Any]) -> Any:
    """A snak's value as a `Statement` has it; None if it is unknown."""
    if snak.get("snaktype", "value") != "value":
        return None
    value = snak["datavalue"]["value"]
    if not isinstance(value, dict):
        return str(value)
    if "entity-type" in value:
        return value.get("id") or f"{'P' if value['entity-type'] == 'property' else 'Q'}{value['numeric-id']}"
    for name in ("unit", "globe"):
        if name in value:
            value = {**value, name: "" if value[name] == "1" else str(value[name]).rsplit("/", 1)[-1]}
    return {key: part for key, part in value.items() if part is not None}
