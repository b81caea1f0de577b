"""Counts of hits and misses, from which precision, recall and F1 come."""

from __future__ import annotations

from dataclasses import dataclass

from goldassay.tally.base import Number, Sums, divide


@dataclass(frozen=True, slots=True)
class Counts(Sums):
    """True positives, false positives and false negatives; ``value`` is F1.

    P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn).

    >>> counts = Counts(tp=1, fp=1) + Counts(tp=1, fn=2)
    >>> counts, counts.precision, counts.recall
    (Counts(tp=2, fp=1.0, fn=2.0), 0.6666666666666666, 0.5)
    >>> Counts().value, Counts().f1     # nothing to find, nothing found: no evidence, and nothing wrong
    (1.0, 0.0)
    """

    tp: Number = 0.0
    fp: Number = 0.0
    fn: Number = 0.0

    @property
    def precision(self) -> Number:
        return divide(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Number:
        return divide(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> Number:
        return divide(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def weight(self) -> Number:
        return self.tp + self.fp + self.fn

    @property
    def value(self) -> Number:
        return divide(2 * self.tp, 2 * self.tp + self.fp + self.fn, empty=1.0)


@dataclass(frozen=True, slots=True)
class PrecisionCounts(Counts):
    """The same evidence; ``value`` is precision (1.0 where nothing is predicted and nothing was to find)."""

    @property
    def value(self) -> Number:
        return _or_empty(self.precision, self.weight)


@dataclass(frozen=True, slots=True)
class RecallCounts(Counts):
    """The same evidence; ``value`` is recall (1.0 where nothing is predicted and nothing was to find)."""

    @property
    def value(self) -> Number:
        return _or_empty(self.recall, self.weight)


def _or_empty(rate: Number, weight: Number) -> Number:
    """``rate``, and 1.0 where there is no evidence at all."""
    if isinstance(weight, (int, float)):
        return rate if weight else 1.0
    import numpy as np

    return np.where(np.asarray(weight) == 0, 1.0, rate)
