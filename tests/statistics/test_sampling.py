"""Estimates from labels that a design chose: arithmetic by hand, tests against enumeration, and coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.nightly import simulation

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences
from goldassay.core.tally import Counts
from goldassay.statistics.intervals import Interval
from goldassay.statistics.sampling import (
    BettingTest,
    Stratum,
    additions,
    estimate,
    give_up,
    labels_needed,
    sign_test,
    swap_test,
)
from goldassay.statistics.sequential import Bets

Array = NDArray[np.float64]
RATE = Evidences([1.0])
F1 = Evidences([Counts(1, 1, 1)], Counts())


def values(scores: Sequence[float]) -> Array:
    """Evidence of a mean: what each example scores, and its weight."""
    return np.column_stack([scores, np.ones(len(scores))])


def counts(tp: float, fp: float, fn: float) -> list[float]:
    return [{"tp": tp, "fp": fp, "fn": fn}[path[0]] for path in F1.paths]


def test_a_weighted_mean_and_its_variance_by_hand() -> None:
    strata = [Stratum(80, values([1, 1, 1, 0])), Stratum(20, values([0, 1]))]
    result = estimate(strata, RATE)
    assert result.value == pytest.approx(0.8 * 0.75 + 0.2 * 0.5)
    # Deviations from the stratum's mean: squares .75 of four, .5 of two; two of the same size are added to each.
    # Deviations from .7: squares .09, .09, .09, .49 and .49, .09; a sample of so many has (n + 2) / n of that.
    labels = [80**2 * (1 - 4 / 80) / 4 * (0.75 * 6 / 4) / 5, 20**2 * (1 - 2 / 20) / 2 * (0.5 * 4 / 2) / 3]
    sample = 80 * 0.19 * 6 / 4 + 20 * 0.29 * 4 / 2
    variance = sum(labels) + sample
    degrees = variance**2 / (labels[0] ** 2 / 3 + labels[1] ** 2 / 1 + sample**2 / 99)
    half = stats.t.ppf(0.975, degrees) * math.sqrt(variance) / 100
    assert (result.low, result.high) == pytest.approx((0.7 - half, 0.7 + half), abs=1e-6)
    assert result.n == 6


def test_a_random_sample_has_the_interval_of_its_mean() -> None:
    scores = np.random.default_rng(0).random(50)
    result = estimate([Stratum(10**9, values(scores.tolist()))], RATE)
    half = stats.t.ppf(0.975, 49) * scores.std() * math.sqrt(52 / 51 / 50)
    assert (result.low, result.high) == pytest.approx((scores.mean() - half, scores.mean() + half), abs=1e-6)


def test_everything_labelled_leaves_only_the_doubt_of_the_sample() -> None:
    scores = np.random.default_rng(1).random(60)
    result = estimate([Stratum(60, values(scores.tolist()))], RATE)
    half = stats.t.ppf(0.975, 59) * scores.std() * math.sqrt(62 / 60 / 60)
    assert (result.value, result.high) == pytest.approx((scores.mean(), scores.mean() + half), abs=1e-6)


def test_f1_is_a_ratio_estimate_by_what_is_predicted() -> None:
    labelled = np.array([counts(2, 0, 1), counts(1, 1, 0)])
    result = estimate([Stratum(50, labelled, predicted=np.array([120.0]))], F1)
    # 3 of 4 predicted spans are right, so 90 of 120; one missed for 4 predicted is 30 for 120.
    assert result.value == pytest.approx(2 * 90 / (2 * 90 + 30 + 30))
    by_number = estimate([Stratum(50, labelled)], F1)
    assert by_number.value == pytest.approx(2 * 75 / (2 * 75 + 25 + 25))


def test_a_ratio_does_not_depend_on_which_texts_are_long() -> None:
    """All that is predicted in one stratum is right, all in the other wrong; what is predicted is known."""
    right = [Stratum(50, np.array([counts(n, 0, 0)]), np.array([120.0])) for n in (1, 2, 9)]
    wrong = Stratum(50, np.array([counts(0, 2, 1), counts(0, 4, 2)]), np.array([60.0]))
    for stratum in right:
        assert estimate([stratum, wrong], F1).value == pytest.approx(240 / (240 + 60 + 30))
    by_number = [estimate([replace(each, predicted=None), wrong], F1).value for each in right]
    assert max(by_number) - min(by_number) > 0.2


def test_labels_that_are_all_alike_leave_a_doubt() -> None:
    alike = np.hstack([values([0.0] * 10), values([1.0] * 10)])
    won = estimate([Stratum(50, alike), Stratum.agreeing(450)], RATE, systems=2)
    assert won.value == pytest.approx(0.1)
    assert won.low < 0.08
    same = np.hstack([values([0.0] * 10), values([0.0] * 10)])
    level = estimate([Stratum(50, same), Stratum.agreeing(450)], RATE, systems=2)
    assert level.low < -0.005
    assert level.high > 0.005


def test_disagreements_alone_give_the_difference_of_a_mean() -> None:
    a = [0.0] * 12 + [1.0] * 4 + [0.0] * 4
    b = [1.0] * 12 + [0.0] * 4 + [0.0] * 4
    strata = [Stratum(100, np.hstack([values(a), values(b)])), Stratum.agreeing(400)]
    result = estimate(strata, RATE, systems=2)
    assert result.value == pytest.approx(100 / 500 * (12 - 4) / 20)
    # 16 of 20 differ; two more as those are added.
    spread = 20 * np.var(np.subtract(b, a)) * (1 + 2 / 16) / 21
    labels = 0.2**2 * (1 - 20 / 100) / 20 * spread
    sample = (100 * np.mean((np.subtract(b, a) - 0.08) ** 2) * (1 + 2 / 16) + 400 * 0.08**2) / 500**2
    degrees = (labels + sample) ** 2 / (labels**2 / 19 + sample**2 / 499)
    half = stats.t.ppf(0.975, degrees) * math.sqrt(labels + sample)
    assert (result.low, result.high) == pytest.approx((0.08 - half, 0.08 + half), abs=1e-6)
    assert result.n == 20


def test_the_difference_turns_with_the_systems() -> None:
    rng = np.random.default_rng(2)
    rows = rng.poisson(2, (30, 6)).astype(float)
    known = np.array([900.0, 1000.0])
    there = estimate([Stratum(300, rows, predicted=known)], F1, systems=2)
    back = estimate([Stratum(300, rows[:, [3, 4, 5, 0, 1, 2]], predicted=known[::-1])], F1, systems=2)
    assert (back.value, back.low, back.high) == pytest.approx((-there.value, -there.high, -there.low), abs=1e-9)


def test_one_label_of_a_stratum_leaves_more_doubt_than_ten() -> None:
    rest = Stratum(50, values([1, 0] * 10))
    one = estimate([Stratum(50, values([1])), rest], RATE)
    ten = estimate([Stratum(50, values([1] * 9 + [0])), rest], RATE)
    assert one.high - one.low > ten.high - ten.low


def test_the_interval_of_a_rate_stays_within_its_bounds() -> None:
    result = estimate([Stratum(400, values([1.0] * 30))], RATE, bounds=(0.0, 1.0))
    assert (result.value, result.high) == (1.0, 1.0)
    assert 0.8 < result.low < 0.95


def test_few_labels_that_are_all_alike_do_not_make_a_stratum_certain() -> None:
    """13 labels without a hit leave room for Wilson's 3 of 13 in 350 of 400 inputs: .875 * .228 beside the others."""
    strata = [Stratum(350, values([0] * 13)), Stratum(50, values([1] * 6 + [0] * 21))]
    result = estimate(strata, RATE, bounds=(0.0, 1.0))
    assert result.value == pytest.approx(50 / 400 * 6 / 27)
    assert result.high - result.value == pytest.approx(0.875 * 0.228, abs=0.02)
    assert 0 < result.low < result.value
    scaled = [replace(each, evidence=each.evidence * (3, 1)) for each in strata]
    grades = estimate(scaled, RATE, bounds=(0.0, 3.0))
    assert (grades.value, grades.low, grades.high) == pytest.approx((3 * result.value, 3 * result.low, 3 * result.high))


