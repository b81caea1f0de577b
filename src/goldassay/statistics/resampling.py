"""Sums of random resamples and of random swaps, drawn the cheapest way that has the right distribution.

A bootstrap draws n rows with replacement; only how often each *distinct* row is drawn matters, and those counts are
multinomial. Where nearly every row is distinct, rows are drawn; but if only one number varies and there are many rows,
the distribution of the sum of n draws is computed (a convolution by the discrete Fourier transform) and drawn from.

A paired permutation swaps each pair with probability 1/2; of c equal pairs a binomial number is swapped. Where nearly
every pair is distinct, eight swaps at a time share a table of 256 sums.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences, Floats

BLOCK = 512  # resamples at a time: the counts of a block stay in the cache
CELLS = 1 << 14  # drawn rows at a time, for the same reason
FEW_ROWS = 12  # a binomial count costs about as much as drawing this many rows
MANY_ROWS = 512  # rows from which it pays to work with distinct rows, or to compute a whole distribution
LATTICE = 16  # steps in a standard deviation of a row, at least, where the distribution is computed
REACH = 32  # standard deviations of a sum that the lattice holds


def check_settings(level: float, resamples: int, seed: int) -> None:
    """Raise on settings that cannot be drawn, or have no interval."""
    if not 0 < level < 1:
        raise GoldassayError(f"the level of an interval is between 0 and 1, not {level}")
    if resamples < 1 or seed < 0:
        raise GoldassayError(f"resampling needs a resample and a seed of 0 or more, not {resamples} and {seed}")


def bootstrap(evidences: Evidences, resamples: int, seed: int) -> Floats:
    """The corpus values of ``resamples`` resamples of the rows."""
    return np.concatenate([evidences.values(sums) for sums in resampled(evidences.matrix, resamples, seed)])


def resampled(matrix: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """The sums of the rows of each resample, in blocks."""
    rng = np.random.default_rng(seed)
    n = len(matrix)
    varying = np.flatnonzero((matrix != matrix[0]).any(axis=0))  # a column that does not vary adds up to n times it
    some = np.ascontiguousarray(matrix[:, varying])
    rows, counts = distinct(some)
    few = len(rows) < 2 or len(rows) * FEW_ROWS <= n < MANY_ROWS or len(rows) ** 2 * FEW_ROWS <= n
    few = few or (len(varying) > 1 and len(rows) * 2 <= n and n >= MANY_ROWS)
    computed = not few and len(varying) == 1 and n >= MANY_ROWS
    block = resamples if computed else BLOCK
    for start in range(0, resamples, block):
        k = min(block, resamples - start)
        sums = np.tile(n * matrix[0], (k, 1))
        if few:
            sums[:, varying] = rng.multinomial(n, counts / n, size=k).astype(float) @ rows
        else:
            sums[:, varying] = _convolved(some, k, rng) if computed else _drawn(some, k, rng)
        yield sums


def _convolved(matrix: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Sums of n draws from n values, k times, from the distribution of such a sum.

    Values are rounded to a lattice on a ring: the transform of the distribution of a sum is that of one draw to the
    n-th power. Mean and variance, which rounding changes a little, are put right.
    """
    n = len(matrix)
    mean = matrix.mean()
    deviation = matrix.std()
    ring = 1 << int(np.ceil(np.log2(REACH * LATTICE * n**0.5)))
    places = np.rint((matrix[:, 0] - mean) * ring / (REACH * deviation * n**0.5))
    shares = np.bincount(places.astype(np.int64) % ring, minlength=ring) / n
    sums = np.maximum(np.fft.irfft(np.fft.rfft(shares) ** n, ring), 0.0).cumsum()
    drawn = sums.searchsorted(rng.random((k, 1)) * sums[-1], side="right")
    around = (drawn - n * places.mean() + ring / 2) % ring - ring / 2
    result: Floats = n * mean + around * (deviation / places.std())
    return result


def _drawn(matrix: Floats, k: int, rng: np.random.Generator) -> Floats:
    """The sums of n rows drawn from n rows with replacement, k times."""
    n = len(matrix)
    step = max(1, CELLS // len(matrix))
    sums = np.empty((k, matrix.shape[1]))
    for start in range(0, k, step):
        some = min(step, k - start)
        index = rng.integers(0, n, size=(some, n), dtype=np.int32)
        index += np.arange(some, dtype=np.int32)[:, None] * n  # resample i counts in the bins from i·n on
        times = np.bincount(index.ravel(), minlength=some * n).reshape(some, n)
        sums[start : start + some] = times.astype(float) @ matrix
    return sums


def swapped(gaps: Floats, resamples: int, seed: int) -> Floats:
    """For each resample, the sum of a random half of the rows: each is in it with probability 1/2."""
    rng = np.random.default_rng(seed)
    rows, counts = distinct(gaps)
    if len(rows) * FEW_ROWS <= len(gaps):
        sizes = [min(BLOCK, resamples - start) for start in range(0, resamples, BLOCK)]
        return np.concatenate([rng.binomial(counts, 0.5, size=(k, len(counts))).astype(float) @ rows for k in sizes])
    # Eight rows have 256 subsets: a random byte looks up the sum of one of them.
    padded = np.vstack([gaps, np.zeros((-len(gaps) % 8, gaps.shape[1]))])
    subsets = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(float)
    sums = np.zeros((resamples, gaps.shape[1]))
    for start in range(0, len(gaps), 8):
        byte = np.frombuffer(rng.bytes(resamples), np.uint8)
        sums += (subsets @ padded[start : start + 8]).take(byte, axis=0)
    return sums


def distinct(matrix: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct rows and how often each occurs."""
    if matrix.shape[1] == 1:
        rows, counts = np.unique(matrix[:, 0], return_counts=True)
        return rows[:, None], counts
    if not matrix.shape[1]:
        return matrix[:1], np.array([len(matrix)])
    order = matrix[np.lexsort(matrix.T)]
    first = np.flatnonzero(np.append(True, (order[1:] != order[:-1]).any(axis=1)))
    return order[first], np.diff(np.append(first, len(order)))
