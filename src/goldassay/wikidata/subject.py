"""An article made ready for scoring: Wikidata's statements as gold, the program's triples resolved and aligned."""

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
OWN = ("subject", "predicate", "object", "subject_id", "predicate_id", "object_id", "object_type", "confidence")


@dataclass(frozen=True)
class Subject:
    """An article with its item, the names of the items that are values there, and what redirects to what."""

    title: str
    item: Item
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    domain: str = "unknown"
    text: str = ""
    redirects: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Classes (P31) of values, where they are needed: of those that share a name with another."""


def gold(subject: Subject) -> list[dict[str, Any]]:
    """Wikidata's statements of the item, each value of a property once; unknown values and deprecated ones are out.

    An item may say one thing twice, with other qualifiers (an employer left and joined again); no text can be asked to
    say it twice.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for triple in subject.item.triples(subject.names):
        if triple["object"] is None or triple["rank"] == "deprecated":
            continue
        key = (triple["predicate"], triple.get("object_id") or _said(triple["object"]))
        if key not in found or triple["rank"] == "preferred":
            found[key] = triple
    return list(found.values())


def _said(value: Any) -> str:
    """A value whole: 100 m is not 100 kg, and a year not its first of January; a text is one in every language."""
    if not isinstance(value, Mapping) or "text" in value:
        return objects.written(value)
    return ", ".join(f"{name} {part}" for name, part in sorted(value.items()))


def instance_of(item: Item) -> frozenset[str]:
    """The classes of an item (P31)."""
    return frozenset(s.value for s in item.statements if s.property == INSTANCE_OF and isinstance(s.value, str))


def shared(names: Mapping[str, Sequence[str]]) -> list[str]:
    """The items that have a name in common with another: their classes are needed to tell them apart.

    >>> shared({"Q90": ["Paris"], "Q167646": ["Paris", "Alexander"], "Q142": ["France"]})
    ['Q167646', 'Q90']
    """
    called: dict[str, set[str]] = {}
    for name, words in names.items():
        for one in words:
            called.setdefault(normal(one), set()).add(name)
    return sorted({name for found in called.values() if len(found) > 1 for name in found})


def resolver(subject: Subject, hierarchy: ClassHierarchy) -> EntityResolver:
    """Resolves names to the article's item and to the items that are values of its statements."""
    item = subject.item
    titles = dict.fromkeys([*item.sitelinks.values(), subject.title], item.id)
    known = [CandidateItem(item.id, item.names() or (subject.title,), instance_of(item))]
    known += [
        CandidateItem(name, tuple(names), subject.types.get(name, frozenset()))
        for name, names in subject.names.items()
        if name != item.id
    ]
    return EntityResolver(known, titles=titles, redirects=subject.redirects, hierarchy=hierarchy)


def predictions(
    triples: Iterable[object], subject: Subject, table: PropertyAlignmentTable, hierarchy: ClassHierarchy
) -> list[dict[str, Any]]:
    """The program's triples, read; the same statement in other words is kept once, with its greatest confidence."""
    entities = resolver(subject, hierarchy)
    item = subject.item.id
    kinds = {item: hierarchy.kinds(entities.types.get(item, ()), subject.domain)}
    out: dict[tuple[str, str, str], dict[str, Any]] = {}
    for number, said in enumerate(triples):
        triple = _aligned(_read(said, number), entities, table, kinds, item)
        key = (
            triple["subject_id"] or normal(objects.written(triple["subject"])),
            triple["predicate_id"] or table.canonical(str(triple["predicate"])),
            triple["object_id"] or signed(objects.written(triple["object"])),
        )
        other = out.get(key)
        if other is None or (triple["confidence"] or 0.0) > (other["confidence"] or 0.0):
            triple["said"] = other["said"] + 1 if other else 1
            out[key] = triple
        else:
            other["said"] += 1
    return list(out.values())


def _read(said: Any, number: int) -> dict[str, Any]:
    found = {name: read(said, name, None) for name in OWN}
    for name in ("subject", "predicate", "object"):
        if found[name] is None or not str(found[name]).strip():
            raise DataError(f"a triple needs a {name!r}, found {said!r}", field=f"triples[{number}]")
    return found


def _aligned(
    said: dict[str, Any],
    entities: EntityResolver,
    table: PropertyAlignmentTable,
    kinds: Mapping[str, frozenset[str]],
    item: str,
) -> dict[str, Any]:
    """One triple with its subject resolved, its predicate aligned, its object resolved, and turned round if need be."""
    subject = entities.resolve(said["subject_id"] or said["subject"])
    meaning = table.meaning(
        str(said["predicate_id"] or said["predicate"]), kinds.get(subject.id or "", frozenset()), said["object"]
    )
    triple = {**said, "spoken": [objects.written(said[name]) for name in ("subject", "predicate", "object")]}
    target = _object(said, meaning.properties or meaning.turned, entities, table)
    turned = False
    one = next(iter(meaning.properties)) if len(meaning.properties) == 1 else None
    if meaning.turned and (not meaning.properties or target.id == item):
        one, turned = next(iter(meaning.turned)) if len(meaning.turned) == 1 else None, True
    elif one and subject.id != item and target.id == item and (back := table.inverse(one)):
        one, turned = back, True
    if turned:
        triple["subject"], triple["object"] = said["object"], said["subject"]
        subject, target = target, subject
    triple |= {
        "subject_id": subject.id,
        "predicate_id": one,
        "object_id": target.id,
        "aligned": meaning.aligned,
        "turned": turned,
        "subject_found": subject,
        "object_found": target,
    }
    return triple


def _object(
    said: Mapping[str, object], properties: Iterable[str], entities: EntityResolver, table: PropertyAlignmentTable
) -> Resolution:
    """The item that an object is; none where its property does not take items."""
    rows = [table.by_id[name] for name in properties if name in table.by_id]
    for row in rows:
        mapped = table.value(row.id, said["object"])
        if mapped:
            why = f"{said['object']!r} stands for {mapped} in the alignment table"
            return Resolution(mapped, "mapping", row.confidence, why)
    if said["object_id"]:
        return entities.resolve(said["object_id"])
    literal = all(row.type not in ("", "item") for row in rows) if rows else value_kind(said["object"]) != "item"
    if literal:
        return Resolution(None, "literal", 1.0, "the value is no item")
    return entities.resolve(said["object"], frozenset().union(*(row.range for row in rows)))
