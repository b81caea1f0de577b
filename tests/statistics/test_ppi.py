"""The corrected estimate covers the truth; the naive one does not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nightly import simulation

from goldassay._support.exceptions import GoldassayError
from goldassay.statistics.ppi import corrected


@simulation(daily=100, golden=(96, 4, 97, 93), nightly=2000)
def test_coverage(draws: int, golden: tuple[int, ...] | None) -> None:
    """Sensitivity 0.85, specificity 0.80, a true rate of 0.6: verdicts alone tend to 0.6·0.85 + 0.4·0.2 = 0.59."""
    figures: list[int] = []
    for truth in (0.3, 0.6):
        rng, held, naive, widths = np.random.default_rng(7), 0, 0, []
        for _ in range(draws):
            people = rng.random(300) < truth
            judge = np.where(people, rng.random(300) < 0.85, rng.random(300) < 0.20)
            result = corrected(people[:100].tolist(), judge[:100].tolist(), judge[100:].tolist())
            held += result.corrected.low <= truth <= result.corrected.high
            naive += result.naive.low <= truth <= result.naive.high
            widths.append(
                (result.corrected.high - result.corrected.low) / (result.people_only.high - result.people_only.low)
            )
        assert np.mean(widths) < 0.9
        if truth == 0.3:  # verdicts tend to 0.3·0.85 + 0.7·0.2 = 0.395
            assert naive / draws < 0.2
        figures += [held, naive]
        if golden is None:
            assert 0.93 <= held / draws <= 0.97
    assert golden in (None, tuple(figures))


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("truth", "right", "labels", "verdicts"), [(0.97, 0.9, 40, 400), (0.02, 0.95, 50, 500), (0.95, 0.9, 10, 1000)]
)
def test_rates_near_the_ends_are_covered_too(
    truth: float, right: float, labels: int, verdicts: int, draws: int
) -> None:
    """Student's interval of these covers 70 %, 62 % and 26 %, and its values leave 0–1."""
    rng, held, n = np.random.default_rng(3), 0, labels + verdicts
    for _ in range(draws):
        people = rng.random(n) < truth
        judge = np.where(rng.random(n) < right, people, ~people)
        result = corrected(people[:labels].tolist(), judge[:labels].tolist(), judge[labels:].tolist()).corrected
        assert 0 <= result.low <= result.value <= result.high <= 1
        held += result.low <= truth <= result.high
    assert held / draws >= 0.93


def test_labels_that_are_all_alike_are_not_certain() -> None:
    """20 of 20: Wilson's interval of the labels alone is 0.8389 to 1; the verdicts narrow it by little."""
    result = corrected([1] * 20, [1] * 19 + [0], [1] * 150 + [0] * 50)
    assert (result.corrected.value, result.corrected.high) == (1.0, 1.0)
    assert 0.8388 < result.corrected.low < 0.87
    assert result.people_only.low == pytest.approx(0.8389, abs=1e-4)
    assert (result.naive.method, result.corrected.method) == ("wilson", "ppi++, wilson")


def test_a_mean_beside_the_formula() -> None:
    """λ = 1/(1 + 3/2)·cov/var by hand: verdicts 1 2 4 | 3 5 have variance 2.5; cov(label, verdict) = 1.5."""
    result = corrected([2, 3, 4], [1, 2, 4], [3, 5])
    assert result.trust == pytest.approx(1.5 / (2.5 * 2.5))
    value = 0.24 * 4 + (9 - 0.24 * 7) / 3
    left = np.array([2 - 0.24, 3 - 0.48, 4 - 0.96])
    half = 4.302653 * np.sqrt(0.24**2 * 2.5 / 2 + left.var(ddof=1) / 3)
    assert result.corrected.value == pytest.approx(value)
    assert result.corrected.high == pytest.approx(value + half)


def test_a_judge_that_knows_nothing_is_left_aside() -> None:
    result = corrected([0, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1])
    assert (result.trust, result.corrected.value, result.naive.value) == (0.0, 0.5, 1.0)


def test_refusals() -> None:
    with pytest.raises(GoldassayError, match="3 labels but 2 verdicts"):
        corrected([1, 0, 1], [1, 0], [1])
    with pytest.raises(GoldassayError, match="needs 2 labels"):
        corrected([1], [1], [1])
    with pytest.raises(GoldassayError, match="not a number"):
        corrected([1, 0], [1, float("nan")], [1])


