"""Entities: how far the clusters of mentions agree.

A cluster is the mentions with one id, whatever the entity is called. A name such as ``NIL12`` is that of an entity in
no knowledge base. A mention is the same on both sides if its span is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import combinations, product
from math import fsum
from typing import Any, ClassVar

import numpy as np

from goldassay.core.measure import NO_EVIDENCE, Batches, Conventions, Names, Review
from goldassay.core.tally import RATE_TALLIES, By, Confusion, Number, Share, Sums, divide, harmonic, positive
from goldassay.measures.assignment import heaviest
from goldassay.measures.linking.matching import OVER, Matching
from goldassay.measures.linking.measures import KEY, LinkF1, LinkMeasure, MentionBatch
from goldassay.measures.linking.records import NIL, UNNAMED, IdPairs, Mention
from goldassay.measures.protocols import Protocol
from goldassay.results.result import Result, fold

METRICS = {name: (name,) for name in ("muc", "b_cubed", "ceaf_m", "ceaf_e", "lea", "pairwise")} | {
    # of which they are the mean
    "conll": ("muc", "b_cubed", "ceaf_e"),
    "blanc": ("pairwise", "pairwise_negative"),
}
Table = Mapping[tuple[str, str], float]
"""How many mentions a gold and a predicted cluster share; "" for mentions that the other side lacks."""
Sizes = Mapping[str, float]
Chains = dict[tuple[object, ...], list[str]]
"""The clusters of each mention: one, but for mentions that are repeated."""


@dataclass(frozen=True, slots=True)
class Overlap(Sums):
    """The right share of both sides; R = recalled / gold, P = right / predicted, F1 = 2 P R / (P + R)."""

    recalled: Number = 0.0
    gold: Number = 0.0
    right: Number = 0.0
    predicted: Number = 0.0

    def rate(self, name: str) -> Number:
        """Recall, precision or F1; 0 without evidence."""
        recall = divide(self.recalled, self.gold)
        precision = divide(self.right, self.predicted)
        f1 = harmonic(precision, recall)
        return {"recall": recall, "precision": precision, "f1": f1}[name]

    @property
    def weight(self) -> Number:
        return self.gold + self.predicted

    @property
    def value(self) -> Number:
        return self.rate("f1") + (1.0 - positive(self.weight))

    def repaired(self, share: Share, lower: bool = False) -> Overlap:
        """The change that takes away this share of the errors."""
        fraction = share(())
        return Overlap((self.gold - self.recalled) * fraction, 0.0, (self.predicted - self.right) * fraction, 0.0)


@dataclass(eq=False, repr=False)
class Overlaps(By[str, Overlap]):
    """Overlaps by metric; ``value`` is the mean of a rate over the metrics, 0 for one that has nothing to count.

    BLANC leaves out the one of its two kinds of pairs that gold does not have.

    >>> Overlaps({"b_cubed": Overlap(1, 2, 1, 1)}).value
    0.6666666666666666
    """

    inner = Overlap()
    metric: str = "b_cubed"
    rate: str = "f1"

    @property
    def value(self) -> Number:
        rates = sum(overlap.rate(self.rate) for overlap in self.values())
        counted: Number = len(METRICS[self.metric])
        if self.metric == "blanc":
            counted = sum(positive(overlap.gold) for overlap in self.values())
        return divide(rates, counted) + (1.0 - positive(self.weight))


@dataclass(eq=False, repr=False)
class Clusterings(Confusion):
    """Shared mentions by (gold cluster, predicted cluster) of a whole corpus; ``value`` is that of its clusters."""

    metric: str = "b_cubed"
    rate: str = "f1"

    @property
    def value(self) -> Number:
        counts = np.array([*self.values()], float)
        columns = counts.reshape(len(self), -1).T if self else np.empty((1, 0))
        tables = (dict(zip(self, column, strict=True)) for column in columns.tolist())
        values = [overlaps(table, self.metric, self.rate).value for table in tables]
        return np.array(values) if counts.ndim > 1 else values[0]


def overlaps(table: Table, metric: str, rate: str = "f1") -> Overlaps:
    """The counts of a metric, or of each of the three of CoNLL, in a table of shared mentions.

    >>> overlaps({("k", "r"): 2, ("k", "s"): 1}, "muc")         # a link of gold's two; the prediction has one
    {'muc': Overlap(recalled=1, gold=2, right=1, predicted=1)}
    """
    counted = {pair: n for pair, n in table.items() if n > 0}
    gold, pred = _sizes(counted)
    common = {pair: n for pair, n in counted.items() if all(pair)}
    return Overlaps({name: _overlap(name, common, gold, pred) for name in METRICS[metric]}, metric, rate)


def _overlap(metric: str, common: Table, gold: Sizes, pred: Sizes) -> Overlap:
    if metric == "muc":  # the links that hold a cluster together: one fewer than its mentions
        right, in_gold, predicted = [sum(max(n - 1, 0) for n in sizes.values()) for sizes in (common, gold, pred)]
        return Overlap(right, in_gold, right, predicted)
    mentions = sum(gold.values())
    predicted = sum(pred.values())
    rows, columns = _sizes(common)
    if metric == "pairwise":
        right = _couples(common)
        return Overlap(right, _couples(gold), right, _couples(pred))
    if metric == "pairwise_negative":  # all pairs but those together; apart on both sides are those on neither
        every = {"": sum(common.values())}
        right = _couples(common) + _couples(every) - _couples(rows) - _couples(columns)
        return Overlap(
            right, _couples({"": mentions}) - _couples(gold), right, _couples({"": predicted}) - _couples(pred)
        )
    if metric in ("ceaf_e", "ceaf_m"):  # the most similarity that pairs of clusters can have, each in one pair at most
        similarity = common
        if metric == "ceaf_e":
            similarity = {(k, r): 2 * n / (gold[k] + pred[r]) for (k, r), n in common.items()}
            mentions = len(gold)
            predicted = len(pred)
        best = fsum(similarity[pair] for pair in heaviest(similarity))
        return Overlap(best, mentions, best, predicted)
    if metric == "lea":
        recalled = sum(_lea(n, gold[k], pred[r]) for (k, r), n in common.items())
        correct = sum(_lea(n, pred[r], gold[k]) for (k, r), n in common.items())
        return Overlap(recalled, mentions, correct, predicted)
    # of each mention, the share of its cluster that is with it
    recalled = sum(n * n / gold[k] for (k, r), n in common.items())
    correct = sum(n * n / pred[r] for (k, r), n in common.items())
    # sic: neleval looks for a mention that a side lacks among its mentions without a candidate
    recalled += sum((gold[k] - rows[k]) * n / gold[k] for (k, r), n in common.items() if r == UNNAMED)
    correct += sum((pred[r] - columns[r]) * n / pred[r] for (k, r), n in common.items() if k == UNNAMED)
    return Overlap(recalled, mentions, correct, predicted)


def _overlap_with_repeats(metric: str, gold: Chains, pred: Chains) -> Overlap:
    """The counts of a metric in a document with mentions in several chains, as the official scorer takes them.

    A repeated gold mention counts in the size of each of its chains, and where one chain is looked up, in the last. A
    repeated answer counts so only if gold does not have it; else it is in the chain that begins first.
    """
    pred = {mention: chains[: 1 if mention in gold else None] for mention, chains in pred.items()}
    rows = Counter(chain for chains in gold.values() for chain in chains)
    columns = Counter(chain for chains in pred.values() for chain in chains)
    shared = [mention for mention in gold if mention in pred]
    common = Counter((k, pred[mention][0]) for mention in shared for k in gold[mention])
    last = Counter((gold[mention][-1], pred[mention][0]) for mention in shared)
    if metric == "b_cubed":
        distinct = Counter((k, pred[mention][0]) for mention in shared for k in {*gold[mention]})
        recalled = sum(n * distinct[k, r] / rows[k] for (k, r), n in last.items())
        right = sum(n * distinct[k, r] / columns[r] for (k, r), n in last.items())
        return Overlap(recalled, rows.total(), right, columns.total())
    if metric in METRICS["blanc"]:
        in_gold = _pairs(gold, metric)
        predicted = _pairs(pred, metric)
        right = len(in_gold & predicted)
        return Overlap(right, len(in_gold), right, len(predicted))
    overlap = _overlap(metric, last if metric == "muc" else common, rows, columns)
    return replace(overlap, right=_overlap(metric, last, rows, columns).right) if metric == "lea" else overlap


def _pairs(chains: Chains, metric: str) -> set[frozenset[object]]:
    """The pairs of mentions that are together in a chain, or apart in two; both for some that are repeated."""
    members: defaultdict[str, list[object]] = defaultdict(list)
    for mention, names in chains.items():
        for name in names:
            members[name].append(mention)
    if metric == "pairwise":
        return {frozenset(pair) for group in members.values() for pair in combinations(group, 2)}
    return {frozenset(pair) for two in combinations(members.values(), 2) for pair in product(*two)}


def _sizes(table: Table) -> tuple[Sizes, Sizes]:
    """How many mentions each gold and each predicted cluster has."""
    gold: defaultdict[str, float] = defaultdict(int)
    pred: defaultdict[str, float] = defaultdict(int)
    for (left, right), n in table.items():
        gold[left] += n
        pred[right] += n
    gold.pop("", None)
    pred.pop("", None)
    return gold, pred


def _couples(sizes: Mapping[Any, float]) -> float:
    """The pairs of mentions within clusters."""
    return sum(n * (n - 1) / 2 for n in sizes.values())


def _lea(n: float, size: float, other: float) -> float:
    """The size of a cluster times the share of its links that hold; a single mention has a link to itself."""
    if size > 1:
        return max(n * (n - 1), 0) / (size - 1)
    return size * (other <= 1)


@dataclass(frozen=True)
class Clusters(LinkMeasure[Clusterings | Overlaps]):
    """How far the clusters of mentions agree: coreference, and entities in no knowledge base.

    Formula: the right share of gold's clusters (recall) and of the predicted ones (precision), by the metric
    Source: Pradhan et al. 2014 (MUC, B³, CEAF, CoNLL); Luo et al. 2014 (BLANC of predicted mentions); Moosavi & Strube
        2016 (LEA); Hachey et al. 2014 (neleval)

    Args:
        metric: ``muc``, ``b_cubed``, ``ceaf_m`` (mentions; TAC's ``mention_ceaf``), ``ceaf_e`` (entities, φ4), ``lea``,
            ``pairwise`` (mentions that are together), ``blanc``, the mean of that and of the pairs that are apart, or
            ``conll``, the mean of MUC, B³ and CEAF-e.
        rate: ``f1``, ``precision`` or ``recall``.
        over: ``all`` mentions, or those in no knowledge base (``nil``) or in it (``inkb``), each side by its own word.
        scope: ``document``: an id in two documents is two clusters, and what each document counts adds up (CoNLL); a
            mention without a name, not even of an entity in no knowledge base, is alone in its cluster. ``corpus``: an
            id is one cluster, and so are all mentions without a name (TAC, neleval).
        typed: A mention is the same only if its type is, too.
        linked: A mention is the same only if its id in the knowledge base is, too (neleval's ``plus``).

    >>> gold = [{"start": n, "end": n + 1, "ids": "NIL1"} for n in range(3)]
    >>> pred = [{"start": n, "end": n + 1, "candidates": [id_]} for n, id_ in enumerate(("NIL7", "NIL7", "NIL8"))]
    >>> [round(Clusters(metric, "recall")(gold, pred).tally.value, 3) for metric in METRICS]
    [0.5, 0.556, 0.667, 0.8, 0.333, 0.333, 0.619, 0.333]
    """

    metric: str = "b_cubed"
    rate: str = "f1"
    over: str = "all"
    _: KW_ONLY
    scope: str = "document"
    typed: bool = False
    linked: bool = False
    name = "{start}{metric}{among}_{rate}"
    in_key: ClassVar[Names] = ("metric", "rate", "typed", "linked")
    choices = {
        "metric": tuple(METRICS),
        "rate": tuple(RATE_TALLIES),
        "over": OVER,
        "scope": ("document", "corpus"),
        "bounds": ("given", "word"),
    }

    @property
    def fixed(self) -> Conventions:
        """The scope says what a mention without a name is."""
        return {"unnamed": "together" if self.scope == "corpus" else "alone", "key": KEY, "empty": NO_EVIDENCE}

    @property
    def attains_one(self) -> bool:
        """Not the mean of CoNLL: where no cluster has two mentions MUC is 0."""
        return self.metric != "conll"

    @property
    def zero(self) -> Clusterings | Overlaps:
        """No evidence."""
        kind = Clusterings if self.scope == "corpus" else Overlaps
        return kind({}, self.metric, self.rate)

    def tally(self, matching: Matching) -> Clusterings | Overlaps:
        """The clusters of one document."""
        gold = self._chains(matching.gold)
        pred = self._chains(matching.pred)
        if self.scope == "document" and any(len(chains) > 1 for chains in (*gold.values(), *pred.values())):
            counts = {name: _overlap_with_repeats(name, gold, pred) for name in METRICS[self.metric]}
            return Overlaps(counts, self.metric, self.rate)
        table = Counter((gold.get(mention, [""])[0], pred.get(mention, [""])[0]) for mention in {**gold, **pred})
        if self.scope == "corpus":
            return Clusterings(table, self.metric, self.rate)
        return overlaps(table, self.metric, self.rate)

    def _chains(self, mentions: Sequence[Mention]) -> Chains:
        """The clusters of the mentions that count; those without a name are alone, or in ``corpus`` scope together."""
        chains: Chains = {}
        for mention in mentions:
            if mention.is_over(self.over):
                id_ = mention.cluster if self.linked and not mention.nil else ""
                key = (*mention[:2], "" if mention.start >= 0 else mention.text, mention.type, id_)
                alone = NIL if self.scope == "corpus" else f" {key}"
                names = mention.chains if self.scope == "document" and mention.chains else (mention.cluster,)
                chains[key] = [name if name not in ("", NIL) else alone for name in names]
        return chains

    def reviews(self, batch: MentionBatch) -> list[Review]:
        """The mentions that are missed or spurious, and those that are found."""
        reviews = super().reviews(batch)
        kinds = ("missed", "spurious", "not_in_text")  # the errors that hold whatever an entity is called
        return [(tuple(error for error in errors if error.kind in kinds), right) for errors, right in reviews]


# With scope="corpus" clusters are counted again in every resample, which takes a law half a minute: not among them.
MEASURES = (
    *(Clusters(metric) for metric in METRICS),
    Clusters("ceaf_m", "precision"),
    Clusters("b_cubed", "recall", "nil", typed=True),
)
_CONLL = {
    f"{metric}_{rate}": Clusters(metric, rate) for metric in METRICS if metric != "pairwise" for rate in RATE_TALLIES
}
_NELEVAL: dict[str, Any] = {
    **{
        f"strong{typing}_{name}_match": LinkF1(1, over, match="span", typed=bool(typing))
        for typing in ("", "_typed")
        for name, over in (("link", "inkb"), ("nil", "nil"), ("all", "all"))
    },
    "strong_mention_match": LinkF1(match="mention"),
    "strong_typed_mention_match": LinkF1(match="mention", typed=True),
    "strong_linked_mention_match": LinkF1(1, "inkb", match="mention"),
    "entity_match": LinkF1(match="entity"),
    "muc": Clusters("muc", scope="corpus"),
    "b_cubed": Clusters("b_cubed", scope="corpus"),
    "b_cubed_plus": Clusters("b_cubed", scope="corpus", linked=True),
    "entity_ceaf": Clusters("ceaf_e", scope="corpus"),
    "mention_ceaf": Clusters("ceaf_m", scope="corpus"),
    "mention_ceaf_plus": Clusters("ceaf_m", scope="corpus", linked=True),
    "typed_mention_ceaf": Clusters("ceaf_m", scope="corpus", typed=True),
    "typed_mention_ceaf_plus": Clusters("ceaf_m", scope="corpus", typed=True, linked=True),
    "pairwise": Clusters("pairwise", scope="corpus"),
}
"""neleval's measures, by its names, over the whole corpus."""


def _scorecard(
    values: Mapping[str, LinkMeasure],
    shared: Batches,
    *,
    equivalent: Mapping[str, str] | IdPairs | None = None,
    bounds: str = "given",
) -> Result:
    """The values of an official scorer, which are 0 where there is nothing to count."""
    pairs = tuple(sorted(dict(equivalent or ()).items()))
    measures = {name: replace(measure, equivalent=pairs, bounds=bounds) for name, measure in values.items()}
    card = fold("linking", measures, shared)
    for name, total in card.totals.items():
        counts = overlaps(total, total.metric) if isinstance(total, Clusterings) else total
        card.set_values |= {} if counts.weight else {name: 0.0}
        card.conventions[name] = card.conventions[name].replace(f"empty={NO_EVIDENCE}", "empty=0")
    return card


CONLL = Protocol(
    "conll",
    ("linking",),
    partial(_scorecard, _CONLL),
    format="coref",
    aliases=("coref", "lea"),
    options=("bounds", "equivalent"),
)
TAC = Protocol(
    "tac",
    ("linking",),
    partial(
        _scorecard,
        {
            f"{name}_{rate.replace('f1', 'fscore')}": replace(measure, rate=rate)
            for rate in RATE_TALLIES
            for name, measure in _NELEVAL.items()
        },
    ),
    format="neleval",
    aliases=("neleval",),
    options=("bounds", "equivalent"),
)
