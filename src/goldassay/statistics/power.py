"""Sample sizes: how many examples a difference needs, how likely it is found, how many labels an interval needs.

The power of a two-sided z test follows from the standard error of the difference (Cohen 1988); beside it stand the
effect sizes of paired differences.

A rate p needs the smallest n at which Wilson's interval of p is no wider than required. With N verdicts on other items,
n labels count as n / (1 − ρ² / (1 + n / N)) labels alone at the best λ, ρ being the correlation of label and verdict;
that number goes into Wilson's interval, as in `goldassay.statistics.ppi`. As there, ρ and p are those of the labels and
one more item of each of the four kinds: a few labels that are all alike do not say that no more are needed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from goldassay.exceptions import GoldassayError
from goldassay.statistics.intervals import Interval
from goldassay.statistics.rates import wilson


def smallest_detectable(standard_error: float, power: float = 0.80, alpha: float = 0.05) -> float:
    """The smallest true difference that a two-sided test at ``alpha`` finds with ``power``.

    (z_{1−α/2} + z_power) · standard error of the difference (Cohen 1988); the far tail is left out, as is usual.

    >>> round(smallest_detectable(0.05), 4)
    0.1401
    """
    _check(standard_error, alpha, power)
    return float((special.ndtri(1 - alpha / 2) + special.ndtri(power)) * standard_error)


def examples_needed(difference: float, standard_error: float, n: int, power: float = 0.80, alpha: float = 0.05) -> int:
    """How many examples show ``difference`` with ``power``, where ``n`` examples have this standard error.

    The standard error falls with the square root of n.

    Args:
        alpha: The level of the test, such as 0.05.

    >>> examples_needed(0.05, standard_error=0.05, n=100)
    785
    """
    if difference == 0:
        raise GoldassayError("no number of examples shows a difference of 0")
    if n < 1:
        raise GoldassayError(f"the standard error is that of at least one example, not of {n}")
    return math.ceil(n * (smallest_detectable(standard_error, power, alpha) / difference) ** 2)


def _check(standard_error: float, *chances: float) -> None:
    if not standard_error >= 0:
        raise GoldassayError(f"a standard error is not negative: {standard_error}")
    if not all(0 < chance < 1 for chance in chances):
        raise GoldassayError(f"alpha and power lie between 0 and 1, not {', '.join(map(str, chances))}")


Numbers = Sequence[float] | NDArray[np.float64]


def cohens_dz(differences: Numbers) -> float:
    """The mean of the paired differences in units of their standard deviation.

    0 where all differences are 0, or there is only one; infinite where all are the same.

    >>> cohens_dz([1.0, 2.0, 3.0])
    2.0
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2 or not values.any():
        return 0.0
    if constant(values):
        return float(np.copysign(np.inf, values[0]))
    return float(values.mean()) / float(values.std(ddof=1))


def constant(values: Numbers) -> bool:
    """Whether all values are the same, but for the rounding of floats.

    >>> constant([0.3 - 0.2, 0.4 - 0.3, 0.5 - 0.4]), constant([0.1, 0.1001])
    (True, False)
    """
    return float(np.ptp(values)) <= 1e-12 * float(np.abs(values).max())


def cliffs_delta(a: Numbers, b: Numbers) -> float:
    """P(a > b) − P(a < b) over all pairs of values (Cliff 1993).

    >>> cliffs_delta([3, 4], [1, 4])
    0.25
    """
    left, right = np.sort(np.asarray(a, dtype=float)), np.sort(np.asarray(b, dtype=float))
    if not (len(left) and len(right)):
        raise GoldassayError("Cliff's delta compares values, and one side has none")
    more = np.searchsorted(right, left, "left").sum()
    less = (len(right) - np.searchsorted(right, left, "right")).sum()
    return float((more - less) / (len(left) * len(right)))


def odds_ratio(a: Numbers, b: Numbers) -> float:
    """Of the examples that only one of the two has right: those of A to one of B (McNemar's b / c).

    1 where neither has any; infinite where B has none.

    >>> odds_ratio([1, 1, 1, 0, 1], [0, 0, 0, 1, 1])
    3.0
    """
    if len(a) != len(b):
        raise GoldassayError(f"a paired comparison needs the same examples: {len(a)} against {len(b)}")
    gaps = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    return wins / losses if losses else float("inf") if wins else 1.0


MOST = 10_000_000  # labels; the search ends there


def for_rate(rate: float, width: float, level: float = 0.95, size: Callable[[int], float] = float) -> int:
    """The labels that a rate needs for a Wilson interval of this width.

    Args:
        rate: the rate.
        width: the width of interval that is needed.
        level: of the interval.
        size: how many labels alone so many labels count as.

    >>> for_rate(0.5, 0.1), for_rate(1.0, 0.1)      # at 0.5: 1.96² / 0.1² − 1.96² = 380.3
    (381, 35)
    """
    _check_width(width)

    def enough(n: int) -> bool:
        low, high = wilson(rate * size(n), size(n), level)
        return high - low <= width

    return 1 + bisect_left(range(1, MOST), True, key=enough)


def for_interval(estimate: Interval, width: float) -> int:
    """The labels that any interval needs: its width falls with the square root of n.

    >>> for_interval(Interval(0.6, 0.5, 0.7, n=50), 0.1)
    200
    """
    _check_width(width)
    return max(1, math.ceil(round(estimate.n * ((estimate.high - estimate.low) / width) ** 2, 9)))


def for_corrected(
    labels: Sequence[float], verdicts: Sequence[float], others: int, width: float, level: float = 0.95
) -> int:
    """The labels that the corrected rate needs with verdicts on other items; never more than people alone.

    Args:
        labels: 1 for each item that people call positive, 0 for the others.
        verdicts: the judge's, on the same items.
        others: how many more items have a verdict.
        width: the width of interval that is needed.
        level: of the interval.

    Raises:
        GoldassayError: the width is not between 0 and 1.

    >>> people, judge = [1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1]
    >>> for_corrected(people, judge, 10_000, 0.1) < for_corrected(people, judge, 1, 0.1)
    True
    """
    y, f = np.append(np.asarray(labels, float), [1, 1, 0, 0]), np.append(np.asarray(verdicts, float), [1, 0, 1, 0])
    shared = float(np.corrcoef(y, f)[0, 1]) ** 2 if others else 0.0
    size = lambda n: n / (1 - (shared / (1 + n / others) if others else 0.0))  # noqa: E731
    return for_rate(float(y.mean()), width, level, size)


def _check_width(width: float) -> None:
    if not 0 < width < 1:
        raise GoldassayError(f"a width is between 0 and 1, not {width}")
