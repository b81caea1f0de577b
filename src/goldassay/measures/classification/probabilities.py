"""What a program says about every label: `TopK`, ranking of the examples by label (`Curve`), and calibration.

A prediction has ``probabilities``, a number for each label (any numbers serve `TopK` and `Curve`). A program that
failed has none: its label is in no top k, its Brier loss is 2, and every curve ranks it last for its own label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.measure import Measure, pred_field
from goldassay.measures.calibration import CalibrationMeasure, Confidences
from goldassay.measures.classification.measures import LabelMeasure
from goldassay.measures.classification.records import Batch, probabilities
from goldassay.measures.classification.tally import NONE, Curves, Ranking
from goldassay.statistics.evidence import means
from goldassay.tally import Mean

CURVES = ("auroc", "average_precision")


def _each(batch: Batch) -> list[tuple[str, dict[str, float]]]:
    """Each example's gold label and probabilities."""
    return [(read.gold, numbers) for read, numbers in zip(batch.read, batch.probabilities, strict=True)]


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


@dataclass(frozen=True)
class Curve(LabelMeasure):
    """How well the probability of each label ranks the examples: the mean over labels, each against all others.

    ``statistic`` is ``auroc`` or ``average_precision``.

    >>> def pred(p): return {"label": "spam", "probabilities": {"spam": p, "ham": 1 - p}}
    >>> examples = [("spam", 0.9), ("ham", 0.6), ("spam", 0.4), ("ham", 0.1)]
    >>> sum((Curve()(label, pred(p)).tally for label, p in examples), Curve().zero).value
    0.75
    """

    name = "{statistic}"
    statistic: str = "auroc"
    in_key = ("statistic",)
    choices = {"statistic": CURVES}
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
        curves = {"": Ranking.of(np.zeros(len(rows)), [(1.0, 0.0, 0.0)] * len(rows))}
        for label in sorted({label for gold, numbers in rows for label in (gold, *numbers)}):
            seen = [(float(label in p or gold == label), float(gold == label), 0.0) for gold, p in rows]
            curves[label] = Ranking.of([p.get(label, 0.0) for _, p in rows], seen)
        return self.zero.with_items(curves)


RANKED = (TopK(2), TopK(3), *map(Curve, CURVES), MulticlassBrier())
CALIBRATED = (Calibration(statistic="ece"), Calibration(statistic="brier"))
MEASURES: tuple[Measure[Any], ...] = (TopK(1), *RANKED, *CALIBRATED)
