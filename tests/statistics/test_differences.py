"""The interval of a difference: Newcombe's by hand from the four counts, never of width zero, held often enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from goldassay import Counts
from goldassay.core.evidence import Evidences
from goldassay.statistics import compare
from goldassay.statistics.intervals import Interval
from goldassay.statistics.paired import difference_interval


def interval(a: list[float], b: list[float]) -> Interval:
    """The interval by itself, as it is before the test has its say."""
    return difference_interval(*Evidences.paired(a, b, None, None), 0.95, None)[0]


def wilson(p: float, n: float, z: float) -> tuple[float, float]:
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


@pytest.mark.parametrize("counts", [(36, 12, 2, 10), (5, 9, 2, 4), (0, 3, 3, 4), (20, 0, 0, 20), (1, 9, 8, 2)])
def test_it_is_newcombes_method_10(counts: tuple[int, int, int, int]) -> None:
    """With Student's quantile and n − 1, the number of examples that the unbiased variance is worth."""
    both, won, lost, neither = counts
    n = sum(counts)
    a = [1.0] * (both + won) + [0.0] * (lost + neither)
    b = [1.0] * both + [0.0] * won + [1.0] * lost + [0.0] * neither
    z = float(stats.t.ppf(0.975, n - 1))
    p, q = (both + won) / n, (both + lost) / n
    (l1, u1), (l2, u2) = wilson(p, n - 1, z), wilson(q, n - 1, z)
    cross = float(both * neither - won * lost)
    cross = max(0.0, cross - n / 2) if cross > 0 else cross  # Newcombe's correction
    phi = cross / math.sqrt((both + won) * (lost + neither) * (both + lost) * (won + neither))
    low = p - q - math.sqrt((p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2)
    high = p - q + math.sqrt((u1 - p) ** 2 - 2 * phi * (u1 - p) * (q - l2) + (q - l2) ** 2)
    result = interval(a, b)
    assert [result.low, result.high] == pytest.approx([low, high])
    assert result.method == "newcombe"


def test_it_has_a_width_where_nothing_was_seen_to_differ() -> None:
    for value in (0.0, 0.5, 1.0):
        same = compare([value] * 16, [value] * 16, resamples=10).interval
        assert same.low < 0 < same.high
    right = [Counts(2, 0, 0)] * 12
    result = compare(right, right, Counts(), resamples=10).interval
    assert -0.4 < result.low < 0 < result.high < 0.4
    best = compare([1.0] * 12, [0.0] * 12, resamples=10).interval
    assert best.low < best.high == 1.0
    assert compare([1.0] * 200, [1.0] * 200, resamples=10).interval.high < 0.03  # more examples say more


def test_a_value_without_bounds_has_students_interval() -> None:
    a, b = [3.0, 5.0, 8.0, 4.0], [1.0, 2.0, 3.5, 3.0]
    theirs = stats.ttest_rel(a, b).confidence_interval(0.95)
    result = interval(a, b)
    assert [result.low, result.high] == pytest.approx([theirs.low, theirs.high])
    assert result.method == "t"
    assert compare(a, b, test="bootstrap", resamples=200).interval.method == "bootstrap"


def test_documents_count_whole_and_the_order_of_sides_turns_it_round() -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.random(60) < share for share in (0.8, 0.6))
    documents = [index // 20 for index in range(60)]
    loose = compare(a.astype(float), b.astype(float), resamples=10).interval
    whole = compare(a.astype(float), b.astype(float), clusters=documents, resamples=10).interval
    assert whole.high - whole.low > loose.high - loose.low
    turned = compare(b.astype(float), a.astype(float), resamples=10).interval
    assert [turned.low, turned.high] == pytest.approx([-loose.high, -loose.low])


def test_p_is_the_same_whichever_side_comes_first() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        a, b = (rng.random(100) < share for share in (0.7, 0.6))
        one, other = compare(a.astype(float), b.astype(float)), compare(b.astype(float), a.astype(float))
        assert one.test_p == other.test_p


@pytest.mark.parametrize(("first", "second"), [(0.98, 0.98), (0.98, 0.9), (0.6, 0.5)])
def test_it_holds_the_truth_at_the_edges(first: float, second: float) -> None:
    """The bootstrap holds .98 − .9 in six of ten samples of 10; 200 draws of a share of .93 stay above .87."""
    rng, held = np.random.default_rng(7), 0
    for _ in range(200):
        luck = rng.random(10)
        other = np.where(rng.random(10) < 0.6, luck, rng.random(10))
        result = compare((luck < first).astype(float), (other < second).astype(float), bounds=(0, 1), resamples=1)
        held += result.interval.low <= first - second <= result.interval.high
    assert held / 200 >= 0.93


def test_interval_and_p_never_contradict_each_other() -> None:
    rng = np.random.default_rng(4)
    for _ in range(80):
        n = int(rng.integers(5, 60))
        size = rng.integers(0, 4, n)
        a, b = ([Counts(int(k), int(rng.random() < s), int(rng.random() < s)) for k in size] for s in (0.3, 0.7))
        before = rng.normal(0, 3, n)
        for result in (
            compare(a, b, Counts(), resamples=400),
            compare(before - rng.normal(0.4, 1, n), before, resamples=400),
        ):
            assert (result.p <= 0.05) == (not result.interval.low <= 0 <= result.interval.high)
