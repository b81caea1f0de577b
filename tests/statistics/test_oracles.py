"""Statistics against statsmodels and scipy, to 1e-9, where they compute the same thing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import normal_power
from statsmodels.stats.proportion import proportion_confint

from goldassay import Counts, Mean
from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences
from goldassay.statistics import compare, examples_needed, holm, interval, odds_ratio, smallest_detectable, wilson
from goldassay.statistics.resampling import bootstrap

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_equals_statsmodels(level: float) -> None:
    for hits, n in ((0, 7), (7, 7), (13, 40), (999, 1000)):
        theirs = proportion_confint(hits, n, alpha=1 - level, method="wilson")
        assert wilson(hits, n, level) == pytest.approx(theirs, abs=1e-9)


def test_holm_equals_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.collect", lambda *_: 0)  # statsmodels collects the garbage of the whole process
    for size in (1, 2, 7, 40):
        p_values = RNG.random(size) ** 3
        assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-9)


def test_mcnemar_equals_statsmodels() -> None:
    for both, won, lost, neither in ((5, 9, 2, 4), (0, 3, 3, 0), (10, 0, 6, 1)):
        a = [1.0] * both + [1.0] * won + [0.0] * lost + [0.0] * neither
        b = [1.0] * both + [0.0] * won + [1.0] * lost + [0.0] * neither
        result = compare(a, b, test="mcnemar", resamples=100)
        assert result.p == pytest.approx(mcnemar([[both, won], [lost, neither]], exact=True).pvalue, abs=1e-9)
        assert (result.effect, result.effect_name) == (won / lost, "odds_ratio")
    assert odds_ratio([1, 1], [1, 0]) == float("inf")
    assert compare([1.0, 1.0], [1.0, 0.0], test="mcnemar").state()["effect"] is None  # JSON has no infinity


def test_power_equals_statsmodels() -> None:
    for n in (10, 50, 100):  # the far tail is 1e-6
        detectable = smallest_detectable(1 / n**0.5)
        assert normal_power(detectable, n, 0.05) == pytest.approx(0.8, abs=1e-5)
    n = examples_needed(0.1, standard_error=0.08, n=60)
    powers = [normal_power(0.1, 1, 0.05, sigma=0.08 * (60 / size) ** 0.5) for size in (n, n - 1)]
    assert powers[0] >= 0.8 > powers[1] - 1e-5
    with pytest.raises(GoldassayError, match="difference of 0"):
        examples_needed(0.0, 0.1, 10)


def test_percentile_ends_equal_scipys_on_the_same_resamples() -> None:
    """scipy makes an interval from a bootstrap distribution that is given: ours."""
    sample = RNG.exponential(size=40)
    drawn = bootstrap(Evidences(sample), 3000, seed=5)
    theirs = stats.bootstrap(
        (sample,), np.mean, n_resamples=0, method="percentile",
        bootstrap_result=SimpleNamespace(bootstrap_distribution=drawn),
    ).confidence_interval  # fmt: skip
    ours = interval(sample, method="bootstrap", resamples=3000, seed=5)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_the_permutation_test_is_near_the_exact_one() -> None:
    """Ten pairs have 1,024 permutations; scipy goes through all of them. Ours draws 50,000 and lands beside."""
    a, b = RNG.normal(0.3, 1, 10), RNG.normal(0, 1, 10)
    exact = stats.permutation_test(
        (a, b), lambda x, y: np.mean(x) - np.mean(y), permutation_type="samples", n_resamples=np.inf
    )
    assert compare(a.tolist(), b.tolist(), resamples=50_000).test_p == pytest.approx(exact.pvalue, abs=0.01)


def test_t_and_wilson_leave_out_what_does_not_apply() -> None:
    applies = [Mean.of(1.0), Mean.of(0.0), Mean.of(1.0), Mean.of(1.0)]
    for method in ("t", "auto"):
        assert interval([*applies, Mean()], Mean(), method=method) == interval(applies, Mean(), method=method)
    with pytest.raises(GoldassayError, match="applies to none"):
        interval([Mean(), Mean()], Mean(), method="t")
    with pytest.raises(GoldassayError, match="at least two examples"):
        interval([Counts(1, 0, 0)], Counts(), method="t")
    weighed, once = [Mean.of(1.0, 2.0), Mean.of(0.0)], interval(applies, Mean(), method="t")
    assert interval(applies, Mean()).method == "wilson"
    assert interval(weighed, Mean()).method == interval(applies, Mean(), clusters=[1, 1, 2, 2]).method == "effective"
    assert interval(applies, Mean(), method="t", clusters=[1, 2, 3, 4]) == once  # each its own document
    with pytest.raises(GoldassayError, match="at least two"):
        interval([0.5], method="t")
    with pytest.raises(GoldassayError, match="between 0 and 1"):
        interval([0.5, 0.7], level=95)
