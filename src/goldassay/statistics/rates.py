"""Wilson's interval of a rate, and of a mean of rates over classes (macro-F1), however rare they are.

The jackknife cannot see what a class of two examples could have been, nor that a label of a given list does not occur.
So a mean over classes is combined from an interval of each class. Among the examples that have a class in gold or
predicted, the share that have it in both, J, is a rate with Wilson's interval (of documents: at the effective sample
size, with Student's quantile), and F1 = 2 J / (1 + J); precision and recall are rates themselves. The classes' ends are
combined by the correlation of their errors (MOVER: Zou and Donner 2008). F1 is concave in J, so few examples put it too
low, by at most .19 of one example: the upper end allows for that. A class without evidence may have any rate.

Source: Wilson 1927; Newcombe 1998; Zou and Donner 2008. What it covers, by simulation: docs/coverage.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from goldassay.exceptions import GoldassayError
from goldassay.tally import Counts

Floats = NDArray[np.float64]
BIAS = 0.19  # the maximum over J of 2 J (1 − J) / (1 + J)³


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate (Wilson 1927).

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.49, 0.943]
    """
    if not 0 <= successes <= n or not 0 < level < 1:
        raise GoldassayError(f"{successes:g} of {n:g} at level {level:g} is no rate with an interval")
    if n == 0:
        return 0.0, 1.0
    return wilson_ends(successes / n, n, float(special.ndtri((1 + level) / 2)))


def wilson_ends(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's ends for a rate ``p`` of ``n`` examples, ``z`` standard errors away."""
    z2 = z * z / n
    centre, half = (p + z2 / 2) / (1 + z2), z * math.sqrt(p * (1 - p) / n + z2 / (4 * n)) / (1 + z2)
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))  # rounding leaves p outside at 0 and 1


def effective_number(share: float, variance: float, n: int) -> float:
    """How many independent examples a rate needs for this variance; ``n`` where nothing varies."""
    spread = share * (1 - share)
    return spread / variance if spread > 0 and variance > 1e-12 * spread else float(n)


def macro_ends(
    classes: Iterable[Counts], rate: str, mean: tuple[float, float, float], size: int, level: float
) -> tuple[float, float]:
    """The ends of the interval of a mean over classes: the wider of the jackknife's and of the classes' together.

    Args:
        classes: The counts of each class as arrays, a number a row (an example or a document).
        rate: ``f1``, ``precision`` or ``recall``.
        mean: The mean of that rate over the classes, and the ends of its interval by the jackknife.
        size: How many rows there are.
        level: The level of the interval.

    >>> both = [Counts(np.array([1.0, 0.0]), 0, 0), Counts(np.array([0.0, 1.0]), 0, 0)]      # one right example each
    >>> [round(end, 2) for end in macro_ends([*both, Counts()], "f1", (2 / 3, 0.5, 0.8), 2, 0.95)]
    [0.36, 1.0]
    """
    sides: list[tuple[float, float]] = []
    influences: list[Floats] = []
    open_ended, number = 0.0, 0
    for counts in classes:
        number += 1
        right, every = (np.broadcast_to(column, size) for column in (counts.tp, _mentions(counts, rate)))
        if not every.any():
            open_ended += 1  # it counts 0, and may be worth 1
            continue
        share = float(right.sum() / every.sum())
        influences.append((right - share * every) / every.sum())
        examples, quantile = _examples(share, influences[-1], every, level)
        low, high = wilson_ends(share, examples, quantile)
        if rate == "f1":
            low, share, high = (2 * end / (1 + end) for end in (low, share, high))
            open_ended += BIAS / examples
        sides.append((share - low, high - share))
    if not sides:
        return 0.0, 1.0
    value, low, high = mean
    under, over = np.array(sides).T
    parts = np.array(influences)
    covariance = parts @ parts.T
    scale = np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
    rho = np.divide(covariance, scale, out=np.eye(len(sides)), where=scale > 0)
    below, above = (math.sqrt(max(0.0, float(ends @ rho @ ends))) for ends in (under, over))
    return min(low, max(0.0, value - below / number)), max(high, min(1.0, value + (above + open_ended) / number))


def _mentions(counts: Counts, rate: str) -> Floats:
    """What the rate of a class is a share of."""
    return np.asarray(counts.tp + (rate != "recall") * counts.fp + (rate != "precision") * counts.fn, float)


def _examples(share: float, influence: Floats, every: Floats, level: float) -> tuple[float, float]:
    """The examples of a rate that a class is worth, and the quantile: of rows that mention it once their number."""
    rows = int(np.count_nonzero(every))
    if every.max() <= 1:
        return float(every.sum()), float(special.ndtri((1 + level) / 2))
    if rows < 2:
        return 1.0, 1e6  # anything may be true
    variance = float(influence @ influence) * rows / (rows - 1)
    return effective_number(share, variance, rows), float(special.stdtrit(rows - 1, (1 + level) / 2))
