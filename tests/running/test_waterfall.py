"""Stages replaced by gold: shares that add up, by hand and for the answering baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.exceptions import GoldassayError
from goldassay.measures import answering
from goldassay.reporting.pages import charts
from goldassay.reporting.pages import waterfall as page
from goldassay.running.waterfall import waterfall

METRIC = Metric(answering.ExactMatch())


class Pipe(dspy.Module):  # type: ignore[misc]
    """Finds the right text unless the question says lost, reads it right unless it says blind."""

    stages = {"find": lambda gold: gold["answers"][0], "read": lambda gold: gold["answers"][0]}

    def find(self, question: str) -> str:
        return "nothing" if "lost" in question else question.split()[-1]

    def read(self, text: str) -> str:
        return "?" if text.startswith("b") else text

    def forward(self, question: str) -> Any:
        return dspy.Prediction(answer=self.read(self.find(question)))


def gold() -> list[Any]:
    """Ten right, six that finding loses, four that reading spoils, and one that both do."""
    questions = [f"q a{i}" for i in range(10)] + [f"lost q a{10 + i}" for i in range(6)] + [f"q b{i}" for i in range(4)]
    questions.append("lost q b9")
    return [
        dspy.Example(id=str(i), question=share, answers=[share.split()[-1]]).with_inputs("question")
        for i, share in enumerate(questions)
    ]


def test_shares_are_shapley_values_and_add_up() -> None:
    result = waterfall(Pipe(), gold(), METRIC, progress=False)
    # of 21: none 10; find 16 (b9 is still not read); read mends everything, since it puts out the answer itself: 21
    assert result.values == {
        "none": pytest.approx(10 / 21),
        "find": pytest.approx(16 / 21),
        "read": pytest.approx(1.0),
        "find + read": pytest.approx(1.0),
    }
    shares = {share.stage: share for share in result.shares}
    # find: ½ (16 − 10) + ½ (21 − 21) = 3; read: ½ (21 − 10) + ½ (21 − 16) = 8
    assert shares["find"].cost == pytest.approx(3 / 21)
    assert shares["read"].cost == pytest.approx(8 / 21)
    assert sum(share.cost for share in result.shares) == pytest.approx(result.perfect - result.value)
    assert result.rest == pytest.approx(0.0)
    assert all(share.low < share.cost < share.high for share in result.shares)
    assert result.state()["shares"][0]["stage"] == "find"


def test_a_stage_that_mends_nothing_has_an_interval_with_a_width() -> None:
    result = waterfall(Pipe(), gold()[:10], METRIC, progress=False)
    assert [share.cost for share in result.shares] == [0.0, 0.0]
    assert all(share.low < -0.05 and share.high > 0.05 for share in result.shares)


def test_examples_with_the_same_inputs_keep_their_own_gold() -> None:
    """The second has the same question and another answer: nothing but its own gold can mend it."""
    twins = [dspy.Example(id=i, question="q a", answers=[i]).with_inputs("question") for i in ("a", "z")]
    result = waterfall(Pipe(), twins, METRIC, progress=False)
    assert result.values == {"none": 0.5, "find": 1.0, "read": 1.0, "find + read": 1.0}


def test_the_program_itself_is_left_as_it_is() -> None:
    program = Pipe()
    waterfall(program, gold(), METRIC, progress=False)
    assert "find" not in vars(program)
    assert program(question="lost q a1").answer == "nothing"


def test_what_cannot_be_replaced_is_said() -> None:
    with pytest.raises(GoldassayError, match="names no stages"):
        waterfall(dspy.Predict("question -> answer"), gold(), METRIC)
    other, many, names = Pipe(), Pipe(), [f"stage{number}" for number in range(6)]
    other.stages = {"rank": lambda one: one}
    with pytest.raises(GoldassayError, match="no method or predictor"):
        waterfall(other, gold(), METRIC)
    many.__dict__.update(dict.fromkeys(names, str))
    many.stages = dict.fromkeys(names, lambda one: one)
    with pytest.raises(GoldassayError, match="names 6 stages; give it up to 5"):
        waterfall(many, gold(), METRIC)


def test_its_picture_is_a_cascade_from_all_right_down_to_the_program() -> None:
    figure = charts.waterfall(0.25, 0.05, [("find", -0.1, -0.2, 0.0), ("read", 0.8, 0.7, 0.9)])
    steps, whiskers = figure["data"]
    assert steps["y"] == ["all right 1", "rest −0.050", "find +0.100", "read −0.800", "the program 0.250"]
    assert steps["x"] == pytest.approx([1.0, -0.05, 0.1, -0.8, 0.25])
    assert steps["measure"] == ["absolute", "relative", "relative", "relative", "total"]
    assert sum(steps["x"][:-1]) == pytest.approx(steps["x"][-1])
    assert whiskers["x"] == pytest.approx([0.95, 1.05, 0.25])  # where each step ends
    assert whiskers["error_x"]["arrayminus"] == pytest.approx([0.0, 0.1, 0.1])  # the rest has no interval
    assert "read −0.800" in figure["label"]
    whole = charts.waterfall(0.25, 0.0, [("find", 0.0, -0.1, 0.1), ("read", 0.75, 0.7, 0.9)])
    assert whole["data"][0]["y"][:2] == ["all right 1", "find +0.000"]  # no rest, no step


def test_its_page_holds_the_numbers(tmp_path: Path) -> None:
    result = waterfall(Pipe(), gold(), METRIC, progress=False)
    text = page(result, "pipe")
    assert f'data-value="{result.value}"' in text
    assert f"{result.shares[1].cost:.3f}" in text
