"""The quick ways to draw resamples have the distribution of the plain way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, ks_2samp
from tests.nightly import drawn

from goldassay import Counts, Mean
from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences
from goldassay.core.tally import Evidence, flat, nested
from goldassay.statistics import compare, interval
from goldassay.statistics.resampling import resampled, swapped

RNG = np.random.default_rng(5)
DRAWS = 10_000
FOUR_ROWS = RNG.integers(0, 2, (400, 2)).astype(float)  # multinomial counts
FEW_ROWS = RNG.integers(0, 4, (600, 2)).astype(float)  # 16 distinct rows: Poisson counts and single draws
SKEWED = np.column_stack([RNG.lognormal(0, 2, 600), np.ones(600)])  # one column varies: its sum's distribution
ONE_COLUMN = np.column_stack([RNG.normal(1, 2, 50), np.ones(50)])  # all distinct: drawn
MANY_COLUMNS = RNG.normal(1, 2, (50, 3))
CASES = {
    "multinomial": FOUR_ROWS,
    "counted": FEW_ROWS,
    "convolved": SKEWED,
    "drawn, one column": ONE_COLUMN,
    "drawn": MANY_COLUMNS,
}


@pytest.mark.parametrize("case", CASES)
def test_sums_of_resamples_have_the_right_mean_and_covariance(case: str) -> None:
    """n rows drawn with replacement have mean n·μ and covariance n·Σ: within 5 standard errors."""
    rows = CASES[case]
    n, spread = len(rows), rows.std(axis=0)
    sums = np.concatenate(list(resampled(rows, DRAWS, seed=1)))
    assert sums.shape == (DRAWS, rows.shape[1])
    assert (np.abs(sums.mean(axis=0) - rows.sum(axis=0)) <= 5 * spread * (n / DRAWS) ** 0.5 + 1e-9).all()
    want = n * np.cov(rows.T, ddof=0)
    scale = n * np.outer(spread, spread) + 1e-12
    assert (np.abs(np.cov(sums.T) - want) / scale <= 5 * (2 / DRAWS) ** 0.5 + 1e-9).all()


@pytest.mark.parametrize("case", CASES)
def test_sums_of_resamples_have_the_quantiles_of_plain_draws(case: str) -> None:
    """A ratio of sums, beside the same of rows drawn one by one: no further apart than two such samples are."""
    rows, plain = CASES[case], np.random.default_rng(3)
    slow = np.concatenate(
        [rows[plain.integers(0, len(rows), (500, len(rows)))].sum(axis=1) for _ in range(DRAWS // 500)]
    )
    fast = np.concatenate(list(resampled(rows, DRAWS, seed=4)))
    slow, fast = ((sums[:, 0] / (10 * len(rows) + sums[:, 1])).round(9) for sums in (slow, fast))
    assert ks_2samp(slow, fast).pvalue > 1e-4


def test_the_computed_distribution_of_a_sum_holds_far_out() -> None:
    """A rare large value: the sum is 1,000 times a number of draws that is all but Poisson(1)."""
    values = np.zeros((1000, 2))
    values[:, 0] = RNG.normal(0, 0.1, 1000)
    values[0, 0] = 1000.0
    sums = np.concatenate(list(resampled(values, 200_000, seed=1)))[:, 0]
    times = np.bincount(np.rint(sums / 1000).astype(int), minlength=8)[:8] / len(sums)
    want = binom(1000, 1 / 1000).pmf(np.arange(8))
    assert np.abs(times - want).max() < 5 * (0.25 / len(sums)) ** 0.5
    assert times[6] > 0


@pytest.mark.parametrize("rows", [FEW_ROWS, MANY_COLUMNS], ids=["binomial", "table"])
def test_swaps_take_each_pair_half_the_time(rows: Any) -> None:
    """A random half of the rows: mean Σx/2, covariance Σxxᵀ/4."""
    sums = swapped(rows, DRAWS, seed=2)
    deviation = (rows**2).sum(axis=0) ** 0.5 / 2
    assert (np.abs(sums.mean(axis=0) - rows.sum(axis=0) / 2) <= 5 * deviation / DRAWS**0.5).all()
    scale = np.outer(deviation, deviation)
    assert (np.abs(np.cov(sums.T) - rows.T @ rows / 4) / scale <= 5 * (2 / DRAWS) ** 0.5).all()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 64])
def test_the_table_of_swaps_reaches_every_subset_and_no_other(n: int) -> None:
    powers = (2.0 ** np.arange(n))[:, None]  # each subset has a sum of its own
    sums = swapped(np.asarray(powers, dtype=np.float64), 20_000, seed=3)[:, 0]
    assert sums.min() >= 0
    assert sums.max() <= powers.sum()
    if n <= 8:
        assert set(sums.tolist()) == set(range(2**n))


tallies = st.builds(Counts, *[st.integers(0, 4)] * 3)


@drawn(40)
@given(st.lists(tallies, min_size=1, max_size=12))
def test_the_matrix_gives_the_value_of_the_sum(counts: list[Counts]) -> None:
    total = Counts()
    for count in counts:
        total = total + count
    assert Evidences(counts, Counts()).value == pytest.approx(float(total.value), abs=1e-12)
    zero = Evidence({"a": Counts(), "b": Mean()}, {"a": 2.0, "b": 1.0})
    rows = [Evidence({"a": count, "b": Mean.of(float(count.tp) / 4)}, zero.weights) for count in counts]
    summed = zero
    for row in rows:
        summed = summed + row
    assert Evidences(rows, zero).value == pytest.approx(float(summed.value), abs=1e-12)


def test_states_are_flattened_and_put_back() -> None:
    state = {"a": {"x": 1.0, "y": {"z": 2.0}}, "b": 3.0}
    assert nested(flat(state)) == state


@drawn(25)
@given(st.lists(tallies, min_size=2, max_size=10), st.integers(0, 5))
def test_an_interval_holds_for_any_tallies(counts: list[Counts], seed: int) -> None:
    result = interval(counts, Counts(), resamples=200, seed=seed)
    assert 0 <= result.low <= result.high <= 1
    same = compare(counts, counts, Counts(), resamples=200, seed=seed)
    assert (same.difference, same.p) == (0, 1)
    assert (
        same.interval.low == pytest.approx(-same.interval.high) != 0
    )  # what agrees on these examples may differ on others
    shifted = compare(counts, counts[::-1], Counts(), resamples=200, seed=seed)
    assert 0 < shifted.p <= 1
    assert compare(counts, counts[::-1], Counts(), resamples=200, seed=seed) == shifted


def test_pairs_in_clusters_are_swapped_together() -> None:
    """Ten examples in two documents: only 4 swaps exist, and in half of them the values are as far apart as seen."""
    result = compare([1.0] * 10, [0.0] * 10, clusters=[0] * 5 + [1] * 5, resamples=4000)
    assert result.n == 2
    assert result.p == pytest.approx(0.5, abs=0.04)
    assert compare([1.0] * 10, [0.0] * 10, resamples=4000).p < 0.01


def test_values_that_are_not_numbers_and_wrong_clusters_are_refused() -> None:
    with pytest.raises(GoldassayError, match="give their zero"):
        interval([Counts(1, 0, 0)])
    with pytest.raises(GoldassayError, match="3 clusters for 2 examples"):
        interval([1.0, 0.0], clusters=[1, 2, 3])
    with pytest.raises(GoldassayError, match="no interval 'magic'"):
        interval([1.0, 0.0], method="magic")
    with pytest.raises(GoldassayError, match="right or wrong"):
        compare([0.5, 1.0], [1.0, 0.25], test="mcnemar")
