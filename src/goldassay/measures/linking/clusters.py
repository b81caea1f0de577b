"""Entities: which mentions are one, and whether the ids that one has in several knowledge bases belong together.

A cluster is the mentions with one id, whatever the entity is called. A name such as ``NIL12`` is that of an entity in
no knowledge base. A mention is the same on both sides if its span is.

Wikidata, VIAF and ISIL are compared two by two, through a resolver that the caller gives: for an id, what the other
bases call the same entity. Several values are allowed; two sets agree if they share one. A pair about which the
resolver knows nothing is no evidence. An entity is consistent if there is evidence and all of it agrees, inconsistent
if any of it does not, partial if it has ids but no evidence. No evidence at all gives ``None``, not 1.0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import fsum
from typing import Any, ClassVar

import numpy as np

from goldassay.measure import EMPTY, Review
from goldassay.measures.assignment import heaviest
from goldassay.measures.linking.matching import OVER, Matching
from goldassay.measures.linking.measures import KEY, LinkMeasure
from goldassay.measures.linking.records import NIL, Mention, plain
from goldassay.tally import RATES, By, Confusion, Number, Share, Sums, divide, positive

METRICS = {name: (name,) for name in ("muc", "b_cubed", "ceaf_m", "ceaf_e", "lea")} | {
    "conll": ("muc", "b_cubed", "ceaf_e")  # of which it is the mean
}
UNNAMED = ("missed", "spurious", "not_in_text")  # the errors that hold whatever an entity is called
Table = Mapping[tuple[str, str], float]
"""How many mentions a gold and a predicted cluster share; "" for mentions that the other side lacks."""


@dataclass(frozen=True, slots=True)
class Overlap(Sums):
    """What is right of gold and of the prediction; R = recalled / gold, P = right / predicted, F1 = 2 P R / (P + R)."""

    recalled: Number = 0.0
    gold: Number = 0.0
    right: Number = 0.0
    predicted: Number = 0.0

    def rate(self, name: str) -> Number:
        """Recall, precision or F1; 0 without evidence."""
        recall, precision = divide(self.recalled, self.gold), divide(self.right, self.predicted)
        f1 = divide(2 * precision * recall, precision + recall)
        return {"recall": recall, "precision": precision, "f1": f1}[name]

    @property
    def weight(self) -> Number:
        return self.gold + self.predicted

    @property
    def value(self) -> Number:
        return self.rate("f1") + (1.0 - positive(self.weight))

    def repaired(self, share: Share, lower: bool = False) -> Overlap:
        """What this share of the errors takes away."""
        part = share(())
        return Overlap((self.gold - self.recalled) * part, 0.0, (self.predicted - self.right) * part, 0.0)


class Overlaps(By[str, Overlap]):
    """Overlaps by metric; ``value`` is the mean of a rate over the metrics, 0 for one that has nothing to count.

    >>> Overlaps({"b_cubed": Overlap(1, 2, 1, 1)}).value
    0.6666666666666666
    """

    inner = Overlap()
    settings = ("metric", "rate")

    def __init__(self, items: Mapping[str, Overlap] = {}, metric: str = "b_cubed", rate: str = "f1") -> None:
        super().__init__(items)
        self.metric = metric
        self.rate = rate

    @property
    def value(self) -> Number:
        rates = sum(overlap.rate(self.rate) for overlap in self.values())
        return rates / len(METRICS[self.metric]) + (1.0 - positive(self.weight))


class Clusterings(Confusion):
    """Shared mentions by (gold cluster, predicted cluster) of a whole corpus; ``value`` is that of its clusters."""

    settings = ("metric", "rate")

    def __init__(self, items: Table = {}, metric: str = "b_cubed", rate: str = "f1") -> None:
        super().__init__(items)
        self.metric = metric
        self.rate = rate

    @property
    def value(self) -> Number:
        counts = np.array([*self.values()], float)
        columns = counts.reshape(len(self), -1).T if self else np.empty((1, 0))
        tables = (dict(zip(self, column, strict=True)) for column in columns.tolist())
        values = [overlaps(table, self.metric, self.rate).value for table in tables]
        return np.array(values) if counts.ndim > 1 else values[0]


def overlaps(table: Table, metric: str, rate: str = "f1") -> Overlaps:
    """What a metric, or each of the three of CoNLL, counts in a table of shared mentions.

    >>> overlaps({("k", "r"): 2, ("k", "s"): 1}, "muc")         # a link of gold's two; the prediction has one
    {'muc': Overlap(recalled=1, gold=2, right=1, predicted=1)}
    """
    gold, pred = Counter[str](), Counter[str]()
    for (left, right), n in table.items():
        if n > 0:
            gold[left] += n  # type: ignore[assignment]
            pred[right] += n  # type: ignore[assignment]
    del gold[""], pred[""]
    common = {pair: n for pair, n in table.items() if n > 0 and all(pair)}
    return Overlaps({name: _overlap(name, common, gold, pred) for name in METRICS[metric]}, metric, rate)


def _overlap(metric: str, common: Table, gold: Mapping[str, Any], pred: Mapping[str, Any]) -> Overlap:
    if metric == "muc":  # links that hold a cluster together, of size - 1
        both, left, right = (sum(max(n - 1, 0) for n in sizes.values()) for sizes in (common, gold, pred))
        return Overlap(both, left, both, right)
    if metric.startswith("ceaf"):  # the most similarity that pairs of clusters can have, each in one pair at most
        similarity: Table = common
        if metric == "ceaf_e":
            similarity = {(k, r): 2 * n / (gold[k] + pred[r]) for (k, r), n in common.items()}
        best = fsum(similarity[pair] for pair in heaviest(similarity))
        left, right = (len(side) if metric == "ceaf_e" else sum(side.values()) for side in (gold, pred))
        return Overlap(best, left, best, right)

    def share(n: Any, size: Any, other: Any) -> Any:
        if metric == "b_cubed":  # of each of the n mentions, the share of its cluster that is with it
            return n * n / size
        if size > 1:  # LEA: the size of a cluster times the share of its links that hold
            return max(n * (n - 1), 0) / (size - 1)
        return size * (other <= 1)  # a single mention has a link to itself

    recalled: Any = sum(share(n, gold[k], pred[r]) for (k, r), n in common.items())
    correct: Any = sum(share(n, pred[r], gold[k]) for (k, r), n in common.items())
    return Overlap(recalled, sum(gold.values()), correct, sum(pred.values()))


@dataclass(frozen=True)
class Clusters(LinkMeasure[Any]):
    """How far the clusters of mentions agree: coreference, and entities in no knowledge base.

    Formula: what is right of gold's clusters (recall) and of the predicted ones (precision), by the metric
    Source: Pradhan et al. 2014 (MUC, B³, CEAF, CoNLL); Moosavi & Strube 2016 (LEA); Hachey et al. 2014
        (neleval)

    Args:
        metric: ``muc``, ``b_cubed``, ``ceaf_m`` (mentions; TAC's ``mention_ceaf``), ``ceaf_e`` (entities, φ4), ``lea``,
            or ``conll``, the mean of MUC, B³ and CEAF-e.
        rate: ``f1``, ``precision`` or ``recall``.
        over: ``all`` mentions, or those in no knowledge base (``nil``) or in it (``inkb``), each side by its own word.
        scope: ``document``: an id in two documents is two clusters, and what each document counts adds up (CoNLL); a
            mention without a name, not even of an entity in no knowledge base, is alone in its cluster. ``corpus``: an
            id is one cluster, and so are all mentions without a name (TAC, neleval).
        typed: A mention is the same only if its type is, too.

    >>> gold = [{"start": n, "end": n + 1, "ids": "NIL1"} for n in range(3)]
    >>> pred = [{"start": n, "end": n + 1, "candidates": [id_]} for n, id_ in enumerate(("NIL7", "NIL7", "NIL8"))]
    >>> [round(Clusters(metric, "recall")(gold, pred).tally.value, 3) for metric in METRICS]
    [0.5, 0.556, 0.667, 0.8, 0.333, 0.619]
    """

    metric: str = "b_cubed"
    rate: str = "f1"
    over: str = "all"
    scope: str = field(default="document", kw_only=True)
    typed: bool = field(default=False, kw_only=True)
    name = "{start}{metric}{among}_{rate}"
    in_key: ClassVar[tuple[str, ...]] = ("metric", "rate", "typed")
    choices = {
        "metric": tuple(METRICS),
        "rate": tuple(RATES),
        "over": OVER,
        "scope": ("document", "corpus"),
        "bounds": ("given", "word"),
    }

    @property
    def fixed(self) -> Mapping[str, str]:
        """What a mention without a name is follows from the scope."""
        return {"unnamed": "together" if self.scope == "corpus" else "alone", "key": KEY, "empty": EMPTY}

    @property
    def attains_one(self) -> bool:
        """Not the mean of CoNLL: where no cluster has two mentions MUC is 0."""
        return self.metric != "conll"

    @property
    def zero(self) -> Any:
        """No evidence."""
        kind = Clusterings if self.scope == "corpus" else Overlaps
        return kind({}, self.metric, self.rate)

    def tally(self, matching: Matching) -> Any:
        """The clusters of one document."""
        gold, pred = (
            {
                (*mention[:2], "" if mention.start >= 0 else mention.text, mention.type): mention.cluster
                for mention in side
                if mention.is_over(self.over)
            }
            for side in (matching.gold, matching.pred)
        )
        alone = NIL if self.scope == "corpus" else " {}"
        left, right = (
            [(side[key] or alone.format(key)) if key in side else "" for key in {**gold, **pred}]
            for side in (gold, pred)
        )
        table = Counter(zip(left, right, strict=True))
        return self.zero.with_items(table if self.scope == "corpus" else overlaps(table, self.metric))

    def review(self, gold: object, pred: object, batch: Sequence[tuple[Matching]]) -> Review:
        """The mentions that are missed or spurious, and those that are found."""
        errors, right = super().review(gold, pred, batch)
        return tuple(error for error in errors if error.kind in UNNAMED), right


Resolver = Mapping[str, object] | Callable[[str], object]
Bases = dict[str, set[str]]

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
    linked_entities: Sequence[Mapping[str, Any]], resolver: Resolver | None = None
) -> dict[str, float | None]:
    """How far the ids of entities (``wikidata_id``, ``viaf_id``, ``isil_code``; one each or several) belong together.

    ``resolver`` is a table (id → ``{"wikidata": …, "viaf": …, "isil": …}``) or a callable that returns such a mapping,
    or for a Wikidata id its VIAF alone. Without one there is no evidence.

    >>> table = {"Q190804": {"viaf": ["148691498"], "isil": ["NL-AsdRM"]}}
    >>> result = cross_kb_consistency([{"wikidata_id": "Q190804", "viaf_id": "148691498"}, {"viaf_id": "1"}], table)
    >>> result["consistent"], result["partial"], result["consistency_rate"], result["coverage_rate"]
    (1, 1, 1.0, 1.0)
    """
    counts = Consistency(*_count(map(_bases, linked_entities), resolver))
    covered, state = Identified(**counts.state()), counts.state()
    total = state.pop("entities")
    return {
        **state,
        "consistency_rate": float(counts.value) if counts.weight else None,
        "coverage_rate": float(covered.value) if covered.weight else None,
        "total": total,
    }


def _count(entities: Iterable[Bases], resolver: Resolver | None) -> tuple[int, int, int, int]:
    """How many entities are consistent, inconsistent, partial, and how many there are."""
    every = list(entities)
    evidence = [_evidence(entity, resolver) for entity in every if any(entity.values())]
    partial, consistent = evidence.count([]), sum(bool(agree) and all(agree) for agree in evidence)
    return consistent, len(evidence) - partial - consistent, partial, len(every)


def _evidence(entity: Bases, resolver: Resolver | None) -> list[bool]:
    """Whether two bases agree, looked up from either side, for each pair about which the resolver knows something."""
    evidence = []
    for pair in combinations([base for base in BASES if entity[base]], 2) if resolver else ():
        for base, other in (pair, pair[::-1]):
            resolved = set[str]()
            for id_ in sorted(entity[base]):
                answer = resolver(id_) if callable(resolver) else resolver.get(id_)  # type: ignore[union-attr]
                resolved |= _bases(answer if isinstance(answer, Mapping) else {"viaf": answer})[other]
            if resolved:
                evidence.append(not resolved.isdisjoint(entity[other]))
                break
    return evidence


def _bases(entity: Mapping[str, Any]) -> Bases:
    """The ids of an entity by knowledge base; one each, several, or none."""
    bases = {}
    for base, names in BASES.items():
        listed = [entity[name] for name in names if entity.get(name)]
        ids = {plain(id_) for ids in listed for id_ in ([ids] if isinstance(ids, (str, int)) else ids)} - {NIL}
        bases[base] = {id_.upper() for id_ in ids} if base == "isil" else ids
    return bases


@dataclass(frozen=True)
class ConsistencyRate(LinkMeasure[Consistency]):
    """Of the predicted links with ids in several knowledge bases, the share whose ids belong together.

    What belongs together is what the document's gold links say; links about which they say nothing are no evidence.

    Formula: consistent / (consistent + inconsistent)
    Source: the founding documents, repaired: all three bases, a resolver that is given

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"], "viaf": ["7"]}}]
    >>> wrong = [{"start": 0, "end": 5, "candidates": ["Q1"], "ids": {"wikidata": ["Q1"], "viaf": ["8"]}}]
    >>> ConsistencyRate()(gold, wrong).tally.value, ConsistencyRate()(gold, []).tally.weight
    (0.0, 0.0)
    """

    name = "consistency_rate"
    counted: ClassVar[str] = "consistency"
    zero: ClassVar[Consistency] = Consistency()
    fixed: ClassVar[Mapping[str, str]] = {
        "bases": "+".join(BASES),
        "resolver": "gold's own links",
        "failed": "left out",
        "empty": EMPTY,
    }

    def tally(self, matching: Matching) -> Consistency:
        """The predicted links of one document."""
        table: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for mention in matching.gold:
            bases = _bases(mention.bases)
            for id_, base in ((id_, base) for id_ in chain(*bases.values()) for base in bases):
                table[id_][base] |= bases[base]
        return type(self.zero)(*_count(map(_answer, matching.pred), table))


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
    attains_one: ClassVar[bool] = False  # gold's NIL carries no id


def _answer(answer: Mention) -> Bases:
    """The ids of a predicted link: those it names by knowledge base, else its first candidate, as Wikidata's."""
    return _bases(answer.bases or ({} if answer.nil else {"wikidata": answer.ids[0]}))
