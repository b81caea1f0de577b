"""Tallies of classification: a confusion matrix whose value is an average over labels, or an agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from goldassay.exceptions import GoldassayError
from goldassay.tally import Confusion, Counts, Number, Sums, divide, mean, occurs, positive

NONE = "(none)"  # stands for a prediction that was not made
OTHER = "OTHER"  # stands, in a matrix, for what the list does not have


class Labelled(Confusion):
    """Counts of (gold, predicted); ``value`` is the mean of a rate over labels.

    Args:
        pairs: The counts.
        given: The labels that count; those that occur on either side without them.
        average: ``all``: every label that counts weighs the same, and one of a given list that does not occur has the
            rate 0. ``supported``: over the labels that occur in gold. ``weighted``: weighted by how often each occurs
            in gold; 0 if none of them does.
        rate: ``f1``, ``precision`` or ``recall``.

    >>> Labelled({("pos", "neg"): 1, ("pos", "(none)"): 1}).counted
    ('neg', 'pos')
    """

    def __init__(
        self,
        pairs: Mapping[tuple[str, str], Number] = {},
        given: tuple[str, ...] = (),
        average: str = "all",
        rate: str = "f1",
    ) -> None:
        super().__init__(pairs)
        self.given, self.average, self.rate = given, average, rate

    @property
    def counted(self) -> tuple[str, ...]:
        """The labels that count: those given, else those that occur on either side."""
        return self.given or tuple(label for label in self.labels if label != NONE)

    @property
    def shares(self) -> list[tuple[Counts, Number]]:
        """Each label against all others, and what its rate weighs in the mean."""
        if self.average == "all":
            every = self.by_label(self.counted).values()
            return [(counts, positive(self.weight if self.given else counts.weight)) for counts in every]
        in_gold = self.by_label(self.given or tuple(sorted({gold for gold, _ in self}))).values()
        return [(c, c.support if self.average == "weighted" else positive(c.support)) for c in in_gold]

    @property
    def classes(self) -> list[Counts] | None:
        """The counts of the labels that the mean is over, for its interval; None if their weights differ."""
        if self.average == "weighted":
            return None
        return [counts for counts, share in self.shares if self.average == "all" or occurs(share)]

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


class Agreement(Confusion):
    """``value`` is an agreement of both sides beyond chance, or the mean distance of labels that have an order.

    Args:
        pairs: The counts.
        statistic: ``none``, ``linear`` or ``quadratic`` (Cohen's κ with these weights), ``mcc`` or ``mae``.
        order: The labels in their order; without it numbers by size, other labels by alphabet.

    κ = 1 − Σ w o / Σ w e over pairs of labels, o the counts, e those expected by chance, w 1 off the diagonal, or the
    distance of the labels' places, or its square. A prediction that was not made, or is outside ``order``, is as far
    away as a label can be.

    >>> ratings = Agreement({("1", "1"): 2, ("2", "3"): 1, ("3", "1"): 1}, "mae")
    >>> ratings.value, ratings.scale()
    (0.75, {'1': 1.0, '2': 2.0, '3': 3.0})
    """

    def __init__(
        self, pairs: Mapping[tuple[str, str], Number] = {}, statistic: str = "none", order: tuple[str, ...] = ()
    ) -> None:
        super().__init__(pairs)
        self.statistic, self.order = statistic, order

    def scale(self) -> dict[str, float]:
        """Where each label stands: for ``mae`` its number, if all are numbers, else its place."""
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
        return {label: float(place) for place, label in enumerate(labels)}

    def _distance(self, gold: str, pred: str, scale: Mapping[str, float]) -> float:
        """How wrong one label is for another; one outside the scale is as far away as can be."""
        if self.statistic == "none":
            return float(gold != pred)
        if gold not in scale:
            gold, pred = pred, gold
        far = [scale[pred]] if pred in scale else scale.values()
        distance = max(abs(scale[gold] - place) for place in far) if gold in scale else 0.0
        return distance**2 if self.statistic == "quadratic" else distance

    @property
    def value(self) -> Number:
        """The statistic; where both sides gave one and the same label throughout, 1 if they agree."""
        n, by_label = self.weight, self.by_label()
        if self.statistic == "mcc":
            both = sum(c.support * c.predicted for c in by_label.values())
            gold, pred = (n * n - sum(getattr(c, side) ** 2 for c in by_label.values()) for side in SIDES)
            right = 1.0 - positive(n - self.correct)
            return divide(self.correct * n - both, (gold * pred) ** 0.5) + right * (1.0 - positive(gold * pred))
        scale = {} if self.statistic == "none" else self.scale()
        observed = sum(self._distance(*pair, scale) * count for pair, count in self.items())
        if self.statistic == "mae":
            return divide(observed, n)
        expected = sum(
            self._distance(gold, pred, scale) * by_label[gold].support * by_label[pred].predicted
            for gold in by_label
            for pred in by_label
        )
        return 1.0 - divide(observed * n, expected, empty=0.0)


SIDES = ("support", "predicted")


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
