"""Sums of random resamples and of random swaps, drawn the cheapest way that has the right distribution.

A bootstrap draws n rows with replacement; only how often each *distinct* row was drawn matters, and those counts are
multinomial. A paired permutation swaps each pair with probability 1/2; of c equal pairs a binomial number is swapped.
Counts have few distinct rows, so this is far less work than drawing examples. Where nearly every row is its own,
examples are drawn, and eight swaps at a time share a table of 256 sums.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError
from goldassay.statistics.evidence import Evidences, Floats

BLOCK = 512  # resamples at a time: the counts of a block stay in the cache
CELLS = 1 << 14  # drawn rows at a time, for the same reason
FEW = 12  # a multinomial count costs about as much as drawing this many rows


def check(level: float, resamples: int, seed: int) -> None:
    """Refuse what cannot be drawn, or has no interval."""
    if not 0 < level < 1:
        raise GoldassayError(f"the level of an interval is between 0 and 1, not {level}")
    if resamples < 1:
        raise GoldassayError(f"resampling needs at least one resample, not {resamples}")
    if seed < 0:
        raise GoldassayError(f"a seed is not negative: {seed}")


def bootstrap(evidences: Evidences, resamples: int, seed: int) -> Floats:
    """The corpus values of ``resamples`` resamples of the rows."""
    return np.concatenate([evidences.values(sums) for sums in resampled(evidences.matrix, resamples, seed)])


def resampled(matrix: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """The sums of the rows of each resample, in blocks."""
    rng, n = np.random.default_rng(seed), len(matrix)
    varying = np.flatnonzero((matrix != matrix[0]).any(axis=0))  # what is the same in every row adds up to n times it
    rows, counts = distinct(matrix[:, varying])
    few = len(rows) * FEW <= n or len(rows) < 2
    for start in range(0, resamples, BLOCK):
        k = min(BLOCK, resamples - start)
        sums = np.tile(n * matrix[0], (k, 1))
        if few:
            sums[:, varying] = rng.multinomial(n, counts / n, size=k).astype(float) @ rows
        else:
            sums[:, varying] = _drawn(np.ascontiguousarray(matrix[:, varying]), k, rng)
        yield sums


def _drawn(matrix: Floats, k: int, rng: np.random.Generator) -> Floats:
    """The sums of n rows drawn from n rows with replacement, k times."""
    n, width = matrix.shape
    out = np.empty((k, width))
    step = max(1, CELLS // n)
    for start in range(0, k, step):
        some = min(step, k - start)
        if width == 1:
            index = rng.integers(0, n, size=(some, n))
            out[start : start + some, 0] = matrix[:, 0].take(index, mode="wrap").sum(axis=1)
            continue
        drawn = rng.integers(0, n, size=(some, n), dtype=np.int32)
        drawn += np.arange(some, dtype=np.int32)[:, None] * n  # resample i counts in the bins from i·n on
        times = np.bincount(drawn.ravel(), minlength=some * n).reshape(some, n)
        out[start : start + some] = times.astype(float) @ matrix
    return out


def swapped(gaps: Floats, resamples: int, seed: int) -> Floats:
    """For each resample, the sum of a random half of the rows: each is in it with probability 1/2."""
    rng = np.random.default_rng(seed)
    rows, counts = distinct(gaps)
    if len(rows) * FEW > len(gaps):
        return _table(gaps, resamples, rng)
    out = np.empty((resamples, gaps.shape[1]))
    for start in range(0, resamples, BLOCK):
        k = min(BLOCK, resamples - start)
        out[start : start + k] = rng.binomial(counts, 0.5, size=(k, len(counts))).astype(float) @ rows
    return out


def _table(gaps: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Eight rows have 256 subsets: a random byte looks up the sum of one of them."""
    groups, width = -(-len(gaps) // 8), gaps.shape[1]
    padded = np.zeros((groups * 8, width))
    padded[: len(gaps)] = gaps
    subsets = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(float)
    out = np.zeros((width, resamples))
    for group in range(groups):
        sums = (subsets @ padded[group * 8 : group * 8 + 8]).T
        byte = np.frombuffer(rng.bytes(resamples), np.uint8)
        for column in range(width):
            out[column] += sums[column].take(byte)
    return out.T


def distinct(matrix: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct rows and how often each occurs."""
    if matrix.shape[1] == 1:
        rows, counts = np.unique(matrix[:, 0], return_counts=True)
        return rows[:, None], counts
    rows, counts = np.unique(matrix, axis=0, return_counts=True)
    return rows, counts
