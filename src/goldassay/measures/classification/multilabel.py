"""Several labels an example: sets of labels, and a program's probabilities of every label.

For sets, gold and prediction have a plain list ``labels``, in any order. An example may have no label; where both sides
have none, it is right. A program that failed gave no label.

``probabilities`` of a prediction are a number for each label (any numbers serve `TopK` and `Curve`). A program that
failed has none: its label is in no top k, its Brier loss is 2, and every curve ranks it last for its own label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import means, stacked
from goldassay.core.measure import Conventions, Error, Limits, Measure, Names, Review, pred_field
from goldassay.core.tally import RATE_TALLIES, Counts, Macro, Mean, T
from goldassay.measures.calibration import Calibrated, CalibrationMeasure, Confidences
from goldassay.measures.classification.measures import ClassificationMeasure, LabelBatch, LabelMeasure, set_counts
from goldassay.measures.classification.records import institutions
from goldassay.measures.classification.tally import NONE, Curves, RankedScores

SET_AVERAGES = ("micro", "macro", "samples")
CURVES = ("auroc", "average_precision")


@dataclass(frozen=True)
class SetMeasure(ClassificationMeasure[T]):
    """A measure of sets of labels: its errors are put in words.

    Source: Tsoumakas et al. 2010; scikit-learn, but two empty sets are right
    """

    @property
    def fixed(self) -> Conventions:
        """How labels and empty sets compare."""
        return {"case": "as written", "empty": "right if both are"}

    @property
    def counted(self) -> str:
        """The counts of its labels."""
        return self.key

    def reviews(self, batch: LabelBatch) -> list[Review]:
        """The labels that are missing and those that are too many."""
        reviews: list[Review] = []
        for expected, predicted in batch.sets:
            missed = [Error("missed", f"{x} was missed.", x, "", x, "", field="labels") for x in expected - predicted]
            extra = [
                Error("spurious", f"{x} does not hold.", "", x, "", x, field="labels") for x in predicted - expected
            ]
            reviews.append(((*missed, *extra), tuple(sorted(expected & predicted))))
        return reviews


@dataclass(frozen=True)
class SetF1(SetMeasure[Counts | Macro | Mean]):
    """F1, precision or recall of sets of labels.

    Formula: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn); averaged as named

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
    choices = {"average": SET_AVERAGES, "rate": tuple(RATE_TALLIES)}

    @property
    def fixed(self) -> Conventions:
        """The labels that the macro average runs over."""
        over = {"labels": "seen, absent ones do not count"} if self.average == "macro" else {}
        return {**over, **super().fixed}

    @property
    def zero(self) -> Any:
        """No evidence."""
        if self.average == "macro":
            return Macro(rate=self.rate, share="seen")
        return Mean() if self.average == "samples" else RATE_TALLIES[self.rate]()

    def tallies(self, batch: LabelBatch) -> Counts | Macro | Mean:
        """The counts of each example, or its rate."""
        if self.average == "macro":
            zero: Macro = self.zero
            rows = []
            for g, p in batch.sets:
                rows.append(Macro({x: Counts(x in g and x in p, x not in g, x not in p) for x in sorted(g | p)}))
            return stacked(rows, zero)
        counts = set_counts(batch.sets, self.rate)
        return counts if self.average == "micro" else Mean(counts.value, np.ones(len(batch.sets)))


@dataclass(frozen=True)
class SubsetAccuracy(SetMeasure[Mean]):
    """The share of examples whose set of labels is right as a whole.

    Formula: equal sets / all

    >>> SubsetAccuracy()({"labels": ["a", "b"]}, {"labels": ["b", "a"]}).tally.value
    1.0
    """

    name = "subset_accuracy"

    def tallies(self, batch: LabelBatch) -> Mean:
        """Whether both sets are equal."""
        return means(float(g == p) for g, p in batch.sets)


