"""A weighted mean that can be added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from goldassay.tally.base import Number, Sums, divide


@dataclass(frozen=True, slots=True)
class Mean(Sums):
    """A weighted mean: the sum of weight × value, and the sum of weights.

    >>> (Mean.of(1.0) + Mean.of(0.0) + Mean.of(0.5, weight=2)).value
    0.5
    >>> (Mean.of(0.25) + Mean()).value      # not applicable weighs nothing
    0.25
    """

    total: Number = 0.0
    weight: Number = 0.0

    @classmethod
    def of(cls, value: float, weight: float = 1.0) -> Self:
        """The evidence of one value."""
        return cls(value * weight, weight)

    @property
    def value(self) -> Number:
        return divide(self.total, self.weight, empty=1.0)
