"""The founding document's ``significance_test``: its arguments and keys, and what was wrong in it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from goldassay._support.exceptions import GoldassayError
from goldassay.ext.compat import significance_test

RNG = np.random.default_rng(2)
A, B = RNG.normal(0.65, 0.1, 30).tolist(), RNG.normal(0.6, 0.1, 30).tolist()


def test_t_and_wilcoxon_equal_scipy() -> None:
    for name, theirs in (("paired_t", stats.ttest_rel(A, B)), ("wilcoxon", stats.wilcoxon(A, B))):
        result = significance_test(A, B, name)
        assert {"test", "statistic", "p_value", "significant", "alpha"} <= result.keys()
        assert result["statistic"] == pytest.approx(theirs.statistic, abs=1e-9)
        assert result["p_value"] == pytest.approx(theirs.pvalue, abs=1e-9)
        assert result["significant"] is bool(theirs.pvalue < 0.05)


def test_the_bootstrap_has_its_keys_is_seeded_and_heeds_alpha() -> None:
    result = significance_test(A, B, "bootstrap")
    assert result["mean_difference"] == pytest.approx(np.mean(A) - np.mean(B), abs=1e-12)
    assert result["ci_95_lower"] < result["mean_difference"] < result["ci_95_upper"]
    assert result == significance_test(A, B, "bootstrap")
    assert result != significance_test(A, B, "bootstrap", seed=1)
    assert not significance_test(A, B, "bootstrap", alpha=1e-6)["significant"]


@pytest.mark.parametrize("name", ["paired_t", "wilcoxon", "mcnemar", "permutation", "bootstrap"])
def test_identical_scores_do_not_differ(name: str) -> None:
    result = significance_test([1.0, 0.0, 1.0], [1.0, 0.0, 1.0], name)
    assert (result["p_value"], result["significant"], result["mean_difference"]) == (1.0, False, 0.0)
    json.dumps(result, allow_nan=False)


def test_what_cannot_be_tested_is_said() -> None:
    with pytest.raises(GoldassayError, match="30 against 29"):
        significance_test(A, B[1:])
    with pytest.raises(GoldassayError, match="test_type is permutation, "):
        significance_test(A, B, "t")
    with pytest.raises(GoldassayError, match="alpha is between"):
        significance_test(A, B, alpha=5)
    with pytest.raises(GoldassayError, match="not a finite number"):
        significance_test([1.0, float("nan")], [1.0, 1.0])
    with pytest.raises(GoldassayError, match="at least two"):
        significance_test([1.0], [0.5])
    with pytest.raises(GoldassayError, match="no examples"):
        significance_test([], [])
    json.dumps(significance_test([1.0, 1.0], [0.5, 0.5]), allow_nan=False)  # the same gap everywhere: t is infinite
