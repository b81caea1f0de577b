"""Several labels an example: gold and prediction hold a plain list ``labels``, in any order.

An example may have no label; where both sides have none, it is right. A program that failed gave no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.exceptions import FieldError, GoldassayError
from goldassay.measure import Error, Measure, Review, gold_field, pred_field
from goldassay.measures.classification.measures import set_counts
from goldassay.measures.classification.probabilities import probabilities
from goldassay.statistics.evidence import means, stacked
from goldassay.tally import FORMULAS, RATES, Counts, Macro, Mean

AVERAGES = ("micro", "macro", "samples")
Sets = tuple[frozenset[str], frozenset[str]]


def label_sets(gold: object, pred: object) -> Sets:
    """The labels of both sides.

    >>> left, right = label_sets({"labels": ["a", "b"]}, {"labels": [3, "b"]})
    >>> sorted(left), sorted(right)
    (['a', 'b'], ['3', 'b'])
    """
    return _labels(gold_field(gold, "labels"), "gold"), _labels(pred_field(pred, "labels"), "predicted")


def _labels(listed: Any, side: str) -> frozenset[str]:
    if isinstance(listed, str) or not all(isinstance(label, (str, int)) for label in listed or ()):
        raise FieldError(f"{side} labels are a list of texts or numbers, not {listed!r}")
    return frozenset(map(str, listed or ()))


@dataclass(frozen=True)
class SetMeasure(Measure[Any]):
    """What measures of sets of labels share: the sets of both sides are read, and errors put in words."""

    task = "classification"
    fixed = {"case": "as written", "empty": "right if both are"}
    source = "Tsoumakas et al. 2010; scikit-learn with zero_division=1"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Any:
        """The sets of every example."""
        return [label_sets(*pair) for pair in zip(gold, pred, strict=True)]

    def errors(self, gold: object, pred: object) -> Review:
        """The labels that are missing and those that are too many."""
        expected, predicted = label_sets(gold, pred)
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

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The rate, and what it is over."""
        return f"{FORMULAS[self.rate]}, {self.average}"

    @property
    def zero(self) -> Any:  # type: ignore[override]
        """No evidence."""
        kinds = {"micro": RATES[self.rate](), "macro": Macro(rate=self.rate, share="seen"), "samples": Mean()}
        return kinds[self.average]

    def tallies(self, batch: Sequence[Sets]) -> Any:
        """The counts of each example, or its rate."""
        if self.average == "macro":
            rows = [
                Macro({x: Counts(x in g and x in p, x not in g, x not in p) for x in sorted(g | p)}, self.rate, "seen")
                for g, p in batch
            ]
            return stacked(rows, self.zero)
        counts = set_counts(batch, self.rate)
        return counts if self.average == "micro" else Mean(counts.value, np.ones(len(batch)))


@dataclass(frozen=True)
class SubsetAccuracy(SetMeasure):
    """The share of examples whose set of labels is right as a whole.

    >>> SubsetAccuracy()({"labels": ["a", "b"]}, {"labels": ["b", "a"]}).tally.value
    1.0
    """

    name = "subset_accuracy"
    zero = Mean()
    formula = "equal sets / all"

    def tallies(self, batch: Sequence[Sets]) -> Mean:
        """Whether both sets are equal."""
        return means(float(g == p) for g, p in batch)


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

    def tallies(self, batch: Sequence[Sets]) -> Mean:
        """The wrong labels of each example."""
        return means(len(g ^ p) / len(self.labels) for g, p in batch)


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

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Any:
        """The gold labels and the probabilities of every example."""
        return [(_labels(gold_field(g, "labels"), "gold"), probabilities(p)) for g, p in zip(gold, pred, strict=True)]

    def errors(self, gold: object, pred: object) -> Review:
        """None: a ranking has no wrong label."""
        return (), ()

    def tally(self, gold: frozenset[str], numbers: dict[str, float]) -> Mean:
        """The precision at each gold label."""
        shares = []
        for label in gold:
            above = {x for x, p in numbers.items() if p >= numbers[label]} if label in numbers else set()
            shares.append(len(above & gold) / len(above) if above else 0.0)
        return Mean.of(sum(shares) / len(shares) if shares else 1.0)


def listed(labels: tuple[str, ...]) -> list[Measure[Any]]:
    """Every measure of the scorecard that needs no probabilities, in its order."""
    rates = [*(SetF1(average) for average in AVERAGES), SetF1("micro", "precision"), SetF1("micro", "recall")]
    return [*rates, SubsetAccuracy(), *([HammingLoss(labels)] if labels else [])]
