"""Tallies of classification: confusions whose value is an average, an agreement or a correlation; and curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Floats
from goldassay.core.fields import JsonObject, Record
from goldassay.core.measure import Names
from goldassay.core.tally import By, Confusion, Counts, Mean, Number, Share, Sums, divide, mean, occurs, positive
from goldassay.measures.calibration import ByConfidence, scalar
from goldassay.statistics.agreement import disagreement

NONE = "(none)"  # the label of a prediction that was not made
CORRELATIONS = ("pearson", "spearman", "kendall")
OTHER = "OTHER"  # the row and column of a matrix for labels outside the list


@dataclass(eq=False, repr=False)
class Labelled(Confusion):
    """Counts of (gold, predicted); ``value`` is the mean of a rate over labels.

    Args:
        pairs: The counts.
        listed: The labels that count; those that occur on either side without them.
        average: ``all``: every label that counts weighs the same, and one of the list that does not occur has the
            rate 0. ``supported``: over the labels that occur in gold. ``weighted``: weighted by how often each occurs
            in gold; 0 if none of them does.
        rate: ``f1``, ``precision`` or ``recall``.

    >>> Labelled({("pos", "neg"): 1, ("pos", "(none)"): 1}).counted
    ('neg', 'pos')
    """

    listed: Names = ()
    average: str = "all"
    rate: str = "f1"

    @property
    def counted(self) -> Names:
        """The labels that count: those listed, else those that occur on either side."""
        return self.listed or tuple(label for label in self.labels if label != NONE)

    @property
    def shares(self) -> list[tuple[Counts, Number]]:
        """Each label against all others, and what its rate weighs in the mean."""
        if self.average == "all":
            every = self.by_label(self.counted).values()
            return [(counts, positive(self.weight if self.listed else counts.weight)) for counts in every]
        in_gold = self.by_label(self.listed or tuple(sorted({gold for gold, _ in self}))).values()
        return [(c, c.support if self.average == "weighted" else positive(c.support)) for c in in_gold]

    @property
    def classes(self) -> tuple[list[Counts], str]:
        """The counts of the labels over which the value is a mean, and the rate; none if their weights differ."""
        if self.average == "weighted":
            return [], ""
        return [counts for counts, share in self.shares if self.average == "all" or occurs(share)], self.rate

    @property
    def weight(self) -> Number:
        """How many examples there are; for ``supported``, those whose gold label counts."""
        return sum(c.support for c, _ in self.shares) if self.average == "supported" else super().weight

    @property
    def value(self) -> Number:
        """The mean of the rate over the labels."""
        value = mean((getattr(counts, self.rate), share) for counts, share in self.shares)
        if self.average == "weighted" and self:
            return value * positive(sum(share for _, share in self.shares))
        return value


@dataclass(eq=False, repr=False)
class AgreementCounts(Confusion):
    """``value`` is an agreement of both sides beyond chance, or the mean distance of labels that have an order.

    Args:
        pairs: The counts.
        statistic: ``none``, ``linear`` or ``quadratic`` (Cohen's κ with these weights), ``mcc`` or ``mae``.
        order: The labels in their order; without it numbers by size, other labels by alphabet.

    κ = 1 − Σ w o / Σ w e over pairs of labels, o the counts, e those expected by chance, w 1 off the diagonal, or the
    distance of the labels' places, or its square. A prediction that was not made, or is outside ``order``, is as far
    away as a label can be.

    >>> ratings = AgreementCounts({("1", "1"): 2, ("2", "3"): 1, ("3", "1"): 1}, "mae")
    >>> ratings.value, ratings.scale()
    (0.75, {'1': 1.0, '2': 2.0, '3': 3.0})
    """

    statistic: str = "none"
    order: Names = ()

    def scale(self) -> dict[str, float]:
        """The place of each label in the order; for ``mae`` its number, if all are numbers.

        Raises:
            GoldassayError: A gold label is not in the order.
        """
        seen = [label for label in self.labels if label != NONE]
        try:
            numbers = {label: float(label) for label in seen}
        except ValueError:
            numbers = {}
        labels = self.order or tuple(sorted(seen, key=lambda label: (numbers.get(label, 0.0), label)))
        for gold, _ in self:
            if gold not in labels:
                raise GoldassayError(f"the label {gold!r} is not in the order {', '.join(labels)}")
        if self.statistic == "mae" and numbers and not self.order:
            return numbers
        return {label: float(rank) for rank, label in enumerate(labels)}

    @property
    def value(self) -> Number:
        """The statistic; where both sides gave one and the same label throughout, 1 if they agree."""
        if self.statistic == "mcc":
            n = self.weight  # Gorodkin's R_K; 1 where one label throughout is right
            by_label = self.by_label().values()
            products = sum(counts.support * counts.predicted for counts in by_label)
            gold = n * n - sum(counts.support**2 for counts in by_label)
            pred = n * n - sum(counts.predicted**2 for counts in by_label)
            right = 1.0 - positive(n - self.correct)
            return divide(self.correct * n - products, (gold * pred) ** 0.5) + right * (1.0 - positive(gold * pred))
        if self.statistic == "none":
            return 1.0 - divide(*disagreement(self))
        scale = self.scale()

        def distance(gold: str, pred: str) -> float:
            """How wrong a label is for one of the scale; one outside the scale is as far away as can be."""
            far = [scale[pred]] if pred in scale else scale.values()
            steps = max(abs(scale[gold] - rank) for rank in far)
            return steps**2 if self.statistic == "quadratic" else steps

        if self.statistic == "mae":
            return divide(sum(distance(*pair) * count for pair, count in self.items()), self.weight)
        return 1.0 - divide(*disagreement(self, distance))


@dataclass(frozen=True, slots=True)
class Gap(Sums):
    """How many agree in their group, how many exactly, of how many; ``value`` is the difference of the two rates."""

    group: Number = 0.0
    exact: Number = 0.0
    n: Number = 0.0

    @property
    def weight(self) -> Number:
        """How many examples."""
        return self.n

    @property
    def value(self) -> Number:
        """The difference of the two rates; 0 without evidence."""
        return divide(self.group - self.exact, self.n)


class RootMean(Mean):
    """``value`` is the root of the mean."""

    @property
    def value(self) -> Number:
        """The root of the mean; 0 without evidence."""
        return divide(self.total, self.weight) ** 0.5


@dataclass(eq=False, repr=False)
class Correlated(Confusion):
    """Counts of (gold, predicted) numbers; ``value`` is Pearson's r, Spearman's ρ or Kendall's τ_b.

    ρ is r of mid-ranks. τ_b = (concordant − discordant) / √((pairs − ties of one) (pairs − ties of the other)). Where
    one side is constant it is not defined: 1 if both sides are equal throughout, else 0.

    >>> Correlated({("1.0", "2.0"): 1, ("2.0", "5.0"): 1, ("3.0", "4.0"): 1}, "spearman").value
    0.5
    """

    statistic: str = "pearson"

    @property
    def value(self) -> Number:
        """The correlation."""
        if not self:
            return 1.0
        counts = np.stack([np.asarray(count, float) for count in self.values()])
        gold, pred = np.array([[float(a), float(b)] for a, b in self]).T
        # All three are Σ x y / √(Σ x² Σ y²). For r, x and y are deviations from the mean, summed over the examples; for
        # ρ those of the mid-ranks. For τ_b they are the signs of the differences of two examples, summed over the pairs
        # of examples: x y is 1 for a concordant pair and −1 for a discordant one, x² is 0 for a tie. ``counts`` has the
        # shape (pairs of numbers,), or (pairs of numbers, resamples): a sum over axis 0 leaves a number a resample.
        if self.statistic == "kendall":
            x = np.sign(gold[:, None] - gold)
            y = np.sign(pred[:, None] - pred)

            def total(products: Floats) -> Number:
                return (counts * np.tensordot(products, counts, 1)).sum(axis=0)
        else:
            x = self._deviations(gold, counts)
            y = self._deviations(pred, counts)

            def total(products: Floats) -> Number:
                return (products * counts).sum(axis=0)

        spread = np.asarray(total(x**2) * total(y**2))
        constant = spread <= 0
        equal = constant * (counts.T @ (gold != pred) == 0)
        return scalar(divide(total(x * y), np.sqrt(np.where(constant, 0.0, spread))) + equal)

    def _deviations(self, side: Floats, counts: Floats) -> Floats:
        """Numbers, or their ranks, less their mean in each resample."""
        column = side.reshape(-1, *[1] * (counts.ndim - 1))
        if self.statistic == "spearman":  # the mid-ranks
            _, level = np.unique(side, return_inverse=True)
            sums = np.zeros((level.max() + 1, *counts.shape[1:]))
            np.add.at(sums, level, counts)
            column = (np.cumsum(sums, axis=0) - sums + (sums + 1) / 2)[level]
        deviations: Floats = column - divide((column * counts).sum(axis=0), counts.sum(axis=0))
        return deviations


class RankedScores(ByConfidence):
    """How a number ranks positives above negatives; ``value`` is the share of pairs in the right order, half of ties.

    >>> RankedScores.of([0.9, 0.4, 0.4], [(1, 1), (1, 1), (1, 0)]).value      # (1 + 1/2) / 2
    0.75
    """

    @property
    def pairs(self) -> Number:
        """How many pairs there are; without any, no value."""
        n, right = self.columns().sum(axis=1)
        return right * (n - right)

    def repaired(self, share: Share, lower: bool = False) -> Self:
        """The change that takes away this share of the errors: positives below 1, the others above 0."""
        moved = type(self)()
        fraction = share(())
        for level, (n, right) in self.items():
            moved += {level: (-n * fraction, -right * fraction)}
            moved += {1.0: (right * fraction, right * fraction)}
            moved += {0.0: ((n - right) * fraction, 0.0)}
        return moved

    @property
    def auroc(self) -> Number:
        """The area under the ROC curve."""
        n, right = self.columns()
        wrong = n - right
        below = wrong.sum(axis=0) - np.cumsum(wrong, axis=0)
        return scalar(divide((right * (below + wrong / 2)).sum(axis=0), self.pairs, empty=1.0))

    @property
    def average_precision(self) -> Number:
        """Σ (R_k − R_{k−1}) P_k over the thresholds k, ties taken together."""
        n, right = self.columns()
        precision = divide(np.cumsum(right, axis=0), np.cumsum(n, axis=0))
        return scalar(divide((right * precision).sum(axis=0), right.sum(axis=0), empty=1.0))

    value = auroc


@dataclass(eq=False, repr=False)
class Curves(By[str, RankedScores]):
    """A curve for each label; ``value`` is their mean over labels that have examples of both kinds.

    An example is in the curves of its gold label and of those that it has a number for; ``""`` counts all examples, so
    those that a curve lacks are at 0 in it.
    """

    inner = RankedScores()

    statistic: str = "auroc"

    @property
    def summed(self) -> Self:
        """The evidence of all examples together."""
        return self.with_items({label: curve.summed for label, curve in self.items()})

    def to_columns(self) -> JsonObject:
        """The rows by label."""
        return {label: curve.to_columns() for label, curve in self.items()}

    def from_columns(self, columns: Record) -> Self:
        """The evidence that these columns hold, as `to_columns` gives them."""
        return self.with_items({label: self.inner.from_columns(inner) for label, inner in columns.items()})

    @property
    def whole(self) -> list[tuple[RankedScores, Number]]:
        """The curve of each label with all examples, and 1 where it has examples of both kinds."""
        every: Any = self.get("", self.inner)
        n = every.weight
        curves = [curve + {0.0: (n - curve.weight, 0.0)} for label, curve in self.items() if label]  # type: ignore[operator]
        return [(curve, positive(curve.pairs)) for curve in curves]

    @property
    def weight(self) -> Number:
        """How many labels have a curve."""
        return sum(share for _, share in self.whole)

    @property
    def value(self) -> Number:
        """The mean over the labels."""
        return mean((getattr(curve, self.statistic), share) for curve, share in self.whole)
