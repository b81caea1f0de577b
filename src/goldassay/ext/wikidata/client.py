"""Wikidata items by sitelink or id, with statements, ranks and typed values, from a SPARQL service.

A failed fetch raises a `FetchError`, a missing item a `NotFoundError`; neither ever becomes an item without statements.
Every query is ordered and read page by page, so a server's own limit loses nothing.

A statement's value is in the form that `measures.triples` reads: an item as its id, a time as Wikibase's own (``time``,
``precision``, ``calendarmodel``), a quantity (``amount``, ``unit``), a coordinate (``latitude``, ``longitude``), a
text (``text``, ``language``) or a string.

Sources: Wikibase's data model, https://www.mediawiki.org/wiki/Wikibase/DataModel, and its RDF,
https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from goldassay._support.cache import Cache
from goldassay._support.exceptions import DataError, FetchError, GoldassayError, NotFoundError, optional
from goldassay._support.secrets import redact
from goldassay.ext.wikidata.web import Binding, Web, check_language
from goldassay.measures.triples.objects import EXACTLY
from goldassay.measures.triples.times import DAY, JULIAN, YEAR, converted

WDQS = "https://query.wikidata.org/sparql"
LANGUAGES = ("en", "nl", "de", "fr", "mul")
PAGE = 5000
BATCH = 50  # items in one query
ENTITY = "http://www.wikidata.org/entity/"
ONTOLOGY = "http://wikiba.se/ontology#"
PREFIXES = """PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX p: <http://www.wikidata.org/prop/>
PREFIX ps: <http://www.wikidata.org/prop/statement/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX schema: <http://schema.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
"""
ID = re.compile(r"[QP][1-9][0-9]*")
TIME = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)(T.*)?")
VALUE_PARTS = {
    "timePrecision": "precision",
    "timeCalendarModel": "calendarmodel",
    "quantityUnit": "unit",
    "quantityUpperBound": "upperBound",
    "quantityLowerBound": "lowerBound",
    "geoLatitude": "latitude",
    "geoLongitude": "longitude",
    "geoPrecision": "precision",
    "geoGlobe": "globe",
}
"""The properties of a value's node, and their names in JSON."""
# The OPTIONAL begins at the item, so that a store which evaluates it separately reads this item's values only.
STATEMENTS = """SELECT ?statement ?property ?type ?rank ?value ?part ?detail WHERE {
  $item ?claim ?statement .
  ?property wikibase:claim ?claim ; wikibase:statementProperty ?main ; wikibase:propertyType ?type .
  ?statement ?main ?value ; wikibase:rank ?rank .
  OPTIONAL {
    $item ?claim ?statement . ?property wikibase:claim ?claim ; wikibase:statementValue ?deep .
    ?statement ?deep ?node . ?node ?part ?detail
  }
} ORDER BY ?statement ?value ?part ?detail"""
SITELINKS = """SELECT ?article ?site ?name WHERE {
  ?article schema:about $item ; schema:isPartOf ?site ; schema:name ?name
} ORDER BY ?site ?article"""
NAMES_QUERY = """SELECT ?item ?name ?alias WHERE {
  VALUES ?item { $items }
  { ?item rdfs:label ?name BIND(false AS ?alias) } UNION { ?item skos:altLabel ?name BIND(true AS ?alias) }
  FILTER(LANG(?name) IN ($languages))
} ORDER BY ?item ?alias ?name LANG(?name)"""
CLASSES = """SELECT DISTINCT ?item ?class WHERE {
  VALUES ?item { $items } ?item p:P31/ps:P31 ?class
} ORDER BY ?item ?class"""


@dataclass(frozen=True, slots=True)
class ItemStatement:
    """One statement of an item."""

    property: str
    value: Any
    type: str
    """Wikidata's data type: ``wikibase-item``, ``time``, ``quantity``, ``globe-coordinate``, ``external-id`` …"""
    rank: str = "normal"


@dataclass(frozen=True, slots=True)
class Item:
    """One item, with the day on which it was fetched."""

    id: str
    labels: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sitelinks: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[ItemStatement, ...] = ()
    fetched: str = ""

    def names(self) -> list[str]:
        """Labels first, then aliases, each once.

        >>> Item("Q1", labels={"en": "universe", "nl": "heelal"}, aliases={"en": ["cosmos"]}).names()
        ['universe', 'heelal', 'cosmos']
        """
        return list(dict.fromkeys([*self.labels.values(), *(name for some in self.aliases.values() for name in some)]))

    def items(self, property: str | None = None) -> list[str]:
        """The ids of the items that are values of its statements, or of one property's."""
        return [
            str(statement.value)
            for statement in self.statements
            if statement.type == "wikibase-item" and statement.value and property in (None, statement.property)
        ]


