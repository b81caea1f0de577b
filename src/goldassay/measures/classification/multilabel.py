"""Several labels an example: gold and prediction hold a plain list ``labels``, in any order.

An example may have no label; where both sides have none, it is right. A program that failed gave no label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Error, Measure, Review
from goldassay.measures.classification.measures import FORMULA, ClassificationMeasure, set_counts
from goldassay.measures.classification.records import Batch, institutions
from goldassay.statistics.evidence import means, stacked
from goldassay.tally import RATES, Counts, Macro, Mean

AVERAGES = ("micro", "macro", "samples")


@dataclass(frozen=True)
class SetMeasure(ClassificationMeasure):
    """What measures of sets of labels share: their errors are put in words."""

    fixed = {"case": "as written", "empty": "right if both are"}
    source = "Tsoumakas et al. 2010; scikit-learn with zero_division=1"
    counted = Measure.counted  # type: ignore[assignment]

    def review(self, gold: object, pred: object, batch: Batch) -> Review:
        """The labels that are missing and those that are too many."""
        expected, predicted = batch.sets[0]
        missed = [Error("missed", f"{x} was missed.", x, "", x, "", field="labels") for x in expected - predicted]
        extra = [Error("spurious", f"{x} does not hold.", "", x, "", x, field="labels") for x in predicted - expected]
        return (*missed, *extra), tuple(sorted(expected & predicted))


@dataclass(frozen=True)
class SetF1(SetMeasure):
    """F1, precision or recall of sets of labels.

    Args:
        average: ``micro`` over all (example, label), ``macro`` the mean over the labels seen, ``samples`` the mean over
            the examples.
        rate: ``f1``, ``precision`` or ``recall``.

    >>> gold, pred = {"labels": ["a", "b"]}, {"labels": ["b", "c"]}
    >>> [SetF1(average)(gold, pred).tally.value for average in ("micro", "macro", "samples")]
    [0.5, 0.3333333333333333, 0.5]
    """

    name = "set_{average}_{rate}"
    average: str = "micro"
    rate: str = "f1"
    choices = {"average": AVERAGES, "rate": tuple(RATES)}
    formula = f"{FORMULA}; averaged as named"

    @property
    def zero(self) -> Any:  # type: ignore[override]
        """No evidence."""
        kinds = {"micro": RATES[self.rate](), "macro": Macro(rate=self.rate, share="seen"), "samples": Mean()}
        return kinds[self.average]

    def tallies(self, batch: Batch) -> Any:
        """The counts of each example, or its rate."""
        if self.average == "macro":
            rows = [
                self.zero.with_items({x: Counts(x in g and x in p, x not in g, x not in p) for x in sorted(g | p)})
                for g, p in batch.sets
            ]
            return stacked(rows, self.zero)
        counts = set_counts(batch.sets, self.rate)
        return counts if self.average == "micro" else Mean(counts.value, np.ones(len(batch.sets)))


@dataclass(frozen=True)
class SubsetAccuracy(SetMeasure):
    """The share of examples whose set of labels is right as a whole.

    >>> SubsetAccuracy()({"labels": ["a", "b"]}, {"labels": ["b", "a"]}).tally.value
    1.0
    """

    name = "subset_accuracy"
    zero = Mean()
    formula = "equal sets / all"

    def tallies(self, batch: Batch) -> Mean:
        """Whether both sets are equal."""
        return means(float(g == p) for g, p in batch.sets)


@dataclass(frozen=True)
class HammingLoss(SetMeasure):
    """The share of (example, label) that is wrong, over all ``labels`` of the list.

    >>> HammingLoss(("a", "b", "c", "d"))({"labels": ["a", "b"]}, {"labels": ["b", "c"]}).tally.value
    0.5
    """

    labels: tuple[str, ...] = ()
    name = "hamming_loss"
    zero = Mean()
    lower_is_better = True
    formula = "labels on one side alone / labels of the list; mean over examples"

    def __post_init__(self) -> None:
        if not self.labels:
            raise GoldassayError("hamming_loss is over a list of labels: HammingLoss(labels=('a', 'b', …))")

    def tallies(self, batch: Batch) -> Mean:
        """The wrong labels of each example."""
        return means(len(g ^ p) / len(self.labels) for g, p in batch.sets)


@dataclass(frozen=True)
class RankingPrecision(SetMeasure):
    """Label ranking average precision: of each gold label, the share of gold among the labels that are as probable.

    >>> pred = {"labels": [], "probabilities": {"a": 0.9, "b": 0.6, "c": 0.3}}
    >>> RankingPrecision()({"labels": ["a", "c"]}, pred).tally.value      # (1/1 + 2/3) / 2
    0.8333333333333333
    """

    name = "lrap"
    zero = Mean()
    fixed = {"ties": "all counted", "no gold": "1", "label without a number": "0"}
    formula = "mean over gold labels of gold labels from it up / labels from it up; mean over examples"

    def review(self, gold: object, pred: object, batch: Batch) -> Review:
        """None: a ranking has no wrong label."""
        return (), ()

    def tallies(self, batch: Batch) -> Mean:
        """The mean precision at the gold labels of each example."""
        return means(_precision(*pair) for pair in zip(batch.gold_sets, batch.probabilities, strict=True))


def _precision(gold: frozenset[str], numbers: dict[str, float]) -> float:
    """The mean over gold labels of the share of gold among the labels that are as probable."""
    shares = []
    for label in gold:
        above = {x for x, p in numbers.items() if p >= numbers[label]} if label in numbers else set()
        shares.append(len(above & gold) / len(above) if above else 0.0)
    return sum(shares) / len(shares) if shares else 1.0


def listed(labels: tuple[str, ...]) -> list[Measure[Any]]:
    """Every measure of the scorecard that needs no probabilities, in its order."""
    rates = [*(SetF1(average) for average in AVERAGES), SetF1("micro", "precision"), SetF1("micro", "recall")]
    return [*rates, SubsetAccuracy(), *([HammingLoss(labels)] if labels else [])]


MEASURES: tuple[Measure[Any], ...] = (
    *(SetF1(average, rate) for average in AVERAGES for rate in RATES),
    *(SubsetAccuracy(), HammingLoss(tuple(institutions())), RankingPrecision()),
)
