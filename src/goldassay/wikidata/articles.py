"""Articles: their items as gold, and a program's triples resolved and aligned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measures.triples import objects
from goldassay.text.normal import normal, signed
from goldassay.wikidata.alignment import PropertyAlignmentTable, value_kind
from goldassay.wikidata.client import Item
from goldassay.wikidata.resolver import EntityResolver, Resolution, kinds_of

INSTANCE_OF = "P31"
FIELDS = ("subject", "predicate", "object", "subject_id", "predicate_id", "object_id", "object_type", "confidence")


@dataclass(frozen=True)
class Subject:
    """An article with its item.

    Args:
        title: The title of the article, after redirects.
        item: The item that the article is about.
        names: Labels and aliases of the items that are values of its statements.
        domain: The benchmark's domain.
        text: The text of the article.
        redirects: From an id or title to another.
        types: Classes (P31) of values that share a name with another.
        key: Identifies the article in a benchmark.
        fetched: When its parts were fetched.
        about: What else the result says of it.
    """

    title: str
    item: Item
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    domain: str = "unknown"
    text: str = ""
    redirects: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    key: str = ""
    fetched: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def gold(self) -> list[dict[str, Any]]:
        """The statements of the item, without unknown values and deprecated statements.

        Each value of a property is listed once: Wikidata repeats it with other qualifiers (an employer left and joined
        again), but a text cannot be expected to say it twice. 100 m and 100 kg, a year and its first of January are
        two values; a text is one in any language.
        """
        values: dict[tuple[str, str], dict[str, Any]] = {}
        for triple in self.item.triples(self.names):
            value = triple["object"]
            if value is not None and triple["rank"] != "deprecated":
                text = isinstance(value, Mapping) and value.get("text")
                key = triple["predicate"], str(triple.get("object_id") or text or value)
                if key not in values or triple["rank"] == "preferred":
                    values[key] = triple
        return list(values.values())

    def resolver(self) -> EntityResolver:
        """Resolves names to the item and to the items that are values of its statements."""
        item = self.item
        own: dict[str, Sequence[str]] = {item.id: item.names() or (self.title,)}
        types = {**self.types, item.id: item.items(INSTANCE_OF)}
        titles = dict.fromkeys([*item.sitelinks.values(), self.title], item.id)
        return EntityResolver(own | dict(self.names) | own, types, titles=titles, redirects=self.redirects)


def shared_names(names: Mapping[str, Sequence[str]]) -> list[str]:
    """The items that share a name with another, so that their classes are needed to tell them apart.

    >>> shared_names({"Q90": ["Paris"], "Q167646": ["Paris", "Alexander"], "Q142": ["France"]})
    ['Q167646', 'Q90']
    """
    by_name: dict[str, set[str]] = {}
    for qid, words in names.items():
        for name in words:
            by_name.setdefault(normal(name), set()).add(qid)
    return sorted({qid for qids in by_name.values() if len(qids) > 1 for qid in qids})


def align(triples: Iterable[object], subject: Subject, table: PropertyAlignmentTable) -> list[dict[str, Any]]:
    """A program's triples with items and properties; a statement that is repeated in other words is listed once, with
    its highest confidence."""
    entities, item = subject.resolver(), subject.item.id
    kinds = kinds_of(entities.types.get(item, ()), subject.domain)
    predictions: dict[tuple[str, ...], dict[str, Any]] = {}
    for number, source in enumerate(triples):
        values = {name: read(source, name, None) for name in FIELDS}
        for name in FIELDS[:3]:
            if values[name] is None or not str(values[name]).strip():
                raise DataError(f"a triple needs a {name!r}, got {source!r}", field=f"triples[{number}]")
        triple = _align(values, entities, table, item, kinds)
        key = (
            triple["subject_id"] or normal(objects.written(triple["subject"])),
            triple["predicate_id"] or table.canonical(str(triple["predicate"])),
            triple["object_id"] or signed(objects.written(triple["object"])),
        )
        if (triple["confidence"] or 0.0) > (predictions.setdefault(key, triple)["confidence"] or 0.0):
            predictions[key] = triple
    return list(predictions.values())


def _align(
    values: Mapping[str, Any], entities: EntityResolver, table: PropertyAlignmentTable, item: str, kinds: frozenset[str]
) -> dict[str, Any]:
    """One triple with subject and object resolved and the predicate aligned, inverted if need be.

    ``item`` is the article's item, and ``kinds`` what kinds of thing it is.
    """
    subject = entities.resolve(values["subject_id"] or values["subject"])
    predicate = str(values["predicate_id"] or values["predicate"])
    meaning = table.meaning(predicate, kinds if subject.id == item else (), values["object"])
    target = _resolve_object(values, meaning.properties or meaning.inverted, entities, table)
    properties = meaning.properties
    inverted = bool(meaning.inverted) and (not properties or target.id == item)
    if inverted:
        properties = meaning.inverted
    elif len(properties) == 1 and target.id == item != subject.id and (back := table.inverse(*properties)):
        properties, inverted = frozenset((back,)), True
    triple = {**values, "original": [objects.written(values[name]) for name in FIELDS[:3]]}
    if inverted:
        triple |= {"subject": values["object"], "object": values["subject"]}
        subject, target = target, subject
    return triple | {
        "subject_id": subject.id,
        "predicate_id": next(iter(properties)) if len(properties) == 1 else None,
        "object_id": target.id,
        "aligned": bool(meaning.properties or meaning.inverted),
        "inverted": inverted,
        "resolved": {"subject": subject._asdict(), "object": target._asdict()},
    }


def _resolve_object(
    values: Mapping[str, Any], properties: Iterable[str], entities: EntityResolver, table: PropertyAlignmentTable
) -> Resolution:
    """The item that an object is; none if its property does not take items."""
    rows = [table.by_id[name] for name in properties if name in table.by_id]
    for row in rows:
        if qid := row.items.get(normal(str(values["object"]))):
            reason = f"{values['object']!r} stands for {qid} in the alignment table"
            return Resolution(qid, "mapping", row.confidence, reason)
    if values["object_id"]:
        return entities.resolve(values["object_id"])
    takes_items = any(row.type in ("", "item") for row in rows) if rows else value_kind(values["object"]) == "item"
    if not takes_items:
        return Resolution(None, "literal", 1.0, "the value is not an item")
    return entities.resolve(values["object"], frozenset().union(*(row.range for row in rows)))
