"""Tallies of classification: a confusion matrix whose value is an average over labels, or an agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from goldassay.tally import Confusion, Counts, Number, State, divide, mean
from goldassay.tally.sums import Sums, positive

NONE = "(none)"  # what stands for a prediction that was not made
OTHER = "OTHER"  # what stands, in a matrix, for what the list does not have


class Labelled(Confusion):
    """Counts of (gold, predicted) that also know which labels count."""

    def __init__(self, pairs: Mapping[tuple[str, str], Number] = {}, given: tuple[str, ...] = ()) -> None:
        super().__init__(pairs)
        self.given = given

    def __reduce__(self) -> Any:
        return type(self), (dict(self), self.given)

    def __add__(self, other: Confusion, /) -> Self:
        if not isinstance(other, Confusion):
            return NotImplemented
        out = type(self)(self, self.given or getattr(other, "given", ()))
        for pair, count in other.items():
            out[pair] = out.get(pair, 0.0) + count
        return out

    def from_state(self, state: State) -> Self:
        """A tally of the same kind and labels with this evidence."""
        return type(self)({(g, p): n for g, row in state.items() for p, n in row.items()}, self.given)

    @property
    def counted(self) -> tuple[str, ...]:
        """The labels that count: those given, else those seen on either side.

        >>> MacroAll({("pos", "neg"): 1, ("pos", "(none)"): 1}).counted
        ('neg', 'pos')
        """
        return self.given or tuple(label for label in self.labels if label != NONE)

    @property
    def supported(self) -> dict[str, Counts]:
        """The labels that count and may stand in gold, each against all others."""
        return self.by_label(self.given or tuple(sorted({gold for gold, _ in self})))


class MacroAll(Labelled):
    """``value`` is the mean F1 over the labels that count; one of a given list that occurs nowhere has F1 0."""

    @property
    def value(self) -> Number:
        """The rate that this evidence gives."""
        found = self.by_label(self.counted).values()
        return mean([(c.f1, positive(self.weight if self.given else c.weight)) for c in found])


class MacroSupported(Labelled):
    """``value`` is the mean F1 over the labels that stand in gold."""

    @property
    def weight(self) -> Number:
        """How many examples have a label that counts in gold."""
        return sum(c.tp + c.fn for c in self.supported.values())

    @property
    def value(self) -> Number:
        """The rate that this evidence gives."""
        return mean([(c.f1, positive(c.tp + c.fn)) for c in self.supported.values()])


class Weighted(Labelled):
    """``value`` is the mean F1 over labels, weighted by how often each stands in gold; 0 where none of them does."""

    @property
    def value(self) -> Number:
        """The rate that this evidence gives."""
        counts = self.supported.values()
        support = sum(c.tp + c.fn for c in counts)
        return divide(sum(c.f1 * (c.tp + c.fn) for c in counts), support, empty=0.0) if len(self) else 1.0


class ChanceCorrected(Confusion):
    """``value`` is Cohen's κ = (p_o − p_e) / (1 − p_e); 1 where one label alone was given by both (p_e = 1)."""

    @property
    def value(self) -> Number:
        """The rate that this evidence gives."""
        n = self.weight
        observed = divide(self.correct, n, empty=1.0)
        counts = self.by_label().values()
        chance = sum((c.tp + c.fn) * (c.tp + c.fp) for c in counts)
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
        """The rate that this evidence gives."""
        return divide(self.group - self.exact, self.n, empty=0.0)
