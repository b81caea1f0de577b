"""Sample sizes: how many examples a difference needs, and how likely it is found.

The power of a two-sided z test follows from the standard error of the difference (Cohen 1988); beside it stand the
effect sizes of paired differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from goldassay.exceptions import GoldassayError


def smallest_detectable(standard_error: float, power: float = 0.80, alpha: float = 0.05) -> float:
    """The smallest true difference that a two-sided test at ``alpha`` finds with ``power``.

    (z_{1−α/2} + z_power) · standard error of the difference (Cohen 1988); the far tail is left out, as is usual.

    >>> round(smallest_detectable(0.05), 4)
    0.1401
    """
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
    return math.ceil(n * (smallest_detectable(standard_error, power, alpha) / difference) ** 2)


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
    more, less = (right.searchsorted(left, side).mean() for side in ("left", "right"))
    return float((more + less) / len(right) - 1)


def odds_ratio(a: Numbers, b: Numbers) -> float:
    """Of the examples that only one of the two has right: those of A to one of B (McNemar's b / c).

    1 where neither has any; infinite where B has none.

    >>> odds_ratio([1, 1, 1, 0, 1], [0, 0, 0, 1, 1])
    3.0
    """
    gaps = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    return wins / losses if losses else float("inf") if wins else 1.0