def judged(
    rng: np.random.Generator, n: int, truth: float, right: tuple[float, float]
) -> tuple[list[float], list[float]]:
    people = rng.random(n) < truth
    verdicts = np.where(people, rng.random(n) < right[0], rng.random(n) < 1 - right[1])
    return people.astype(float).tolist(), verdicts.astype(float).tolist()


def test_rogan_and_gladens_value_by_hand() -> None:
    labels, verdicts = [1] * 20 + [0] * 20, [1] * 18 + [0] * 2 + [1] * 4 + [0] * 16
    result = corrected(labels, verdicts, [1] * 41 + [0] * 59, origin="elsewhere")
    assert result.rogan_gladen is not None
    assert result.rogan_gladen.value == pytest.approx((0.41 + 0.8 - 1) / (0.9 + 0.8 - 1))  # .3
    assert result.chosen == result.rogan_gladen
    assert corrected([1, 0, 1, 0], [0, 1, 0, 1], [1, 0]).rogan_gladen is None  # worse than chance
    whole = corrected([1, 0, 1, 0], [0, 1, 0, 1], [1, 0]).chosen
    assert whole is not None
    assert (whole.low, whole.high) == (0.0, 1.0)
    assert corrected([1, 2, 3], [1, 2, 3], [4, 5]).rogan_gladen is None  # numbers


@pytest.mark.parametrize("draws", [40, pytest.param(150, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("of_labels", "truth"), [(0.5, 0.2), (0.3, 0.4), (0.3, 0.3), (0.2, 0.9)])
def test_where_the_rate_has_shifted_the_chosen_interval_holds(of_labels: float, truth: float, draws: int) -> None:
    rng, held, ppi = np.random.default_rng(11), 0, 0
    for _ in range(draws):
        labels, verdicts = judged(rng, 100, of_labels, (0.85, 0.8))
        _, others = judged(rng, 500, truth, (0.85, 0.8))
        result = corrected(labels, verdicts, others)
        assert result.chosen is not None
        held += result.chosen.low <= truth <= result.chosen.high
        ppi += result.corrected.low <= truth <= result.corrected.high
    assert held / draws >= 0.92
    if abs(of_labels - truth) > 0.2:
        assert ppi / draws < 0.3


@pytest.mark.parametrize("draws", [50, pytest.param(200, marks=pytest.mark.nightly)])
def test_labels_chosen_by_the_verdict_have_their_own_estimate(draws: int) -> None:
    """40 of the few positive verdicts and 40 of the many others: PPI++ takes them for a random sample and is wrong."""
    rng, held, ppi = np.random.default_rng(12), 0, 0
    for _ in range(draws):
        people, verdicts = judged(rng, 600, 0.2, (0.8, 0.9))
        order = rng.permutation(600)
        chosen = [at for side in (1.0, 0.0) for at in [at for at in order if verdicts[at] == side][:40]]
        rest = sorted(set(range(600)) - set(chosen))
        result = corrected([people[at] for at in chosen], [verdicts[at] for at in chosen],
                          [verdicts[at] for at in rest], origin="verdict")  # fmt: skip
        assert result.chosen is not None
        assert result.chosen == result.by_verdict
        held += result.chosen.low <= 0.2 <= result.chosen.high
        ppi += result.corrected.low <= 0.2 <= result.corrected.high
    assert held / draws >= 0.93
    assert held > ppi


@pytest.mark.parametrize("draws", [50, pytest.param(200, marks=pytest.mark.nightly)])
def test_the_exchangeability_test_holds_its_level_and_origin_decides(draws: int) -> None:
    rng, rejected = np.random.default_rng(13), 0
    for _ in range(draws):
        labels, verdicts = judged(rng, 60, 0.4, (0.9, 0.9))
        _, others = judged(rng, 300, 0.4, (0.9, 0.9))
        result = corrected(labels, verdicts, others, origin="random")
        rejected += result.exchangeable_p < 0.05
        assert result.chosen == (result.rogan_gladen if result.exchangeable_p < 0.05 else result.corrected)
    assert rejected / draws <= 0.08
    with pytest.raises(GoldassayError, match="not 'people'"):
        corrected([1, 0], [1, 0], [1], origin="people")
