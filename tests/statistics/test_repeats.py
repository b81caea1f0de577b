"""The variance between examples and between repeats, and pass@k, against exact arithmetic and by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from goldassay import Counts
from goldassay._support.exceptions import GoldassayError
from goldassay.statistics.repeats import VarianceParts, pass_all, pass_at, variance_parts


def test_pass_at_k_is_the_share_of_all_choices_of_k_answers() -> None:
    for size in range(1, 7):
        for good in range(size + 1):
            answers = [True] * good + [False] * (size - good)
            for k in range(1, size + 1):
                choices = list(combinations(answers, k))
                assert pass_at(k, size, good) == pytest.approx(sum(map(any, choices)) / len(choices))
                assert pass_all(k, size, good) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_the_parts_of_a_mean_are_those_of_an_analysis_of_variance() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(30, 4)) + rng.normal(size=(30, 1))
    parts = variance_parts(values.ravel().tolist(), examples=np.repeat(np.arange(30), 4).tolist())
    within = values.var(axis=1, ddof=1).mean()
    between = (4 * values.mean(axis=1).var(ddof=1) - within) / 4  # (MS between - MS within) / m
    assert parts.repeats == pytest.approx(within / 4 / 30, rel=1e-6)
    assert parts.examples == pytest.approx(between / 30, rel=1e-6)


def test_the_parts_of_f1_are_unbiased_and_documents_belong_to_the_examples() -> None:
    """Documents of 2 examples that share a chance; the noise between repeats is that of the answers alone."""
    rng, values, parts = np.random.default_rng(2), [], []
    for _ in range(150):
        chances = np.repeat(rng.beta(2, 2, 30), 2)
        hits = rng.binomial(5, np.repeat(chances, 3))
        tallies = [Counts(int(hit), 1, 5 - int(hit)) for hit in hits]
        examples = np.repeat(np.arange(60), 3).tolist()
        parts.append(variance_parts(tallies, Counts(), examples=examples, clusters=[e // 2 for e in examples]))
        values.append(sum(tallies, Counts()).f1)
    assert np.var(np.asarray(values, float), ddof=1) == pytest.approx(
        np.mean([part.error**2 for part in parts]), rel=0.2
    )
    # F1 = 2 tp / (tp + 1 + 5) per answer, so that its noise is that of tp: 4 Var(tp | chance) / 36 / 180
    # E[5 p (1 - p)] = 5 / 5; the derivative at the sums is 2 (tp + 6 - tp) / (tp + 6)² = 12 / 8.5² of each answer
    assert np.mean([part.repeats for part in parts]) == pytest.approx((12 / 8.5**2) ** 2 / 180, rel=0.1)


def test_more_examples_narrow_an_interval_at_least_as_much_as_more_repeats() -> None:
    for share in (0.0, 0.3, 1.0):
        parts = VarianceParts(1 - share, share)
        assert parts.narrower(2) >= parts.narrower(1, 2) >= 0
    assert VarianceParts(0.0, 1.0).narrower(1, 2) == VarianceParts(0.0, 1.0).narrower(2)
    assert VarianceParts(0.0, 0.0).share == 0


def test_one_answer_an_example_tells_nothing_of_repeats() -> None:
    with pytest.raises(GoldassayError, match="two answers"):
        variance_parts([1.0, 0.0], examples=["a", "b"])
    # an interrupted run: the second example has one answer, and the noise of the first is taken for its own
    parts = variance_parts([1.0, 0.0, 1.0], examples=["a", "a", "b"])
    assert parts.repeats == pytest.approx(0.5 / 4 * (1 / 2 + 1))
