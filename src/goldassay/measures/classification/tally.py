"""Tallies of classification: a confusion matrix whose value is an average over labels, or an agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

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


class ChanceCorrected(Confusion):
    """``value`` is Cohen's κ = (p_o − p_e) / (1 − p_e); 1 if both sides gave one label throughout (p_e = 1)."""

    @property
    def value(self) -> Number:
        """κ."""
        n = self.weight
        observed = divide(self.correct, n, empty=1.0)
        chance = sum((c.tp + c.fn) * (c.tp + c.fp) for c in self.by_label().values())
        return divide(observed * n * n - chance, n * n - chance, empty=1.0)


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
