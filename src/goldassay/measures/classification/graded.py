"""Graded outputs: a number on each side, ``score`` (rename with ``columns={"score": …}``), and how far they agree.

The correlations are values of the corpus, which DSPy's ``Evaluate`` sees as such. An example without a predicted number
is left out of a correlation; in an error it is ``missing`` away, or left out if that is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goldassay.exceptions import FieldError
from goldassay.measure import Measure, gold_field, pred_field
from goldassay.measures.calibration import plain
from goldassay.statistics.evidence import Floats, means
from goldassay.tally import Confusion, Mean, Number, divide

CORRELATIONS = ("pearson", "spearman", "kendall")


def number(value: Any, side: str) -> float | None:
    """A grade; None if a prediction has none."""
    if side == "predicted" and value in (None, ""):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FieldError(f"the {side} score is a number, not {value!r}") from None


class Grades(Confusion):
    """Counts of (gold, predicted) numbers; ``value`` is Pearson's r, Spearman's ρ or Kendall's τ_b.

    ρ is r of mid-ranks. τ_b = (concordant − discordant) / √((pairs − ties of one) (pairs − ties of the other)). Where
    one side is constant it is not defined: 1 if both sides are equal throughout, else 0.

    >>> Grades({("1.0", "2.0"): 1, ("2.0", "5.0"): 1, ("3.0", "4.0"): 1}, "spearman").value
    0.5
    """

    def __init__(self, pairs: Any = {}, statistic: str = "pearson") -> None:
        super().__init__(pairs)
        self.statistic = statistic

    @property
    def value(self) -> Number:
        """The correlation."""
        if not self:
            return 1.0
        counts = np.stack([np.asarray(count, float) for count in self.values()])
        x, y = np.array([[float(a), float(b)] for a, b in self]).T
        different = counts.T @ (x != y)
        if self.statistic == "kendall":
            signs = [np.sign(side[:, None] - side) for side in (x, y)]
            both, one, other = (
                (counts * np.tensordot(product, counts, 1)).sum(axis=0)
                for product in (signs[0] * signs[1], signs[0] ** 2, signs[1] ** 2)
            )
            return _defined(both, one * other, different)
        left, right = (
            _ranks(side, counts) if self.statistic == "spearman" else _column(side, counts) for side in (x, y)
        )
        n = counts.sum(axis=0)
        left, right = (side - divide((side * counts).sum(axis=0), n) for side in (left, right))
        spread = (left**2 * counts).sum(axis=0) * (right**2 * counts).sum(axis=0)
        return _defined((left * right * counts).sum(axis=0), spread, different)


def _defined(shared: Any, spread: Any, different: Any) -> Number:
    """The correlation; where a side is constant, whether both are equal throughout."""
    constant = np.asarray(spread) <= 0
    return plain(divide(shared, np.sqrt(np.where(constant, 0.0, spread)), empty=0.0) + constant * (different == 0))


def _column(side: Floats, counts: Floats) -> Floats:
    return side.reshape(-1, *[1] * (counts.ndim - 1))


def _ranks(side: Floats, counts: Floats) -> Floats:
    """The mid-rank of each pair's number, by resample."""
    _, place = np.unique(side, return_inverse=True)
    sums = np.zeros((place.max() + 1, *counts.shape[1:]))
    np.add.at(sums, place, counts)
    ranks: Floats = (np.cumsum(sums, axis=0) - sums + (sums + 1) / 2)[place]
    return ranks


@dataclass(frozen=True)
class GradedMeasure(Measure[Any]):
    """What measures of graded outputs share: the numbers of both sides."""

    task = "classification"
    counted = ""  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> list[tuple[Any, float | None]]:
        """The numbers of every example."""
        sides = zip(gold, pred, strict=True)
        return [(number(gold_field(g, "score"), "gold"), number(pred_field(p, "score"), "predicted")) for g, p in sides]


@dataclass(frozen=True)
class Correlation(GradedMeasure):
    """Pearson's r, Spearman's ρ or Kendall's τ_b of gold's and the program's numbers, over the corpus.

    >>> pairs = [({"score": g}, {"score": p}) for g, p in ((1, 2), (2, 5), (3, 4))]
    >>> sum((Correlation("kendall")(*pair).tally for pair in pairs), Correlation("kendall").zero).value
    0.3333333333333333
    """

    name = "{statistic}"
    statistic: str = "pearson"
    in_key = ("statistic",)
    choices = {"statistic": CORRELATIONS}
    limits = (-1.0, 1.0)
    fixed = {"ties": "mid-ranks, τ_b", "constant": "1 if equal, else 0", "failed": "left out"}
    formula = "correlation of gold and predicted numbers over the corpus"
    source = "Pearson 1895; Spearman 1904; Kendall 1945"

    @property
    def zero(self) -> Grades:  # type: ignore[override]
        """No evidence."""
        return Grades({}, self.statistic)

    def tallies(self, batch: Sequence[tuple[float, float | None]]) -> Grades:
        """Which pair of numbers each example has."""
        pairs: dict[tuple[str, str], Any] = {}
        for place, (gold, pred) in enumerate(batch):
            if pred is not None:
                pairs.setdefault((repr(gold), repr(pred)), np.zeros(len(batch), np.int8))[place] = 1
        return self.zero.with_items(pairs)


@dataclass(frozen=True, slots=True)
class RootMean(Mean):
    """``value`` is the root of the mean."""

    @property
    def value(self) -> Number:
        """The root of the mean; 0 without evidence."""
        return divide(self.total, self.weight) ** 0.5


@dataclass(frozen=True)
class GradedError(GradedMeasure):
    """The mean absolute error (``mae``), or the root of the mean squared one (``rmse``).

    ``missing`` is how far away a missing number is; None leaves it out.

    >>> GradedError()({"score": 3}, {"score": 5}).tally.value
    2.0
    >>> GradedError("rmse", missing=4)({"score": 3}, None).tally.value
    4.0
    """

    name = "{statistic}"
    statistic: str = "mae"
    missing: float | None = field(default=None, kw_only=True)
    in_key = ("statistic",)
    choices = {"statistic": ("mae", "rmse")}
    limits = (0.0, float("inf"))
    lower_is_better = True
    formula = "mean |gold − predicted|, or √ mean (gold − predicted)²"
    source = "Willmott & Matsuura 2005"

    @property
    def fixed(self) -> dict[str, str]:  # type: ignore[override]
        """What a missing number counts."""
        return {"failed": "left out" if self.missing is None else f"{self.missing:g} away"}

    @property
    def zero(self) -> Mean:  # type: ignore[override]
        """No evidence."""
        return Mean() if self.statistic == "mae" else RootMean()

    def tallies(self, batch: Sequence[tuple[float, float | None]]) -> Mean:
        """The error of each example."""
        power = 1 if self.statistic == "mae" else 2
        errors = [self.missing if pred is None else abs(gold - pred) for gold, pred in batch]
        tally = means(None if error is None else error**power for error in errors)
        return type(self.zero)(tally.total, tally.weight)


MEASURES = (*map(Correlation, CORRELATIONS), GradedError(), GradedError("rmse"))
