"""Intervals and tests against scipy, by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goldassay import Counts, Mean
from goldassay._support.exceptions import GoldassayError
from goldassay.core.tally import Confusion
from goldassay.statistics import (
    cliffs_delta,
    cohens_dz,
    compare,
    holm,
    interval,
    intervals,
    smallest_detectable,
    wilson,
)

RNG = np.random.default_rng(7)
A, B = RNG.normal(0.6, 0.2, 60).tolist(), RNG.normal(0.5, 0.2, 60).tolist()


def test_t_and_wilson_intervals_equal_scipy() -> None:
    result = interval(A, method="t")
    want = stats.t.interval(0.95, len(A) - 1, loc=np.mean(A), scale=stats.sem(A))
    assert (result.low, result.high) == pytest.approx(want, abs=1e-9)
    for hits, n in ((0, 10), (3, 10), (10, 10), (57, 100)):
        theirs = stats.binomtest(hits, n).proportion_ci(method="wilson")
        assert wilson(hits, n) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_bootstrap_intervals_are_near_scipys_and_seeded() -> None:
    for method, name in (("bootstrap", "percentile"),):
        ours = interval(A, method=method, resamples=20_000)
        theirs = stats.bootstrap((A,), np.mean, n_resamples=20_000, method=name, rng=1).confidence_interval
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)
        assert ours == interval(A, method=method, resamples=20_000)
        assert ours != interval(A, method=method, resamples=20_000, seed=1)


def test_micro_f1_is_resampled_on_its_counts() -> None:
    tallies = [Counts(1, 0, 0)] * 30 + [Counts(0, 1, 1)] * 10
    result = interval(tallies, Counts(), resamples=4000)
    assert result.value == 0.75  # 60 / (60 + 10 + 10)
    assert result.low < 0.75 < result.high
    clustered = interval(tallies, Counts(), clusters=[i // 10 for i in range(40)], resamples=4000)
    assert clustered.n == 4
    assert clustered.high - clustered.low > result.high - result.low  # the errors stand in one cluster


def test_classical_tests_equal_scipy() -> None:
    assert compare(A, B, test="paired_t").p == pytest.approx(stats.ttest_rel(A, B).pvalue, abs=1e-9)
    assert compare(A, B, test="wilcoxon").p == pytest.approx(stats.wilcoxon(np.array(A) - B).pvalue, abs=1e-9)
    wins = [1.0] * 12 + [0.0] * 20
    losses = [0.0] * 12 + [1.0] * 3 + [0.0] * 17
    assert compare(wins, losses, test="mcnemar").p == pytest.approx(stats.binomtest(12, 15, 0.5).pvalue, abs=1e-9)


def test_the_permutation_test_is_near_scipys() -> None:
    ours = compare(A, B, resamples=20_000)
    theirs = stats.permutation_test(
        (np.array(A), np.array(B)),
        lambda x, y: np.mean(x) - np.mean(y),
        permutation_type="samples",
        n_resamples=20_000,
        rng=2,
    )
    assert ours.difference == pytest.approx(theirs.statistic, abs=1e-9)
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.01)


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "paired_t", "wilcoxon"])
def test_identical_inputs_differ_by_nothing(test: str) -> None:
    result = compare(A, A, test=test)
    assert (result.difference, result.p, result.effect, result.interval.low, result.interval.high) == (0, 1, 0, 0, 0)


def test_lengths_and_values_are_checked() -> None:
    with pytest.raises(GoldassayError, match="3 against 2"):
        compare([1.0, 0, 1], [0.0, 1])
    with pytest.raises(GoldassayError, match="not a finite number"):
        interval([1.0, float("nan")])
    with pytest.raises(GoldassayError, match="no test 'magic'"):
        compare(A, B, test="magic")
    with pytest.raises(GoldassayError, match="no examples"):
        interval([], Mean())


def test_holm_effects_and_power() -> None:
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])
    assert cohens_dz([0.0, 0.0]) == 0.0
    assert cliffs_delta([1, 2, 3], [1, 2, 3]) == 0.0
    assert smallest_detectable(1.0) == pytest.approx(2.8016, abs=1e-4)  # 1.9600 + 0.8416


def test_coverage_of_the_bootstrap_interval() -> None:
    """300 samples of 60 throws: the share of 95 % intervals that hold 0.7 is within Monte Carlo error of 0.95."""
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(300):
        result = interval([Mean.of(float(x)) for x in rng.random(60) < 0.7], Mean(), resamples=600, seed=seed)
        held += result.low <= 0.7 <= result.high
    assert 0.95 - 4 * (0.95 * 0.05 / 300) ** 0.5 <= held / 300 <= 1.0


def test_the_permutation_test_keeps_its_level() -> None:
    """100 comparisons of equals: no more than about 5 % have p ≤ 0.05 (three standard errors above at most)."""
    rng = np.random.default_rng(4)
    rejected = 0
    for seed in range(100):
        a = [Counts(int(x), int(not x), int(not x)) for x in rng.random(40) < 0.6]
        b = [Counts(int(x), int(not x), int(not x)) for x in rng.random(40) < 0.6]
        rejected += compare(a, b, Counts(), resamples=400, seed=seed).p <= 0.05
    assert rejected / 100 <= 0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_no_interval_of_what_lies_between_bounds_has_width_zero(value: float) -> None:
    counts = [Counts(value, 1 - value, 1 - value)] * 16
    for result in (interval([value] * 16), interval(counts, Counts()), interval([0.5] * 16)):
        assert result.low < result.high
        assert result.low <= result.value <= result.high
    documents = interval(counts, Counts(), clusters=[i // 4 for i in range(16)])
    assert documents.high - documents.low > interval(counts, Counts()).high - interval(counts, Counts()).low
    each = interval(counts, Counts(), clusters=["d"] * 16)
    assert (each.low, each.high, each.n) == (0.0, 1.0, 1)


def test_the_rule_is_chosen_by_the_kind_of_tally() -> None:
    rate = [1.0] * 38 + [0.0] * 2
    assert interval(rate).method == "wilson"
    assert (interval(rate).low, interval(rate).high) == wilson(38, 40)
    confusion = [Confusion({("M", "M" if x else "G"): 1.0}) for x in rate]
    assert interval(confusion, Confusion()).method == "wilson"
    assert interval([0.5, *rate]).method == interval([Counts(1, 0, 1)] * 9, Counts()).method == "effective"
    assert interval(rate, clusters=[i // 2 for i in range(40)]).method == "effective"
    assert interval([3.0, 2.0, 7.5]).method == "t"
    scaled = interval([0.2, -0.4, 0.9], bounds=(-1.0, 1.0))
    assert (scaled.method, scaled.low > -1.0, scaled.high < 1.0) == ("effective", True, True)


def test_many_rows_take_the_infinitesimal_jackknife_and_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    rows = [Counts(*row) for row in rng.poisson((2.0, 0.5, 0.7), (1500, 3)).astype(float).tolist()]
    exact = interval(rows, Counts())
    monkeypatch.setattr(intervals, "JACKKNIFED", 100)
    quick = interval(rows, Counts())
    assert (quick.low, quick.high) == pytest.approx((exact.low, exact.high), abs=2e-4)


def test_accuracy_near_one_is_covered() -> None:
    """Accuracy .955 on 40 examples: of 1,000 samples a bootstrap's intervals hold it in 830."""
    rng = np.random.default_rng(13)
    held = [interval((rng.random(40) < 0.955).astype(float)) for _ in range(1000)]
    assert 0.93 <= np.mean([each.low <= 0.955 <= each.high for each in held]) <= 0.97
