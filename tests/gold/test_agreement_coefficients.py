"""Kappa and alpha against krippendorff, scikit-learn and statsmodels, and Krippendorff's own example."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold.agreement import alpha, cohen_kappa, fleiss_kappa
from goldassay.statistics.agreement import LEVELS, Coefficient

N = None
FIXTURE = list(
    zip(
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
        strict=True,
    )
)  # Krippendorff 2011, part C: four annotators, twelve units, values missing
grades = st.integers(1, 5)
unit = st.tuples(*[st.one_of(st.none(), grades)] * 3)


@pytest.mark.parametrize(
    ("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_own_example(level: str, expected: float) -> None:
    assert alpha(FIXTURE, level) == pytest.approx(expected, abs=5e-4)


@drawn(60)
@given(st.lists(unit, min_size=2, max_size=12), st.sampled_from(LEVELS))
def test_alpha_is_that_of_krippendorff(units: list[Any], level: str) -> None:
    import krippendorff as oracle

    coefficient = alpha(units, level)
    pairable = [u for u in units if sum(v is not None for v in u) > 1]
    if len({v for u in pairable for v in u if v is not None}) < 2:
        assert coefficient is None
        return
    data = np.array([[math.nan if v is None else v for v in row] for row in zip(*pairable, strict=True)])
    measured: Any = level
    assert coefficient == pytest.approx(oracle.alpha(reliability_data=data, level_of_measurement=measured), abs=1e-9)


@drawn(60)
@given(st.lists(st.tuples(grades, grades), min_size=1, max_size=20))
def test_cohen_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    a, b = [list(side) for side in zip(*pairs, strict=True)]
    coefficient = cohen_kappa(a, b)
    if len(set(a) | set(b)) == 1:
        assert coefficient is None
        return
    assert coefficient == pytest.approx(cohen_kappa_score(a, b), abs=1e-9)


@drawn(60)
@given(st.lists(st.tuples(grades, grades, grades), min_size=1, max_size=20))
def test_fleiss_is_that_of_statsmodels(units: list[tuple[int, ...]]) -> None:
    from statsmodels.stats import inter_rater as oracle

    coefficient = fleiss_kappa(units)
    if len({v for u in units for v in u}) == 1:
        assert coefficient is None
        return
    table, _ = oracle.aggregate_raters(np.array(units))
    assert coefficient == pytest.approx(oracle.fleiss_kappa(table), abs=1e-9)


@drawn(40)
@given(st.lists(unit, max_size=8), st.lists(unit, max_size=8), st.sampled_from(LEVELS))
def test_evidence_adds_up(left: list[Any], right: list[Any], level: str) -> None:
    apart, whole = Coefficient.of(left, level) + Coefficient.of(right, level), Coefficient.of(left + right, level)
    assert apart.weight == whole.weight
    assert apart.value == pytest.approx(whole.value)
    assert whole.from_state(whole.state()).value == whole.value


def test_cohens_arithmetic() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 35/50 = 0.7; chance .5*.6 + .5*.4 = 0.5; 0.2/0.5 = 0.4
    a = ["y"] * 25 + ["n"] * 25
    b = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)


def test_no_variation_is_not_defined() -> None:
    assert alpha([(1, 1), (1, 1)]) is None
    assert cohen_kappa(["M"], ["M"]) is None
    assert fleiss_kappa([("M", "M")]) is None
    assert alpha([(1, None)], "ratio") is None


def test_errors_are_told() -> None:
    with pytest.raises(GoldassayError, match="no level 'cardinal'; there are nominal, ordinal"):
        alpha([(1, 1)], "cardinal")
    with pytest.raises(DataError, match="finite numbers, not 'M'; use level='nominal'"):
        alpha([("M", "A")], "interval")
    with pytest.raises(DataError, match="use Krippendorff's alpha"):
        fleiss_kappa([("M", None)])
    with pytest.raises(DataError, match="2 values and 1 values"):
        cohen_kappa(["M", "A"], ["M"])
