"""What a program says about every label: `TopK`, ranking of the examples by label (`Curve`), and calibration.

A prediction has ``probabilities``, a number for each label (any numbers serve `TopK` and `Curve`). A program that
failed has none: its label is in no top k, its Brier loss is 2, and every curve ranks it last for its own label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from goldassay.exceptions import FieldError
from goldassay.measure import Measure, failed, pred_field
from goldassay.measures.calibration import ByConfidence, CalibrationMeasure, Confidences, plain
from goldassay.measures.classification.measures import Batch, LabelMeasure
from goldassay.measures.classification.tally import NONE
from goldassay.statistics.evidence import means
from goldassay.tally import By, Mean, Number, divide, mean, positive


def probabilities(pred: object) -> dict[str, float]:
    """The number of each label; none if the program failed.

    >>> probabilities({"label": "M", "probabilities": {"M": 0.75, "L": 0.25}})
    {'M': 0.75, 'L': 0.25}
    """
    numbers = {} if failed(pred) else pred_field(pred, "probabilities")
    if not isinstance(numbers, Mapping):
        raise FieldError(f"probabilities are a number for each label, not {numbers!r}")
    return {str(label): float(number) for label, number in numbers.items()}


def _each(batch: Batch) -> list[tuple[str, dict[str, float]]]:
    """Each example's gold label and probabilities."""
    return [(read.gold, probabilities(pred)) for read, pred in zip(batch.read, batch.pred, strict=True)]


@dataclass(frozen=True)
class TopK(LabelMeasure):
    """The share of examples whose gold label is among the ``k`` most probable ones.

    >>> TopK(2)("L", {"label": "M", "probabilities": {"M": 0.6, "L": 0.3, "A": 0.1}}).tally.value
    1.0
    """

    name = "top{k}_accuracy"
    k: int = 3
    zero = Mean()
    fixed = {"ties": "the later label first (scikit-learn)", "failed": "0"}
    formula = "gold among the k most probable / all"

    def tallies(self, batch: Batch) -> Mean:
        """Whether the gold label is among the first."""
        ranked = ((gold, sorted(p, key=lambda label: (p[label], label))[-self.k :]) for gold, p in _each(batch))
        return means(float(gold in first) for gold, first in ranked)


@dataclass(frozen=True)
class MulticlassBrier(LabelMeasure):
    """Brier's score over all labels: the mean of Σ (p − y)², from 0 to 2, y being 1 for the gold label and 0 elsewhere.

    >>> round(MulticlassBrier()("M", {"label": "M", "probabilities": {"M": 0.8, "L": 0.2}}).tally.value, 4)
    0.08
    """

    name = "multiclass_brier"
    zero = Mean()
    limits = (0.0, 2.0)
    lower_is_better = True
    fixed = {"scale": "not halved", "failed": "2"}
    formula = "mean Σ over labels (p − y)²"
    source = "Brier, Monthly Weather Review 1950"

    def tallies(self, batch: Batch) -> Mean:
        """The loss of each example."""
        return means(
            sum((p - (label == gold)) ** 2 for label, p in {gold: 0.0, **numbers}.items()) if numbers else 2.0
            for gold, numbers in _each(batch)
        )


@dataclass(frozen=True)
class Calibration(CalibrationMeasure, LabelMeasure):  # type: ignore[misc,override]
    """Calibration of the predicted label: ``statistic`` ``ece`` (ten bins), ``brier`` and so on.

    Its confidence is the prediction's ``confidence``, else its probability; examples without either are left out.

    >>> Calibration(statistic="brier")("M", {"label": "M", "confidence": 0.75}).tally.value
    0.0625
    """

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """Which examples count, and how many bins there are."""
        bins = {} if self.statistic.startswith("brier") else {"bins": str(self.edges)}
        return {"without a confidence": "left out", "failed": "left out", **bins}

    def confidences(self, batch: Batch) -> Confidences:
        """The labels that have a confidence."""
        rows = []
        for place, (read, pred) in enumerate(zip(batch.read, batch.pred, strict=True)):
            if read.pred == NONE:
                continue
            sure = pred_field(pred, "confidence", None)
            if sure is None and pred_field(pred, "probabilities", None) is not None:
                sure = probabilities(pred).get(read.pred)
            rows += [] if sure is None else [(place, float(sure), float(read.pred == read.gold))]
        row, confidence, correct = np.array(rows, float).reshape(-1, 3).T
        return Confidences(len(batch.read), row.astype(int), confidence, correct)


class Ranking(ByConfidence):
    """How a number ranks positives above negatives; ``value`` is the share of pairs in the right order, half of ties.

    >>> Ranking.of([0.9, 0.4, 0.4], [(1, 1, 0), (1, 1, 0), (1, 0, 0)]).value      # (1 + 1/2) / 2
    0.75
    """

    @property
    def pairs(self) -> Number:
        """How many pairs there are; without any, no value."""
        n, right, _ = self.columns()[1].sum(axis=1) if self else (0.0, 0.0, 0.0)
        return right * (n - right)

    def repaired(self, share: float) -> Self:
        """What this share of the errors takes away: positives below 1, the others above 0."""
        moved = type(self)()
        for level, (n, right, _) in self.items():
            moved += {level: (-n * share, -right * share, 0.0)}
            moved += {1.0: (right * share, right * share, 0.0)}
            moved += {0.0: ((n - right) * share, 0.0, 0.0)}
        return moved

    @property
    def value(self) -> Number:
        """The area under the ROC curve."""
        return auroc(self)


