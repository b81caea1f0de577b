"""Errors of trajectories: each kind, with its step and the predictor that made it."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.measures.trajectories import CallF1

A = {"name": "search", "args": {"query": "Delft"}}
B = {"name": "read", "args": {"id": 7}}
C = {"name": "date", "args": {"of": "x"}}


def errors(gold: list[Any], pred: Any) -> list[tuple[str, int | None]]:
    found = CallF1()({"calls": gold}, pred if isinstance(pred, dict) else {"trajectory": pred}).errors
    return [(error.kind, error.step) for error in found]


@pytest.mark.parametrize(
    ("pred", "expected"),
    [
        ([A, B], []),
        ([A, C], [("wrong_tool", 1)]),
        ([A], [("missing_call", 1)]),
        ([A, B, C], [("spurious_call", 2)]),
        ([A, A, B], [("repeated_call", 1)]),
        ([B, A], [("wrong_order", 0)]),
        ([{"name": "search", "args": {"query": "Gouda"}}, B], [("wrong_argument", 0)]),
        ([{**A, "error": "timeout"}, B], [("ignored_error", 0)]),
        ([{**A, "error": "timeout"}, A, B], [("repeated_call", 1)]),
        ({"trajectory": [A, B], "finished": False}, [("not_finished", 2)]),
    ],
)
def test_each_kind_names_its_step(pred: Any, expected: list[tuple[str, int]]) -> None:
    assert errors([A, B], pred) == expected


def test_a_wrong_argument_names_its_field_and_the_predictor() -> None:
    react = {
        "thought_0": "",
        "tool_name_0": "search",
        "tool_args_0": {"query": "Gouda"},
        "observation_0": "Execution error: x",
    }
    found = CallF1()({"calls": [A]}, {"trajectory": react}).errors
    wrong = next(error for error in found if error.kind == "wrong_argument")
    assert (wrong.field, wrong.predictor) == ("search.query", "react")
    assert wrong.message == 'search: query is "Delft", not "Gouda".'
    assert {error.kind for error in found} == {"wrong_argument", "ignored_error", "not_finished"}


def test_a_right_call_stays_right_beside_a_wrong_one_of_its_name() -> None:
    gold = {"calls": [{"name": "read", "args": {"id": number}} for number in (1, 2, 3)]}
    pred = {"calls": [{"name": "read", "args": {"id": number}} for number in (1, 9, 3)]}
    (error,) = CallF1()(gold, pred).errors
    assert (error.step, error.message) == (1, "read: id is 2, not 9.")
