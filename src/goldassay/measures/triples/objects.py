"""Objects compare by the type of gold's value: item, time, quantity, coordinate, identifier or text.

Gold's type is its ``object_type`` (Wikidata's names and XSD's are understood), else what its value looks like. A
prediction is read as that type, so "in 1885" answers a gold year and "1,000 m²" a gold quantity.

Source: Wikidata's data types, https://www.wikidata.org/wiki/Help:Data_type
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from goldassay.measures.triples import numeric, terms, times
from goldassay.text import normal as texts

KINDS = {
    "item": "item wikibase-item wikibase-entityid wikibaseitem entity iri property wikibase-property",
    "time": "time date datetime year gyear gyearmonth",
    "quantity": "quantity number integer decimal double float",
    "coordinate": "coordinate coordinates globe-coordinate globecoordinate",
    "identifier": "identifier external-id externalid url anyuri commonsmedia geo-shape geoshape tabular-data math",
    "text": "text string monolingualtext langstring",
}
KIND = {alias: kind for kind, aliases in KINDS.items() for alias in aliases.split()}
EXCLUDED = ("ExternalId", "CommonsMedia", "Url", "GeoShape", "TabularData", "Math")
"""What an evaluation against Wikidata leaves out: texts rarely say them."""
DATE = re.compile(r"[+-]?\d{4,}-\d\d(?:-\d\d)?(?:T.*)?")
NUMERAL = re.compile(r"[+-]?\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A code, equal only to itself (white space apart)."""

    code: str


Value = terms.NamedItem | times.Time | numeric.Quantity | numeric.Coordinate | Identifier | str


@dataclass(frozen=True, slots=True)
class Comparing:
    """How exact a comparison is, per type."""

    threshold: float = 0.9
    tolerance: float = 0.0
    kilometres: float = 1.0
    times: str = "gold"


def kind(triple: Mapping[str, object]) -> str:
    """The type of a gold triple's object.

    >>> kind({"object": "1885-07-13"}), kind({"object": 100}), kind({"object": "Q5"})
    ('time', 'quantity', 'item')
    >>> kind({"object": "NL-0000", "object_type": "ExternalId"})
    'identifier'
    """
    declared = KIND.get(_named(triple))
    return declared or ("item" if triple.get("object_id") else _looks(triple.get("object")))


def excluded(triple: Mapping[str, object], types: Iterable[str] = EXCLUDED) -> bool:
    """Whether the triple's declared type is one of those left out.

    >>> excluded({"object": "NL-0000", "object_type": "external-id"}), excluded({"object": "NL-0000"})
    (True, False)
    """
    name = _named(triple)
    return bool(name) and name.replace("-", "") in _folded(tuple(types))


@lru_cache(maxsize=64)
def _folded(types: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.replace("-", "").casefold() for name in types)


def _named(triple: Mapping[str, object]) -> str:
    """The type that a triple declares, bare and folded."""
    value = triple.get("object")
    named = triple.get("object_type") or (value.get("type") if isinstance(value, Mapping) else None)
    return str(named or "").rsplit("#", 1)[-1].rsplit(":", 1)[-1].casefold()


def _looks(value: Any) -> str:
    if isinstance(value, Mapping):
        for keys, kind in ((("time",), "time"), (("amount",), "quantity"), (("latitude", "lat"), "coordinate")):
            if any(key in value for key in keys):
                return kind
        return (
            "item" if value.get("id") or "entity-type" in value else _looks(value.get("value", value.get("text", "")))
        )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "quantity"
    text = str(value).strip()
    if terms.QID.fullmatch(text):
        return "item"
    if DATE.fullmatch(text):
        return "time"
    if numeric.POINT.fullmatch(text):
        return "coordinate"
    return "quantity" if NUMERAL.fullmatch(text) else "text"


def read(triple: Mapping[str, object], as_kind: str) -> Value | None:
    """The object of a triple as a value of that type; None where it cannot be one.

    >>> read({"object": "52.36, 4.885"}, "coordinate") is None, read({"object": ["a", "b"]}, "coordinate") is None
    (False, True)
    """
    try:
        return _read(triple, triple.get("object"), as_kind)
    except (ValueError, TypeError, OverflowError):  # a mapping or a list whose parts are no numbers
        return None


def _read(triple: Mapping[str, Any], raw: Any, as_kind: str) -> Value | None:
    if as_kind == "item":
        return terms.item(raw, triple.get("object_id"), triple.get("object_labels") or ())
    if as_kind == "time":
        return times.read(raw)
    if as_kind == "quantity":
        return numeric.quantity(raw)
    if as_kind == "coordinate":
        return numeric.coordinate(raw)
    return Identifier("".join(written(raw).split())) if as_kind == "identifier" else written(raw)


def written(raw: object) -> str:
    """A value as a person would read it.

    >>> written({"text": "Rijksmuseum", "language": "nl"}), written("ex:Marie_Curie"), written(100)
    ('Rijksmuseum', 'ex:Marie_Curie', '100')
    >>> written({"time": "+1885-00-00T00:00:00Z", "precision": 9})
    '1885'
    """
    if isinstance(raw, Mapping):
        time = times.read(raw) if "time" in raw else None
        if time is not None:
            return times.words(time)
        for key in ("label", "text", "value", "time", "amount", "id"):
            if raw.get(key) not in (None, ""):
                return written(raw[key])
        return ", ".join(f"{key} {value}" for key, value in raw.items())
    return f"{raw:g}" if isinstance(raw, float) else str(raw)


def same(
    gold: Value | None,
    pred: Value | None,
    comparing: Comparing = Comparing(),
    equivalents: Mapping[str, str] | None = None,
) -> bool:
    """Whether two values of one type are the same.

    >>> same(numeric.quantity("100"), numeric.quantity("1000")), same("Musée d'Orsay", "Musee d'Orsay")
    (False, True)
    """
    if gold is None or pred is None:
        return False
    if isinstance(gold, terms.NamedItem) and isinstance(pred, terms.NamedItem):
        return terms.same_item(gold, pred, equivalents)
    if isinstance(gold, times.Time) and isinstance(pred, times.Time):
        return times.same(gold, pred, comparing.times)
    if isinstance(gold, numeric.Quantity) and isinstance(pred, numeric.Quantity):
        return numeric.same_quantity(gold, pred, comparing.tolerance)
    if isinstance(gold, numeric.Coordinate) and isinstance(pred, numeric.Coordinate):
        return numeric.same_place(gold, pred, comparing.kilometres)
    if isinstance(gold, Identifier) and isinstance(pred, Identifier):
        return gold.code.casefold() == pred.code.casefold()
    return isinstance(gold, str) and isinstance(pred, str) and texts.similar(gold, pred, comparing.threshold)
