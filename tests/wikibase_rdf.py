"""Items as RDF in Wikibase's own form, for stores and servers in tests and benchmarks.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay.ext.wikidata.client import ENTITY, ID, ONTOLOGY, TIME, Item, ItemStatement, article_address
from goldassay.ext.wikidata.web import LANGUAGE
from goldassay.measures.triples.times import DAY, GREGORIAN, JULIAN, MONTH_PRECISION, YEAR, converted

if TYPE_CHECKING:
    import pyoxigraph

PROP = "http://www.wikidata.org/prop/"
SCHEMA = "http://schema.org/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
CLAIM, MAIN, DEEP = PROP, f"{PROP}statement/", f"{PROP}statement/value/"
XSD = "http://www.w3.org/2001/XMLSchema#"
POINT = "http://www.opengis.net/ont/geosparql#wktLiteral"
NO_WIKIPEDIA = (
    "commonswiki foundationwiki incubatorwiki mediawikiwiki metawiki outreachwiki sourceswiki specieswiki wikidatawiki "
    "wikifunctionswiki wikimaniawiki"
)
"""Sites whose names end like those of Wikipedias."""


def to_rdf(time: str, precision: int = DAY, calendar: str = "") -> str:
    """A time of Wikidata's JSON as its RDF has it.

    >>> to_rdf("+1498-06-22T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985786")
    '1498-07-01T00:00:00Z'
    >>> to_rdf("-0458-00-00T00:00:00Z", 9)
    '-0457-01-01T00:00:00Z'
    """
    match = TIME.fullmatch(time)
    if match is None or not int(match[1]):
        return time.removeprefix("+")  # no date, or the year 0, which JSON does not have
    year = int(match[1])
    if year < 0 and precision >= YEAR:
        year += 1
    month = max(1, int(match[2])) if precision >= MONTH_PRECISION else 1
    day = max(1, int(match[3])) if precision >= DAY else 1
    if precision >= DAY and calendar.endswith(JULIAN):
        year, month, day = converted(year, month, day, GREGORIAN)
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day:02d}{match[4] or 'T00:00:00Z'}"


def write(items: Iterable[Item], file: Path) -> int:
    """Writes items to an N-Triples file, whole or not at all; returns the number of triples."""
    count = 0
    part = file.with_name(f"{file.name}.part")
    declared: set[str] = set()
    with part.open("wb") as output:
        for item in items:
            lines = [f"{quad.subject} {quad.predicate} {quad.object} .\n" for quad in quads(item, declared)]
            output.write("".join(lines).encode("utf-8"))
            count += len(lines)
    part.replace(file)
    return count


def quads(item: Item, declared: set[str] | None = None) -> Iterator[pyoxigraph.Quad]:
    """The quads of an item; ``declared`` are the properties that were declared already."""
    return (_quad(*triple) for triple in _triples(item, set() if declared is None else declared))


def _quad(subject: str, predicate: str, value: Any) -> pyoxigraph.Quad:
    import pyoxigraph as ox

    term = ox.NamedNode(value) if isinstance(value, str) else value
    return ox.Quad(ox.NamedNode(subject), ox.NamedNode(predicate), term)


def _triples(item: Item, declared: set[str]) -> Iterator[tuple[str, str, Any]]:
    """Subject, predicate and object, where a text is an IRI."""
    node = ENTITY + item.id
    for language, label in item.labels.items():
        yield node, f"{RDFS}label", _text(label, language)
    for language, aliases in item.aliases.items():
        for alias in aliases:
            yield node, f"{SKOS}altLabel", _text(alias, language)
    for site, title in item.sitelinks.items():
        language = site.removesuffix("wiki").replace("_", "-")
        if not site.endswith("wiki") or site in NO_WIKIPEDIA.split() or not LANGUAGE.fullmatch(language):
            continue
        article = article_address(title, language)
        yield article, f"{SCHEMA}about", node
        yield article, f"{SCHEMA}isPartOf", f"https://{language}.wikipedia.org/"
        yield article, f"{SCHEMA}name", _text(title, language)
    for number, statement in enumerate(item.statements):
        key = f"{statement.property} {statement.type}"
        if key not in declared:
            declared.add(key)
            yield from _declaration(statement)
        yield from _statement(item.id, number, statement)


def _declaration(statement: ItemStatement) -> Iterator[tuple[str, str, Any]]:
    node = ENTITY + statement.property
    for name, space in (("claim", CLAIM), ("statementProperty", MAIN), ("statementValue", DEEP)):
        yield node, ONTOLOGY + name, space + statement.property
    datatype = "".join(part[:1].upper() + part[1:] for part in statement.type.split("-"))
    yield node, f"{ONTOLOGY}propertyType", ONTOLOGY + datatype


def _statement(qid: str, number: int, statement: ItemStatement) -> Iterator[tuple[str, str, Any]]:
    value, name = statement.value, statement.property
    node = f"{ENTITY}statement/{qid}-{_hash([number, name, value])}"
    yield ENTITY + qid, CLAIM + name, node
    yield node, f"{ONTOLOGY}rank", f"{ONTOLOGY}{statement.rank.capitalize()}Rank"
    yield node, MAIN + name, _term(value, statement.type)
    parts = list(_parts(value)) if isinstance(value, dict) else []
    if parts:
        deep = f"http://www.wikidata.org/value/{_hash(value)}"
        yield node, DEEP + name, deep
        for key, part in parts:
            yield deep, ONTOLOGY + key, part


def _term(value: Any, datatype: str) -> Any:
    """A value as a term; an unknown value is a blank node."""
    import pyoxigraph as ox

    if value is None:
        return ox.BlankNode()
    if not isinstance(value, dict):
        is_entity = datatype.startswith("wikibase-") and ID.fullmatch(str(value))
        return ox.NamedNode(ENTITY + str(value)) if is_entity else ox.Literal(str(value))
    if "time" in value:
        precision, calendar = int(value.get("precision", 11)), str(value.get("calendarmodel") or "")
        return _literal(to_rdf(str(value["time"]), precision, calendar), "dateTime")
    if "amount" in value:
        return _literal(value["amount"], "decimal")
    if "latitude" in value:
        return ox.Literal(f"Point({value['longitude']} {value['latitude']})", datatype=ox.NamedNode(POINT))
    return _text(str(value.get("text", "")), str(value.get("language") or "und"))


def _parts(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The edges of a value node: precision and calendar, unit and bounds, latitude and longitude."""
    if "time" in value:
        yield "timePrecision", _literal(value.get("precision", 11), "integer")
        yield "timeCalendarModel", value.get("calendarmodel") or f"{ENTITY}Q1985727"
    elif "amount" in value:
        unit = str(value.get("unit") or "")
        yield "quantityAmount", _literal(value["amount"], "decimal")
        yield "quantityUnit", ENTITY + (unit if ID.fullmatch(unit) else "Q199")
        for name, key in (("quantityUpperBound", "upperBound"), ("quantityLowerBound", "lowerBound")):
            if value.get(key):
                yield name, _literal(value[key], "decimal")
    elif "latitude" in value:
        for name, key in (("geoLatitude", "latitude"), ("geoLongitude", "longitude"), ("geoPrecision", "precision")):
            if value.get(key) is not None:
                yield name, _literal(value[key], "double")
        if value.get("globe"):
            yield "geoGlobe", ENTITY + str(value["globe"])


def _literal(value: object, datatype: str) -> pyoxigraph.Literal:
    import pyoxigraph as ox

    return ox.Literal(str(value), datatype=ox.NamedNode(XSD + datatype))


def _text(words: str, language: str) -> pyoxigraph.Literal:
    """Words of a language; some of Wikimedia's codes (``zh-classical``) are not in BCP 47."""
    import pyoxigraph as ox

    try:
        return ox.Literal(words, language=language)
    except ValueError:
        return ox.Literal(words, language="und")


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]
