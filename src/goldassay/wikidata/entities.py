"""What Wikidata says of an item: labels, aliases, sitelinks and statements, and those as gold triples.

A statement's value stands as `measures.triples` reads it: an item as its id, a time as Wikibase's own (``time``,
``precision``, ``calendarmodel``), a quantity (``amount``, ``unit``), a coordinate (``latitude``, ``longitude``), a
text (``text``, ``language``) or a string.

Source: Wikibase's data model, https://www.mediawiki.org/wiki/Wikibase/DataModel

Dates differ in RDF and in JSON by the year before Christ and by the calendar. In RDF a day is Gregorian whatever
calendar it is noted in (the note stays beside it), and 1 BCE is the year 0; in JSON a day stands in its own calendar,
and 1 BCE is the year -1. Coarser than a day, calendars make no difference; coarser than a year, neither do years before
Christ.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format#Time and
https://phabricator.wikimedia.org/T246731

Dumps are JSON, read as a stream: an entity a line, with or without the array around them, packed or not.

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
from typing import IO, Any

from goldassay import jsonl
from goldassay.exceptions import DataError
from goldassay.measures.triples.times import DAY, JULIAN, MONTH, YEAR, date_of, day_number

RANKS = ("preferred", "normal", "deprecated")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an item."""

    property: str
    value: Any
    type: str
    """Wikidata's data type: ``wikibase-item``, ``time``, ``quantity``, ``globe-coordinate``, ``external-id`` …"""
    rank: str = "normal"
    qualifiers: tuple[tuple[str, Any], ...] = ()
    references: int = 0


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

    def names(self, languages: Iterable[str] | None = None) -> tuple[str, ...]:
        """Labels first, then aliases, each once; of these languages only, or of all.

        >>> Item("Q1", labels={"en": "universe", "nl": "heelal"}, aliases={"en": ["cosmos"]}).names(["en"])
        ('universe', 'cosmos')
        """
        wanted = None if languages is None else set(languages)
        labels = [name for code, name in self.labels.items() if wanted is None or code in wanted]
        aliases = [name for code, names in self.aliases.items() if wanted is None or code in wanted for name in names]
        return tuple(dict.fromkeys([*labels, *aliases]))

    def triples(self, names: Mapping[str, Sequence[str]] | None = None) -> list[dict[str, Any]]:
        """The statements as gold triples; ``names`` gives the labels and aliases of items that are values.

        >>> item = Item("Q42", labels={"en": "Douglas Adams"}, statements=(Statement("P31", "Q5", "wikibase-item"),))
        >>> item.triples({"Q5": ["human"]})[0]["object"], item.triples({"Q5": ["human"]})[0]["object_labels"]
        ('human', ['human'])
        """
        known = names or {}
        own = self.names()
        found = []
        for statement in self.statements:
            triple: dict[str, Any] = {
                "subject": own[0] if own else self.id,
                "subject_id": self.id,
                "predicate": statement.property,
                "object": statement.value,
                "object_type": statement.type,
                "rank": statement.rank,
            }
            if statement.type == "wikibase-item":
                labels = list(known.get(statement.value, ()))
                triple["object_id"] = statement.value
                triple["object"] = labels[0] if labels else statement.value
                triple["object_labels"] = labels
            found.append(triple)
        return found


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


FIRST = re.compile(rb'\{\s*(?:"type"\s*:\s*"\w+"\s*,\s*)?"id"\s*:\s*"([A-Z]\d+)"')
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
UNREADABLE = (OSError, EOFError, zlib.error)  # what a file that is damaged, cut short or not packed raises


def items(file: Path, wanted: Iterable[str] | None = None) -> Iterator[Item]:
    """The entities of a dump, of all or of those ids; one at a time, so memory stays flat."""
    keep = None if wanted is None else set(wanted)
    try:
        with OPENERS.get(file.suffix, open)(file, "rb") as raw:
            for number, entity in _entities(raw, file, keep):
                try:
                    yield item(entity)
                except (KeyError, TypeError, AttributeError, ValueError) as error:
                    raise DataError(
                        f"not an entity of Wikidata: {type(error).__name__} {error}",
                        file=file,
                        line=number,
                        record=entity.get("id"),
                    ) from None
    except UNREADABLE as error:
        raise DataError(f"cannot be read: {error}", file=file) from None


def _entities(raw: IO[bytes], file: Path, keep: set[str] | None) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(raw, start=1):
        text = line.strip().rstrip(b",")
        if text in (b"", b"[", b"]"):
            continue
        # Most lines of a dump are not wanted: where the id stands first, as in Wikidata's own, the rest is not parsed.
        if keep is not None and (first := FIRST.match(text)) and first[1].decode() not in keep:
            continue
        found = jsonl.value(text, file=file, line=number, unique=False)
        several = found.get("entities") if isinstance(found, dict) else found
        for one in several.values() if isinstance(several, dict) else several or [found]:
            if isinstance(one, dict) and (keep is None or one.get("id") in keep):
                yield number, one


def item(entity: dict[str, Any]) -> Item:
    """An entity of a dump (or of ``Special:EntityData``) as an item."""
    statements = tuple(
        Statement(
            property_,
            value(claim["mainsnak"]),
            str(claim["mainsnak"].get("datatype") or "string"),
            str(claim.get("rank", "normal")),
            tuple((name, value(snak)) for name, snaks in (claim.get("qualifiers") or {}).items() for snak in snaks),
            len(claim.get("references") or ()),
        )
        for property_, claims in (entity.get("claims") or {}).items()
        for claim in claims
        if claim["mainsnak"].get("snaktype") != "novalue"
    )
    return Item(
        str(entity["id"]),
        {code: one["value"] for code, one in (entity.get("labels") or {}).items()},
        {code: [one["value"] for one in several] for code, several in (entity.get("aliases") or {}).items()},
        {site: one["title"] for site, one in (entity.get("sitelinks") or {}).items()},
        statements,
    )


def value(snak: dict[str, Any]) -> Any:
    """A snak's value as `kb.wikibase` has it; None where it is unknown."""
    if snak.get("snaktype", "value") != "value":
        return None
    found = snak["datavalue"]["value"]
    if not isinstance(found, dict):
        return str(found)
    if "entity-type" in found:
        return found.get("id") or f"{'P' if found['entity-type'] == 'property' else 'Q'}{found['numeric-id']}"
    for name in ("unit", "globe"):
        if name in found:
            found = {**found, name: "" if found[name] == "1" else str(found[name]).rsplit("/", 1)[-1]}
    return {key: one for key, one in found.items() if one is not None}