@pytest.mark.parametrize("judge", [None, (0.8, 0.1), pytest.param((0.3, 0.3), marks=pytest.mark.nightly)])
def test_a_rare_failure_is_covered_by_drafts_of_likely_failures(judge: tuple[float, float] | None) -> None:
    """27 labels of a likely eighth, 13 of the rest: one variance for both ends held .05 in .75 to .86 of samples."""
    covered = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        failed = rng.random(400) < 0.05
        likely = rng.random(400) < np.where(failed, 0.6, 0.1)
        yes = rng.random(400) < np.where(failed, *(judge or (0, 0)))
        strata = []
        for places, n in ((np.flatnonzero(likely), 27), (np.flatnonzero(~likely), 13)):
            labelled = rng.permutation(places)[:n]
            verdicts = yes[labelled] * 1.0 if judge else None
            strata.append(Stratum(len(places), values(failed[labelled]), None, verdicts, float(yes.mean())))
        interval = estimate(strata, RATE, bounds=(0.0, 1.0))
        covered += interval.low <= 0.05 <= interval.high
    assert 0.925 <= covered / 400 <= 0.985


def test_a_stratum_without_labels_is_an_error() -> None:
    with pytest.raises(GoldassayError, match="400 examples has no label"):
        estimate([Stratum(100, values([1.0, 0.0])), Stratum(400, np.zeros((0, 2)))], RATE)
    with pytest.raises(GoldassayError, match="population"):
        estimate([Stratum(0, np.zeros((0, 2)))], RATE)
    assert estimate([Stratum(100, values([1.0, 0.0])), Stratum(0, np.zeros((0, 2)))], RATE).value == 0.5


