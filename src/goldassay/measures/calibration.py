"""Calibration: does confidence say how often a prediction is right? One definition for every task.

Brier = mean (confidence − correct)². ECE = Σ_b (n_b / n) |accuracy_b − mean confidence_b| over equal bins of [0, 1].
Pearson's ρ, as the specification asks, is that of the bins' midpoints and the accuracy in them. A task says which
predictions have a confidence, and which of them are correct. AURC is the mean, over all numbers k of predictions kept,
of the error rate among the k most confident ones: 0 is best, and a confidence without information has the error rate
itself. Predictions with equal confidence are kept in every order at once: each counts the expected error of its group.

Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 1950; Naeini et al., AAAI
2015; Geifman, Uziel and El-Yaniv, ICLR 2019.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from goldassay.core.evidence import LEVEL_COLUMN, Floats
from goldassay.core.measure import B, Limits, Measure, Names
from goldassay.core.tally import Bins, Keyed, Mean, Number, Share, State, divide

Confidences = tuple[int, Sequence[tuple[int, float, float]]]
"""How many examples there are; and of each prediction with a confidence the example, the confidence, 1 if correct."""
Scored = tuple[Number, ...]
"""How many questions, the sum of their scores, and what else a tally adds up."""


class ByConfidence(Keyed[float, Scored]):
    """For each confidence (or probability) that occurs the evidence of its questions; it adds up exactly.

    Of many examples it holds the sums, and ``rows``: the confidence of each, and its numbers (shape (examples, 2)).
    Their arrays, one column a confidence, are made only where somebody resamples.
    """

    add = staticmethod(Bins.add)
    names: ClassVar[tuple[str, ...]] = ("n", "score")
    rows: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, sure: ArrayLike, evidence: ArrayLike) -> Self:
        """The evidence of many examples; one without a question contributes nothing.

        Args:
            sure: The confidence of each example.
            evidence: Shape (examples, 2): how many questions each has, and the sum of their scores.

        >>> ByConfidence.of([0.5, 0.9, 0.5], [(1, 1.0), (1, 0.0), (1, 0.0)])
        {0.5: (2.0, 1.0), 0.9: (1.0, 0.0)}
        """
        confidences = np.asarray(sure, float)
        rows = np.asarray(evidence, float).reshape(-1, len(cls.names))
        counts = rows.any(axis=1)
        levels, position = np.unique(confidences[counts], return_inverse=True)
        sums = [np.bincount(position, column, len(levels)).tolist() for column in rows[counts].T]
        tally = cls(dict(zip(levels.tolist(), zip(*sums, strict=True), strict=True)))
        tally.rows = confidences, rows
        return tally

    def repaired(self, share: Share, lower: bool = False) -> Self:
        """The change that takes away this share of the errors: scores below 1."""
        fraction = share(())
        return type(self)(
            {level: (0.0, (n - score) * fraction, *(0.0 for _ in more)) for level, (n, score, *more) in self.items()}
        )

    @property
    def summed(self) -> Self:
        """The evidence of all examples together."""
        return super().summed if self.rows is None else type(self)(self)

    def to_columns(self) -> dict[str, Any]:
        """The rows, one column each: all that the evidence of many examples comes from. Without rows the state."""
        if self.rows is None:
            return self.state()
        confidences, rows = self.rows
        return {LEVEL_COLUMN: confidences, **dict(zip(self.names, rows.T, strict=True))}

    def from_columns(self, columns: Mapping[str, ArrayLike]) -> Self:
        """The evidence that these columns hold, as `to_columns` gives them."""
        if LEVEL_COLUMN not in columns:
            return self.from_state(columns)
        return self.of(columns[LEVEL_COLUMN], np.column_stack([columns[name] for name in self.names]))

    @property
    def weight(self) -> Number:
        """How many questions."""
        return sum(n for n, *_ in self.values())

    @property
    def value(self) -> Number:
        """The mean score."""
        return divide(sum(score for _, score in self.values()), self.weight, empty=1.0)

    def columns(self) -> Floats:
        """The evidence, the highest confidence first: shape (2, confidences), or (2, confidences, resamples)."""
        levels = sorted(self, reverse=True)
        return np.stack([np.array([self[level][side] for level in levels], float) for side in range(len(self.names))])

    def state(self) -> dict[str, dict[str, Number]]:
        """As JSON. Of many examples arrays, a number an example, for a bounded number of confidences: above that,
        neighbours are taken together under the highest of them, so that resampling stays linear."""
        most = 200
        if self.rows is None:
            return {repr(level): dict(zip(self.names, self[level], strict=True)) for level in sorted(self)}
        confidences, rows = self.rows
        columns = {}
        for group in np.array_split(np.array(sorted(self)), min(len(self), most)) if self else ():
            inside = (confidences >= group[0]) & (confidences <= group[-1])
            columns[repr(float(group[-1]))] = dict(zip(self.names, (rows * inside[:, None]).T, strict=True))
        return columns

    def from_state(self, state: State) -> Self:
        """The evidence again."""
        return type(self)({float(level): tuple(row[name] for name in self.names) for level, row in state.items()})


def scalar(value: Number) -> Number:
    """A value of one corpus as a float; of many resamples the array."""
    return float(value) if np.ndim(value) == 0 else value


class Risk(ByConfidence):
    """``value`` is the area under the risk–coverage curve.

    >>> round(Risk.of([0.9, 0.1, 0.5], [(1, 1), (1, 0), (1, 0)]).value, 4)      # (0 + 1/2 + 2/3) / 3
    0.3889
    """

    @property
    def value(self) -> Number:
        """The mean over k of the error rate of the k most confident; 1 without an answer."""
        if not self:
            return 1.0
        n, right = self.columns()
        wrong = n - right
        before = np.cumsum(n, axis=0) - n
        lost = np.cumsum(wrong, axis=0) - wrong
        # m = n answers of one confidence come after K = before others, of which W = lost are wrong. Of the first j of
        # them e j are expected to be wrong, e = rate, so they add Σ (W + e j) / (K + j) over j = 1 … m. Since e j is
        # e (K + j) − e K, each term is e + (W − e K) / (K + j), and the sum is e m + (W − e K) (H(K + m) − H(K)) with
        # the harmonic numbers H: no loop over the answers.
        harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, round(float((before + n).max())) + 1))))
        growth = harmonic[np.rint(before + n).astype(int)] - harmonic[np.rint(before).astype(int)]
        rate = divide(wrong, n)
        return scalar(divide((rate * n + (lost - rate * before) * growth).sum(axis=0), n.sum(axis=0), empty=1.0))


Calibrated = Bins | Mean | Risk


@dataclass(frozen=True)
class CalibrationMeasure(Measure[Calibrated, B]):
    """A ``statistic`` of confidence and correctness; a task says which predictions count (`confidences`).

    ``brier_skill`` and ``calibration`` are 1 − Brier and 1 − ECE, ``aurc`` is the area under risk–coverage: the mean
    over k of the error rate of the k most confident. Of ``brier``, ``ece`` and ``aurc`` lower is better.

    Formula: Brier = mean (confidence − correct)²; ECE = Σ_b (n_b/n) |accuracy_b − mean confidence_b| over equal bins of
        [0, 1]; ρ = that of bin midpoints and observed accuracy, over the filled bins
    Source: Brier, Monthly Weather Review 1950; Naeini et al., AAAI 2015; Geifman et al., ICLR 2019
    """

    in_key: ClassVar[Names] = ("statistic",)
    choices = {"statistic": ("brier", "brier_skill", "ece", "calibration", "pearson")}
    edges = 10

    statistic: str = field(default="ece", kw_only=True)

    @property
    def key(self) -> str:
        """``ece``, ``brier``, ``calibration_pearson`` and so on."""
        return "calibration_pearson" if self.statistic == "pearson" else self.statistic

    @property
    def zero(self) -> Calibrated:
        """No evidence."""
        if self.statistic == "aurc":
            return Risk()
        return Mean() if self.statistic.startswith("brier") else Bins({}, self.statistic, self.edges)

    @property
    def limits(self) -> Limits:
        """A correlation may be negative."""
        return (-1.0 if self.statistic == "pearson" else 0.0, 1.0)

    @property
    def lower_is_better(self) -> bool:
        """Whether it is an error."""
        return self.statistic in ("brier", "ece", "aurc")

    @abstractmethod
    def confidences(self, batch: B) -> Confidences:
        """The predictions of a batch that have a confidence."""

    def tallies(self, batch: B) -> Calibrated:
        """The evidence of each example."""
        n, predictions = self.confidences(batch)
        example, confidence, correct = np.array(predictions, float).reshape(-1, 3).T
        row = example.astype(int)
        if self.statistic.startswith("brier"):
            weight = np.bincount(row, minlength=n).astype(float)
            loss = np.bincount(row, (confidence - correct) ** 2, n)
            return Mean(loss if self.statistic == "brier" else weight - loss, weight)
        if self.statistic == "aurc":
            evidence = np.zeros((n, 3))
            evidence[row] = np.column_stack([confidence, np.ones(len(row)), correct])
            return Risk.of(evidence[:, 0], evidence[:, 1:])
        which = np.minimum((confidence * self.edges).astype(int), self.edges - 1)
        bins = {}
        for index in np.unique(which).tolist():
            inside = which == index
            counts = np.bincount(row, inside, n)
            bins[index] = (counts, np.bincount(row, confidence * inside, n), np.bincount(row, correct * inside, n))
        return Bins(bins, self.statistic, self.edges)