def auroc(ranking: Ranking) -> Number:
    """The area under the ROC curve."""
    if not ranking:
        return 1.0
    _, (n, right, _) = ranking.columns(descending=True)
    wrong = n - right
    below = wrong.sum(axis=0) - np.cumsum(wrong, axis=0)
    return plain(divide((right * (below + wrong / 2)).sum(axis=0), ranking.pairs, empty=1.0))


def average_precision(ranking: Ranking) -> Number:
    """Σ (R_k − R_{k−1}) P_k over the thresholds k, ties taken together."""
    if not ranking:
        return 1.0
    _, (n, right, _) = ranking.columns(descending=True)
    precision = divide(np.cumsum(right, axis=0), np.cumsum(n, axis=0))
    return plain(divide((right * precision).sum(axis=0), right.sum(axis=0), empty=1.0))


CURVES: dict[str, Callable[[Ranking], Number]] = {"auroc": auroc, "average_precision": average_precision}


class Curves(By[str, Ranking]):
    """A curve for each label; ``value`` is their mean over labels that have examples of both kinds.

    An example stands in the curves of its gold label and of those that it has a number for; ``""`` counts all examples,
    so those that a curve lacks are at 0 in it.
    """

    inner = Ranking()

    def __init__(self, items: Mapping[str, Ranking] = {}, statistic: str = "auroc") -> None:
        super().__init__(items)
        self.statistic = statistic

    @property
    def summed(self) -> Self:
        """The evidence of all examples together."""
        return self.with_items({label: curve.summed for label, curve in self.items()})

    def laid_out(self) -> dict[str, object]:
        """The rows by label."""
        return {label: curve.laid_out() for label, curve in self.items()}

    def gathered(self, columns: Mapping[str, Any]) -> Self:
        """The evidence of the examples that these columns lay out."""
        return self.with_items({label: self.inner.gathered(inner) for label, inner in columns.items()})

    @property
    def whole(self) -> list[Ranking]:
        """The curve of each label with all examples."""
        every: Any = self.get("", self.inner)
        n = every.weight
        return [curve + {0.0: (n - curve.weight, 0.0, 0.0)} for label, curve in self.items() if label]  # type: ignore[operator]

    @property
    def weight(self) -> Number:
        """How many labels have a curve."""
        return sum(positive(curve.pairs) for curve in self.whole)

    @property
    def value(self) -> Number:
        """The mean over the labels."""
        return mean((CURVES[self.statistic](curve), positive(curve.pairs)) for curve in self.whole)


@dataclass(frozen=True)
class Curve(LabelMeasure):
    """How well the probability of each label ranks the examples: the mean over labels, each against all others.

    Args:
        statistic: ``auroc`` or ``average_precision``.
        positive: The one label that counts; all of them without it.

    >>> def pred(p): return {"label": "spam", "probabilities": {"spam": p, "ham": 1 - p}}
    >>> examples = [("spam", 0.9), ("ham", 0.6), ("spam", 0.4), ("ham", 0.1)]
    >>> sum((Curve()(label, pred(p)).tally for label, p in examples), Curve().zero).value
    0.75
    """

    name = "{statistic}"
    statistic: str = "auroc"
    positive: str = field(default="", kw_only=True)
    in_key = ("statistic",)
    choices = {"statistic": tuple(CURVES)}
    fixed = {"average": "labels against the rest", "label without a number": "0"}
    formula = "area under the curve of each label's probability"
    source = "Hanley & McNeil 1982; scikit-learn's roc_auc_score and average_precision_score"

    @property
    def zero(self) -> Curves:  # type: ignore[override]
        """No evidence."""
        return Curves({}, self.statistic)

    def tallies(self, batch: Batch) -> Curves:
        """For each label its probability in each example, and whether it is right."""
        rows = _each(batch)
        labels: Sequence[str] = [self.positive] if self.positive else sorted({x for g, p in rows for x in (g, *p)})
        curves = {"": Ranking.of(np.zeros(len(rows)), [(1.0, 0.0, 0.0)] * len(rows))}
        for label in labels:
            known = [(float(label in p or gold == label), float(gold == label), 0.0) for gold, p in rows]
            curves[label] = Ranking.of([p.get(label, 0.0) for _, p in rows], known)
        return self.zero.with_items(curves)


RANKED = (TopK(2), TopK(3), *map(Curve, CURVES), MulticlassBrier())
CALIBRATED = (Calibration(statistic="ece"), Calibration(statistic="brier"))
MEASURES: tuple[Measure[Any], ...] = (TopK(1), *RANKED, Curve(positive="M"), *CALIBRATED)