@dataclass(frozen=True)
class HammingLoss(SetMeasure[Mean]):
    """The share of (example, label) that is wrong, over all ``labels`` of the list.

    Formula: labels on one side alone / labels of the list; mean over examples

    >>> HammingLoss(("a", "b", "c", "d"))({"labels": ["a", "b"]}, {"labels": ["b", "c"]}).tally.value
    0.5
    """

    labels: Names = ()
    name = "hamming_loss"
    lower_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.labels:
            raise GoldassayError("hamming_loss is over a list of labels: HammingLoss(labels=('a', 'b', …))")

    def tallies(self, batch: LabelBatch) -> Mean:
        """The wrong labels of each example."""
        return means(len(g ^ p) / len(self.labels) for g, p in batch.sets)


@dataclass(frozen=True)
class RankingPrecision(ClassificationMeasure[Mean]):
    """Label ranking average precision: of each gold label, the share of gold among the labels that are as probable.

    Formula: mean over gold labels of gold labels from it up / labels from it up; mean over examples
    Source: Tsoumakas et al. 2010; scikit-learn with zero_division=1

    >>> pred = {"labels": [], "probabilities": {"a": 0.9, "b": 0.6, "c": 0.3}}
    >>> RankingPrecision()({"labels": ["a", "c"]}, pred).tally.value      # (1/1 + 2/3) / 2
    0.8333333333333333
    """

    name = "lrap"
    counted: ClassVar[str] = "lrap"
    fixed: ClassVar[Conventions] = {"ties": "all counted", "no gold": "1", "label without a number": "0"}

    def tallies(self, batch: LabelBatch) -> Mean:
        """The mean precision at the gold labels of each example."""
        values = []
        for gold, numbers in zip(batch.gold_sets, batch.probabilities, strict=True):
            total = 0.0
            for label in filter(numbers.__contains__, gold):
                above = {x for x, p in numbers.items() if p >= numbers[label]}
                total += len(above & gold) / len(above)
            values.append(total / len(gold) if gold else 1.0)
        return means(values)


@dataclass(frozen=True)
class TopK(LabelMeasure[Mean]):
    """The share of examples whose gold label is among the ``k`` most probable ones.

    Formula: gold among the k most probable / all

    >>> TopK(2)("L", {"label": "M", "probabilities": {"M": 0.6, "L": 0.3, "A": 0.1}}).tally.value
    1.0
    """

    name = "top{k}_accuracy"
    k: int = 3
    fixed: ClassVar[Conventions] = {"ties": "the later label first (scikit-learn)", "failed": "0"}

    def tallies(self, batch: LabelBatch) -> Mean:
        """Whether the gold label is among the first."""
        ranked = ((gold, sorted(p, key=lambda label: (p[label], label))[-self.k :]) for gold, p in batch.likely)
        return means(float(gold in first) for gold, first in ranked)


@dataclass(frozen=True)
class MulticlassBrier(LabelMeasure[Mean]):
    """Brier's score over all labels: the mean of Σ (p − y)², from 0 to 2, y being 1 for the gold label and 0 elsewhere.

    Formula: mean Σ over labels (p − y)²
    Source: Brier, Monthly Weather Review 1950

    >>> round(MulticlassBrier()("M", {"label": "M", "probabilities": {"M": 0.8, "L": 0.2}}).tally.value, 4)
    0.08
    """

    name = "multiclass_brier"
    limits: ClassVar[Limits] = (0.0, 2.0)
    lower_is_better: ClassVar[bool] = True
    fixed: ClassVar[Conventions] = {"scale": "not halved", "failed": "2"}

    def tallies(self, batch: LabelBatch) -> Mean:
        """The loss of each example."""
        return means(
            sum((p - (label == gold)) ** 2 for label, p in {gold: 0.0, **numbers}.items()) if numbers else 2.0
            for gold, numbers in batch.likely
        )


