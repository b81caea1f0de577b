"""The SPARQL queries, the same for Wikidata's query service and for a local store (pyoxigraph), and that store.

Every query is ordered and takes a page (``LIMIT``, ``OFFSET``), so a server's own limit loses nothing.

Source: Wikibase's RDF format, https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import bz2
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from goldassay.exceptions import DataError, GoldassayError, MissingExtra

if TYPE_CHECKING:
    from goldassay.wikidata.client import Binding

ENTITY = "http://www.wikidata.org/entity/"
PROP = "http://www.wikidata.org/prop/"
ONTOLOGY = "http://wikiba.se/ontology#"
SCHEMA = "http://schema.org/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
PROV = "http://www.w3.org/ns/prov#"
OWL = "http://www.w3.org/2002/07/owl#"
PREFIXES = f"""PREFIX wd: <{ENTITY}>
PREFIX p: <{PROP}>
PREFIX ps: <{PROP}statement/>
PREFIX wikibase: <{ONTOLOGY}>
PREFIX schema: <{SCHEMA}>
PREFIX rdfs: <{RDFS}>
PREFIX skos: <{SKOS}>
PREFIX owl: <{OWL}>
"""
QID = re.compile(r"[QP][1-9][0-9]*")
LANGUAGE = re.compile(r"[a-z]{2,12}(?:-[a-z0-9]+)*")


def check_id(qid: str) -> str:
    """Returns a valid id; anything else could change the query."""
    if not QID.fullmatch(qid):
        raise GoldassayError(f"expected a Wikidata id such as Q42, got {qid!r}")
    return qid


def check_language(language: str) -> str:
    """Returns a valid language code."""
    if not LANGUAGE.fullmatch(language):
        raise GoldassayError(f"expected a language code such as nl or zh-hant, got {language!r}")
    return language


def article_address(title: str, language: str) -> str:
    """The address of an article, as Wikidata writes it.

    >>> article_address("Café de Flore", "fr")
    'https://fr.wikipedia.org/wiki/Caf%C3%A9_de_Flore'
    """
    path = quote(title.strip().replace(" ", "_"), safe=";@$!*(),/~:")
    return f"https://{check_language(language)}.wikipedia.org/wiki/{path}"


def item_of(title: str, language: str) -> str:
    """Which item has this article as a sitelink?"""
    return f"SELECT ?item WHERE {{ <{article_address(title, language)}> schema:about ?item }} ORDER BY ?item"


def redirect(qid: str) -> str:
    """Which item was this one merged into?"""
    return f"SELECT ?to WHERE {{ wd:{check_id(qid)} owl:sameAs ?to }} ORDER BY ?to"


VALUE_PARTS = (
    {"precision": "timePrecision", "calendar": "timeCalendarModel"},
    {"amount": "quantityAmount", "unit": "quantityUnit"},
    {"upper": "quantityUpperBound", "lower": "quantityLowerBound"},
    {"latitude": "geoLatitude", "longitude": "geoLongitude"},
    {"grain": "geoPrecision"},
    {"globe": "geoGlobe"},
)
"""Variables and the properties of a value node that they are bound to; each group is optional as a whole."""


def statements(qid: str) -> str:
    """The statements of an item with rank, type and the parts of their values.

    Each OPTIONAL begins at the item, so that a store which evaluates it separately reads this item's values only.
    """
    value = (
        f"wd:{check_id(qid)} ?claim ?statement . ?property wikibase:claim ?claim ; wikibase:statementValue ?deep . "
        "?statement ?deep ?node ."
    )
    groups = [" ; ".join(f"wikibase:{name} ?{key}" for key, name in group.items()) for group in VALUE_PARTS]
    parts = "\n  ".join(f"OPTIONAL {{ {value} ?node {group} }}" for group in groups)
    variables = " ".join(f"?{key}" for group in VALUE_PARTS for key in group)
    return f"""SELECT ?statement ?property ?type ?rank ?value {variables} WHERE {{
  wd:{check_id(qid)} ?claim ?statement .
  ?property wikibase:claim ?claim ; wikibase:statementProperty ?main ; wikibase:propertyType ?type .
  ?statement ?main ?value ; wikibase:rank ?rank .
  {parts}
}} ORDER BY ?statement ?value"""


def sitelinks(qid: str) -> str:
    """The articles about an item."""
    return f"""SELECT ?article ?site ?name WHERE {{
  ?article schema:about wd:{check_id(qid)} ; schema:isPartOf ?site ; schema:name ?name
}} ORDER BY ?site ?article"""


def names(qids: Iterable[str], languages: Iterable[str]) -> str:
    """Labels and aliases of items in some languages."""
    codes = ", ".join(f'"{check_language(language)}"' for language in languages)
    return f"""SELECT ?item ?name ?alias WHERE {{
  {_items(qids)}
  {{ ?item rdfs:label ?name BIND(false AS ?alias) }} UNION {{ ?item skos:altLabel ?name BIND(true AS ?alias) }}
  FILTER(LANG(?name) IN ({codes}))
}} ORDER BY ?item ?alias ?name LANG(?name)"""


def classes(qids: Iterable[str]) -> str:
    """The classes (P31) of items."""
    return f"SELECT DISTINCT ?item ?class WHERE {{ {_items(qids)} ?item p:P31/ps:P31 ?class }} ORDER BY ?item ?class"


def _items(qids: Iterable[str]) -> str:
    return f"VALUES ?item {{ {' '.join(f'wd:{check_id(qid)}' for qid in qids)} }}"


def page(query: str, limit: int, offset: int) -> str:
    """A query with its prefixes and its page."""
    return f"{PREFIXES}{query}\nLIMIT {limit} OFFSET {offset}"


FETCHED = f"{PROV}generatedAtTime"
"""When an item was fetched, as a property of the page with its data."""
FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".nq": "N_QUADS"}
OPENERS: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


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
        """A store of N-Triples or Turtle (``.nt``, ``.ttl``, also ``.gz``), or of a folder of them."""
        place = Path(path)
        readable = (file for file in place.iterdir() if file.is_file() and _suffix(file) in FORMATS)
        files = sorted(readable) if place.is_dir() else [place]
        if not files or not place.exists():
            raise DataError("no such file of statements: expected .nt, .ttl or .nq (also .gz, .bz2)", file=path)
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
        if suffix not in FORMATS:
            raise DataError(f"expected .nt, .ttl or .nq (also .gz, .bz2), got {file.suffix!r}", file=file)
        try:
            with OPENERS.get(file.suffix, open)(file, "rb") as raw:
                self.rdf.bulk_load(raw, format=getattr(library().RdfFormat, FORMATS[suffix]))
        except (SyntaxError, ValueError) as error:
            raise DataError(f"not RDF: {error}", file=file) from None
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"cannot be read: {error}", file=file) from None

    def select(self, query: str) -> tuple[list[Binding], str]:
        """The rows of a query."""
        results = self.rdf.query(f"{PREFIXES}{query}")
        text = results.serialize(format=library().QueryResultsFormat.JSON)
        rows: list[Binding] = json.loads(text)["results"]["bindings"]
        return rows, self.fetched


def _suffix(file: Path) -> str:
    return (Path(file.stem) if file.suffix in OPENERS else file).suffix
