"""A measure of a user's own whose tally was written for plain numbers, not for arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import dspy
import pytest

from goldassay import Metric, Tally
from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Measure
from goldassay.reporting.pages import report
from goldassay.running.comparing import compare
from goldassay.running.evaluate import evaluate
from goldassay.running.gates import gate
from goldassay.tuning.measuring import effect


@dataclass(frozen=True)
class Seen(Tally):
    """Right answers out of all, at least one of which is asked for."""

    right: float = 0
    asked: float = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(self.right + other.right, self.asked + other.asked)

    @property
    def value(self) -> float:
        return math.sqrt((self.right / max(self.asked, 1)) ** 2) if self.asked else 1.0

    @property
    def weight(self) -> float:
        return float(self.asked)

    def state(self) -> dict[str, float]:
        return {"right": self.right, "asked": self.asked}

    def from_state(self, state: Mapping[str, Any]) -> Self:
        return type(self)(state["right"], state["asked"])


class Whole(Seen):
    """The same, whose numbers are made whole."""

    def from_state(self, state: Mapping[str, Any]) -> Self:
        return type(self)(int(state["right"]), int(state["asked"]))


class Same(Measure[Seen]):
    """Whether the label is right."""

    task = "own"
    name = "same"
    zero: ClassVar[Seen] = Seen()

    def tally(self, gold: Any, pred: Any) -> Seen:
        return Seen(float(gold["label"] == pred["label"]), 1)


@pytest.fixture
def gold() -> list[Any]:
    return [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in "abcdefgh"]


def half(text: str) -> Any:
    return dspy.Prediction(label=text.upper() if text < "e" else "?")


def right(text: str) -> Any:
    return dspy.Prediction(label=text.upper())


def test_it_works_wherever_a_tally_does(gold: list[Any]) -> None:
    metric = Metric(Same())
    runs = [evaluate(program, gold, metric, progress=False) for program in (half, right)]
    assert [run.value for run in runs] == [0.5, 1.0]
    ends = runs[0].intervals["same"]
    assert 0.1 < ends.low < 0.5 < ends.high < 0.9
    (result,) = compare(*runs)
    assert result.difference == 0.5
    assert result.won == ("4", "5", "6", "7")
    assert gate(runs[1].tallies("same"), Seen(), target=0.5).verdict == "pass"
    assert effect(runs[1].cases, runs[0].cases, gold, "dev", {}, zero=metric.zero, resamples=200).difference == 0.5
    assert "same" in report(runs)
    score = dspy.Evaluate(devset=gold, metric=metric, num_threads=1)(half)
    assert score.score == 50.0


def test_a_tally_that_cannot_hold_arrays_is_refused_before_any_call() -> None:
    class Rounded(Same):
        zero: ClassVar[Whole] = Whole()

    with pytest.raises(GoldassayError, match=r"^Whole.from_state takes numbers, and arrays of them"):
        Metric(Rounded())


def test_an_example_without_a_value_of_a_functions_dict_is_left_out_of_it(tmp_path: Path) -> None:
    def metric(gold: Any, pred: Any) -> dict[str, float]:
        return {"right": 1.0, "cited": 0.5} if gold.text != "c" else {"right": 0.0}

    gold = [dspy.Example(id=text, text=text).with_inputs("text") for text in "abcd"]
    run = evaluate(lambda text: dspy.Prediction(answer=text), gold, metric, folder=tmp_path / "r", progress=False)
    assert run.values == {"score": 0.5625, "right": 0.75, "cited": 0.5}
    assert run.intervals["cited"].n == 3
    assert compare(run, tmp_path / "r")[0].difference == 0.0