@dataclass(frozen=True)
class LabelCalibration(CalibrationMeasure[LabelBatch], LabelMeasure[Calibrated]):
    """Calibration of the predicted label: ``statistic`` ``ece`` (ten bins), ``brier`` and so on.

    Its confidence is the prediction's ``confidence``, else its probability; examples without either are left out.

    >>> LabelCalibration(statistic="brier")("M", {"label": "M", "confidence": 0.75}).tally.value
    0.0625
    """

    @property
    def fixed(self) -> Conventions:
        """Which examples count, and how many bins there are."""
        bins = {} if self.statistic.startswith("brier") else {"bins": str(self.edges)}
        return {"without a confidence": "left out", "failed": "left out", **bins}

    def confidences(self, batch: LabelBatch) -> Confidences:
        """The labels that have a confidence."""
        rows = []
        for index, (pair, answer) in enumerate(zip(batch.labels, batch.pred, strict=True)):
            sure = None if pair.pred == NONE else pred_field(answer, "confidence", None)
            if sure is None and pair.pred != NONE and pred_field(answer, "probabilities", None) is not None:
                sure = batch.probabilities[index].get(pair.pred)
            rows += [] if sure is None else [(index, float(sure), float(pair.pred == pair.gold))]
        return len(batch.labels), rows


@dataclass(frozen=True)
class Curve(LabelMeasure[Curves]):
    """How well the probability of each label ranks the examples: the mean over labels, each against all others.

    ``statistic`` is ``auroc`` or ``average_precision``; with a ``positive`` label it is that of this label alone. Of
    two labels the mean is over both.

    Formula: area under the curve of each label's probability
    Source: Hanley & McNeil 1982; scikit-learn's roc_auc_score and average_precision_score

    >>> def pred(p): return {"label": "spam", "probabilities": {"spam": p, "ham": 1 - p}}
    >>> examples = [("spam", 0.9), ("ham", 0.6), ("spam", 0.4), ("ham", 0.1)]
    >>> sum((Curve()(label, pred(p)).tally for label, p in examples), Curve().zero).value
    0.75
    """

    name = "{statistic}"
    statistic: str = "auroc"
    positive: str = ""
    in_key: ClassVar[Names] = ("statistic", "positive")
    choices = {"statistic": CURVES}

    @property
    def fixed(self) -> Conventions:
        """The things that are ranked."""
        over = {"positive": self.positive} if self.positive else {"average": "each label against the rest, also of two"}
        return {**over, "label without a number": "0"}

    @property
    def zero(self) -> Curves:
        """No evidence."""
        return Curves({}, self.statistic)

    def tallies(self, batch: LabelBatch) -> Curves:
        """For each label its probability in each example, and whether it is right."""
        rows = batch.likely
        curves = {"": RankedScores.of(np.zeros(len(rows)), [(1.0, 0.0)] * len(rows))}
        labels = {label for gold, numbers in rows for label in (gold, *numbers)}
        for label in sorted({self.positive} if self.positive else labels):
            seen = [(float(label in p or gold == label), float(gold == label)) for gold, p in rows]
            curves[label] = RankedScores.of([p.get(label, 0.0) for _, p in rows], seen)
        return self.zero.with_items(curves)


def listed(labels: Names) -> list[Measure]:
    """Every measure of the scorecard that needs no probabilities, in its order."""
    rates = [*(SetF1(average) for average in SET_AVERAGES), SetF1("micro", "precision"), SetF1("micro", "recall")]
    return [*rates, SubsetAccuracy(), *([HammingLoss(labels)] if labels else [])]


def ranked(positive: str = "") -> list[Measure]:
    """The measures of probabilities."""
    return [TopK(2), TopK(3), *(Curve(statistic, positive) for statistic in CURVES), MulticlassBrier()]


CALIBRATED = (LabelCalibration(statistic="ece"), LabelCalibration(statistic="brier"))
LABEL_SETS = (
    *(SetF1(average, rate) for average in SET_AVERAGES for rate in RATE_TALLIES),
    SubsetAccuracy(),
    HammingLoss(tuple(institutions())),
    RankingPrecision(),
    TopK(1),
    *ranked(),
    *CALIBRATED,
)
