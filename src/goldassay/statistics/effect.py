"""Effect sizes of paired differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.float64]


def cohens_dz(differences: Numbers) -> float:
    """The mean of the paired differences in units of their standard deviation; 0 where all are equal to 0.

    >>> cohens_dz([1.0, 2.0, 3.0])
    2.0
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return 0.0
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread == 0.0:
        return 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
    return mean / spread


def cliffs_delta(a: Numbers, b: Numbers) -> float:
    """P(a > b) − P(a < b) over all pairs of values (Cliff 1993).

    >>> cliffs_delta([3, 4], [1, 4])
    0.25
    """
    left, right = np.sort(np.asarray(a, dtype=float)), np.sort(np.asarray(b, dtype=float))
    more = np.searchsorted(right, left, "left").sum()
    less = (len(right) - np.searchsorted(right, left, "right")).sum()
    return float((more - less) / (len(left) * len(right)))


def odds_ratio(a: Numbers, b: Numbers) -> float:
    """Of the examples that only one of the two has right: those of A to one of B (McNemar's b / c).

    1 where neither has any; infinite where B has none.

    >>> odds_ratio([1, 1, 1, 0, 1], [0, 0, 0, 1, 1])
    3.0
    """
    gaps = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    return wins / losses if losses else float("inf") if wins else 1.0
