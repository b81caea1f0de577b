"""Items as RDF, in Wikibase's own form, so that a local store answers the queries of Wikidata's service.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import GoldassayError, MissingExtra
from goldassay.wikidata import entities as dates
from goldassay.wikidata import sparql
from goldassay.wikidata.entities import Item, Statement

if TYPE_CHECKING:
    import pyoxigraph

XSD = "http://www.w3.org/2001/XMLSchema#"
EDGES = {
    "claim": sparql.PROP,
    "statementProperty": f"{sparql.PROP}statement/",
    "statementValue": f"{sparql.PROP}statement/value/",
    "qualifier": f"{sparql.PROP}qualifier/",
}


FETCHED = f"{sparql.PROV}generatedAtTime"
"""Of the page of an item's data: when it was fetched."""
OTHERS = (
    "commonswiki foundationwiki incubatorwiki mediawikiwiki metawiki outreachwiki sourceswiki specieswiki wikidatawiki "
    "wikifunctionswiki wikimaniawiki"
)
"""Sites whose names end like those of Wikipedias."""


def write(items: Iterable[Item], file: Path) -> int:
    """Write items to an N-Triples file (UTF-8), whole or not at all; how many triples."""
    count = 0
    part = file.with_name(f"{file.name}.part")
    known: set[str] = set()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = part.open("wb")
    except OSError as error:
        raise GoldassayError(f"{file}: cannot be written: {error.strerror}") from None
    with opened as out:
        for item in items:
            lines = [f"{quad.subject} {quad.predicate} {quad.object} .\n" for quad in quads(item, known)]
            out.write("".join(lines).encode("utf-8"))
            count += len(lines)
    part.replace(file)
    return count


def quads(item: Item, known: set[str] | None = None) -> Iterator[pyoxigraph.Quad]:
    """The quads of an item; ``known`` are the properties that were declared already."""
    o = library()
    node = o.NamedNode
    declared = set() if known is None else known

    def quad(subject: str, predicate: str, value: Any) -> Any:
        return o.Quad(node(subject), node(predicate), value)

    me = sparql.ENTITY + item.id
    for language, label in item.labels.items():
        yield quad(me, f"{sparql.RDFS}label", text(label, language))
    for language, names in item.aliases.items():
        for name in names:
            yield quad(me, f"{sparql.SKOS}altLabel", text(name, language))
    for site, title in item.sitelinks.items():
        language = site.removesuffix("wiki").replace("_", "-")
        if not site.endswith("wiki") or site in OTHERS.split() or not sparql.LANGUAGE.fullmatch(language):
            continue  # other projects are not asked about
        article = sparql.address(title, language)
        yield quad(article, f"{sparql.SCHEMA}about", node(me))
        yield quad(article, f"{sparql.SCHEMA}isPartOf", node(f"https://{language}.wikipedia.org/"))
        yield quad(article, f"{sparql.SCHEMA}name", text(title, language))
    for old in item.merged:
        yield quad(sparql.ENTITY + old, f"{sparql.OWL}sameAs", node(me))
    if item.fetched:
        page = f"https://www.wikidata.org/wiki/Special:EntityData/{item.id}"
        yield quad(page, FETCHED, o.Literal(item.fetched, datatype=node(f"{XSD}dateTime")))
    for number, statement in enumerate(item.statements):
        yield from _statement(item.id, number, statement, declared, quad)


