"""Objects compare by the type of gold's value: item, time, quantity, coordinate, identifier or text.

Gold's type is its ``object_type`` (Wikidata's names and XSD's are understood), else what its value looks like. A
prediction is read as that type, so "in 1885" answers a gold year and "1,000 m²" a gold quantity.

Source: Wikidata's data types, https://www.wikidata.org/wiki/Help:Data_type
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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
PARTS = {
    "time": "time", "amount": "quantity", "latitude": "coordinate", "lat": "coordinate", "id": "item",
    "entity-type": "item",
}  # fmt: skip
"""What a mapping with such a part is."""
LOOKS = {
    "item": terms.QID,
    "time": re.compile(r"[+-]?\d{4,}-\d\d(?:-\d\d)?(?:T.*)?"),
    "coordinate": numeric.POINT,
    "quantity": re.compile(r"[+-]?\d+(?:[.,]\d+)*"),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "time": times.read,
    "quantity": numeric.quantity,
    "coordinate": numeric.coordinate,
    "identifier": lambda raw: Identifier("".join(written(raw).casefold().split())),
}


class Identifier(str):
    """A code, equal only to itself (white space and case apart)."""


Value = terms.NamedItem | times.Time | numeric.Quantity | numeric.Coordinate | Identifier | str


@dataclass(frozen=True)
class Comparing:
    """How statements compare: the least similarity of texts, the greatest differences, which predicates mean which
    property (``table``), which ids (or folded names) count as another one, which value types are left out."""

    threshold: float = 0.9
    tolerance: float = 0.0
    kilometres: float = 1.0
    times: str = "gold"
    excluded: tuple[str, ...] = EXCLUDED
    table: terms.Alignment = field(default=terms.Alignment(), repr=False)
    equivalents: Mapping[str, str] = field(default_factory=dict, repr=False)


EXACTLY = Comparing()
"""Without a table and with the default tolerances."""


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
        for key, kind in PARTS.items():
            if value.get(key) is not None:
                return kind
        return _looks(value.get("value", value.get("text", "")))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "quantity"
    text = str(value).strip()
    return next((kind for kind, pattern in LOOKS.items() if pattern.fullmatch(text)), "text")


def read(triple: Mapping[str, object], as_kind: str) -> Value | None:
    """The object of a triple as a value of that type; None where it cannot be one.

    >>> read({"object": "52.36, 4.885"}, "coordinate") is None, read({"object": ["a", "b"]}, "coordinate") is None
    (False, True)
    """
    raw: Any = triple.get("object")
    labels: Any = triple.get("object_labels") or ()
    try:
        if as_kind == "item":
            return terms.item(raw, triple.get("object_id"), labels)
        value: Value | None = READERS.get(as_kind, written)(raw)
    except (ValueError, TypeError, OverflowError):  # a mapping or a list whose parts are no numbers
        return None
    return value


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


SAME: dict[type, Callable[[Any, Any, Comparing], bool]] = {
    terms.NamedItem: lambda gold, pred, comparing: terms.same_item(gold, pred, comparing.equivalents),
    times.Time: lambda gold, pred, comparing: times.same(gold, pred, comparing.times),
    numeric.Quantity: lambda gold, pred, comparing: numeric.same_quantity(gold, pred, comparing.tolerance),
    numeric.Coordinate: lambda gold, pred, comparing: numeric.same_place(gold, pred, comparing.kilometres),
    Identifier: lambda gold, pred, comparing: bool(gold == pred),
    str: lambda gold, pred, comparing: texts.similar(gold, pred, comparing.threshold),
}


def same(gold: Value | None, pred: Value | None, comparing: Comparing = EXACTLY) -> bool:
    """Whether two values of one type are the same.

    >>> same(numeric.quantity("100"), numeric.quantity("1000")), same("Musée d'Orsay", "Musee d'Orsay")
    (False, True)
    """
    return gold is not None and type(gold) is type(pred) and SAME[type(gold)](gold, pred, comparing)
