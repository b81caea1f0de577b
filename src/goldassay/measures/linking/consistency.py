"""Whether the ids that one entity has in several knowledge bases belong together.

Wikidata, VIAF and ISIL are compared two by two, through a resolver that the caller gives: for an id, what the other
bases call the same entity. Several values are allowed; two sets agree if they share one. A pair about which the
resolver knows nothing is no evidence. An entity is consistent if there is evidence and all of it agrees, inconsistent
if any of it does not, partial if it has ids but no evidence. No evidence at all gives ``None``, not 1.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from goldassay.fields import read
from goldassay.measure import EMPTY
from goldassay.measures.linking.matching import Matching
from goldassay.measures.linking.measures import LinkMeasure
from goldassay.measures.linking.records import NIL, Answer, plain
from goldassay.tally import Number, Sums, divide

Resolver = Mapping[str, object] | Callable[[str], object]
Bases = dict[str, frozenset[str]]

BASES = {
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


@dataclass(frozen=True, slots=True)
class Identified(Consistency):
    """The same evidence; ``value`` is the share of entities with an id."""

    @property
    def weight(self) -> Number:
        """All entities."""
        return self.entities

    @property
    def value(self) -> Number:
        """Entities with an id, of all."""
        return divide(self.consistent + self.inconsistent + self.partial, self.entities, empty=1.0)


def cross_kb_consistency(
    linked_entities: Sequence[object], resolver: Resolver | None = None
) -> dict[str, float | None]:
    """How far the ids of entities (``wikidata_id``, ``viaf_id``, ``isil_code``; one each or several) belong together.

    ``resolver`` is a table (id → ``{"wikidata": …, "viaf": …, "isil": …}``) or a callable that returns such a mapping,
    or for a Wikidata id its VIAF alone. Without one there is no evidence.

    >>> table = {"Q190804": {"viaf": ["148691498"], "isil": ["NL-AsdRM"]}}
    >>> result = cross_kb_consistency([{"wikidata_id": "Q190804", "viaf_id": "148691498"}, {"viaf_id": "1"}], table)
    >>> result["consistent"], result["partial"], result["consistency_rate"], result["coverage_rate"]
    (1, 1, 1.0, 1.0)
    """
    entities = [
        {base: _ids([read(entity, name, None) for name in names], base) for base, names in BASES.items()}
        for entity in linked_entities
    ]
    counts = count(entities, resolver)
    covered, state = Identified(**counts.state()), counts.state()
    return {
        **{name: state[name] for name in ("consistent", "inconsistent", "partial")},
        "consistency_rate": float(counts.value) if counts.weight else None,
        "coverage_rate": float(covered.value) if covered.weight else None,
        "total": state["entities"],
    }


def count(entities: Iterable[Bases], resolver: Resolver | None) -> Consistency:
    """The counts of entities given as sets of ids by knowledge base."""
    verdicts = [verdict(entity, resolver) for entity in entities]
    return Consistency(
        verdicts.count("consistent"), verdicts.count("inconsistent"), verdicts.count("partial"), len(verdicts)
    )


def verdict(entity: Bases, resolver: Resolver | None) -> str:
    """``consistent``, ``inconsistent``, ``partial``, or empty for an entity without an id."""
    present = [base for base in BASES if entity.get(base)]
    if not present:
        return ""
    pairs = [_agree(entity, a, b, resolver) for a, b in combinations(present, 2)] if resolver else []
    evidence = [agrees for agrees in pairs if agrees is not None]
    return "partial" if not evidence else "consistent" if all(evidence) else "inconsistent"


def _agree(entity: Bases, a: str, b: str, resolver: Resolver) -> bool | None:
    """Whether two bases agree, looked up from either side; ``None`` if the resolver knows neither."""
    for base, other in ((a, b), (b, a)):
        resolved = frozenset[str]().union(*(resolve(resolver, id_).get(other, ()) for id_ in sorted(entity[base])))
        if resolved:
            return bool(resolved & entity[other])
    return None


def resolve(resolver: Resolver, id_: str) -> Bases:
    """What a resolver says about an id, by knowledge base."""
    answer = resolver(id_) if callable(resolver) else resolver.get(id_)
    by_name = answer if isinstance(answer, Mapping) else {"viaf": answer}
    return {base: _ids([by_name.get(name) for name in names], base) for base, names in BASES.items()}


def gold_table(links: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, dict[str, set[str]]]:
    """A resolver table from links that hold ids in several knowledge bases: each id with those beside it."""
    table: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for bases in map(bases_of, links):
        for base, other in permutations(bases, 2):
            for id_ in bases[base]:
                table[id_][other] |= bases[other]
    return table


def bases_of(bases: Mapping[str, object]) -> Bases:
    """Sets of ids by knowledge base."""
    return {base: _ids([bases.get(base)], base) for base in BASES}


def _ids(values: Iterable[Any], base: str) -> frozenset[str]:
    """The ids among values that are one each, several, or none."""
    listed = (id_ for value in values if value for id_ in ([value] if isinstance(value, (str, int)) else value))
    ids = {plain(id_) for id_ in listed} - {NIL}
    return frozenset(id_.upper() for id_ in ids) if base == "isil" else frozenset(ids)


@dataclass(frozen=True)
class ConsistencyRate(LinkMeasure[Consistency]):
    """Of the predicted links with ids in several knowledge bases, the share whose ids belong together.

    What belongs together is what the document's gold links say; links about which they say nothing are no evidence.

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"], "viaf": ["7"]}}]
    >>> wrong = [{"start": 0, "end": 5, "candidates": ["Q1"], "ids": {"wikidata": ["Q1"], "viaf": ["8"]}}]
    >>> ConsistencyRate()(gold, wrong).tally.value, ConsistencyRate()(gold, []).tally.weight
    (0.0, 0.0)
    """

    name = "consistency_rate"
    counted = "consistency"
    zero = Consistency()
    formula = "consistent / (consistent + inconsistent)"
    source = "the founding documents, repaired: all three bases, a resolver that is given"

    fixed = {"bases": "+".join(BASES), "resolver": "gold's own links", "failed": "left out", "empty": EMPTY}

    def tally(self, matching: Matching) -> Consistency:
        """The predicted links of one document."""
        entities = [_entity(answer) for answer in matching.pred]
        return type(self.zero)(**count(entities, gold_table(mention.bases for mention in matching.gold)).state())


@dataclass(frozen=True)
class CoverageRate(ConsistencyRate):
    """The share of predicted links that carry an id; for how many gold mentions have an answer see `Coverage`.

    >>> pred = [{"start": 0, "end": 5, "candidates": ["Q1"]}, {"start": 6, "end": 9, "candidates": []}]
    >>> CoverageRate()([], pred).tally
    Identified(consistent=0.0, inconsistent=0.0, partial=1.0, entities=2.0)
    """

    name = "coverage_rate"
    zero = Identified()
    attains_one = False  # gold's NIL carries no id
    formula = "(consistent + inconsistent + partial) / predicted links"


def _entity(answer: Answer) -> Bases:
    """The ids of a predicted link: those it names by knowledge base, else its first candidate, as Wikidata's."""
    return bases_of(answer.bases or ({} if answer.nil else {"wikidata": [answer.candidates[0]]}))
