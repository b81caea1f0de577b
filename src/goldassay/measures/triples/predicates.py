"""Predicates align: an IRI, its prefixed name and a label of one property are one predicate.

``wdt:P571``, ``http://www.wikidata.org/prop/direct/P571`` and ``P571`` are one; so are ``schema:birthDate`` and
``https://schema.org/birthDate``. A table says which predicate means which property; one predicate may mean several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "org": "http://www.w3.org/ns/org#",
    "rel": "http://purl.org/vocab/relationship/",
    "bio": "http://purl.org/vocab/bio/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "wgs84": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "crm": "http://www.cidoc-crm.org/cidoc-crm/",
    "edm": "http://www.europeana.eu/schemas/edm/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "gn": "http://www.geonames.org/ontology#",
    "wd": "http://www.wikidata.org/entity/",
    "wikidata": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
}
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
    found = WIKIDATA.fullmatch(name) or PROPERTY.fullmatch(name)
    if found:
        return found[1].upper()
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
        self.table: dict[str, frozenset[str]] = {}
        for predicate, name in pairs:
            key, target = canonical(predicate, prefixes), canonical(name, prefixes)
            self.table[key] = self.table.get(key, frozenset()) | {target}
        self.targets = frozenset(target for targets in self.table.values() for target in targets)

    def properties(self, predicate: str) -> frozenset[str]:
        """The properties that a predicate may mean."""
        key = canonical(predicate, self.prefixes)
        return self.table.get(key) or frozenset((key,))

    def aligned(self, predicate: str) -> bool:
        """Whether the table knows the predicate, or there is no table."""
        return not self.table or bool(self.properties(predicate) & self.targets)


@lru_cache(maxsize=64)
def alignment(pairs: NamePairs, prefixes: NamePairs = ()) -> Alignment:
    """The table of these pairs, built once."""
    return Alignment(pairs, prefixes)


def pairs(table: Mapping[str, str | Iterable[str]] | Iterable[tuple[str, str]] | None) -> NamePairs:
    """A table as pairs, from a mapping (to one property or several) or from pairs.

    >>> pairs({"pgc:parent": ["P22", "P25"], "rdf:type": "P31"})
    (('pgc:parent', 'P22'), ('pgc:parent', 'P25'), ('rdf:type', 'P31'))
    """
    if table is None:
        return ()
    if not isinstance(table, Mapping):
        return tuple((str(predicate), str(name)) for predicate, name in table)
    out = []
    for predicate, names in table.items():
        out += [(str(predicate), str(name)) for name in ([names] if isinstance(names, str) else names)]
    return tuple(out)
