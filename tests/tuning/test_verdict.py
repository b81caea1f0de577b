"""Verdicts: luck is seldom called help, bred candidates never are, and a document counts once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goldassay import Counts
from goldassay.statistics import compare
from goldassay.statistics.selection import select
from goldassay.tuning.verdict import judge, of_comparison


def scores(rng: np.random.Generator, shares: list[float], n: int, times: int = 1) -> Any:
    """(times, n, candidates) of binary scores with these shares, less those of a baseline of .5."""
    easy = rng.normal(size=(times, n, 1))
    drawn = easy + rng.normal(size=(times, n, 1 + len(shares)))
    cuts = np.quantile(rng.normal(0, 2**0.5, 100_000), [0.5, *shares])
    return (drawn[:, :, 1:] < cuts[1:]).astype(float) - (drawn[:, :, :1] < cuts[0])


def test_luck_is_seldom_said_to_help_and_a_gain_often() -> None:
    rng = np.random.default_rng(0)
    null, some = (select(scores(rng, [0.5] * 9 + [best], 60, 300), flips=400) for best in (0.5, 0.75))
    naive = float((null.naive > 1.67 * null.error).mean())
    assert naive > 0.2
    assert float((null.low > 0).mean()) < 0.09
    assert float((some.low > 0).mean()) > 0.6
    assert abs(float(null.estimate.mean())) < 0.03 < float(null.naive.mean())


def test_one_candidate_has_students_interval() -> None:
    gains = scores(np.random.default_rng(1), [0.7], 50)
    result = select(gains)
    values = gains[0, :, 0]
    half = 2.0096 * values.std(ddof=1) / 50**0.5
    assert result.high[0] == pytest.approx(values.mean() + half, abs=1e-3)
    assert result.low[0] <= values.mean() - half + 1e-3


def test_order_of_candidates_and_examples_does_not_matter() -> None:
    gains = scores(np.random.default_rng(2), [0.5, 0.7, 0.6], 40)[0]
    first = judge(gains, selection="independent")
    other = judge(gains[::-1, ::-1], selection="independent")
    assert first.naive_gain == pytest.approx(other.naive_gain)
    assert np.allclose(first.interval or (), other.interval or (), atol=0.03)  # other signs are drawn


def test_a_document_counts_as_one_example() -> None:
    gains = scores(np.random.default_rng(3), [0.9], 20)[0]
    single = judge(gains, selection="independent")
    copies = judge(np.repeat(gains, 5, axis=0), selection="independent", clusters=np.repeat(np.arange(20), 5).tolist())
    assert copies.interval == pytest.approx(single.interval, abs=1e-6)
    assert (copies.examples, copies.clusters) == (100, 20)


def test_bred_candidates_never_help() -> None:
    gains = scores(np.random.default_rng(4), [0.95] * 5, 300)[0]
    assert judge(gains, selection="independent").verdict == "better"
    audit = judge(gains, selection="bred")
    assert (audit.verdict, audit.gain, audit.interval) == ("open", None, None)
    assert audit.needed
    assert "--program FILE --gold TEST" in str(audit)


def test_the_examples_that_are_needed_are_never_a_handful() -> None:
    """The standard error of so rare wins is too small; by it alone one more example would show the gain."""
    for wins in (4, 6, 8):
        before = [Counts(2, 0, 1)] * wins + [Counts(3, 0, 0)] * (40 - wins)
        audit = of_comparison(compare([Counts(3, 0, 0)] * 40, before, Counts(), resamples=500))
        assert (audit.verdict, (audit.more or 0) >= 4) == ("open", True)
        assert f"to show a gain of {audit.target:+.3f} four times in five" in str(audit)


def test_the_gain_to_be_shown_is_less_than_one_that_may_be_luck() -> None:
    half = compare([1.0] * 12 + [0.0] * 18, [1.0] * 8 + [0.0] * 4 + [1.0] * 1 + [0.0] * 17, resamples=500)
    audit = of_comparison(half)
    assert audit.gain == pytest.approx(0.1)
    assert audit.target is not None
    assert audit.gain is not None
    assert 0.05 <= audit.target < audit.gain
    share = (half.standard_error / 0.1) ** 2
    assert audit.target == pytest.approx(max(0.05, 0.1 * (1 - share)))


def test_the_four_verdicts() -> None:
    rng = np.random.default_rng(5)
    noise = 0.1 * rng.normal(size=(200, 1))
    words = [judge(noise + gain, selection="independent", pick=0).verdict for gain in (0.1, -0.1, 0.0)]
    assert words[:2] == ["better", "worse"]
    assert words[2].startswith("no larger than 0.0")
    assert judge(10 * noise, selection="independent", pick=0).verdict == "open"


def test_a_candidate_that_was_picked_on_other_examples_has_its_own_mean() -> None:
    luck = np.random.default_rng(1).normal(size=(30, 16))
    best = int(luck.mean(0).argmax())
    audit = judge(luck, selection="independent", pick=best, held_out=True)
    assert audit.gain == pytest.approx(luck[:, best].mean()) == audit.naive_gain
    corrected = judge(luck, selection="independent", pick=best).gain
    assert corrected is not None
    assert corrected < luck[:, best].mean() - 0.1