def judged(rng: np.random.Generator, agreement: float, n: int) -> tuple[Array, Array]:
    """Labels with a rate of .6, and the verdicts of a judge that repeats a share of them and guesses the others."""
    labels = (rng.random(n) < 0.6).astype(float)
    verdicts = np.where(rng.random(n) < agreement, labels, rng.random(n) < 0.5).astype(float)
    return labels, verdicts


@pytest.mark.parametrize("agreement", [0.0, 0.9])
def test_a_judge_narrows_the_interval_if_it_is_any_good_and_never_makes_it_wrong(agreement: float) -> None:
    rng = np.random.default_rng(3)
    held = 0
    shares = []
    for _ in range(100):
        labels, verdicts = judged(rng, agreement, 1000)
        plain = Stratum(1000, values(labels[:60].tolist()))
        helped = replace(plain, verdicts=verdicts[:60], verdict_mean=float(verdicts.mean()))
        alone = estimate([plain], RATE)
        result = estimate([helped], RATE)
        held += result.low <= 0.6 <= result.high
        shares.append((result.high - result.low) / (alone.high - alone.low))
    assert held >= 0.92 * 100
    assert np.mean(shares) < 0.7 if agreement else 0.95 < np.mean(shares) < 1.01


def test_documents_widen_the_interval_only_if_their_inputs_are_alike() -> None:
    rng = np.random.default_rng(4)
    documents = [str(place // 10) for place in range(200)]
    alike = np.repeat(rng.random(20) < 0.5, 10).astype(float)
    apart = estimate([Stratum(200, values(alike.tolist()))], RATE)
    together = estimate([Stratum(200, values(alike.tolist()), clusters=documents)], RATE)
    # All 200 are labelled, so the variance is that of the means of 20 documents.
    means = alike.reshape(20, 10).mean(axis=1)
    half = stats.t.ppf(0.975, 19) * means.std() / math.sqrt(20)
    assert together.high - together.value == pytest.approx(half, rel=1e-3)
    assert together.high - together.low > 2.5 * (apart.high - apart.low)
    balanced = np.tile([1.0, 0.0], 100)
    plain = estimate([Stratum(200, values(balanced.tolist()))], RATE)
    clustered = estimate([Stratum(200, values(balanced.tolist()), clusters=documents)], RATE)
    assert clustered.high - clustered.low == pytest.approx(plain.high - plain.low, rel=0.1)


def test_documents_of_labelled_disagreements_are_enough() -> None:
    a = [0.0, 1.0] * 10
    rows = np.hstack([values(a), values(a[::-1])])
    documents = [str(place // 4) for place in range(20)]
    result = estimate([Stratum(60, rows, clusters=documents), Stratum.agreeing(200)], RATE, systems=2)
    assert math.isfinite(result.low)
    assert result.value == pytest.approx(0)


@pytest.mark.parametrize(("wins", "losses"), [(9, 1), (5, 5), (0, 6), (30, 17)])
def test_the_sign_test_is_the_binomial_one(wins: int, losses: int) -> None:
    differences = np.array([0.3] * wins + [-1.0] * losses + [0.0] * 7)
    assert sign_test(differences) == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)
    assert sign_test(np.zeros(4)) == 1.0


def test_the_swap_test_is_the_enumeration_of_all_swaps() -> None:
    differences = np.array([0.9, 0.4, -0.2, 0.7, 0.1, -0.3, 0.8, 0.0])
    moved = differences[differences != 0]
    sums = [abs(float(np.dot(signs, moved))) for signs in product([-1, 1], repeat=len(moved))]
    exact = np.mean([each >= abs(moved.sum()) - 1e-9 for each in sums])
    assert swap_test(differences, resamples=40_000) == pytest.approx(exact, abs=0.005)
    assert swap_test(np.array([1.0] * 9 + [-1.0])) == sign_test(np.array([1.0] * 9 + [-1.0]))


def test_what_disagreements_add_is_the_statistic_of_f1() -> None:
    rng = np.random.default_rng(5)
    a = rng.poisson(2, (20, 3)).astype(float)
    b = rng.poisson(2, (20, 3)).astype(float)
    tp, fp, fn = (F1.paths.index((name,)) for name in ("tp", "fp", "fn"))
    b[:, fn] = np.maximum(0, a[:, tp] + a[:, fn] - b[:, tp])
    a[:, fn] = b[:, tp] + b[:, fn] - a[:, tp]
    both = (a + b).sum(axis=0)
    f = 2 * both[tp] / (2 * both[tp] + both[fp] + both[fn])
    by_hand = (b - a)[:, tp] - f / 2 * (b - a)[:, [tp, fp]].sum(axis=1)
    amounts = additions(a, b, F1)
    assert amounts / amounts[0] == pytest.approx(by_hand / by_hand[0], rel=1e-5)
    assert additions(b, a, F1) == pytest.approx(-amounts, abs=1e-9)
    running = additions(a, b, F1, running=True)
    assert running[-1] == pytest.approx(amounts[-1] * 20, rel=1e-6)
    assert additions(a[:7], b[:7], F1, running=True) == pytest.approx(running[:7], rel=1e-9)


def test_labels_on_agreements_say_at_which_level_a_disagreement_counts() -> None:
    """B finds one span more and predicts three wrong ones. What those cost depends on F1 of all."""
    a = np.array([counts(1, 0, 1), counts(5, 0, 5)])
    b = np.array([counts(2, 3, 0), counts(5, 0, 5)])
    alone = additions(a[:1], b[:1], F1)[0]
    together = additions(a, b, F1, weights=np.array([1.0, 30.0]))
    tp, fp, fn = (3 + 300, 3, 1 + 300)
    assert together[0] == pytest.approx((2 * (fp + fn) + 2 * tp - 3 * 2 * tp) / (2 * tp + fp + fn) ** 2, rel=1e-6)
    assert together[1] == 0
    assert alone != pytest.approx(together[0])


def test_a_race_is_two_sequential_tests_at_half_the_level() -> None:
    differences = np.random.default_rng(6).choice([1.0, 0.0, -1.0], 80, p=[0.6, 0.25, 0.15])
    race = BettingTest()
    better = Bets(1.0)
    worse = Bets(1.0)
    decided = None
    for place, difference in enumerate(differences, 1):
        race.extend([difference])
        better.extend([difference])
        worse.extend([-difference])
        assert race.p == min(1.0, 2 * min(better.p, worse.p))
        if decided is None and min(better.p, worse.p) <= 0.025:
            decided = place
    assert decided is not None
    assert (race.direction, race.labels) == (1, decided)
    assert BettingTest().extend(-differences) == -1


@simulation(daily=40, golden=0, nightly=300)
def test_a_race_without_a_difference_is_seldom_decided(draws: int, golden: int | None) -> None:
    rng = np.random.default_rng(7)
    decided = sum(BettingTest().extend(rng.choice([1.0, 0.0, -1.0], 100)) != 0 for _ in range(draws))
    assert golden in (None, decided)
    assert decided <= 0.05 * draws


@pytest.mark.parametrize("draws", [60, pytest.param(200, marks=pytest.mark.nightly)])
def test_labels_needed_are_about_what_a_race_takes(draws: int) -> None:
    rng = np.random.default_rng(8)
    sample = rng.choice([1.0, 0.0, -1.0], 2000, p=[0.4, 0.4, 0.2])
    taken = []
    for _ in range(draws):
        race = BettingTest()
        race.extend(rng.choice(sample, 400))
        taken.append(race.labels)
    expected = labels_needed(np.array([1.0, 1.0, 0.0, 0.0, -1.0] * 2), left=400)
    assert expected is not None
    assert 0.6 * np.median(taken) <= 10 + expected <= 1.6 * np.median(taken)


def test_labels_needed_of_a_decided_and_of_a_hopeless_race() -> None:
    assert labels_needed(np.ones(20), left=10) == 0
    assert labels_needed(np.array([1.0, -1.0] * 10), left=500) is None
    assert labels_needed(np.zeros(10), left=500) is None
    assert labels_needed(np.array([0.2, -0.1, 0.3]), left=1) is None
    assert labels_needed(np.array([0.2, -0.1, 0.3]), left=5000) is not None


def test_giving_up_names_what_remains_possible() -> None:
    wide = Interval(0.0, -0.04, 0.04, n=30)
    assert give_up(wide, left=500) == (90, 0.02)  # half as wide with four times the labels
    assert give_up(wide, left=500, gain=0.05) == (0, 0.05)
    assert give_up(wide, left=90, gain=0.01) == pytest.approx((90, 0.02))


@pytest.mark.parametrize("n", [40, pytest.param(100, marks=pytest.mark.nightly)])
def test_intervals_of_disagreements_hold_the_difference_in_the_stream(n: int) -> None:
    rng = np.random.default_rng(9)
    held = []
    for _ in range(400):
        scores = rng.choice([0.0, 1.0, -1.0, 2.0], 600, p=[0.8, 0.09, 0.04, 0.07])  # 2: they differ, both are wrong
        disagreements = scores[scores != 0]
        b = (disagreements == 1).astype(float)[:n]
        a = (disagreements == -1).astype(float)[:n]
        labelled = np.hstack([values(a.tolist()), values(b.tolist())])
        strata = [Stratum(len(disagreements), labelled), Stratum.agreeing(600 - len(disagreements))]
        result = estimate(strata, RATE, systems=2)
        held.append(result.low <= 0.05 <= result.high)
    assert 0.92 <= np.mean(held) <= 0.98
