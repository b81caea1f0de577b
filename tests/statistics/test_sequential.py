"""Sequential tests: the level at every look, power, and that what examples add adds up to the whole."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nightly import simulation

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import contributions
from goldassay.core.tally import Counts
from goldassay.statistics.sequential import Bets, sequential_test


def pairs(rng: np.random.Generator, n: int, better: float = 0.0) -> tuple[list[Counts], list[Counts]]:
    """Two systems on documents of some entities; B misses ``better`` more of them."""
    size = rng.poisson(3, n) + 1
    a = [Counts(float(hit := rng.binomial(k, 0.7)), float(rng.poisson(0.5)), float(k - hit)) for k in size]
    b = [Counts(float(hit := rng.binomial(k, 0.7 - better)), float(rng.poisson(0.5)), float(k - hit)) for k in size]
    return a, b


def total(tallies: list[Counts]) -> float:
    return float(sum(tallies, Counts()).value)


@pytest.mark.parametrize("clusters", [None, [index // 3 for index in range(40)]])
def test_contributions_add_up_to_the_difference(clusters: list[int] | None) -> None:
    rng = np.random.default_rng(0)
    a, b = pairs(rng, 40, 0.2)
    result = contributions(a, b, Counts(), clusters=clusters)
    assert len(result) == (40 if clusters is None else 14)
    assert result.sum() == pytest.approx(total(a) - total(b), abs=1e-7)
    assert contributions(b, a, Counts(), clusters=clusters) == pytest.approx(-result, abs=1e-9)


def test_the_parts_of_micro_f1_are_its_derivative_where_the_sides_are_close() -> None:
    a, _ = pairs(np.random.default_rng(1), 30)
    pooled = sum(a, Counts())
    under = 2 * pooled.tp + pooled.fp + pooled.fn
    b = [*a[:-1], a[-1] + Counts(1e-4, 0.0, 0.0)]
    by_hand = 1e-4 * 2 * (pooled.fp + pooled.fn) / under**2
    assert contributions(b, a, Counts())[-1] == pytest.approx(by_hand, rel=1e-3)


def test_the_parts_of_a_mean_are_the_differences() -> None:
    assert contributions([0.2, 0.9], [0.4, 0.9]) == pytest.approx([-0.1, 0.0], abs=1e-9)


@simulation(daily=10, golden=1, nightly=400)
def test_useless_changes_are_accepted_at_the_level_however_often_one_looks(draws: int, golden: int | None) -> None:
    rng = np.random.default_rng(3)
    accepted = sum(sequential_test(*pairs(rng, 60), Counts()).decision == "accept" for _ in range(draws))
    assert golden in (None, accepted)
    assert accepted <= 0.05 * draws + 2 * np.sqrt(0.05 * 0.95 * draws)


@simulation(daily=10, golden=(10, 301, 10), nightly=100)
def test_a_gain_is_found_before_the_end(draws: int, golden: tuple[int, int, int] | None) -> None:
    rng = np.random.default_rng(4)
    result = [sequential_test(*pairs(rng, 150, 0.2), Counts()) for _ in range(draws)]
    accepted = sum(each.decision == "accept" for each in result)
    assert accepted >= 0.9 * draws
    assert np.mean([each.used for each in result]) < 80
    worse = [sequential_test(*pairs(rng, 150, 0.2)[::-1], Counts()) for _ in range(draws)]
    rejected = sum(each.decision == "reject" for each in worse)
    assert rejected >= 0.9 * draws
    assert golden in (None, (accepted, sum(each.used for each in result), rejected))
    assert not any(each.decision == "accept" for each in worse)


def test_the_bounded_null_holds_for_a_skewed_mean() -> None:
    rng = np.random.default_rng(5)
    crossed = 0
    for _ in range(100):
        bets = Bets(bound=1.0)
        bets.extend((rng.random(200) < 0.9).astype(float) - 0.9)
        crossed += bets.p <= 0.05
    assert crossed <= 0.05 * 100 + 2 * np.sqrt(0.05 * 0.95 * 100)


def test_looks_made_earlier_stay_what_they_were() -> None:
    a, b = pairs(np.random.default_rng(6), 60, 0.05)
    first = sequential_test(a[:20], b[:20], Counts(), looks=[10, 20])
    assert (first.decision, first.used) == ("continue", 20)
    later = sequential_test([*a[:20], *b[20:]], [*b[:20], *b[20:]], Counts(), looks=[10, 20, 60])
    assert later.wealth == pytest.approx(first.wealth, abs=1e-12)  # what came after differs nowhere


def test_no_difference_says_nothing() -> None:
    result = sequential_test([1.0, 0.0] * 10, [1.0, 0.0] * 10)
    assert (result.decision, result.p, result.difference) == ("continue", 1.0, 0.0)


def test_a_smallest_gain_worth_having_rejects_what_is_useless() -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.random(800) < 0.5).astype(float), (rng.random(800) < 0.5).astype(float)
    assert sequential_test(a.tolist(), b.tolist(), gain=0.3).decision == "reject"


def test_what_cannot_be_tested_is_said() -> None:
    with pytest.raises(GoldassayError, match="2 against 1"):
        sequential_test([1.0, 0.0], [1.0])
    with pytest.raises(GoldassayError, match="3 against 1"):
        contributions([1.0, 0.0, 1.0], [1.0])
    with pytest.raises(GoldassayError, match="alpha and beta"):
        sequential_test([1.0], [0.0], alpha=0)
    with pytest.raises(GoldassayError, match="rising"):
        sequential_test([1.0], [0.0], looks=[3, 2])
    with pytest.raises(GoldassayError, match="beyond the bound"):
        Bets(bound=1.0).extend([1.5])
