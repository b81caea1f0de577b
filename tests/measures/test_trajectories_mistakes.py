"""Errors of trajectories: each kind, with its step and the predictor that made it."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.measures.trajectories import CallF1
from goldassay.measures.trajectories.records import steps_of

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


def test_a_failed_call_says_what_was_raised_and_not_where() -> None:
    """DSPy's observation of it begins with frames, so 80 characters of it named a file and no reason."""
    frames = 'Traceback (most recent call last):\n  File "tool.py", line 9\n    raise ValueError\n'
    observation = f"Execution error in search: \n{frames}KeyError: 7\n\nDuring this:\n\n{frames}ValueError: gone\nmore"
    react = {"tool_name_0": "search", "tool_args_0": {"query": "Delft"}, "observation_0": observation}
    (error,) = (
        error for error in CallF1()({"calls": [A]}, {"trajectory": react}).errors if error.kind == "ignored_error"
    )
    assert error.message == "search failed (ValueError: gone), and the program went on without it."


def chat(*answers: Any) -> dict[str, Any]:
    """Messages: each answer of the model with calls, and what the tools returned."""
    messages: list[Any] = [{"role": "user", "content": "?"}]
    for calls in answers:
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [{"role": "tool", "content": "…"} for _ in calls]
    return {"messages": [*messages, {"role": "assistant", "content": "done"}]}


@pytest.mark.parametrize(
    ("pred", "kind", "name"),
    [
        (chat([A], [C]), "wrong_tool", "date"),
        (chat([A, C], [B]), "spurious_call", "date"),
        (chat([A]), "missing_call", "the end"),
        (chat([B], [A]), "wrong_order", "read"),
        (
            {"trajectory": [{"kind": "model", "name": "lm"}, A, {"kind": "model", "name": "lm"}, C]},
            "wrong_tool",
            "date",
        ),
    ],
)
def test_an_error_has_the_number_of_its_call_whatever_is_between_the_calls(pred: Any, kind: str, name: str) -> None:
    (error,) = CallF1()({"calls": [A, B]}, pred).errors
    calls = [step.name for step in steps_of(pred) if step.kind == "tool"]
    assert (error.kind, [*calls, "the end"][error.step or 0]) == (kind, name)


def test_a_call_that_is_missing_where_order_does_not_count_is_missing_at_the_end() -> None:
    model = {"kind": "model", "name": "lm"}
    assert errors([A, B], [model, A, model]) == [("missing_call", 1)]
    (error,) = CallF1()({"calls": [A, B], "order": "any"}, {"calls": [B]}).errors
    assert (error.kind, error.step) == ("missing_call", 1)


def test_a_wrong_order_is_told_although_a_call_is_missing_or_wrong() -> None:
    assert errors([A, B, C], [B, A]) == [("wrong_order", 0), ("missing_call", 2)]
    assert errors([A, B, C], [B, {"name": "date", "args": {"of": "y"}}, A]) == [
        ("wrong_order", 0),
        ("wrong_argument", 1),
    ]
    assert errors([A, B, C], [A, C]) == [("missing_call", 1)]


def test_the_predictor_that_is_to_blame_made_the_last_call_before() -> None:
    by = [{"kind": "model", "name": "lm"}, {**A, "predictor": "plan"}, {"kind": "model", "name": "lm"}, B]
    (error,) = CallF1()({"calls": [A, B, C]}, {"trajectory": [*by, {**C, "args": {}, "predictor": "act"}]}).errors
    assert error.predictor == "act"
    (error,) = CallF1()({"calls": [A, C]}, {"trajectory": [*by, {**C, "predictor": "act"}]}).errors
    assert (error.kind, error.predictor) == ("spurious_call", "plan")


def test_an_agent_that_ends_at_once_is_to_blame_for_the_calls_that_it_did_not_make() -> None:
    """No predictor was named, so the one that writes the answer was told of them, too."""
    react = {"thought_0": "I know", "tool_name_0": "finish", "tool_args_0": {}, "observation_0": "Completed."}
    errors = CallF1()({"calls": [A]}, {"trajectory": react}).errors
    assert [(error.kind, error.step, error.predictor) for error in errors] == [("missing_call", 0, "react")]


def test_a_right_call_stays_right_beside_a_wrong_one_of_its_name() -> None:
    gold = {"calls": [{"name": "read", "args": {"id": number}} for number in (1, 2, 3)]}
    pred = {"calls": [{"name": "read", "args": {"id": number}} for number in (1, 9, 3)]}
    (error,) = CallF1()(gold, pred).errors
    assert (error.step, error.message) == (1, "read: id is 2, not 9.")
