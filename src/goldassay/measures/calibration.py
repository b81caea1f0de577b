"""Calibration: does confidence say how often a prediction is right? One definition for every task.

Brier = mean (confidence − correct)². ECE = Σ_b (n_b / n) |accuracy_b − mean confidence_b| over equal bins of [0, 1].
Pearson's ρ, as the founding documents ask, is that of the bins' midpoints and the accuracy in them. A task says which
predictions have a confidence, and which of them are correct.

Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 1950; Naeini et al., AAAI
2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from goldassay.measure import Measure
from goldassay.statistics.evidence import Floats, Ints
from goldassay.tally import Bins, Mean

SOURCES = {"brier": "Brier, Monthly Weather Review 1950", "aurc": "Geifman et al., ICLR 2019"}
FORMULAS = {
    "brier": "mean (confidence − correct)²; lower is better",
    "brier_skill": "1 − mean (confidence − correct)²",
    "ece": "Σ_b (n_b/n) |accuracy_b − mean confidence_b| over {} equal bins of [0, 1]; lower is better",
    "calibration": "1 − Σ_b (n_b/n) |accuracy_b − mean confidence_b| over {} equal bins of [0, 1]",
    "aurc": "area under risk–coverage: mean over k of the error rate of the k most confident; lower is better",
    "pearson": "Pearson's ρ of bin midpoints and observed accuracy, over the filled ones of {} bins",
}


class Confidences(NamedTuple):
    """Predictions with a confidence: the example that each belongs to, its confidence, 1 where it is correct."""

    examples: int
    row: Ints
    confidence: Floats
    correct: Floats


@dataclass(frozen=True)
class CalibrationMeasure(Measure[Any]):
    """A ``statistic`` of confidence and correctness; a task says which predictions count (`confidences`)."""

    in_key = ("statistic",)
    choices: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "statistic": ("brier", "brier_skill", "ece", "calibration", "pearson")
    }
    edges: ClassVar[int] = 10

    statistic: str = field(default="ece", kw_only=True)

    @property
    def key(self) -> str:
        """``ece``, ``brier``, ``calibration_pearson`` and so on."""
        return "calibration_pearson" if self.statistic == "pearson" else self.statistic

    @property
    def zero(self) -> Any:  # type: ignore[override]
        """No evidence."""
        return Mean() if self.statistic.startswith("brier") else Bins({}, self.statistic, self.edges)

    @property
    def limits(self) -> tuple[float, float]:  # type: ignore[override]
        """A correlation may be negative."""
        return (-1.0 if self.statistic == "pearson" else 0.0, 1.0)

    @property
    def lower_is_better(self) -> bool:  # type: ignore[override]
        """Whether it is an error."""
        return "lower is better" in self.formula

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the statistic."""
        return FORMULAS[self.statistic].format(self.edges)

    @property
    def source(self) -> str:  # type: ignore[override]
        """Who defined it."""
        return SOURCES.get(self.statistic.removesuffix("_skill"), "Naeini et al., AAAI 2015")

    def confidences(self, batch: Any) -> Confidences:
        """The predictions of a batch that have a confidence."""
        raise NotImplementedError

    def tallies(self, batch: Any) -> Any:
        """The evidence of each example."""
        n, row, confidence, correct = self.confidences(batch)
        if self.statistic.startswith("brier"):
            weight, loss = np.bincount(row, minlength=n).astype(float), np.bincount(row, (confidence - correct) ** 2, n)
            return Mean(loss if self.statistic == "brier" else weight - loss, weight)
        which = np.minimum((confidence * self.edges).astype(int), self.edges - 1)
        columns = np.ones_like(confidence), confidence, correct
        bins = {
            b: tuple(np.bincount(row, column * (which == b), n) for column in columns)
            for b in np.unique(which).tolist()
        }
        return self.zero.with_items(bins)
