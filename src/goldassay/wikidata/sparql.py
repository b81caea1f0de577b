"""The questions that are put to Wikidata's query service, and to a local store in the very same words.

Every query is ordered and takes a page (``LIMIT``, ``OFFSET``), so that a server's own limit loses nothing.

Source: Wikibase's RDF format, https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format

Two small questions stand here too: the classes of several items at once, and where a merged item went.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from goldassay.exceptions import GoldassayError

ENTITY = "http://www.wikidata.org/entity/"
PROP = "http://www.wikidata.org/prop/"
ONTOLOGY = "http://wikiba.se/ontology#"
SCHEMA = "http://schema.org/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
PROV = "http://www.w3.org/ns/prov#"
OWL = "http://www.w3.org/2002/07/owl#"
PREFIXES = f"""PREFIX wd: <{ENTITY}>
PREFIX wikibase: <{ONTOLOGY}>
PREFIX schema: <{SCHEMA}>
PREFIX rdfs: <{RDFS}>
PREFIX skos: <{SKOS}>
PREFIX prov: <{PROV}>
PREFIX owl: <{OWL}>
"""
QID = re.compile(r"[QP][1-9][0-9]*")
LANGUAGE = re.compile(r"[a-z]{2,12}(?:-[a-z0-9]+)*")


def checked(qid: str) -> str:
    """An id that is one; anything else would change the query."""
    if not QID.fullmatch(qid):
        raise GoldassayError(f"{qid!r} is no id of Wikidata, such as Q42")
    return qid


def code(language: str) -> str:
    """A language code that is one."""
    if not LANGUAGE.fullmatch(language):
        raise GoldassayError(f"{language!r} is no language code, such as nl or zh-hant")
    return language


def address(title: str, language: str) -> str:
    """The address of an article, as Wikidata writes it.

    >>> address("Москва", "ru"), address("Café de Flore", "fr")
    ('https://ru.wikipedia.org/wiki/%D0%9C%D0%BE%D1%81%D0%BA%D0%B2%D0%B0', 'https://fr.wikipedia.org/wiki/Caf%C3%A9_de_Flore')
    """
    return f"https://{code(language)}.wikipedia.org/wiki/{quote(title.strip().replace(' ', '_'), safe=';@$!*(),/~:')}"


def item_of(title: str, language: str) -> str:
    """The item whose sitelink an article is."""
    return f"SELECT ?item WHERE {{ <{address(title, language)}> schema:about ?item }} ORDER BY ?item"


def redirect(qid: str) -> str:
    """Where an item that was merged went."""
    return f"SELECT ?to WHERE {{ wd:{checked(qid)} owl:sameAs ?to }} ORDER BY ?to"


PARTS = (
    "wikibase:timePrecision ?precision ; wikibase:timeCalendarModel ?calendar",
    "wikibase:quantityAmount ?amount ; wikibase:quantityUnit ?unit",
    "wikibase:quantityUpperBound ?upper ; wikibase:quantityLowerBound ?lower",
    "wikibase:geoLatitude ?latitude ; wikibase:geoLongitude ?longitude",
    "wikibase:geoPrecision ?grain",
    "wikibase:geoGlobe ?globe",
)


def statements(qid: str) -> str:
    """The statements of an item with rank, type and the parts of their values.

    Each OPTIONAL begins at the item, so that a store which joins it apart looks at this item's values alone.
    """
    value = (
        f"wd:{checked(qid)} ?claim ?statement . ?property wikibase:claim ?claim ; wikibase:statementValue ?deep . "
        "?statement ?deep ?node ."
    )
    parts = "\n  ".join(f"OPTIONAL {{ {value} ?node {part} }}" for part in PARTS)
    return f"""SELECT ?statement ?property ?type ?rank ?value ?precision ?calendar ?amount ?unit ?upper ?lower
  ?latitude ?longitude ?grain ?globe WHERE {{
  wd:{checked(qid)} ?claim ?statement .
  ?property wikibase:claim ?claim ; wikibase:statementProperty ?main ; wikibase:propertyType ?type .
  ?statement ?main ?value ; wikibase:rank ?rank .
  {parts}
}} ORDER BY ?statement ?value"""


def qualifiers(qid: str) -> str:
    """The qualifiers of an item's statements."""
    return f"""SELECT ?statement ?property ?value WHERE {{
  wd:{checked(qid)} ?claim ?statement .
  ?of wikibase:claim ?claim .
  ?property wikibase:qualifier ?edge .
  ?statement ?edge ?value
}} ORDER BY ?statement ?property ?value"""


def references(qid: str) -> str:
    """How many references each statement of an item has."""
    return f"""SELECT ?statement (COUNT(DISTINCT ?reference) AS ?references) WHERE {{
  wd:{checked(qid)} ?claim ?statement .
  ?of wikibase:claim ?claim .
  ?statement prov:wasDerivedFrom ?reference
}} GROUP BY ?statement ORDER BY ?statement"""


def sitelinks(qid: str) -> str:
    """The articles about an item."""
    return f"""SELECT ?site ?name WHERE {{
  ?article schema:about wd:{checked(qid)} ; schema:isPartOf ?site ; schema:name ?name
}} ORDER BY ?site"""


def names(qids: Iterable[str], languages: Iterable[str]) -> str:
    """Labels and aliases of items in some languages."""
    items = " ".join(f"wd:{checked(qid)}" for qid in qids)
    codes = ", ".join(f'"{code(language)}"' for language in languages)
    return f"""SELECT ?item ?name ?alias WHERE {{
  VALUES ?item {{ {items} }}
  {{ ?item rdfs:label ?name BIND(false AS ?alias) }} UNION {{ ?item skos:altLabel ?name BIND(true AS ?alias) }}
  FILTER(LANG(?name) IN ({codes}))
}} ORDER BY ?item ?alias ?name LANG(?name)"""


def page(query: str, limit: int, offset: int) -> str:
    """A query with its prefixes and its page."""
    return f"{PREFIXES}{query}\nLIMIT {limit} OFFSET {offset}"


MOST = 50


def classes(client: object, qids: Sequence[str]) -> dict[str, frozenset[str]]:
    """The classes of each item, as far as the client's endpoint knows; empty for a client that has no endpoint."""
    endpoint = getattr(client, "endpoint", None)
    if endpoint is None or not qids:
        return {}
    found: dict[str, set[str]] = {}
    for start in range(0, len(qids), MOST):
        for row in endpoint.select(query(qids[start : start + MOST]))[0]:
            item, kind = (row[name]["value"].removeprefix(ENTITY) for name in ("item", "class"))
            found.setdefault(item, set()).add(kind)
    return {item: frozenset(kinds) for item, kinds in found.items()}


def query(qids: Sequence[str]) -> str:
    """The query for the classes of these items.

    >>> query(["Q90"]).split("WHERE")[0]
    'SELECT DISTINCT ?item ?class '
    """
    items = " ".join(f"wd:{checked(qid)}" for qid in qids)
    edges = f"?item <{PROP}P31> ?said . ?said <{PROP}statement/P31> ?class ."
    return f"SELECT DISTINCT ?item ?class WHERE {{ VALUES ?item {{ {items} }} {edges} }} ORDER BY ?item ?class"


def merged_into(client: object, qid: str) -> str | None:
    """The item that this one was merged into; None where it stands for itself, or nothing can be asked."""
    endpoint = getattr(client, "endpoint", None)
    if endpoint is None or not QID.fullmatch(qid):
        return None
    rows = endpoint.select(redirect(qid))[0]
    return str(rows[0]["to"]["value"]).removeprefix(ENTITY) if rows else None
