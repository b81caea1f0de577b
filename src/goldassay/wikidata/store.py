"""A local store of Wikidata (pyoxigraph), and items written in Wikibase's RDF, so that the service's queries run on it.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import DataError, GoldassayError, MissingExtra
from goldassay.wikidata import entities, sparql
from goldassay.wikidata.entities import Item, Statement

if TYPE_CHECKING:
    import pyoxigraph

    from goldassay.wikidata.client import Binding

XSD = "http://www.w3.org/2001/XMLSchema#"
POINT = "http://www.opengis.net/ont/geosparql#wktLiteral"
CLAIM, MAIN, DEEP = sparql.PROP, f"{sparql.PROP}statement/", f"{sparql.PROP}statement/value/"
FETCHED = f"{sparql.PROV}generatedAtTime"
"""When an item was fetched, as a property of the page with its data."""
NO_WIKIPEDIA = (
    "commonswiki foundationwiki incubatorwiki mediawikiwiki metawiki outreachwiki sourceswiki specieswiki wikidatawiki "
    "wikifunctionswiki wikimaniawiki"
)
"""Sites whose names end like those of Wikipedias."""
FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".nq": "N_QUADS"}


def library() -> ModuleType:
    """pyoxigraph, or an error that says how to install it."""
    try:
        import pyoxigraph
    except ImportError:
        raise MissingExtra("pyoxigraph", "wikidata") from None
    return pyoxigraph


class TripleStore:
    """An embedded SPARQL endpoint; ``fetched`` is the oldest date noted in its files, else the date of the files."""

    def __init__(self, fetched: str = "") -> None:
        self.rdf = library().Store()
        self.fetched = fetched

    @classmethod
    def load(cls, path: str | Path) -> TripleStore:
        """A store of N-Triples or Turtle (``.nt``, ``.ttl``, also ``.gz``), of a Wikidata JSON dump, or of a folder."""
        place = Path(path)
        readable = (file for file in place.iterdir() if file.is_file() and _suffix(file) in (*FORMATS, ".json"))
        files = sorted(readable) if place.is_dir() else [place]
        if not files or not place.exists():
            raise DataError(
                "no such file of statements: expected .nt, .ttl or a Wikidata .json dump (also .gz, .bz2)", file=path
            )
        day = datetime.fromtimestamp(max(file.stat().st_mtime for file in files), UTC)
        store = cls(day.isoformat(timespec="seconds"))
        for file in files:
            store.add(file)
        noted = store.rdf.quads_for_pattern(None, library().NamedNode(FETCHED), None)
        store.fetched = min((quad.object.value for quad in noted), default=store.fetched)
        return store

    def add(self, file: Path) -> None:
        """Add the statements of a file."""
        suffix = _suffix(file)
        if suffix == ".json":
            for item in entities.read_dump(file):
                self.rdf.bulk_extend(quads(item))
            return
        if suffix not in FORMATS:
            raise DataError(f"expected .nt, .ttl, .nq or .json (also .gz), got {file.suffix!r}", file=file)
        try:
            with entities.OPENERS.get(file.suffix, open)(file, "rb") as raw:
                self.rdf.bulk_load(raw, format=getattr(library().RdfFormat, FORMATS[suffix]))
        except (SyntaxError, ValueError) as error:
            raise DataError(f"not RDF: {error}", file=file) from None
        except entities.UNREADABLE as error:
            raise DataError(f"cannot be read: {error}", file=file) from None

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows of a query."""
        results = self.rdf.query(f"{sparql.PREFIXES}{query}")
        text = results.serialize(format=library().QueryResultsFormat.JSON)
        rows: list[Binding] = json.loads(text)["results"]["bindings"]
        return rows, self.fetched


def _suffix(file: Path) -> str:
    return (Path(file.stem) if file.suffix in entities.OPENERS else file).suffix


