"""Effect sizes of paired differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError

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
