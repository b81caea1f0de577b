"""Sequential tests by betting: their level holds at every look, however often one looks.

A gambler who starts with 1 and may only place fair bets has 1 / alpha at any time with a chance of alpha at most (Ville
1939). So the wealth of bets that are fair where there is nothing to find is evidence (an *e-process*), one over the
highest wealth so far is a p-value that may be read after every example, and a test may stop whenever it likes
(Waudby-Smith, Ramdas, Estimating means of bounded random variables by betting, 2024).

The bet on value x in [−1, 1] at stake λ multiplies the wealth by 1 + λx. Wealth is spread evenly over the stakes
`STAKES`, whose mean is fair too: no stake has to be guessed. In simulation it finds more than one stake that follows
the data: a gain of .20 (28 % won, 8 % lost) within 60 examples .62 of the time instead of .54.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences, Floats, Values, slope_between
from goldassay.core.tally import Tally

STAKES = np.array([0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
FIRST_LOOK = 8  # examples before the first look


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The state of a sequential test: ``decision`` is ``accept``, ``reject`` or ``continue``.

    ``used`` examples (or clusters) were looked at when it was taken. ``p`` is valid at any time: it may be read after
    every look; ``wealth`` is the evidence for a gain. ``difference`` is that of the corpus values over the examples
    used.
    """

    decision: str
    p: float
    wealth: float
    used: int
    difference: float


@dataclass
class Bets:
    """An e-process for "the mean of these values is above 0": its wealth, value by value.

    With ``bound``, values lie within ± bound; the null is "the mean is at most 0". Without, the null is that a value's
    sign is a fair coin, whatever its size: for the differences of two systems on the same examples this is the null of
    the permutation test (the two could be exchanged), and no bound has to be known. Sizes are then cut at the root mean
    square of those so far that are not 0.

    >>> bets = Bets(bound=1.0)
    >>> [round(bets.extend([1.0]), 2) for _ in range(6)]
    [1.45, 2.19, 3.42, 5.49, 9.03, 15.17]
    >>> round(bets.p, 3)
    0.066
    """

    bound: float | None = None
    n: int = field(default=0, init=False)
    best: float = field(default=1.0, init=False)
    _logs: Floats = field(default_factory=lambda: np.zeros(len(STAKES)), init=False, repr=False)
    _squares: float = field(default=0.0, init=False, repr=False)
    _moved: int = field(default=0, init=False, repr=False)

    def extend(self, values: Iterable[float]) -> float:
        """Bet on these values, one after the other; the wealth after them.

        Raises:
            GoldassayError: A value is beyond the bound.
        """
        for value in map(float, values):
            size = self.bound
            if size is None:
                self._squares += value * value
                self._moved += value != 0
                size = math.sqrt(self._squares / max(self._moved, 1)) or 1.0
            elif abs(value) > size * (1 + 1e-9):
                raise GoldassayError(f"{value:g} is beyond the bound {size:g} that was declared")
            share = max(-1.0, min(1.0, value / size))
            self._logs = self._logs + np.log1p(STAKES * share)
            self.n += 1
            self.best = max(self.best, self.wealth)
        return self.wealth

    @property
    def wealth(self) -> float:
        """The evidence now; 1 before any value."""
        return float(np.exp(self._logs).mean())

    @property
    def p(self) -> float:
        """One over the highest wealth so far: a p-value at any time."""
        return min(1.0, 1 / self.best)


def sequential_test(
    a: Values,
    b: Values,
    zero: Tally | None = None,
    *,
    looks: Sequence[int] | None = None,
    clusters: Sequence[object] | None = None,
    gain: float = 0.0,
    alpha: float = 0.05,
    beta: float = 0.1,
) -> SequentialTest:
    """Whether A is better than B on the corpus value, decided as early as the evidence allows.

    Args:
        a: the new one's evidence of each example, in an order that does not depend on the outcome.
        b: the old one's.
        zero: the tallies' zero; None for plain numbers.
        looks: after how many examples (or clusters) to look, by default after each. Looking at stops 10 and 20, and
            later at 10, 20 and 40, gives the same wealth at 10 and 20.
        clusters: examples of one cluster (document) are one value.
        gain: the smallest gain worth having: evidence that the gain is below it rejects.
        alpha: the chance of accepting where the two could be exchanged: at any look, not at each.
        beta: rejected, only to stop early, where the evidence that there is no such gain reaches 1 / beta.

    Each example counts by what it adds to the corpus value (see `goldassay.core.evidence`), by the derivative at
    its first look: that is the same with A and B exchanged, so the bets are fair.

    Raises:
        GoldassayError: A level or a look is wrong, or the sides are of different lengths.

    >>> new, old = [1.0] * 12 + [0.0] * 4, [0.0] * 9 + [1.0] * 3 + [0.0] * 4
    >>> result = sequential_test(new, old)
    >>> result.decision, result.used, round(result.p, 3)
    ('accept', 7, 0.039)
    """
    if not (0 < alpha < 1 and 0 < beta < 1):
        raise GoldassayError(f"alpha and beta lie between 0 and 1, not {alpha:g} and {beta:g}")
    joint, rows_a, rows_b = Evidences.paired(a, b, zero, clusters)
    n = len(rows_a)
    stops: Sequence[int] = range(1, n + 1)
    if looks is not None:
        if list(looks) != sorted(set(looks)) or min(looks) < 1:
            raise GoldassayError(f"looks are numbers of examples, rising and above 0, not {list(looks)}")
        stops = sorted({min(look, n) for look in looks})
    done = 0
    decision = "continue"
    better = Bets()
    gaps: list[float] = []
    for stop in stops:
        sum_a = rows_a[:stop].sum(axis=0)
        sum_b = rows_b[:stop].sum(axis=0)
        parts = stop * ((rows_a[done:stop] - rows_b[done:stop]) @ slope_between(joint, sum_a, sum_b))
        better.extend(parts)
        gaps += (gain - parts).tolist()
        worse = Bets(bound=max(map(abs, gaps)) or 1.0)
        worse.extend(gaps)
        done = stop
        if better.p <= alpha:
            decision = "accept"
            break
        if worse.wealth >= 1 / beta:
            decision = "reject"
            break
    difference = joint.of(rows_a[:done]) - joint.of(rows_b[:done])
    return SequentialTest(decision, better.p, better.wealth, done, difference)


def stages(n: int) -> list[int]:
    """After how many of n to look: a quarter, a half, three quarters and all (never fewer than 8).

    >>> stages(40), stages(12), stages(5)
    ([10, 20, 30, 40], [8, 9, 12], [5])
    """
    return sorted({max(FIRST_LOOK, n * quarter // 4) for quarter in (1, 2, 3)} & set(range(1, n + 1)) | {n})
