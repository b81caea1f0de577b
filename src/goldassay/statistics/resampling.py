"""Sums of random resamples and of random swaps, drawn the cheapest way that has the right distribution.

A bootstrap draws n rows with replacement; only how often each *distinct* row was drawn matters, and those counts are
multinomial. A few counts are drawn as that; more of them as Poisson counts, which are multinomial given their total,
and what they lack of n is drawn row by row. Where nearly every row is its own, rows are drawn; but if only one number
varies, the distribution of the sum of n draws is computed, a convolution by the discrete Fourier transform, and sums
are drawn from that.

A paired permutation swaps each pair with probability 1/2; of c equal pairs a binomial number is swapped. Where nearly
every pair is its own, eight swaps at a time share a table of 256 sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import special

from goldassay.exceptions import GoldassayError
from goldassay.statistics.evidence import Evidences, Floats

BLOCK = 512  # resamples at a time: the counts of a block stay in the cache
CELLS = 1 << 14  # drawn rows at a time, for the same reason
FEW = 12  # a binomial count costs about as much as drawing this many rows
MANY = 512  # rows from which it pays to prepare tables, or a whole distribution
COUNTS = 1 << 21  # Poisson counts at a time
TABLE = 1 << 12
SPARE = 1.25  # Poisson counts planned one deviation short of n exceed it in 16 % of the resamples; those are left out
LATTICE = 16  # steps in a standard deviation of a row, at least, where the distribution is computed
REACH = 32  # standard deviations of a sum that the lattice holds


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
    some = np.ascontiguousarray(matrix[:, varying])
    rows, counts = distinct(some)
    draw: Callable[[int], Floats]
    if len(rows) < 2 or len(rows) * FEW <= n < MANY or len(rows) ** 2 * FEW <= n:
        draw, block = lambda k: rng.multinomial(n, counts / n, size=k).astype(float) @ rows, BLOCK
    elif len(varying) == 1 and n >= MANY:
        draw, block = lambda k: _convolved(some[:, 0], k, rng)[:, None], resamples
    elif len(rows) * 2 <= n and n >= MANY:
        draw, block = lambda k: _counted(counts, k, rng).T @ rows, 1 + COUNTS // len(rows)
    else:
        draw, block = lambda k: _drawn(some, k, rng), BLOCK
    for start in range(0, resamples, block):
        k = min(block, resamples - start)
        sums = np.tile(n * matrix[0], (k, 1))
        sums[:, varying] = draw(k)
        yield sums


def _counted(counts: NDArray[np.int64], k: int, rng: np.random.Generator) -> Floats:
    """Multinomial counts, k times (a column each): Poisson counts of n or less in all, and single draws of the rest.

    Counts that are Poisson are multinomial given their total, whichever totals are left out.
    """
    n, size = int(counts.sum()), int(SPARE * k) + FEW
    drawn = np.empty((len(counts), size))
    for row, rate in zip(drawn, counts / n * max(0.0, n - n**0.5), strict=True):
        row[:] = _poisson(rate, size, rng)
    left = n - drawn.sum(axis=0).astype(np.int64)
    fits = np.flatnonzero(left >= 0)[:k]
    out: Floats = np.empty((len(counts), k))
    np.take(drawn, fits, axis=1, out=out[:, : len(fits)])
    out[:, len(fits) :] = rng.multinomial(n, counts / n, size=k - len(fits)).T
    which = np.repeat(np.arange(len(counts)) * k, counts).take(rng.integers(0, n, left[fits].sum()))
    which += np.repeat(np.arange(len(fits)), left[fits])
    out += np.bincount(which, minlength=out.size).reshape(out.shape)
    return out


def _poisson(rate: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Poisson counts: random bits look one up in a table; the few that the table does not decide are drawn again."""
    reach = 10 * rate**0.5 + 20
    numbers = np.arange(max(0, int(rate - reach)), int(rate + reach))
    shares = np.exp(special.xlogy(numbers, rate) - rate - special.gammaln(numbers + 1)) * TABLE
    whole = shares.astype(np.int64)
    rest = np.cumsum(shares - whole)
    table = np.repeat(np.append(numbers, -1), np.append(whole, TABLE - whole.sum()))
    out = table.take(np.frombuffer(rng.bytes(2 * size), np.uint16) & (TABLE - 1))
    again = np.flatnonzero(out < 0)
    out[again] = numbers[rest.searchsorted(rng.random(len(again)) * rest[-1], side="right")]
    return out


def _convolved(values: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Sums of n draws from n values, k times, from the distribution of such a sum.

    Values are rounded to a lattice on a ring: the transform of the distribution of a sum is that of one draw to the
    n-th power. Mean and variance, which rounding changes a little, are put right.
    """
    n, mean, deviation = len(values), values.mean(), values.std()
    ring = 1 << int(np.ceil(np.log2(REACH * LATTICE * n**0.5)))
    step = REACH * deviation * n**0.5 / ring
    places = np.rint((values - mean) / step)
    shares = np.bincount(places.astype(np.int64) % ring, minlength=ring) / n
    sums = np.maximum(np.fft.irfft(np.fft.rfft(shares) ** n, ring), 0.0).cumsum()
    found = sums.searchsorted(rng.random(k) * sums[-1], side="right").astype(float)
    middle = n * places.mean()
    around = (found - middle + ring / 2) % ring - ring / 2
    out: Floats = n * mean + around * (deviation / places.std())
    return out


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
    if not matrix.shape[1]:
        return matrix[:1], np.array([len(matrix)])
    order = matrix[np.lexsort(matrix.T)]
    first = np.flatnonzero(np.append(True, (order[1:] != order[:-1]).any(axis=1)))
    return order[first], np.diff(np.append(first, len(order)))
