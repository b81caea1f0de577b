"""The corrected estimate covers the truth; the naive one does not."""

from __future__ import annotations

import numpy as np
import pytest

from goldassay.exceptions import GoldassayError
from goldassay.statistics import corrected


def test_coverage() -> None:
    """Sensitivity 0.85, specificity 0.80, a true rate of 0.6: verdicts alone tend to 0.6·0.85 + 0.4·0.2 = 0.59."""
    for truth in (0.3, 0.6):
        rng, held, naive, widths = np.random.default_rng(7), 0, 0, []
        for _ in range(2000):
            people = rng.random(300) < truth
            judge = np.where(people, rng.random(300) < 0.85, rng.random(300) < 0.20)
            found = corrected(people[:100].tolist(), judge[:100].tolist(), judge[100:].tolist())
            held += found.corrected.low <= truth <= found.corrected.high
            naive += found.naive.low <= truth <= found.naive.high
            widths.append(
                (found.corrected.high - found.corrected.low) / (found.people_only.high - found.people_only.low)
            )
        assert 0.93 <= held / 2000 <= 0.97
        assert np.mean(widths) < 0.9
        if truth == 0.3:  # verdicts tend to 0.3·0.85 + 0.7·0.2 = 0.395
            assert naive / 2000 < 0.2


@pytest.mark.parametrize(
    ("truth", "right", "labels", "verdicts"), [(0.97, 0.9, 40, 400), (0.02, 0.95, 50, 500), (0.95, 0.9, 10, 1000)]
)
def test_rates_near_the_ends_are_covered_too(truth: float, right: float, labels: int, verdicts: int) -> None:
    """Student's interval of these covers 70 %, 62 % and 26 %, and its values leave 0–1."""
    rng, held, n = np.random.default_rng(3), 0, labels + verdicts
    for _ in range(500):
        people = rng.random(n) < truth
        judge = np.where(rng.random(n) < right, people, ~people)
        found = corrected(people[:labels].tolist(), judge[:labels].tolist(), judge[labels:].tolist()).corrected
        assert 0 <= found.low <= found.value <= found.high <= 1
        held += found.low <= truth <= found.high
    assert held / 500 >= 0.93


def test_labels_that_are_all_alike_are_not_certain() -> None:
    """20 of 20: Wilson's interval of the labels alone is 0.8389 to 1; the verdicts narrow it by little."""
    found = corrected([1] * 20, [1] * 19 + [0], [1] * 150 + [0] * 50)
    assert (found.corrected.value, found.corrected.high) == (1.0, 1.0)
    assert 0.8388 < found.corrected.low < 0.87
    assert found.people_only.low == pytest.approx(0.8389, abs=1e-4)
    assert (found.naive.method, found.corrected.method) == ("wilson", "ppi++, wilson")


def test_a_mean_beside_the_formula() -> None:
    """λ = 1/(1 + 3/2)·cov/var by hand: verdicts 1 2 4 | 3 5 have variance 2.5; cov(label, verdict) = 1.5."""
    found = corrected([2, 3, 4], [1, 2, 4], [3, 5])
    assert found.trust == pytest.approx(1.5 / (2.5 * 2.5))
    value = 0.24 * 4 + (9 - 0.24 * 7) / 3
    left = np.array([2 - 0.24, 3 - 0.48, 4 - 0.96])
    half = 4.302653 * np.sqrt(0.24**2 * 2.5 / 2 + left.var(ddof=1) / 3)
    assert found.corrected.value == pytest.approx(value)
    assert found.corrected.high == pytest.approx(value + half)


def test_a_judge_that_knows_nothing_is_left_aside() -> None:
    found = corrected([0, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1])
    assert (found.trust, found.corrected.value, found.naive.value) == (0.0, 0.5, 1.0)


def test_refusals() -> None:
    with pytest.raises(GoldassayError, match="3 labels but 2 verdicts"):
        corrected([1, 0, 1], [1, 0], [1])
    with pytest.raises(GoldassayError, match="needs 2 labels"):
        corrected([1], [1], [1])
    with pytest.raises(GoldassayError, match="not a number"):
        corrected([1, 0], [1, float("nan")], [1])
