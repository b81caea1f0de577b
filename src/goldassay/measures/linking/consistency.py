"""Whether the ids that an entity has in several knowledge bases belong together.

Wikidata, VIAF and ISIL are compared two by two, through a resolver that the caller gives: for an id, what the other
bases call the same entity. Several values are allowed; two sets agree if they share one. A pair about which the
resolver knows nothing is not evidence. An entity is consistent if there is evidence and all of it agrees, inconsistent
if any of it does not, partial if it has ids but no evidence. No evidence at all gives ``None``, not 1.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import ClassVar

from goldassay.core.measure import NO_EVIDENCE, Conventions
from goldassay.core.tally import Number, Sums, divide
from goldassay.measures.linking.matching import Matching
from goldassay.measures.linking.measures import LinkMeasure
from goldassay.measures.linking.records import NIL, bare_id

Ids = str | int | Iterable[str | int] | None
Entity = Mapping[str, Ids]
Answer = Entity | str | int | None
Resolver = Mapping[str, Answer] | Callable[[str], Answer]
Bases = dict[str, set[str]]

KNOWLEDGE_BASES = {
    "wikidata": ("wikidata_id", "wikidata"),
    "viaf": ("viaf_id", "viaf", "P214"),
    "isil": ("isil_code", "isil", "isil_id", "P791"),
}
"""The knowledge bases, and how records and resolvers call their ids."""


@dataclass(frozen=True, slots=True)
class Consistency(Sums):
    """How many entities are consistent, inconsistent, partial (no evidence), and how many there are."""

    consistent: Number = 0.0
    inconsistent: Number = 0.0
    partial: Number = 0.0
    entities: Number = 0.0

    @property
    def weight(self) -> Number:
        """Entities with evidence."""
        return self.consistent + self.inconsistent

    @property
    def value(self) -> Number:
        """The consistent share of those with evidence."""
        return divide(self.consistent, self.consistent + self.inconsistent, empty=1.0)

    @property
    def covered(self) -> Number:
        """The share of entities with an id."""
        return divide(self.consistent + self.inconsistent + self.partial, self.entities, empty=1.0)


class Identified(Consistency):
    """The same evidence; ``value`` is the share of entities with an id."""

    @property
    def weight(self) -> Number:
        """All entities."""
        return self.entities

    @property
    def value(self) -> Number:
        return self.covered


def cross_kb_consistency(
    linked_entities: Sequence[Entity], resolver: Resolver | None = None
) -> dict[str, float | None]:
    """How far the ids of entities (``wikidata_id``, ``viaf_id``, ``isil_code``; one each or several) belong together.

    ``resolver`` is a table (id → ``{"wikidata": …, "viaf": …, "isil": …}``) or a callable that returns such a mapping,
    or for a Wikidata id its VIAF alone. Without one there is no evidence.

    >>> table = {"Q190804": {"viaf": ["148691498"], "isil": ["NL-AsdRM"]}}
    >>> result = cross_kb_consistency([{"wikidata_id": "Q190804", "viaf_id": "148691498"}, {"viaf_id": "1"}], table)
    >>> result["consistent"], result["partial"], result["consistency_rate"], result["coverage_rate"]
    (1, 1, 1.0, 1.0)
    """
    counts = Consistency(*_count(map(_by_base, linked_entities), resolver))
    state = counts.state()
    total = state.pop("entities")
    return {
        **state,
        "consistency_rate": float(counts.value) if counts.weight else None,
        "coverage_rate": float(counts.covered) if total else None,
        "total": total,
    }


def _count(entities: Iterable[Bases], resolver: Resolver | None) -> tuple[int, int, int, int]:
    """How many entities are consistent, inconsistent, partial, and how many there are."""
    every = list(entities)
    evidence = [_evidence(entity, resolver) for entity in every if any(entity.values())]
    partial = evidence.count([])
    consistent = sum(bool(agree) and all(agree) for agree in evidence)
    return consistent, len(evidence) - partial - consistent, partial, len(every)


def _evidence(entity: Bases, resolver: Resolver | None) -> list[bool]:
    """Whether two bases agree, looked up from either side, for each pair about which the resolver knows something."""
    if resolver is None:
        return []
    look_up = resolver if callable(resolver) else resolver.get
    evidence = []
    for pair in combinations([base for base in KNOWLEDGE_BASES if entity[base]], 2):
        for base, other in (pair, pair[::-1]):
            resolved = set[str]()
            for id_ in sorted(entity[base]):
                answer = look_up(id_)
                resolved |= _by_base(answer if isinstance(answer, Mapping) else {"viaf": answer})[other]
            if resolved:
                evidence.append(not resolved.isdisjoint(entity[other]))
                break
    return evidence


def _by_base(entity: Entity) -> Bases:
    """The ids of an entity by knowledge base; one each, several, or none."""
    bases = {}
    for base, names in KNOWLEDGE_BASES.items():
        listed = [ids for name in names if (ids := entity.get(name))]
        ids = {bare_id(id_) for ids in listed for id_ in ([ids] if isinstance(ids, (str, int)) else ids)} - {NIL}
        bases[base] = {id_.upper() for id_ in ids} if base == "isil" else ids
    return bases


@dataclass(frozen=True)
class ConsistencyRate(LinkMeasure[Consistency]):
    """The share of predicted links with ids in several knowledge bases whose ids belong together.

    The document's gold links say what belongs together; links about which they say nothing are not evidence.

    Formula: consistent / (consistent + inconsistent)
    Source: the specification, with all three bases and a resolver

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"], "viaf": ["7"]}}]
    >>> wrong = [{"start": 0, "end": 5, "candidates": ["Q1"], "ids": {"wikidata": ["Q1"], "viaf": ["8"]}}]
    >>> ConsistencyRate()(gold, wrong).tally.value, ConsistencyRate()(gold, []).tally.weight
    (0.0, 0.0)
    """

    name = "consistency_rate"
    counted: ClassVar[str] = "consistency"
    zero: ClassVar[Consistency] = Consistency()
    fixed: ClassVar[Conventions] = {
        "bases": "+".join(KNOWLEDGE_BASES),
        "resolver": "gold's own links",
        "failed": "left out",
        "empty": NO_EVIDENCE,
    }

    def tally(self, matching: Matching) -> Consistency:
        """The predicted links of one document."""
        table: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for mention in matching.gold:
            bases = _by_base(mention.bases)
            for id_, base in ((id_, base) for id_ in chain(*bases.values()) for base in bases):
                table[id_][base] |= bases[base]
        # the ids that a link names by knowledge base, else its first candidate, as Wikidata's
        named = (answer.bases or ({} if answer.nil else {"wikidata": answer.ids[0]}) for answer in matching.pred)
        return type(self.zero)(*_count(map(_by_base, named), table))


@dataclass(frozen=True)
class CoverageRate(ConsistencyRate):
    """The share of predicted links that carry an id; for how many gold mentions have an answer see `Coverage`.

    Formula: (consistent + inconsistent + partial) / predicted links

    >>> pred = [{"start": 0, "end": 5, "candidates": ["Q1"]}, {"start": 6, "end": 9, "candidates": []}]
    >>> CoverageRate()([], pred).tally
    Identified(consistent=0.0, inconsistent=0.0, partial=1.0, entities=2.0)
    """

    name = "coverage_rate"
    zero: ClassVar[Identified] = Identified()
    attains_one: ClassVar[bool] = False  # gold's NIL has no id