def _statement(qid: str, number: int, said: Statement, declared: set[str], quad: Any) -> Iterator[Any]:
    import pyoxigraph as o

    for property_ in (said.property, *(name for name, _ in said.qualifiers)):
        if property_ not in declared:
            declared.add(property_)
            for name, space in EDGES.items():
                yield quad(sparql.ENTITY + property_, sparql.ONTOLOGY + name, o.NamedNode(space + property_))
    kind = o.NamedNode(sparql.ONTOLOGY + _type(said.type))
    if f"{said.property} {said.type}" not in declared:
        declared.add(f"{said.property} {said.type}")
        yield quad(sparql.ENTITY + said.property, f"{sparql.ONTOLOGY}propertyType", kind)
    me = f"{sparql.ENTITY}statement/{qid}-{_hash([number, said.property, said.value])}"
    yield quad(sparql.ENTITY + qid, EDGES["claim"] + said.property, o.NamedNode(me))
    yield quad(me, f"{sparql.ONTOLOGY}rank", o.NamedNode(f"{sparql.ONTOLOGY}{said.rank.capitalize()}Rank"))
    yield quad(me, EDGES["statementProperty"] + said.property, term(said.value, said.type))
    parts = list(_parts(said.value))
    if parts:
        deep = f"http://www.wikidata.org/value/{_hash(said.value)}"
        yield quad(me, EDGES["statementValue"] + said.property, o.NamedNode(deep))
        for name, value in parts:
            yield quad(deep, sparql.ONTOLOGY + name, value)
    for name, value in said.qualifiers:
        yield quad(me, EDGES["qualifier"] + name, term(value))
    for place in range(said.references):
        yield quad(me, f"{sparql.PROV}wasDerivedFrom", o.NamedNode(f"{me}-reference-{place}"))


def text(words: str, language: str) -> pyoxigraph.Literal:
    """Words of a language; some of Wikimedia's codes (``zh-classical``) are none of BCP 47's."""
    from pyoxigraph import Literal

    try:
        return Literal(words, language=language)
    except ValueError:
        return Literal(words, language="und")


def term(
    value: object, kind: str = "wikibase-item"
) -> pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.NamedNode:
    """A value as RDF's term; an unknown value is a blank node, and what looks like an id is one where ids stand."""
    import pyoxigraph as o

    if value is None:
        return o.BlankNode()
    if isinstance(value, dict):
        if "time" in value:
            time = dates.to_rdf(
                str(value["time"]), int(value.get("precision", 11)), str(value.get("calendarmodel") or "")
            )
            return o.Literal(time, datatype=o.NamedNode(f"{XSD}dateTime"))
        if "amount" in value:
            return o.Literal(str(value["amount"]), datatype=o.NamedNode(f"{XSD}decimal"))
        if "latitude" in value:
            point = f"Point({value['longitude']} {value['latitude']})"
            return o.Literal(point, datatype=o.NamedNode("http://www.opengis.net/ont/geosparql#wktLiteral"))
        return text(str(value.get("text", "")), str(value.get("language") or "und"))
    word = str(value)
    known = kind.startswith("wikibase-") and sparql.QID.fullmatch(word)
    return o.NamedNode(sparql.ENTITY + word) if known else o.Literal(word)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The value node's edges: precision and calendar, unit and bounds, latitude and longitude."""
    import pyoxigraph as o

    if not isinstance(value, dict):
        return

    def number(text: Any, kind: str = "decimal") -> Any:
        return o.Literal(str(text), datatype=o.NamedNode(XSD + kind))

    if "time" in value:
        yield "timePrecision", number(value.get("precision", 11), "integer")
        yield "timeCalendarModel", o.NamedNode(value.get("calendarmodel") or f"{sparql.ENTITY}Q1985727")
    elif "amount" in value:
        unit = str(value.get("unit") or "")
        yield "quantityAmount", number(value["amount"])
        yield "quantityUnit", o.NamedNode(sparql.ENTITY + (unit if sparql.QID.fullmatch(unit) else "Q199"))
        for name, bound in (("quantityUpperBound", "upperBound"), ("quantityLowerBound", "lowerBound")):
            if value.get(bound):
                yield name, number(value[bound])
    elif "latitude" in value:
        yield "geoLatitude", number(value["latitude"], "double")
        yield "geoLongitude", number(value["longitude"], "double")
        if value.get("precision") is not None:
            yield "geoPrecision", number(value["precision"], "double")
        if value.get("globe"):
            yield "geoGlobe", o.NamedNode(sparql.ENTITY + str(value["globe"]))


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]


def _type(name: str) -> str:
    """``wikibase-item`` is ``WikibaseItem`` again."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def library() -> ModuleType:
    """pyoxigraph, or how to install it."""
    try:
        import pyoxigraph
    except ImportError:
        raise MissingExtra("pyoxigraph", "wikidata") from None
    return pyoxigraph
