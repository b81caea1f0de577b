"""Clusters of mentions: which mentions are one entity, whatever the entity is called.

A cluster is the mentions with one id. A name such as ``NIL12`` is that of an entity in no knowledge base. A mention is
the same on both sides if its span is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import numpy as np

from goldassay.measure import EMPTY, Review
from goldassay.measures.assignment import heaviest
from goldassay.measures.linking.matching import OVER, Matching
from goldassay.measures.linking.measures import KEY, LinkMeasure, suffix
from goldassay.measures.linking.records import NIL, Answer, Mention, is_over
from goldassay.tally import RATES, By, Confusion, Number, Sums, divide, positive

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

    @property
    def recall(self) -> Number:
        return divide(self.recalled, self.gold)

    @property
    def precision(self) -> Number:
        return divide(self.right, self.predicted)

    @property
    def f1(self) -> Number:
        return divide(2 * self.precision * self.recall, self.precision + self.recall)

    @property
    def weight(self) -> Number:
        return self.gold + self.predicted

    def repaired(self, share: float) -> Overlap:
        """What this share of the errors takes away."""
        return Overlap((self.gold - self.recalled) * share, 0.0, (self.predicted - self.right) * share, 0.0)

    @property
    def value(self) -> Number:
        return self.f1 + (1.0 - positive(self.weight))


class Overlaps(By[str, Overlap]):
    """Overlaps by metric; ``value`` is the mean of a rate over the metrics, 0 for one that has nothing to count.

    >>> Overlaps({"b_cubed": Overlap(1, 2, 1, 1), "ceaf_e": Overlap(1, 4, 1, 2)}, "conll", "recall").value   # .75 / 3
    0.25
    """

    inner = Overlap()

    def __init__(self, items: Mapping[str, Overlap] = {}, metric: str = "b_cubed", rate: str = "f1") -> None:
        super().__init__(items)
        self.metric, self.rate = metric, rate

    @property
    def value(self) -> Number:
        rates: Any = sum(getattr(overlap, self.rate) for overlap in self.values())
        value: Number = rates / len(METRICS[self.metric]) + (1.0 - positive(self.weight))
        return value


class Clusterings(Confusion):
    """Shared mentions by (gold cluster, predicted cluster) of a whole corpus; ``value`` is that of its clusters."""

    def __init__(self, pairs: Any = {}, metric: str = "b_cubed", rate: str = "f1") -> None:
        super().__init__(pairs)
        self.metric, self.rate = metric, rate

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
    table = {pair: n for pair, n in table.items() if n > 0}
    gold, pred = Counter[str](), Counter[str]()
    for (left, right), n in table.items():
        gold.update({left: n} if left else {})  # type: ignore[dict-item]
        pred.update({right: n} if right else {})  # type: ignore[dict-item]
    common = {pair: n for pair, n in table.items() if all(pair)}
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
    share = _links if metric == "lea" else _mentions
    recalled: Any = sum(share(n, gold[k], pred[r]) for (k, r), n in common.items())
    correct: Any = sum(share(n, pred[r], gold[k]) for (k, r), n in common.items())
    return Overlap(recalled, sum(gold.values()), correct, sum(pred.values()))


def _mentions(n: Any, size: Any, other: Any) -> Any:
    """B³: of each of the n mentions, the share of its cluster that is with it."""
    return n * n / size


def _links(n: Any, size: Any, other: Any) -> Any:
    """LEA: the size of a cluster times the share of its links that hold; a single mention has a link to itself."""
    if size <= 1:
        return size * (other <= 1)
    return max(n * (n - 1), 0) / (size - 1)


@dataclass(frozen=True)
class Clusters(LinkMeasure[Any]):
    """How far the clusters of mentions agree: coreference, and entities in no knowledge base.

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
    typed: bool = field(default=False, kw_only=True)  # type: ignore[misc]
    in_key = ("metric", "rate", "typed")
    choices = {
        "metric": tuple(METRICS),
        "rate": tuple(RATES),
        "over": OVER,
        "scope": ("document", "corpus"),
        "bounds": ("given", "word"),
    }
    formula = "what is right of gold's clusters (recall) and of the predicted ones (precision), by the metric"
    source = "Pradhan et al. 2014 (MUC, B³, CEAF, CoNLL); Moosavi & Strube 2016 (LEA); Hachey et al. 2014 (neleval)"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``b_cubed_f1``, ``typed_corpus_ceaf_m_nil_recall`` and so on."""
        prefix = "typed_" * self.typed + "corpus_" * (self.scope == "corpus")
        return f"{prefix}{self.metric}{suffix(self.over)}_{self.rate}"

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """What a mention without a name is follows from the scope."""
        return {"unnamed": "together" if self.scope == "corpus" else "alone", "key": KEY, "empty": EMPTY}

    @property
    def attains_one(self) -> bool:  # type: ignore[override]
        """Not the mean of CoNLL: where no cluster has two mentions MUC is 0."""
        return self.metric != "conll"

    @property
    def zero(self) -> Any:  # type: ignore[override]
        """No evidence."""
        return (Clusterings if self.scope == "corpus" else Overlaps)({}, self.metric, self.rate)

    def tally(self, matching: Matching) -> Any:
        """The clusters of one document."""
        place = NIL if self.scope == "corpus" else " {}"
        gold, pred = (_named(side, self.over, place) for side in (matching.gold, matching.pred))
        table = Counter((gold.get(key, ""), pred.get(key, "")) for key in {**gold, **pred})
        return self.zero.with_items(table) if self.scope == "corpus" else overlaps(table, self.metric, self.rate)

    def review(self, gold: object, pred: object, batch: Sequence[Matching]) -> Review:
        """The mentions that are missed or spurious, and those that are found."""
        errors, right = super().review(gold, pred, batch)
        return tuple(error for error in errors if error.kind in UNNAMED), right


def _named(side: Iterable[Mention | Answer], over: str, place: str) -> dict[tuple[object, ...], str]:
    """The cluster of each mention that counts; one without a name has that of its ``place``."""
    counted = [each for each in side if is_over(each, over)]
    keys = {(each.start, each.end, "" if each.start >= 0 else each.text, each.type): each.cluster for each in counted}
    return {key: name or place.format(key) for key, name in keys.items()}
