"""The scorecard of trajectories: its values, and the table from step to step."""

from __future__ import annotations

import pytest

from goldassay import score
from goldassay._support.exceptions import FieldError
from goldassay.measures.trajectories import scorecard

A = {"name": "search", "args": {"query": "Delft"}}
B = {"name": "read", "args": {"id": 7}}
C = {"name": "date", "args": {"of": "x"}}


def test_the_first_wrong_step_of_each_trajectory_is_counted_once() -> None:
    gold = [{"calls": [A, B], "category": category} for category in "xxyy"]
    pred = [{"trajectory": calls} for calls in ([A, B], [A, C], [C, B], [A, C, C])]
    result = scorecard(gold, pred)
    assert result.values["trajectory_exact_match"] == 0.25
    steps = result.by["step"]
    # all four begin; one goes wrong at once; of the three that go on two go wrong at their second call
    assert [(steps[step]["reached"], steps[step]["wrong"]) for step in "123"] == [(4, 1), (3, 2), (1, 0)]
    assert steps["2"]["loss"] == 2 / 3
    assert steps["2"]["low"] < 2 / 3 < steps["2"]["high"]
    assert result.by["transition"] == {"search → date": {"trajectories": 2}, "start → date": {"trajectories": 1}}
    assert result.by["category"]["x"] == {"trajectory_exact_match": 0.5, "examples": 2}
    assert result.by["tool"]["read"]["support"] == 4


def test_where_order_does_not_count_the_first_wrong_step_is_the_first_call_too_many() -> None:
    gold = [{"calls": [A, B], "order": "any"}]
    steps = scorecard(gold, [{"trajectory": [B, C, A]}]).by["step"]
    assert [(row["reached"], row["wrong"]) for row in steps.values()] == [(1, 0), (1, 1)]


def test_a_program_that_failed_and_a_trajectory_that_was_cut_are_warned_about() -> None:
    result = scorecard([{"calls": [], "category": "none"}], [None])
    assert result.values["trajectory_exact_match"] == result.by["category"]["none"]["trajectory_exact_match"] == 0
    assert result.by["step"]["1"]["wrong"] == 1
    gold = [{"calls": [A]}] * 2
    result = scorecard(gold, [None, {"trajectory": [A], "finished": False}])
    assert result.values["call_recall"] == 0.5
    assert len(result.warnings) == 2


def test_predictions_without_a_field_of_calls_are_warned_about() -> None:
    result = scorecard([{"calls": [A]}] * 3, [{"calls": None}, {"calls": []}, {"messages": []}])
    assert [warning[:23] for warning in result.warnings] == ["1 of 3 predictions have"]


def test_a_prediction_without_a_field_of_steps_is_an_error_that_names_what_it_has() -> None:
    with pytest.raises(FieldError, match="no field 'trajectory'; it has steps, note"):
        scorecard([{"calls": [A]}], [{"steps": [A], "note": ""}])
    assert scorecard([{"calls": [A]}], [{"history": {"messages": []}}]).values["call_recall"] == 0


def test_what_a_tool_returned_may_be_any_object() -> None:
    gold = [{"id": "1", "calls": [{"name": "look"}]}]
    trajectory = {"tool_name_0": "look", "tool_args_0": {}, "observation_0": {"page": object()}}
    assert score("trajectories", gold, [{"id": "1", "trajectory": trajectory}]).values["call_f1"] == 1


def test_a_trajectory_that_outgrew_the_context_has_the_calls_that_are_left() -> None:
    """DSPy's ReAct drops the oldest ones from it: it could not be read, so the example counted as failed."""
    calls = [{"name": "search", "args": {"q": "Delft"}}, {"name": "read", "args": {"id": 7}}]
    left = {"thought_1": "", "tool_name_1": "read", "tool_args_1": {"id": 7}, "observation_1": "1246"}
    end = {"thought_2": "", "tool_name_2": "finish", "tool_args_2": {}, "observation_2": "Completed."}
    card = scorecard([{"calls": calls}], [{"trajectory": left | end}])
    assert (card.values["call_precision"], card.values["call_recall"], card.values["finished"]) == (1, 0.5, 1)
    assert any("1 of 1 trajectories lack their first calls" in warning for warning in card.warnings)
