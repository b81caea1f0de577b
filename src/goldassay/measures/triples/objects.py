"""The parts of a statement: items and predicates by their names, objects by their type, and how they compare.

Items (things with an identity) compare by id; where one has none, by label or alias, normalised and whole.
``http://www.wikidata.org/entity/Q190804``, ``wd:Q190804`` and ``Q190804`` are one id. An IRI of another kind gives a
label from its last part: ``ex:Marie_Curie`` is "Marie Curie".

Predicates align: ``wdt:P571``, ``http://www.wikidata.org/prop/direct/P571`` and ``P571`` are one; so are
``schema:birthDate`` and ``https://schema.org/birthDate``. A table says which predicate means which property; one
predicate may mean several.

Objects compare by the type of gold's value: item, time, quantity, coordinate, identifier or text. Gold's type is its
``object_type`` (Wikidata's names and XSD's are understood), else what its value looks like. A prediction is read as
that type, so "in 1885" answers a gold year and "1,000 m²" a gold quantity.

Source: Wikidata's data types, https://www.wikidata.org/wiki/Help:Data_type
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from goldassay._support.jsonl import JSON
from goldassay.core.fields import Record
from goldassay.measures.triples import numeric, times
from goldassay.text.normal import normal, similar

QID = re.compile(r"(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/|wd:|wikidata:)?(Q[1-9]\d*)")
LAST_SEGMENT = re.compile(r"<?https?://\S+[/#]([^/#\s>]+)/?>?|[a-z][\w.-]*:([^\s/:][^\s:]*)")
NAMESPACES: dict[str, str] = numeric.TRIPLES_DATA["namespaces"]
PROPERTY = re.compile(
    r"(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki/Property:|prop/(?:direct/|statement/)?)/?|(?i:Property:))?"
    r"((?i:P)\d+)"
)
NamePairs = tuple[tuple[str, str], ...]
Table = Mapping[str, str | Iterable[str]] | Iterable[tuple[str, str | Iterable[str]]] | None
KIND = {alias: kind for kind, aliases in numeric.TRIPLES_DATA["types"].items() for alias in aliases}
TYPE_OF_KEY = {"time": "time", "amount": "quantity", "latitude": "coordinate", "lat": "coordinate", "id": "item"}
"""The meaning of a mapping with such a part."""
TYPE_PATTERNS = {
    "item": QID,
    "time": re.compile(r"[+-]?\d{4,}-\d\d(?:-\d\d)?(?:T.*)?"),
    "coordinate": numeric.POINT,
    "quantity": re.compile(r"[+-]?\d+(?:[.,]\d+)*"),
}
EXCLUDED = ("ExternalId", "CommonsMedia", "Url", "GeoShape", "TabularData", "Math")
"""Properties that an evaluation against Wikidata leaves out: texts rarely state them."""


class NamedItem(NamedTuple):
    """A thing: its id if known, and the normalised names that it goes by."""

    id: str
    names: frozenset[str]


class Identifier(str):
    """A code, equal only to itself (white space and case apart)."""


Value = NamedItem | times.Time | numeric.Quantity | numeric.Coordinate | Identifier | str


@dataclass(frozen=True, kw_only=True)
class TripleMatching:
    """How statements compare.

    Args:
        alignment: Pairs of predicate and property; without any, every predicate means itself.
        prefixes: Pairs of prefix and namespace, besides the well-known ones.
        equivalents: Pairs of ids (or names) that are one thing.
        threshold: The least similarity of texts.
        tolerance: The greatest relative difference of quantities.
        kilometres: The greatest distance of coordinates.
        times: ``gold`` or ``coarser`` (see `times`).
        excluded: The value types that are left out.

    >>> table = TripleMatching(alignment=(("schema:birthDate", "P569"), ("pgc:parent", "P22"), ("pgc:parent", "P25")))
    >>> sorted(table.properties("http://schema.org/birthDate")), sorted(table.properties("pgc:parent"))
    (['P569'], ['P22', 'P25'])
    >>> [table.aligned(table.properties(name)) for name in ("schema:birthDate", "P569", "ex:hobby")]
    [True, True, False]
    """

    alignment: NamePairs = ()
    prefixes: NamePairs = ()
    equivalents: NamePairs = ()
    threshold: float = 0.9
    tolerance: float = 0.0
    kilometres: float = 1.0
    times: str = "gold"
    excluded: tuple[str, ...] = EXCLUDED

    @cached_property
    def _table(self) -> dict[str, set[str]]:
        """The properties of each predicate of the table."""
        table = defaultdict(set)
        for predicate, name in self.alignment:
            table[canonical(predicate, self.prefixes)].add(canonical(name, self.prefixes))
        return dict(table)

    @cached_property
    def _targets(self) -> frozenset[str]:
        return frozenset().union(*self._table.values())

    @cached_property
    def _same(self) -> dict[str, str]:
        """Ids and names that are one thing, as given and folded."""
        return dict(self.equivalents) | {normal(name): normal(other) for name, other in self.equivalents}

    @cached_property
    def _excluded(self) -> frozenset[str]:
        return frozenset(name.replace("-", "").casefold() for name in self.excluded)

    def properties(self, predicate: str) -> frozenset[str]:
        """The properties that a predicate may mean."""
        key = canonical(predicate, self.prefixes)
        return frozenset(self._table.get(key, (key,)))

    def aligned(self, properties: frozenset[str]) -> bool:
        """Whether the table has one of these properties, or there is no table."""
        return not self.alignment or not self._targets.isdisjoint(properties)

    def excludes(self, triple: Mapping[str, object]) -> bool:
        """Whether the type that a triple declares is left out.

        >>> EXACTLY.excludes({"object": "1", "object_type": "external-id"}), EXACTLY.excludes({"object": "NL-0000"})
        (True, False)
        """
        return _declared(triple).replace("-", "") in self._excluded

    def same_item(self, gold: NamedItem | None, pred: NamedItem | None) -> bool:
        """Whether both are one thing.

        >>> EXACTLY.same_item(item("Q1", labels=["universe"]), item("Universe"))
        True
        """
        if gold is None or pred is None:
            return False
        if gold.id and pred.id:
            return self._same.get(gold.id, gold.id) == self._same.get(pred.id, pred.id)
        if not gold.names.isdisjoint(pred.names):
            return True
        return not self._names(gold).isdisjoint(self._names(pred))

    def _names(self, item: NamedItem) -> set[str]:
        """The names of an item, each replaced by the one of its equivalents that counts."""
        return {self._same.get(name, name) for name in item.names}

    def same(self, gold: Value | None, pred: Value | None) -> bool:
        """Whether two values of one type are the same.

        >>> EXACTLY.same(numeric.quantity("100"), numeric.quantity("1000")), EXACTLY.same("Orsay.", "Orsay")
        (False, True)
        """
        match (gold, pred):
            case (NamedItem(), NamedItem()):
                return self.same_item(gold, pred)
            case (times.Time(), times.Time()):
                return times.same(gold, pred, self.times)
            case (numeric.Quantity(), numeric.Quantity()):
                return numeric.same_quantity(gold, pred, self.tolerance)
            case (numeric.Coordinate(), numeric.Coordinate()):
                return numeric.same_place(gold, pred, self.kilometres)
            case (Identifier(), Identifier()):
                return gold == pred
            case (str(), str()):
                return type(gold) is type(pred) and similar(gold, pred, self.threshold)
        return False


EXACTLY = TripleMatching()
"""Without a table and with the default tolerances."""


def item(raw: JSON, id_: str | int | None = None, labels: Iterable[object] = ()) -> NamedItem | None:
    """An item from an id, an IRI, a label, or a mapping with ``id``, ``label``, ``labels`` or ``aliases``.

    >>> item("wd:Q190804").id, sorted(item("ex:Marie_Curie").names), item({"id": "Q1", "label": "universe"}).id
    ('Q190804', ['marie curie'], 'Q1')
    """
    if isinstance(raw, Mapping):
        value = raw.get("value")
        raw = {**(value if isinstance(value, Mapping) else {"label": value}), **raw}
        id_ = id_ or raw.get("id") or raw.get("wikidata")
        raw = raw.get("label") or raw.get("text")
    return _item("" if raw is None else str(raw).strip(), str(id_ or ""), *map(str, labels))


@lru_cache(maxsize=16384)
def _item(text: str, id_: str, *labels: str) -> NamedItem | None:
    is_id = QID.fullmatch(text)
    id_ = id_ or (text if is_id else "")
    wikidata = QID.fullmatch(id_)
    names = [*labels, "" if is_id else label(text)]
    folded = frozenset(normal(name) or name.strip() for name in names) - {""}  # "&" is a name, too
    if not id_ and not folded:
        return None
    return NamedItem(wikidata[1] if wikidata else id_, folded)


def label(text: str) -> str:
    """The readable part of an IRI or of a prefixed name; other text as it is.

    >>> label("ex:Marie_Curie"), label("http://dbpedia.org/resource/Caf%C3%A9"), label("Re:Zero")
    ('Marie Curie', 'Café', 'Re:Zero')
    """
    match = LAST_SEGMENT.fullmatch(text)
    return unquote(match[1] or match[2]).replace("_", " ") if match else text


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
    prefix, colon, local_name = name.partition(":")
    space = dict(prefixes).get(prefix) or NAMESPACES.get(prefix)
    if colon and space and "://" not in name:
        name = f"{space}{local_name}"
    if property_ := PROPERTY.fullmatch(name):
        return property_[1].upper()
    if ":" in name:
        return re.sub(r"^https?://(www\.)?", "http://", name)
    words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", name)
    return " ".join(words.replace("_", " ").split()).casefold()


def pairs(table: Table) -> NamePairs:
    """A table as pairs, from a mapping (to one property or several) or from pairs.

    >>> pairs({"pgc:parent": ["P22", "P25"], "rdf:type": "P31"})
    (('pgc:parent', 'P22'), ('pgc:parent', 'P25'), ('rdf:type', 'P31'))
    """
    rows = table.items() if isinstance(table, Mapping) else table or ()
    flat: list[tuple[str, str]] = []
    for name, properties in rows:
        flat += [(str(name), str(other)) for other in ([properties] if isinstance(properties, str) else properties)]
    return tuple(flat)


def kind(triple: Record) -> str:
    """The type of a gold triple's object.

    >>> kind({"object": "1885-07-13"}), kind({"object": 100}), kind({"object": "Q5"})
    ('time', 'quantity', 'item')
    >>> kind({"object": "NL-0000", "object_type": "ExternalId"})
    'identifier'
    """
    return KIND.get(_declared(triple)) or ("item" if triple.get("object_id") else _looks(triple.get("object")))


def _declared(triple: Mapping[str, object]) -> str:
    """The type that a triple declares, bare and folded."""
    value = triple.get("object")
    declared = triple.get("object_type") or (value.get("type") if isinstance(value, Mapping) else None)
    return str(declared or "").rpartition("#")[2].rpartition(":")[2].casefold()


def _looks(value: JSON) -> str:
    if isinstance(value, Mapping):
        kinds = (kind for key, kind in TYPE_OF_KEY.items() if value.get(key) is not None)
        return next(kinds, None) or _looks(value.get("value", value.get("text", "")))
    if isinstance(value, float):
        return "quantity"
    return next((kind for kind, pattern in TYPE_PATTERNS.items() if pattern.fullmatch(str(value).strip())), "text")


def read(triple: Record, as_kind: str) -> Value | None:
    """The object of a triple as a value of that type; None where it cannot be one.

    >>> read({"object": "52.36, 4.885"}, "coordinate") is None, read({"object": ["a", "b"]}, "coordinate") is None
    (False, True)
    """
    readers = {"time": times.read, "quantity": numeric.quantity, "coordinate": numeric.coordinate}
    raw = triple.get("object")
    try:
        if as_kind == "item":
            return item(raw, triple.get("object_id"), triple.get("object_labels") or ())
        if as_kind in readers:
            value: Value | None = readers[as_kind](raw)
            return value
        return Identifier("".join(written(raw).casefold().split())) if as_kind == "identifier" else written(raw)
    except (ValueError, TypeError, OverflowError):  # a mapping or a list whose parts are not numbers
        return None


def written(raw: JSON) -> str:
    """A value as a person would read it.

    >>> written({"text": "Rijksmuseum", "language": "nl"}), written("ex:Marie_Curie"), written(100)
    ('Rijksmuseum', 'ex:Marie_Curie', '100')
    >>> written({"time": "+1885-00-00T00:00:00Z", "precision": 9})
    '1885'
    """
    if isinstance(raw, Mapping):
        if "time" in raw and (time := times.read(raw)):
            return times.words(time)
        for key in ("label", "text", "value", "time", "amount", "id"):
            if raw.get(key) not in (None, ""):
                return written(raw[key])
        return ", ".join(f"{key} {value}" for key, value in raw.items())
    return f"{raw:g}" if isinstance(raw, float) else str(raw)