def write(items: Iterable[Item], file: Path) -> int:
    """Writes items to an N-Triples file, whole or not at all; returns the number of triples."""
    count = 0
    part = file.with_name(f"{file.name}.part")
    declared: set[str] = set()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        output = part.open("wb")
    except OSError as error:
        raise GoldassayError(f"{file}: cannot be written: {error.strerror}") from None
    with output:
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
    node = sparql.ENTITY + item.id
    for language, label in item.labels.items():
        yield node, f"{sparql.RDFS}label", _text(label, language)
    for language, aliases in item.aliases.items():
        for alias in aliases:
            yield node, f"{sparql.SKOS}altLabel", _text(alias, language)
    for site, title in item.sitelinks.items():
        language = site.removesuffix("wiki").replace("_", "-")
        if not site.endswith("wiki") or site in NO_WIKIPEDIA.split() or not sparql.LANGUAGE.fullmatch(language):
            continue
        article = sparql.article_address(title, language)
        yield article, f"{sparql.SCHEMA}about", node
        yield article, f"{sparql.SCHEMA}isPartOf", f"https://{language}.wikipedia.org/"
        yield article, f"{sparql.SCHEMA}name", _text(title, language)
    for old in item.merged:
        yield sparql.ENTITY + old, f"{sparql.OWL}sameAs", node
    if item.fetched:
        page = f"https://www.wikidata.org/wiki/Special:EntityData/{item.id}"
        yield page, FETCHED, _literal(item.fetched, "dateTime")
    for number, statement in enumerate(item.statements):
        key = f"{statement.property} {statement.type}"
        if key not in declared:
            declared.add(key)
            yield from _declaration(statement)
        yield from _statement(item.id, number, statement)


def _declaration(statement: Statement) -> Iterator[tuple[str, str, Any]]:
    node = sparql.ENTITY + statement.property
    for name, space in (("claim", CLAIM), ("statementProperty", MAIN), ("statementValue", DEEP)):
        yield node, sparql.ONTOLOGY + name, space + statement.property
    datatype = "".join(part[:1].upper() + part[1:] for part in statement.type.split("-"))
    yield node, f"{sparql.ONTOLOGY}propertyType", sparql.ONTOLOGY + datatype


def _statement(qid: str, number: int, statement: Statement) -> Iterator[tuple[str, str, Any]]:
    value, name = statement.value, statement.property
    node = f"{sparql.ENTITY}statement/{qid}-{_hash([number, name, value])}"
    yield sparql.ENTITY + qid, CLAIM + name, node
    yield node, f"{sparql.ONTOLOGY}rank", f"{sparql.ONTOLOGY}{statement.rank.capitalize()}Rank"
    yield node, MAIN + name, _term(value, statement.type)
    parts = list(_parts(value)) if isinstance(value, dict) else []
    if parts:
        deep = f"http://www.wikidata.org/value/{_hash(value)}"
        yield node, DEEP + name, deep
        for key, part in parts:
            yield deep, sparql.ONTOLOGY + key, part


def _term(value: Any, datatype: str) -> Any:
    """A value as a term; an unknown value is a blank node."""
    import pyoxigraph as ox

    if value is None:
        return ox.BlankNode()
    if not isinstance(value, dict):
        is_entity = datatype.startswith("wikibase-") and sparql.QID.fullmatch(str(value))
        return ox.NamedNode(sparql.ENTITY + str(value)) if is_entity else ox.Literal(str(value))
    if "time" in value:
        precision, calendar = int(value.get("precision", 11)), str(value.get("calendarmodel") or "")
        return _literal(entities.to_rdf(str(value["time"]), precision, calendar), "dateTime")
    if "amount" in value:
        return _literal(value["amount"], "decimal")
    if "latitude" in value:
        return ox.Literal(f"Point({value['longitude']} {value['latitude']})", datatype=ox.NamedNode(POINT))
    return _text(str(value.get("text", "")), str(value.get("language") or "und"))


def _parts(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The edges of a value node: precision and calendar, unit and bounds, latitude and longitude."""
    if "time" in value:
        yield "timePrecision", _literal(value.get("precision", 11), "integer")
        yield "timeCalendarModel", value.get("calendarmodel") or f"{sparql.ENTITY}Q1985727"
    elif "amount" in value:
        unit = str(value.get("unit") or "")
        yield "quantityAmount", _literal(value["amount"], "decimal")
        yield "quantityUnit", sparql.ENTITY + (unit if sparql.QID.fullmatch(unit) else "Q199")
        for name, key in (("quantityUpperBound", "upperBound"), ("quantityLowerBound", "lowerBound")):
            if value.get(key):
                yield name, _literal(value[key], "decimal")
    elif "latitude" in value:
        for name, key in (("geoLatitude", "latitude"), ("geoLongitude", "longitude"), ("geoPrecision", "precision")):
            if value.get(key) is not None:
                yield name, _literal(value[key], "double")
        if value.get("globe"):
            yield "geoGlobe", sparql.ENTITY + str(value["globe"])


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
