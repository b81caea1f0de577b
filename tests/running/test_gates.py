"""Gates: the level over all looks, verdicts in time, and how many more examples are needed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nightly import simulation

from goldassay import Counts, Mean
from goldassay._support.exceptions import GoldassayError
from goldassay.core.tally import Tally
from goldassay.measures.classification.tally import Labelled
from goldassay.running.gates import gate


def documents(rng: np.random.Generator, n: int, truth: float) -> list[Tally]:
    """Documents of some entities, whose micro-F1 is the truth."""
    sizes = 1 + rng.poisson(2, n)
    hits, wrong = rng.binomial(sizes, truth), rng.binomial(sizes, 1 - truth)
    return [Counts(float(a), float(b), float(k - a)) for a, b, k in zip(hits, wrong, sizes, strict=True)]


@simulation(daily=20, golden=1, nightly=300)
def test_looking_after_every_few_examples_keeps_the_level(draws: int, golden: int | None) -> None:
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(draws):
        values = (rng.random(200) < 0.9).astype(float)
        wrong += any(gate(values[:n], target=0.9).verdict == "pass" for n in range(5, 201, 5))
    assert golden in (None, wrong)
    assert wrong <= 0.05 * draws


def test_micro_f1_at_its_target_passes_seldom() -> None:
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(40):
        rows = documents(rng, 120, 0.8)
        wrong += any(gate(rows[:n], Counts(), target=0.8).verdict == "pass" for n in range(10, 121, 10))
    assert wrong <= 0.05 * 40 + 2 * np.sqrt(0.05 * 0.95 * 40)


def test_a_verdict_comes_in_time_and_says_how_far_off_it_is() -> None:
    rng = np.random.default_rng(2)
    values = (rng.random(400) < 0.97).astype(float)
    assert gate(values, target=0.9).verdict == "pass"
    assert gate((rng.random(400) < 0.8).astype(float), target=0.9).verdict == "fail"
    early = gate([1.0] * 20, target=0.9)
    assert early.verdict == "continue"
    assert early.more is not None
    assert gate([1.0] * (20 + early.more), target=0.9).verdict == "pass"
    assert gate([1.0] * (19 + early.more), target=0.9).verdict == "continue"
    near = gate([1.0] * 9 + [0.0], target=0.9)
    assert (near.verdict, near.more) == ("continue", None)
    assert "too close" in str(near)


def test_more_looks_ask_for_more() -> None:
    rows = [1.0] * 60
    first, tenth = gate(rows, target=0.9), gate(rows, target=0.9, look=10)
    assert (first.verdict, tenth.verdict) == ("pass", "continue")
    assert sum(gate(rows, target=0.9, look=k).level for k in range(1, 400)) < 0.05


def test_lower_is_better_and_bounds() -> None:
    assert gate([0.0] * 100, target=0.1, lower_is_better=True).verdict == "pass"
    assert gate([1.0] * 100, target=0.1, lower_is_better=True).verdict == "fail"
    assert gate([-1.0] * 100, target=0.0, bounds=(-1.0, 1.0)).verdict == "fail"
    clustered = gate([1.0] * 100, target=0.9, clusters=["d"] * 100)
    assert (clustered.verdict, clustered.n) == ("continue", 1)
    assert gate([Mean()], Mean(), target=0.5).verdict == "continue"


def test_what_is_no_gate_is_said() -> None:
    with pytest.raises(GoldassayError, match="between 0 and 1, not at 1"):
        gate([1.0], target=1.0)


def test_labels_that_do_not_occur_leave_no_verdict_on_macro_f1() -> None:
    # Six of ten labels occur, all right: macro-F1 is .6, and of the other four nothing is known.
    names = tuple("ABCDEFGHIJ")
    rows = [Labelled({(label, label): 1.0}) for label in names[:6] for _ in range(30)]
    assert gate(rows, Labelled({}, names), target=0.8).verdict == "continue"
    assert gate(rows, Labelled({}, names), target=0.4).verdict == "pass"
    assert gate(rows, Labelled({}, names[:6]), target=0.8).verdict == "pass"
