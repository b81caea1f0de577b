"""Whether the ids that one entity has in several knowledge bases belong together.

Wikidata, VIAF and ISIL are compared two by two, through a resolver that the caller gives: for an id, what the other
bases call the same entity. Several values are allowed; two sets agree when they share one. A pair of which the resolver
knows nothing is no evidence. An entity is consistent when there is evidence and all of it agrees, inconsistent when any
of it does not, partial when it has ids but no evidence. No evidence at all gives ``None``, not 1.0.

Two measures of a document's predicted links count so: how many are consistent, and how many carry an id at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar

from goldassay.fields import read
from goldassay.measure import EMPTY
from goldassay.measures.linking.matching import Matching
from goldassay.measures.linking.measures import LinkMeasure
from goldassay.measures.linking.records import Answer, IdPairs, plain
from goldassay.tally import Number, divide
from goldassay.tally.sums import Sums

IdTable = Mapping[str, object]
Resolver = IdTable | Callable[[str], object]
Bases = dict[str, frozenset[str]]

BASES = ("wikidata", "viaf", "isil")
FIELDS = {
    "wikidata": ("wikidata_id", "wikidata"),
    "viaf": ("viaf_id", "viaf"),
    "isil": ("isil_code", "isil", "isil_id"),
}
PROPERTIES = {"P214": "viaf", "P791": "isil"}


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
        """Consistent, of those with evidence."""
        return divide(self.consistent, self.consistent + self.inconsistent, empty=1.0)


@dataclass(frozen=True, slots=True)
class Identified(Consistency):
    """The same evidence; ``value`` is the share of entities with an id."""

    @property
    def weight(self) -> Number:
        """Entities."""
        return self.entities

    @property
    def value(self) -> Number:
        """Entities with an id, of all."""
        return divide(self.consistent + self.inconsistent + self.partial, self.entities, empty=1.0)


def cross_kb_consistency(
    linked_entities: Sequence[object], resolver: Resolver | None = None
) -> dict[str, float | None]:
    """How far the ids of entities (``wikidata_id``, ``viaf_id``, ``isil_code``; one each or several) belong together.

    ``resolver`` is a table (id → ``{"wikidata": …, "viaf": …, "isil": …}``) or a callable that gives such a mapping, or
    for a Wikidata id its VIAF alone. Without one there is no evidence.

    >>> table = {"Q190804": {"viaf": ["148691498"], "isil": ["NL-AsdRM"]}}
    >>> found = cross_kb_consistency([{"wikidata_id": "Q190804", "viaf_id": "148691498"}, {"viaf_id": "1"}], table)
    >>> found["consistent"], found["partial"], found["consistency_rate"], found["coverage_rate"]
    (1, 1, 1.0, 1.0)
    """
    found = tallied([_own(entity) for entity in linked_entities], resolver)
    covered = Identified(**found.state())
    counts = found.state()
    return {
        "consistent": counts["consistent"],
        "inconsistent": counts["inconsistent"],
        "partial": counts["partial"],
        "consistency_rate": float(found.value) if found.weight else None,
        "coverage_rate": float(covered.value) if covered.weight else None,
        "total": counts["entities"],
    }


def tallied(entities: Iterable[Bases], resolver: Resolver | None) -> Consistency:
    """The counts of entities given as sets of ids by knowledge base."""
    verdicts = [verdict(entity, resolver) for entity in entities]
    return Consistency(
        verdicts.count("consistent"), verdicts.count("inconsistent"), verdicts.count("partial"), len(verdicts)
    )


def verdict(entity: Bases, resolver: Resolver | None) -> str:
    """``consistent``, ``inconsistent``, ``partial``, or empty for an entity without an id."""
    there = [base for base in BASES if entity.get(base)]
    if not there:
        return ""
    evidence = [_agree(entity, a, b, resolver) for a, b in combinations(there, 2)] if resolver else []
    known = [one for one in evidence if one is not None]
    return "partial" if not known else "consistent" if all(known) else "inconsistent"


def _agree(entity: Bases, a: str, b: str, resolver: Resolver) -> bool | None:
    """Whether two bases agree, asked from either side; ``None`` where the resolver knows neither."""
    for one, other in ((a, b), (b, a)):
        known = frozenset[str]().union(*(resolved(resolver, x).get(other, frozenset()) for x in sorted(entity[one])))
        if known:
            return bool(known & entity[other])
    return None


def resolved(resolver: Resolver, one: str) -> Bases:
    """What a resolver says of an id, by knowledge base."""
    answer = resolver(one) if callable(resolver) else resolver.get(one)
    if answer is None:
        return {}
    if not isinstance(answer, Mapping):
        return {"viaf": _set(answer, "viaf")}
    out: Bases = {}
    for key, value in answer.items():
        base = PROPERTIES.get(key) or next((base for base, keys in FIELDS.items() if key in keys), str(key))
        out[base] = _set(value, base)
    return out


def together(links: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, dict[str, list[str]]]:
    """A table from links that hold ids in several knowledge bases: each id with what stands beside it."""
    out: dict[str, dict[str, list[str]]] = {}
    for bases in links:
        known = {base: sorted(_set(bases.get(base), base)) for base in BASES if bases.get(base)}
        if len(known) < 2:
            continue
        for base, ids in known.items():
            for one in ids:
                entry = out.setdefault(one, {})
                for other, values in known.items():
                    if other != base:
                        entry[other] = sorted({*entry.get(other, []), *values})
    return out


def bases_of(bases: Mapping[str, object]) -> Bases:
    """Sets of ids by knowledge base."""
    return {base: _set(bases.get(base), base) for base in BASES}


def _own(entity: Any) -> Bases:
    out = {}
    for base, keys in FIELDS.items():
        values = [read(entity, key, None) for key in keys]
        out[base] = frozenset[str]().union(*(_set(value, base) for value in values))
    return out


def _set(value: Any, base: str) -> frozenset[str]:
    if not value:
        return frozenset()
    values = [value] if isinstance(value, (str, int)) else value
    ids = {plain(one) for one in values} - {"NIL"}
    return frozenset(one.upper() for one in ids) if base == "isil" else frozenset(ids)


@dataclass(frozen=True)
class ConsistencyRate(LinkMeasure[Consistency]):
    """Of the predicted links with ids in several knowledge bases, the share whose ids belong together.

    What belongs together is told by ``resolver``, pairs (id, ``base:id``); empty is what the document's gold links say.
    Links that it says nothing of are no evidence.

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"], "viaf": ["7"]}}]
    >>> wrong = [{"start": 0, "end": 5, "candidates": ["Q1"], "ids": {"wikidata": ["Q1"], "viaf": ["8"]}}]
    >>> ConsistencyRate()(gold, wrong).tally.value, ConsistencyRate()(gold, []).tally.weight
    (0.0, 0)
    """

    resolver: IdPairs = ()
    name: ClassVar[str] = "consistency_rate"
    counted: ClassVar[str] = "consistency"
    zero: ClassVar[Consistency] = Consistency()
    formula: ClassVar[str] = "consistent / (consistent + inconsistent)"
    source: ClassVar[str] = "the founding documents, repaired: all three bases, a resolver that is given"

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """What stands in for a resolver."""
        told = {} if self.resolver else {"resolver": "gold's own links"}
        return {"bases": "+".join(BASES), **told, "empty": EMPTY}

    def tally(self, found: Matching) -> Consistency:
        """The predicted links of one document."""
        table = by_base(self.resolver) if self.resolver else together(m.bases for m in found.gold)
        counts = tallied([_entity(answer) for answer in found.pred], table)
        return type(self.zero)(**counts.state())


@dataclass(frozen=True)
class CoverageRate(ConsistencyRate):
    """The share of predicted links that carry an id; for how many gold mentions are answered see `Coverage`.

    >>> pred = [{"start": 0, "end": 5, "candidates": ["Q1"]}, {"start": 6, "end": 9, "candidates": []}]
    >>> CoverageRate()([], pred).tally
    Identified(consistent=0, inconsistent=0, partial=1, entities=2)
    """

    name: ClassVar[str] = "coverage_rate"
    zero: ClassVar[Consistency] = Identified()
    attains_one: ClassVar[bool] = False  # gold's NIL carries no id
    formula: ClassVar[str] = "(consistent + inconsistent + partial) / predicted links"


def _entity(answer: Answer) -> Bases:
    """The ids of a predicted link: those it names by knowledge base; else its first candidate, as Wikidata's."""
    if answer.bases:
        return bases_of(answer.bases)
    return bases_of({} if answer.nil else {"wikidata": [answer.candidates[0]]})


def known(resolver: Resolver, links: Iterable[Mapping[str, Sequence[str]]]) -> IdPairs:
    """What a resolver says of the ids of these links, as the pairs that `ConsistencyRate` takes."""
    ids = {one for bases in links for base in BASES for one in _set(bases.get(base), base)}
    told = ((one, base, other) for one in ids for base, there in resolved(resolver, one).items() for other in there)
    return tuple(sorted((one, f"{base}:{other}") for one, base, other in told))


@lru_cache(maxsize=8)
def by_base(table: IdPairs) -> dict[str, dict[str, list[str]]]:
    """Pairs (id, ``base:id``) as a resolver's table."""
    out: dict[str, dict[str, list[str]]] = {}
    for one, other in table:
        base, _, there = other.partition(":")
        out.setdefault(one, {}).setdefault(base, []).append(there)
    return out
