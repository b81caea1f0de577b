"""An article and its item: Wikidata's statements as gold, and a program's triples resolved and aligned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measures.triples import objects
from goldassay.text.normal import normal, signed
from goldassay.wikidata.alignment import PropertyAlignmentTable, value_kind
from goldassay.wikidata.entities import Item
from goldassay.wikidata.resolver import CandidateItem, ClassHierarchy, EntityResolver, Resolution

INSTANCE_OF = "P31"
FIELDS = ("subject", "predicate", "object", "subject_id", "predicate_id", "object_id", "object_type", "confidence")


@dataclass(frozen=True)
class Subject:
    """An article with its item.

    Args:
        title: The title of the article.
        item: The item that the article is about.
        names: Labels and aliases of the items that are values of its statements.
        domain: The benchmark's domain.
        text: The text of the article.
        redirects: From an id or title to another.
        types: Classes (P31) of values that share a name with another.
    """

    title: str
    item: Item
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    domain: str = "unknown"
    text: str = ""
    redirects: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def gold(self) -> list[dict[str, Any]]:
        """The statements of the item, without unknown values and deprecated statements.

        Each value of a property is listed once: Wikidata repeats it with other qualifiers (an employer left and joined
        again), but a text cannot be expected to say it twice.
        """
        values: dict[tuple[str, str], dict[str, Any]] = {}
        for triple in self.item.triples(self.names):
            if triple["object"] is None or triple["rank"] == "deprecated":
                continue
            key = (triple["predicate"], triple.get("object_id") or _value_key(triple["object"]))
            if key not in values or triple["rank"] == "preferred":
                values[key] = triple
        return list(values.values())

    def resolver(self, hierarchy: ClassHierarchy) -> EntityResolver:
        """Resolves names to the item and to the items that are values of its statements."""
        item = self.item
        candidates = [CandidateItem(item.id, item.names() or (self.title,), frozenset(item.items(INSTANCE_OF)))]
        for qid, names in self.names.items():
            if qid != item.id:
                candidates.append(CandidateItem(qid, tuple(names), self.types.get(qid, frozenset())))
        titles = dict.fromkeys([*item.sitelinks.values(), self.title], item.id)
        return EntityResolver(candidates, titles=titles, redirects=self.redirects, hierarchy=hierarchy)


def _value_key(value: Any) -> str:
    """A value in full: 100 m is not 100 kg, and a year is not its first of January; a text is equal in any language."""
    if not isinstance(value, Mapping) or "text" in value:
        return objects.written(value)
    return ", ".join(f"{name} {part}" for name, part in sorted(value.items()))


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


def align(
    triples: Iterable[object], subject: Subject, table: PropertyAlignmentTable, hierarchy: ClassHierarchy
) -> list[dict[str, Any]]:
    """A program's triples with items and properties; a statement that is repeated in other words is listed once, with
    its highest confidence."""
    entities = subject.resolver(hierarchy)
    item = subject.item.id
    kinds = {item: hierarchy.kinds(entities.types.get(item, ()), subject.domain)}
    predictions: dict[tuple[str, str, str], dict[str, Any]] = {}
    for number, source in enumerate(triples):
        values = {name: read(source, name, None) for name in FIELDS}
        for name in ("subject", "predicate", "object"):
            if values[name] is None or not str(values[name]).strip():
                raise DataError(f"a triple needs a {name!r}, got {source!r}", field=f"triples[{number}]")
        triple = _align(values, entities, table, kinds, item)
        key = (
            triple["subject_id"] or normal(objects.written(triple["subject"])),
            triple["predicate_id"] or table.canonical(str(triple["predicate"])),
            triple["object_id"] or signed(objects.written(triple["object"])),
        )
        other = predictions.get(key)
        triple["repeats"] = other["repeats"] + 1 if other else 0
        if other is None or (triple["confidence"] or 0.0) > (other["confidence"] or 0.0):
            predictions[key] = triple
        else:
            other["repeats"] += 1
    return list(predictions.values())


def _align(
    values: dict[str, Any],
    entities: EntityResolver,
    table: PropertyAlignmentTable,
    kinds: Mapping[str, frozenset[str]],
    item: str,
) -> dict[str, Any]:
    """One triple with subject and object resolved and the predicate aligned, inverted if need be."""
    subject = entities.resolve(values["subject_id"] or values["subject"])
    predicate = str(values["predicate_id"] or values["predicate"])
    meaning = table.meaning(predicate, kinds.get(subject.id or "", frozenset()), values["object"])
    target = _resolve_object(values, meaning.properties or meaning.inverted, entities, table)
    property_ = next(iter(meaning.properties)) if len(meaning.properties) == 1 else None
    inverted = False
    if meaning.inverted and (not meaning.properties or target.id == item):
        property_, inverted = next(iter(meaning.inverted)) if len(meaning.inverted) == 1 else None, True
    elif property_ and subject.id != item and target.id == item and (back := table.inverse(property_)):
        property_, inverted = back, True
    triple = dict(values)
    if inverted:
        triple["subject"], triple["object"] = values["object"], values["subject"]
        subject, target = target, subject
    return triple | {
        "original": [objects.written(values[name]) for name in ("subject", "predicate", "object")],
        "subject_id": subject.id,
        "predicate_id": property_,
        "object_id": target.id,
        "aligned": meaning.aligned,
        "inverted": inverted,
        "resolved": {"subject": subject.state(), "object": target.state()},
    }


def _resolve_object(
    values: Mapping[str, object], properties: Iterable[str], entities: EntityResolver, table: PropertyAlignmentTable
) -> Resolution:
    """The item that an object is; none if its property does not take items."""
    rows = [table.by_id[name] for name in properties if name in table.by_id]
    for row in rows:
        if qid := table.value(row.id, values["object"]):
            reason = f"{values['object']!r} stands for {qid} in the alignment table"
            return Resolution(qid, "mapping", row.confidence, reason)
    if values["object_id"]:
        return entities.resolve(values["object_id"])
    literal = all(row.type not in ("", "item") for row in rows) if rows else value_kind(values["object"]) != "item"
    if literal:
        return Resolution(None, "literal", 1.0, "the value is not an item")
    return entities.resolve(values["object"], frozenset().union(*(row.range for row in rows)))
