"""Articles: their items as gold, and a program's triples resolved and aligned.

A name means an item by id, article title, redirect, label or alias, exact or similar, and by its kind. Names compare
after NFKC, case folding and removal of punctuation; similar names have a rapidfuzz ratio of at least ``THRESHOLD`` and
the same numbers. Ids compare with ids only. If several items have the name, the expected kind (the class P31, followed
upwards) decides; if it does not, nothing is guessed. Every answer gives its method, its confidence and a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from rapidfuzz import fuzz, process

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, JsonObject, Record, read
from goldassay.ext.wikidata.alignment import PropertyAlignmentTable, Term, value_kind
from goldassay.ext.wikidata.client import Item
from goldassay.measures.triples import objects
from goldassay.text.normal import normal, numbers, signed

CLASS_TREE = Path(__file__).with_name("class-tree.yaml")
CONFIDENCE = {"id": 1.0, "sitelink": 1.0, "redirect": 0.98, "label": 0.95, "alias": 0.9, "fuzzy": 0.9, "context": 0.8}
TIE = 2.0
"""Similar names whose ratios (0–100) differ by less are equally good."""
THRESHOLD = 90.0  # from which ratio (0–100) names are similar
QUALIFIED = re.compile(r"(.+?)\s*\(([^()]+)\)\s*$")
INSTANCE_OF = "P31"
READ_FIELDS = (
    "subject",
    "predicate",
    "object",
    "subject_id",
    "predicate_id",
    "object_id",
    "object_type",
    "confidence",
)


class_tree = cache(partial(files.yaml_value, CLASS_TREE))


def kinds_of(types: Iterable[str], domain: str | None = None) -> frozenset[str]:
    """The kinds of thing that an item is, by its classes (P31) followed upwards (P279) to a few broad kinds.

    An item without any is of the kind of the benchmark's domain.

    >>> kinds_of(["Q515"]), kinds_of([], "biography_living")
    (frozenset({'place'}), frozenset({'person'}))
    """
    tree = class_tree()
    seen = set(types)
    queue = list(types)
    while queue:
        above = [name for name in tree["parents"].get(queue.pop(), ()) if name not in seen]
        seen.update(above)
        queue += above
    kinds = frozenset(tree["kinds"][name] for name in seen & tree["kinds"].keys())
    return kinds or frozenset([tree["domains"][domain]] if domain in tree["domains"] else [])


class Resolution(NamedTuple):
    """The item that a name means, or None; how it was resolved, how surely, and why."""

    id: str | None
    kind: str
    confidence: float
    reason: str


class EntityResolver:
    """Resolves names against candidates.

    Args:
        names: The names of each item that a name may mean, by its id: its label first, then its aliases.
        types: Their classes (P31).
        titles: Article titles of items.
        redirects: From an id or a title to another.

    >>> names = {"Q7186": ["Marie Curie", "Maria Skłodowska"]}
    >>> resolver = EntityResolver(names, titles={"Marie Curie": "Q7186"}, redirects={"Madame Curie": "Marie Curie"})
    >>> [resolver.resolve(name).kind for name in ("ex:Marie_Curie", "Madame Curie", "MARIA SKŁODOWSKA", "Paris")]
    ['sitelink', 'redirect', 'alias', 'none']
    """

    def __init__(
        self,
        names: Mapping[str, Iterable[str]],
        types: Mapping[str, Iterable[str]] = {},
        *,
        titles: Mapping[str, str] = {},
        redirects: Mapping[str, str] = {},
    ) -> None:
        self.types = types
        self.redirects = {_key(name): target for name, target in redirects.items()}
        self.titles = {normal(title): qid for title, qid in titles.items()}
        self._by_name: dict[str, dict[str, str]] = {}  # folded name -> id -> label or alias
        for qid, group in names.items():
            for index, name in enumerate(group):
                self._by_name.setdefault(normal(name), {}).setdefault(qid, "alias" if index else "label")

    def resolve(self, name: Term, kinds: Iterable[str] = ()) -> Resolution:
        """The item that ``name`` means; ``kinds`` (person, place, …) are the expected ones."""
        item = objects.item(name)
        text = item.id if item and item.id else objects.label(objects.written(name).strip())
        folded = normal(text)
        target = self._follow(text)
        if not folded:
            return Resolution(None, "none", 0.0, "the name is empty")
        if folded in self.titles:
            return _resolution(self._follow(self.titles[folded]), "sitelink", f"{text!r} is the title of its article")
        qid = target if objects.QID.fullmatch(target) else self.titles.get(normal(target))
        if qid and target == text:
            return _resolution(qid, "id", f"the id {qid} itself")
        if qid:
            return _resolution(qid, "redirect", f"{text!r} redirects to {target!r}")
        # "Drake (musician)" means an item labelled "Drake"
        named = self._by_name.get(folded) or self._by_name.get(normal(QUALIFIED.sub(r"\1", text)), {})
        similarity = 1.0
        if not named:  # the items with the names that are most similar, and have the same numbers in them
            hits = process.extract(folded, list(self._by_name), scorer=fuzz.ratio, score_cutoff=THRESHOLD, limit=8)
            scores = {other: score for other, score, _ in hits if numbers(other) == numbers(folded)}
            if not scores:
                return Resolution(None, "none", 0.0, f"no label or alias is similar to {text!r}")
            best = max(scores.values())
            similarity = best / 100
            near = [other for other, score in scores.items() if score >= best - TIE]
            named = {qid: "fuzzy" for other in near for qid in self._by_name[other]}
        # of these items the only one, the only one of an expected kind, or the only one labelled so
        expected = frozenset(kinds)
        ways = {self._follow(qid): way for qid, way in reversed([*named.items()])}
        fitting = [qid for qid in ways if expected & kinds_of(self.types.get(qid, ()))]
        labelled = [qid for qid, way in ways.items() if way == "label"]
        if len(ways) == 1:
            ((qid, way),) = ways.items()
            return _resolution(qid, way, f"{text!r} is its {way} (similarity {similarity:.2f})", similarity)
        if len(fitting) == 1:
            reason = f"of those named {text!r} only it is a {' or '.join(sorted(expected))}"
            return _resolution(fitting[0], "context", reason, similarity)
        if len(labelled) == 1:
            return Resolution(labelled[0], "label", CONFIDENCE["context"], "its label, and only an alias of others")
        return Resolution(None, "ambiguous", 0.0, f"{text!r} may be {', '.join(sorted(ways))}")

    def _follow(self, name: str) -> str:
        return self.redirects.get(_key(name), name)


def _resolution(qid: str, kind: str, reason: str, similarity: float = 1.0) -> Resolution:
    return Resolution(qid, kind, round(CONFIDENCE[kind] * similarity, 4), reason)


def _key(name: str) -> str:
    return name if objects.QID.fullmatch(name) else normal(name)


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
        about: More entries for its result.
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
    about: JsonObject = field(default_factory=dict)

    def gold(self) -> list[JsonObject]:
        """The statements of the item as triples, without unknown values and deprecated statements.

        Each value of a property is listed once: Wikidata repeats it with other qualifiers (an employer left and joined
        again), but a text cannot be expected to say it twice. 100 m and 100 kg, a year and its first of January are
        two values; a text is one in any language.
        """
        triples: dict[tuple[str, str], JsonObject] = {}
        subject = {"subject": next(iter(self.item.names()), self.item.id), "subject_id": self.item.id}
        for statement in self.item.statements:
            value = statement.value
            text = value.get("text") if isinstance(value, Mapping) else None
            key = (statement.property, str(text or value))
            is_weaker = key in triples and statement.rank != "preferred"
            if value is None or statement.rank == "deprecated" or is_weaker:
                continue
            triple = {"object": value, "object_type": statement.type, "rank": statement.rank}
            if statement.type == "wikibase-item":
                labels = list(self.names.get(str(value), ()))
                triple |= {"object": (*labels, value)[0], "object_id": value, "object_labels": labels}
            triples[key] = {**subject, "predicate": statement.property, **triple}
        return list(triples.values())

    def resolver(self) -> EntityResolver:
        """Resolves names to the item and to the items that are values of its statements."""
        item = self.item
        subject: dict[str, Sequence[str]] = {item.id: item.names() or (self.title,)}
        types = {**self.types, item.id: item.items(INSTANCE_OF)}
        titles = dict.fromkeys([*item.sitelinks.values(), self.title], item.id)
        return EntityResolver(subject | dict(self.names) | subject, types, titles=titles, redirects=self.redirects)


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


def align(triples: Iterable[object], subject: Subject, table: PropertyAlignmentTable) -> list[Fields]:
    """A program's triples with items and properties; a statement that is repeated in other words is listed once, with
    its highest confidence.

    Raises:
        DataError: A triple lacks its subject, predicate or object.
    """
    entities = subject.resolver()
    item = subject.item.id
    kinds = kinds_of(entities.types.get(item, ()), subject.domain)
    predictions: dict[tuple[str, ...], Fields] = {}
    for number, source in enumerate(triples):
        values = {name: read(source, name, None) for name in READ_FIELDS}
        for name in READ_FIELDS[:3]:
            if values[name] is None or not str(values[name]).strip():
                raise DataError(f"a triple needs a {name!r}, got {source!r}", field=f"triples[{number}]")
        subject_item = entities.resolve(values["subject_id"] or values["subject"])
        predicate = str(values["predicate_id"] or values["predicate"])
        meaning = table.meaning(predicate, kinds if subject_item.id == item else (), values["object"])
        object_item = _resolve_object(values, meaning.properties or meaning.inverted, entities, table)
        properties = meaning.properties
        inverted = bool(meaning.inverted) and (not properties or object_item.id == item)
        if inverted:
            properties = meaning.inverted
        elif len(properties) == 1 and object_item.id == item != subject_item.id:
            back = table.by_id[next(iter(properties))].inverse
            if back:
                properties = frozenset((back,))
                inverted = True
        triple = {**values, "original": [objects.written(values[name]) for name in READ_FIELDS[:3]]}
        if inverted:
            triple |= {"subject": values["object"], "object": values["subject"]}
            subject_item, object_item = object_item, subject_item
        triple |= {
            "subject_id": subject_item.id,
            "predicate_id": next(iter(properties)) if len(properties) == 1 else None,
            "object_id": object_item.id,
            "aligned": bool(meaning.properties or meaning.inverted),
            "inverted": inverted,
            "resolved": {"subject": subject_item._asdict(), "object": object_item._asdict()},
        }
        key = (
            triple["subject_id"] or normal(objects.written(triple["subject"])),
            triple["predicate_id"] or table.canonical(str(triple["predicate"])),
            triple["object_id"] or signed(objects.written(triple["object"])),
        )
        if (triple["confidence"] or 0.0) > (predictions.setdefault(key, triple)["confidence"] or 0.0):
            predictions[key] = triple
    return list(predictions.values())


def _resolve_object(
    values: Record, properties: Iterable[str], entities: EntityResolver, table: PropertyAlignmentTable
) -> Resolution:
    """The item that an object is; none if its property does not take items."""
    rows = [table.by_id[name] for name in properties]
    for row in rows:
        if qid := row.items.get(normal(str(values["object"]))):
            reason = f"{values['object']!r} means {qid} in the alignment table"
            return Resolution(qid, "mapping", row.confidence, reason)
    if values["object_id"]:
        return entities.resolve(values["object_id"])
    takes_items = any(row.type in ("", "item") for row in rows) if rows else value_kind(values["object"]) == "item"
    if not takes_items:
        return Resolution(None, "literal", 1.0, "the value is not an item")
    return entities.resolve(values["object"], frozenset().union(*(row.range for row in rows)))