def from_rdf(time: str, precision: int = DAY, calendar: str = "") -> str:
    """A time of Wikidata's RDF as its JSON has it.

    In RDF a day is Gregorian whatever calendar it is noted in, and 1 BCE is the year 0; in JSON a day is written in its
    own calendar, and 1 BCE is the year -1. Coarser than a year, years BCE are the same.

    >>> from_rdf("1498-07-01T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985786")
    '+1498-06-22T00:00:00Z'
    >>> from_rdf("-0457-01-01T00:00:00Z", 9)
    '-0458-01-01T00:00:00Z'
    """
    match = TIME.fullmatch(time)
    if match is None:
        return time
    year, month, day = map(int, match.group(1, 2, 3))
    if precision >= DAY and calendar.endswith(JULIAN):
        year, month, day = converted(year, month, day, JULIAN)
    if year <= 0 and precision >= YEAR:
        year -= 1
    return f"{year:+05d}-{month:02d}-{day:02d}{match[4] or 'T00:00:00Z'}"


class WikidataClient:
    """Items of a SPARQL service, behind the cache, or of a local file of statements (N-Triples or Turtle).

    Args:
        endpoint: The service's address, or the file.
        languages: The languages of labels and aliases, in order of preference.
        web: The HTTP client.
        cache: Keeps the answers.

    Raises:
        DataError: The file is not RDF.
        MissingExtra: The extra ``wikidata`` is missing.
    """

    def __init__(
        self,
        endpoint: str = WDQS,
        *,
        languages: Iterable[str] = LANGUAGES,
        web: Web | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.web = web or Web()
        self.cache = cache or Cache()
        self.languages = [check_language(language) for language in dict.fromkeys(languages)]
        self._store = None
        if Path(endpoint).is_file():
            self._store = optional("pyoxigraph", "wikidata").Store()
            try:
                self._store.bulk_load(path=endpoint)
            except (SyntaxError, ValueError) as error:
                raise DataError(f"not RDF: {error}", file=endpoint) from None

    def item_of(self, title: str, language: str = "en") -> Item:
        """The item that has the article of this title as a sitelink.

        Raises:
            NotFoundError: There is none.
        """
        article = article_address(title, language)
        rows, _ = self._select(f"SELECT ?item WHERE {{ <{article}> schema:about ?item }} ORDER BY ?item")
        if not rows:
            raise NotFoundError(f"no item has the {language} article {title!r} as a sitelink")
        return self.item(_local_name(rows[0], "item"))

    def item(self, qid: str) -> Item:
        """An item with its statements; the id of a merged item gives the item that it was merged into.

        Raises:
            NotFoundError: The item does not exist.
        """
        rows, fetched = self._select(STATEMENTS.replace("$item", f"wd:{_check_id(qid)}"))
        links, _ = self._select(SITELINKS.replace("$item", f"wd:{qid}"))
        labels, aliases = self._names([qid])[qid]
        if not (rows or links or labels):
            target = self.merged_into(qid)
            if target is None or target == qid:
                raise NotFoundError(f"{qid} does not exist: it has no statement, sitelink or label")
            return self.item(target)
        sites = {}
        for row in links:  # https://en.wikipedia.org/ is enwiki; other projects keep their name
            language, project, *_ = row["site"]["value"].partition("://")[2].split(".")
            site = language.replace("-", "_") + ("wiki" if project == "wikipedia" else project)
            sites[site] = row["name"]["value"]
        by_statement = groupby(rows, key=lambda row: row["statement"]["value"])
        statements = (_statement(list(group)) for _, group in by_statement)
        included = tuple(item for item in statements if not EXACTLY.excludes({"object_type": item.type}))
        return Item(qid, labels, aliases, sites, included, fetched)

    def names(self, qids: Iterable[str]) -> dict[str, list[str]]:
        """Labels, then aliases, of items, each once; an item without any has an empty list."""
        names = self._names(list(dict.fromkeys(qids)))
        return {qid: Item(qid, labels, aliases).names() for qid, (labels, aliases) in names.items()}

    def classes(self, qids: Iterable[str]) -> dict[str, frozenset[str]]:
        """The classes (P31) of items; items without one are left out."""
        classes: dict[str, frozenset[str]] = {}
        for row in self._select_items(CLASSES, qids):
            qid = _local_name(row, "item")
            classes[qid] = classes.get(qid, frozenset()) | {_local_name(row, "class")}
        return classes

    def merged_into(self, qid: str) -> str | None:
        """The item that this one was merged into, if it was."""
        rows, _ = self._select(f"SELECT ?to WHERE {{ wd:{_check_id(qid)} owl:sameAs ?to }} ORDER BY ?to")
        return _local_name(rows[0], "to") if rows else None

    def _names(self, qids: Iterable[str]) -> dict[str, tuple[dict[str, str], dict[str, list[str]]]]:
        """Labels and aliases by language, in the order of this client's languages."""
        names: dict[str, tuple[dict[str, str], dict[str, list[str]]]] = {qid: ({}, {}) for qid in qids}
        languages = ", ".join(f'"{language}"' for language in self.languages)
        rows = self._select_items(NAMES_QUERY.replace("$languages", languages), names)
        for row in sorted(rows, key=lambda row: self.languages.index(row["name"]["xml:lang"])):
            labels, aliases = names[_local_name(row, "item")]
            name = row["name"]["value"]
            language = row["name"]["xml:lang"]
            if row["alias"]["value"] in ("true", "1"):
                aliases.setdefault(language, []).append(name)
            else:
                labels[language] = name
        return names

    def _select_items(self, query: str, qids: Iterable[str]) -> Iterator[Binding]:
        """The rows of a query about several items, some items at a time."""
        every = [f"wd:{_check_id(qid)}" for qid in qids]
        for start in range(0, len(every), BATCH):
            yield from self._select(query.replace("$items", " ".join(every[start : start + BATCH])))[0]

    def _select(self, query: str) -> tuple[list[Binding], str]:
        """The rows of all pages, and when the oldest was fetched.

        A server may have a smaller limit than ours, so only an empty page is its last; a file has none.
        """
        rows = list[Binding]()
        dates = list[str]()
        while True:
            page = f"{PREFIXES}{query}\nLIMIT {PAGE} OFFSET {len(rows)}"
            if self._store is not None:
                results = self._store.query(page)
                answer = results.serialize(format=optional("pyoxigraph", "wikidata").QueryResultsFormat.JSON)
                bindings = orjson.loads(answer)["results"]["bindings"]
                rows += bindings
                if len(bindings) < PAGE:
                    return rows, ""
                continue
            digest = hashlib.sha256(page.encode()).hexdigest()[:32]
            cached = self.cache.get("sparql", f"{redact(self.endpoint)} {digest}", partial(self._fetch, page))
            rows += cached.value
            dates.append(cached.fetched)
            if not cached.value:
                return rows, min(dates)

    def _fetch(self, query: str) -> list[Binding]:
        """The rows of the service's answer.

        Raises:
            FetchError: It has none.
        """
        headers = {"Accept": "application/sparql-results+json"}
        answer = self.web.json(self.endpoint, data={"query": query, "format": "json"}, headers=headers)
        try:
            rows: list[Binding] = answer["results"]["bindings"]
        except (KeyError, TypeError):
            raise FetchError(f"{redact(self.endpoint)}: no SPARQL results; is it a SPARQL endpoint?") from None
        return rows


def article_address(title: str, language: str) -> str:
    """The address of an article, as Wikidata writes it.

    >>> article_address("Café de Flore", "fr")
    'https://fr.wikipedia.org/wiki/Caf%C3%A9_de_Flore'
    """
    path = quote(title.strip().replace(" ", "_"), safe=";@$!*(),/~:")
    return f"https://{check_language(language)}.wikipedia.org/wiki/{path}"


def _check_id(qid: str) -> str:
    """Returns a valid id; anything else could change the query."""
    if not ID.fullmatch(qid):
        raise GoldassayError(f"expected a Wikidata id such as Q42, got {qid!r}")
    return qid


def _statement(rows: Sequence[Binding]) -> ItemStatement:
    """A statement from its rows, one for each part of its value; the value is None if Wikidata does not know it."""
    row = rows[0]
    type_ = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", row["type"]["value"].removeprefix(ONTOLOGY)).lower()
    rank = row["rank"]["value"].removeprefix(ONTOLOGY).removesuffix("Rank").lower()
    details = {item["part"]["value"]: item["detail"]["value"] for item in rows if "part" in item}
    parts = {name: details[ONTOLOGY + suffix] for suffix, name in VALUE_PARTS.items() if ONTOLOGY + suffix in details}
    term = row["value"]
    text = term["value"].removeprefix(ENTITY)
    value: Any = text
    if term["type"] == "bnode" or "/.well-known/genid/" in text:
        value = None
    elif type_ == "time" and "precision" in parts:
        precision = int(parts["precision"])
        calendar = parts["calendarmodel"]
        value = {"time": from_rdf(text, precision, calendar), "precision": precision, "calendarmodel": calendar}
    elif type_ == "quantity":
        value = {"amount": text, **{name: detail.removeprefix(ENTITY) for name, detail in parts.items()}}
    elif "latitude" in parts:
        globe = {"globe": parts.pop("globe").removeprefix(ENTITY)} if "globe" in parts else {}
        value = {name: float(detail) for name, detail in parts.items()} | globe
    elif "xml:lang" in term:
        value = {"text": text, "language": term["xml:lang"]}
    return ItemStatement(_local_name(row, "property"), value, type_, rank)


def _local_name(row: Binding, name: str) -> str:
    return row[name]["value"].removeprefix(ENTITY)
