"""Tallies of classification: a confusion matrix whose value is an average over labels, or an agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from goldassay.exceptions import GoldassayError
from goldassay.tally import Confusion, Counts, Number, divide, mean
from goldassay.tally.sums import Sums, occurs, positive

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

    def with_items(self, items: Mapping[tuple[str, str], Number]) -> Self:
        return type(self)(items, self.given, self.average, self.rate)

    @property
    def counted(self) -> tuple[str, ...]:
        """The labels that count: those given, else those that occur on either side."""
        return self.given or tuple(label for label in self.labels if label != NONE)

    @property
    def supported(self) -> dict[str, Counts]:
        """The labels that count and may occur in gold, each against all others."""
        return self.by_label(self.given or tuple(sorted({gold for gold, _ in self})))

    @property
    def classes(self) -> list[Counts] | None:
        """The counts of the labels that the mean is over, for its interval; None if their weights differ."""
        if self.average == "weighted":
            return None
        counts = self.by_label(self.counted) if self.average == "all" else self.supported
        return [each for each in counts.values() if self.average == "all" or occurs(each.tp + each.fn)]

    @property
    def weight(self) -> Number:
        """How many examples there are; for ``supported``, those whose gold label counts."""
        if self.average != "supported":
            return super().weight
        return sum(c.tp + c.fn for c in self.supported.values())

    @property
    def value(self) -> Number:
        """The mean of the rate over the labels."""
        if self.average == "all":
            counts = self.by_label(self.counted).values()
            return mean([(getattr(c, self.rate), positive(self.weight if self.given else c.weight)) for c in counts])
        counts, weighted = self.supported.values(), self.average == "weighted"
        shares = [c.tp + c.fn if weighted else positive(c.tp + c.fn) for c in counts]
        total = sum(getattr(c, self.rate) * share for c, share in zip(counts, shares, strict=True))
        return divide(total, sum(shares), empty=0.0 if weighted and len(self) else 1.0)


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

    def with_items(self, items: Mapping[tuple[str, str], Number]) -> Self:
        return type(self)(items, self.statistic, self.order)

    def scale(self) -> dict[str, float]:
        """Where each label stands: for ``mae`` its number, if all are numbers, else its place."""
        seen = [label for label in self.labels if label != NONE]
        try:
            numbers = {label: float(label) for label in seen}
        except ValueError:
            numbers = {}
        labels = self.order or tuple(sorted(seen, key=lambda label: (numbers.get(label, 0.0), label)))
        by_label = self.by_label()
        if unknown := [label for label in seen if label not in labels and _in_gold(by_label[label])]:
            raise GoldassayError(f"the label {unknown[0]!r} is not in the order {', '.join(labels)}")
        if self.statistic == "mae" and numbers and not self.order:
            return numbers
        return {label: float(place) for place, label in enumerate(labels)}

    def _distances(self) -> Callable[[str, str], float]:
        if self.statistic == "none":
            return lambda gold, pred: float(gold != pred)
        scale, power = self.scale(), 2 if self.statistic == "quadratic" else 1
        ends = min(scale.values(), default=0.0), max(scale.values(), default=0.0)

        def distance(gold: str, pred: str) -> float:
            if gold not in scale:
                gold, pred = pred, gold
            far = (scale[pred],) if pred in scale else ends
            return float(max(abs(scale[gold] - end) for end in far) ** power) if gold in scale else 0.0

        return distance

    @property
    def value(self) -> Number:
        """The statistic; where both sides gave one and the same label throughout, 1 if they agree."""
        n, by_label = self.weight, self.by_label()
        gold, pred = ({x: side(c) for x, c in by_label.items()} for side in (_in_gold, _in_pred))
        if self.statistic == "mcc":
            both = sum(gold[label] * pred[label] for label in by_label)
            spread = (n * n - sum(x * x for x in gold.values())) * (n * n - sum(x * x for x in pred.values()))
            right = 1.0 - positive(n - self.correct)
            return divide(self.correct * n - both, spread**0.5) + right * (1.0 - positive(spread))
        distance = self._distances()
        observed = sum(distance(*pair) * count for pair, count in self.items())
        if self.statistic == "mae":
            return divide(observed, n)
        expected = sum(distance(a, b) * gold[a] * pred[b] for a in by_label for b in by_label)
        return 1.0 - divide(observed * n, expected, empty=0.0)


def _in_gold(counts: Counts) -> Number:
    return counts.tp + counts.fn


def _in_pred(counts: Counts) -> Number:
    return counts.tp + counts.fp


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
        return divide(self.group - self.exact, self.n, empty=0.0)
