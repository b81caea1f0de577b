"""The gain of the best of many candidates over a baseline, corrected for having been chosen on the same examples.

The mean of a winner is too high: it was chosen for it. From the matrix of paired gains, a row an example and a column a
candidate, three things are computed that hold for the choice (``benchmarks/audit.py`` measures each):

* **Test and lower end**: max-T (Westfall and Young 1993) by flipping the signs of whole rows. Under the null each row
  is as likely as its negative; the largest t of all candidates in flipped rows is what luck alone gives. Rows are
  flipped whole, so candidates that resemble each other cost little. The lower end flips the centred rows.
* **Upper end**: Student's t of the winner alone, since choosing errs upwards only. With the lower end at one-sided 5 %
  (and never nearer than Student's) the interval holds 95 %, and it excludes 0 exactly if the test rejects.
* **Estimate**: ten-fold cross-fitting, ten times: chosen on nine tenths, measured on the last.

None of this holds where candidates were bred from the best of these scores: luck is inherited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from goldassay.core.evidence import Floats, Ints

FOLDS = 10
ROUNDS = 10
FLIPS = 4000
LEVEL = 0.95  # of the intervals
FLOOR = 0.25  # of an example: the least standard error, for gains that are the same in all


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidate's gain, an entry for each matrix.

    ``chosen`` is its column, −1 where no candidate is better than the baseline. ``naive`` is its mean, ``estimate`` the
    corrected gain within ``low`` and ``high``, ``p`` that of the test, ``error`` the standard error of the mean, and
    ``critical`` how many of them the lower end lies under the mean.
    """

    chosen: Ints
    naive: Floats
    estimate: Floats
    low: Floats
    high: Floats
    p: Floats
    error: Floats
    critical: Floats


def select(
    gains: NDArray[np.floating],
    *,
    weights: Floats | None = None,
    chosen: Ints | None = None,
    flips: int = FLIPS,
    seed: int = 0,
) -> Selection:
    """Correct the gain of the chosen candidate of each matrix.

    Args:
        gains: Of shape (matrices, n, candidates): each example's score less the baseline's. A row may stand for a
            cluster of w times the average number of examples; it then holds w times the mean of their gains.
        weights: These w of the rows, whose mean is 1; by default all rows weigh the same.
        chosen: The column of each matrix that was chosen, or −1; by default the one with the largest mean above 0.
        flips: How many flips of the signs are drawn.
        seed: Of what is drawn.

    >>> noise = np.random.default_rng(2).normal(size=(1, 60, 20))
    >>> result = select(noise)                     # none of the twenty is better
    >>> round(float(result.naive[0]), 2), round(float(result.estimate[0]), 2), bool(result.low[0] > 0)
    (0.26, 0.09, False)
    """
    rows = np.ascontiguousarray(gains, dtype=np.float32)
    _, n, _ = rows.shape
    means = rows.mean(1, dtype=np.float64)
    share = np.ones(n) if weights is None else weights
    centred = rows - (share[:, None] * means[:, None, :]).astype(np.float32)
    floor = FLOOR / n * np.abs(rows).max((1, 2))[:, None]
    errors = np.maximum(np.sqrt((centred**2).sum(1, dtype=np.float64) / max(n - 1, 1) / n), floor)
    best = _best(means)
    pick = best if chosen is None else chosen
    naive = _at(means, pick)
    error = _at(errors, np.maximum(pick, 0))

    # p: if no candidate is better, a row is as likely as its negative, so the largest t in flipped rows is what luck
    # gives the best of all. Flipping whole rows keeps the correlations between candidates.
    rng = np.random.default_rng(seed)
    signs = (rng.integers(0, 2, (flips, n), dtype=np.int8) * 2 - 1).astype(np.float32)
    largest = _largest(signs, rows, floor)
    t = np.divide(naive, error, out=np.zeros_like(naive), where=error > 0)
    p = (1 + (largest >= t * (1 - 1e-6)).sum(0)) / (flips + 1)
    # The ends hold for candidates that are better: rows are centred first, so that the flips leave chance alone. The
    # lower end is `critical` errors below the mean, never fewer than Student's; one that excludes 0 although the test
    # does not reject (the two quantiles are of different rows) is moved to 0. The upper end is Student's: having been
    # chosen only makes a mean too high. The cross-fitted estimate is kept within both ends.
    student = float(scipy.special.stdtrit(max(n - 1, 1), (1 + LEVEL) / 2))
    critical = np.maximum(np.quantile(_largest(signs, centred, floor), LEVEL, axis=0), student)
    low = naive - critical * error
    high = naive + student * error
    low = np.where(p > 1 - LEVEL, np.minimum(low, 0.0), low)
    folds = min(FOLDS, n)
    held_out = np.concatenate([np.eye(folds)[:, rng.permutation(n) % folds] for _ in range(ROUNDS)])
    outside = _times(held_out.astype(np.float32), rows)
    cross_fitted = _at(outside, _best(rows.sum(1) - outside)).sum(0) / (ROUNDS * n)
    estimate = np.where(pick == best, np.clip(cross_fitted, low, high), naive)
    is_candidate = pick >= 0  # the baseline gains nothing over itself
    low = np.where(is_candidate, low, 0.0)
    high = np.where(is_candidate, high, 0.0)
    estimate = np.where(is_candidate, estimate, 0.0)
    return Selection(pick, naive, estimate, low, high, p, error, critical)


def _best(means: Floats) -> Ints:
    """The column with the largest mean above 0 along the last axis, else −1."""
    best = means.argmax(-1)
    return np.where(np.take_along_axis(means, best[..., None], -1)[..., 0] > 0, best, -1)


def _at(values: NDArray[np.floating], column: Ints) -> Floats:
    """The values at a column of the last axis; 0 for the baseline."""
    picked = np.take_along_axis(values, np.maximum(column, 0)[..., None], -1)[..., 0]
    return np.where(column >= 0, picked, 0.0).astype(float)


def _times(left: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """(m, n) times (matrices, n, k): (m, matrices, k)."""
    matrices, n, k = rows.shape
    columns = np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(n, matrices * k)
    return (left @ columns).reshape(len(left), matrices, k)


def _largest(signs: NDArray[np.float32], rows: NDArray[np.float32], floor: Floats) -> Floats:
    """The largest t of the candidates, for each flip and matrix. Flipped rows keep their sum of squares."""
    n = rows.shape[1]
    mean = _times(signs, rows) / n
    square = (rows**2).sum(1) / n
    error = np.sqrt(np.maximum(square - mean**2, (floor**2 * n).astype(np.float32)) / max(n - 1, 1))
    t = np.divide(mean, error, out=np.zeros_like(mean), where=error > 0)
    largest: Floats = t.max(2)
    return largest
