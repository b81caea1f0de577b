"""Whether one system is not worse than another by more than a margin, and the cheapest such system of several.

The null is a loss of at least the margin; Student's t of the paired gains rejects it. Systems that rarely differ break
that test: twenty examples on which both agree would show a margin of .02 with a standard error of zero, though they
agree so in two of three samples where the loss is .02. So `PSEUDO` lost examples are added to the sample: then at most
.05 of such claims are wrong at every loss, gain and size that was tried (``benchmarks/arena.py margin``).

The best of several systems is not known, so the cheapest is held against *all* others: it is not worse than the best if
it is not worse than any (an intersection-union test, which needs no correction), and the p-values of the systems that
are tried are corrected after Bonferroni, since the cheapest one that passes is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import scipy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Floats
from goldassay.core.fields import JsonObject

PSEUDO = 2  # lost examples that are added to those that were seen
POWER_QUANTILE = 0.8416  # of 80 % power


@dataclass(frozen=True, slots=True)
class NotWorse:
    """A test of non-inferiority: the mean gain, the margin, the one-sided p, and the pairs that would settle it.

    ``needed`` is None where the gain seen is a loss of the margin or more: no number of such examples would.
    """

    difference: float
    margin: float
    p: float
    n: int
    needed: int | None

    def state(self) -> JsonObject:
        """As JSON."""
        return asdict(self)


def not_worse(gains: Floats, margin: float, alpha: float = 0.05) -> NotWorse:
    """A test of whether the mean of paired gains is above −margin.

    Args:
        gains: Of shape (n,): what each example (or document) adds to the new value less the old one, times n.
        margin: The loss that is tolerated, above 0.
        alpha: The level at which `NotWorse.needed` is reckoned.

    Raises:
        GoldassayError: The margin is not above 0, or there is no example.

    >>> not_worse(np.zeros(20), 0.02).p > 0.05, not_worse(np.zeros(300), 0.02).p < 0.05
    (True, True)
    >>> not_worse(np.zeros(20), 0.02).needed
    215
    """
    n = len(gains)
    if not margin > 0 or not n:
        raise GoldassayError(f"a test of non-inferiority needs a margin above 0 and examples, not {margin:g} and {n}")
    difference = float(gains.mean())
    loss = max(1.0, float(np.abs(gains).max()))
    squares = float((gains**2).mean())

    def p(size: float, shift: float = 0.0) -> float:
        """The p of so many examples like these."""
        total = size + PSEUDO
        mean = (size * difference - PSEUDO * loss) / total
        variance = ((size * squares + PSEUDO * loss**2) - total * mean**2) / (total - 1)
        t = (margin + mean) / math.sqrt(max(variance, 1e-12) / total)
        return float(scipy.special.stdtr(total - 1, shift - t))

    needed = None
    if margin + difference > 0:
        spread = float(gains.std())
        shift = POWER_QUANTILE if spread else 0.0
        size = 1
        while p(size, shift) > alpha:
            size = math.ceil(size * 1.05)
        while size > 1 and p(size - 1, shift) <= alpha:
            size -= 1
        needed = size
    return NotWorse(difference, margin, p(n), n, needed)


def cheapest_not_worse(
    gains: Sequence[Sequence[Floats]], costs: Sequence[float], margin: float
) -> tuple[int | None, dict[int, NotWorse]]:
    """The cheapest of several systems that is not worse than any other by more than a margin, and all tests.

    Args:
        gains: ``gains[i][j]``: the paired gains of system i over system j.
        costs: The cost of each system.
        margin: The loss that is tolerated.

    The chance of naming a system that is worse than the best by the margin or more is 5 % at most. The test of a system
    is the one against the system that it is hardest to hold against.
    """
    count = len(costs)
    level = 0.05 / max(1, count - 1)
    tests = {
        i: max(
            (not_worse(gains[i][j], margin, level) for j in range(count) if j != i),
            key=lambda test: (test.p, -test.difference),
        )
        for i in range(count)
    }
    passing = [i for i in range(count) if tests[i].p <= level]
    return min(passing, key=lambda i: costs[i], default=None), tests
