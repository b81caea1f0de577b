"""Items and predicates by their names: an id, an IRI, its prefixed name and a label may all mean one.

Items (things with an identity) compare by id; where one has none, by label or alias, normalised and whole.
``http://www.wikidata.org/entity/Q190804``, ``wd:Q190804`` and ``Q190804`` are one id. An IRI of another kind gives a
label from its last part: ``ex:Marie_Curie`` is "Marie Curie".

Predicates align: ``wdt:P571``, ``http://www.wikidata.org/prop/direct/P571`` and ``P571`` are one; so are
``schema:birthDate`` and ``https://schema.org/birthDate``. A table says which predicate means which property; one
predicate may mean several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from goldassay.text.normal import normal

QID = re.compile(r"(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/|wd:|wikidata:)?(Q[1-9]\d*)")
IRI = re.compile(r"<?https?://\S+[/#](?P<last>[^/#\s>]+)/?>?")
PREFIXED = re.compile(r"[a-z][\w.-]*:(?P<last>[^\s/:][^\s:]*)")


@dataclass(frozen=True, slots=True)
class NamedItem:
    """A thing: its id if known, and the normalised names that it goes by."""

    id: str | None
    names: frozenset[str]


def item(raw: object, id_: Any = None, labels: Iterable[object] = ()) -> NamedItem | None:
    """An item from an id, an IRI, a label, or a mapping with ``id``, ``label``, ``labels`` or ``aliases``.

    >>> item("wd:Q190804").id, sorted(item("ex:Marie_Curie").names), item({"id": "Q1", "label": "universe"}).id
    ('Q190804', ['marie curie'], 'Q1')
    """
    names = [str(name) for name in labels]
    if isinstance(raw, Mapping):
        inner = raw.get("value")
        inner = inner if isinstance(inner, Mapping) else {"label": inner}
        id_ = id_ or raw.get("id") or raw.get("wikidata") or inner.get("id")
        raw = raw.get("label") or raw.get("text") or inner.get("label")
    text = "" if raw is None or isinstance(raw, Mapping) else str(raw).strip()
    if QID.fullmatch(text):
        id_ = id_ or text
    elif text:
        names.append(label(text))
    match = QID.fullmatch(str(id_)) if id_ else None
    id_ = match[1] if match else str(id_) if id_ else None
    folded = frozenset(name for name in map(normal, names) if name)
    return NamedItem(id_, folded) if id_ or folded else None


def label(text: str) -> str:
    """The readable part of an IRI or of a prefixed name; other text as it is.

    >>> label("ex:Marie_Curie"), label("http://dbpedia.org/resource/Caf%C3%A9"), label("Re:Zero")
    ('Marie Curie', 'Café', 'Re:Zero')
    """
    match = IRI.fullmatch(text) or PREFIXED.fullmatch(text)
    return unquote(match["last"]).replace("_", " ") if match else text


def same_item(gold: NamedItem | None, pred: NamedItem | None, equivalents: Mapping[str, str] = {}) -> bool:
    """Whether both are one thing.

    >>> same_item(item("Q1", labels=["universe"]), item("Universe")), same_item(item("Q1"), item("Q2"))
    (True, False)
    """
    if gold is None or pred is None:
        return False
    if gold.id and pred.id:
        return equivalents.get(gold.id, gold.id) == equivalents.get(pred.id, pred.id)
    left, right = ({equivalents.get(name, name) for name in side.names} for side in (gold, pred))
    return not left.isdisjoint(right) or not gold.names.isdisjoint(pred.names)


NAMESPACES = """
rdf http://www.w3.org/1999/02/22-rdf-syntax-ns#
rdfs http://www.w3.org/2000/01/rdf-schema#
owl http://www.w3.org/2002/07/owl#
skos http://www.w3.org/2004/02/skos/core#
schema http://schema.org/
foaf http://xmlns.com/foaf/0.1/
dc http://purl.org/dc/elements/1.1/
dct http://purl.org/dc/terms/
dcterms http://purl.org/dc/terms/
org http://www.w3.org/ns/org#
rel http://purl.org/vocab/relationship/
bio http://purl.org/vocab/bio/0.1/
prov http://www.w3.org/ns/prov#
geo http://www.opengis.net/ont/geosparql#
wgs84 http://www.w3.org/2003/01/geo/wgs84_pos#
crm http://www.cidoc-crm.org/cidoc-crm/
edm http://www.europeana.eu/schemas/edm/
dbo http://dbpedia.org/ontology/
dbp http://dbpedia.org/property/
gn http://www.geonames.org/ontology#
wd http://www.wikidata.org/entity/
wikidata http://www.wikidata.org/entity/
wdt http://www.wikidata.org/prop/direct/
p http://www.wikidata.org/prop/
ps http://www.wikidata.org/prop/statement/
"""
PREFIXES: dict[str, str] = {line.split()[0]: line.split()[1] for line in NAMESPACES.strip().splitlines()}
WIKIDATA = re.compile(
    r"https?://(?:www\.)?wikidata\.org/(?:entity|wiki/Property:|prop/(?:direct/|statement/)?)/?(P\d+)"
)
PROPERTY = re.compile(r"(?:Property:)?(P\d+)", re.IGNORECASE)
NamePairs = tuple[tuple[str, str], ...]


@lru_cache(maxsize=65536)
def canonical(predicate: str, prefixes: NamePairs = ()) -> str:
    """One name for a predicate: the property id, the IRI, or the folded label.

    >>> canonical("wdt:P571"), canonical("schema:birthDate"), canonical("https://schema.org/birthDate")
    ('P571', 'http://schema.org/birthDate', 'http://schema.org/birthDate')
    >>> canonical("date_of birth"), canonical("<http://www.wikidata.org/prop/direct/P571>")
    ('date of birth', 'P571')
    >>> canonical("dateOfBirth"), canonical("wikidata:P19")
    ('date of birth', 'P19')
    """
    name = predicate.strip().removeprefix("<").removesuffix(">").strip()
    if "://" not in name and ":" in name:
        prefix, _, rest = name.partition(":")
        space = dict(prefixes).get(prefix) or PREFIXES.get(prefix)
        name = f"{space}{rest}" if space else name
    property_ = WIKIDATA.fullmatch(name) or PROPERTY.fullmatch(name)
    if property_:
        return property_[1].upper()
    if "://" in name:
        return "http://" + name.split("://", 1)[1].removeprefix("www.") if name.startswith("http") else name
    if ":" in name:
        return name
    words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", name)
    return " ".join(re.sub(r"[_\s]+", " ", words).split()).casefold()


class Alignment:
    """A table from predicates to properties; without one every predicate means itself.

    >>> table = Alignment((("schema:birthDate", "P569"), ("pgc:parent", "P22"), ("pgc:parent", "P25")))
    >>> sorted(table.properties("http://schema.org/birthDate")), sorted(table.properties("pgc:parent"))
    (['P569'], ['P22', 'P25'])
    >>> table.aligned("schema:birthDate"), table.aligned("P569"), table.aligned("ex:hobby")
    (True, True, False)
    """

    def __init__(self, pairs: NamePairs = (), prefixes: NamePairs = ()) -> None:
        self.prefixes = prefixes
        self.table: dict[str, set[str]] = {}
        for predicate, name in pairs:
            self.table.setdefault(canonical(predicate, prefixes), set()).add(canonical(name, prefixes))
        self.targets = set[str]().union(*self.table.values())

    def properties(self, predicate: str) -> frozenset[str]:
        """The properties that a predicate may mean."""
        key = canonical(predicate, self.prefixes)
        return frozenset(self.table.get(key, (key,)))

    def aligned(self, predicate: str) -> bool:
        """Whether the table knows the predicate, or there is no table."""
        return not self.table or not self.targets.isdisjoint(self.properties(predicate))


def pairs(table: Mapping[str, str | Iterable[str]] | Iterable[tuple[str, str]] | None) -> NamePairs:
    """A table as pairs, from a mapping (to one property or several) or from pairs.

    >>> pairs({"pgc:parent": ["P22", "P25"], "rdf:type": "P31"})
    (('pgc:parent', 'P22'), ('pgc:parent', 'P25'), ('rdf:type', 'P31'))
    """
    rows: Any = table.items() if isinstance(table, Mapping) else table or ()
    return tuple(
        (str(predicate), str(name))
        for predicate, names in rows
        for name in ([names] if isinstance(names, str) else names)
    )
