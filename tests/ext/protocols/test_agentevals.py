"""Protocol ``agentevals`` by hand: its modes, its ways with arguments, and where it differs from ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay import score
from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import parse
from goldassay.ext.protocols.agentevals import MODES, AgentMatch
from goldassay.measures.trajectories import TrajectoryMatch


def calls(*names: str, **args: Any) -> list[dict[str, Any]]:
    return [{"name": name, "args": args} for name in names]


@pytest.mark.parametrize(
    ("pred", "expected"),
    [
        (calls("a", "b"), [1, 1, 1, 1]),
        (calls("b", "a"), [0, 1, 1, 1]),
        (calls("a"), [0, 0, 1, 0]),
        (calls("a", "b", "c"), [0, 0, 0, 1]),
        (calls("a", "a", "b"), [0, 0, 0, 1]),
        ([], [0, 0, 1, 0]),
    ],
)
def test_modes(pred: list[Any], expected: list[int]) -> None:
    card = score("trajectories", [{"calls": calls("a", "b")}], [{"calls": pred}], protocol="agentevals")
    assert list(card.values.items()) == [(f"{mode}_match", value) for mode, value in zip(MODES, expected, strict=True)]


def test_arguments_and_those_of_a_tool() -> None:
    gold, pred = {"calls": calls("a", x=1, y=2)}, {"calls": calls("a", x=1)}
    values = {
        how: AgentMatch("superset", how)(gold, pred).tally.value for how in ("exact", "ignore", "subset", "superset")
    }
    assert values == {"exact": 0, "ignore": 1, "subset": 1, "superset": 0}
    assert AgentMatch("subset", "superset")(gold, pred).tally.value == 1  # it looks from the reference
    for how, value in (("ignore", 1), (["x"], 1), (["y"], 0)):
        assert AgentMatch("superset", compare={"a": how})(gold, pred).tally.value == value
    with pytest.raises(GoldassayError, match="compare a: exact, ignore, subset, superset or a list"):
        AgentMatch(compare={"a": "money"})
    card = score("trajectories", [gold], [pred], protocol="agentevals", arguments="ignore")
    assert card.values["strict_match"] == 1
    measure = AgentMatch("subset", "ignore", {"a": ["x"]})
    assert parse(f"trajectories.{measure!r}") == measure


def test_the_greedy_assignment_misses_what_the_largest_finds() -> None:
    gold = {"calls": [{"name": "f", "args": {}}, {"name": "f", "args": {"x": 1}}]}
    pred = {"calls": [{"name": "f", "args": {"x": 1}}, {"name": "f", "args": {}}]}
    assert AgentMatch("unordered", "superset")(gold, pred).tally.value == 0
    assert TrajectoryMatch("unordered", arguments="superset")(gold, pred).tally.value == 1


def test_messages_of_langchain_are_those_of_openai() -> None:
    openai = [{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": [{"name": "a", "args": {"x": 1}}]}]
    langchain = [{"type": "human", "content": "?"}, {"type": "ai", "tool_calls": [{"name": "a", "args": {"x": 1}}]}]
    gold, pred = [{"messages": openai}] * 2, [{"messages": langchain}, {"messages": langchain[1:]}]
    card = score("trajectories", gold, pred, protocol="agentevals")
    assert [*card.values.values()] == [0.5, 1, 1, 1]
    assert score("trajectories", gold, pred).values["trajectory_exact_match"] == 1


def test_a_failed_program_and_another_trajectory_that_is_acceptable() -> None:
    gold = {"calls": [calls("a"), calls("b")]}
    assert AgentMatch()(gold, {"calls": calls("b")}).tally.value == 1
    assessment = AgentMatch()(gold, {"calls": calls("c")})
    assert [(error.kind, error.message) for error in assessment.errors] == [("no_strict_match", "expected a().")]
    assert AgentMatch("subset")(gold, {"goldassay_failure": "ValueError: no", "calls": []}).tally.value == 0


def test_files_of_messages(tmp_path: Path) -> None:
    def chat(*roles: str) -> list[dict[str, Any]]:
        call = {"function": {"name": "f", "arguments": "{}"}}
        return [{"role": role, "content": "", "tool_calls": [call] * (role == "assistant")} for role in roles]

    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": 1, "messages": chat("user", "assistant")}))
    for field in ("messages", "trajectory"):
        for roles, value in ((("user", "assistant"), 1), (("assistant",), 0)):
            (tmp_path / "pred.jsonl").write_text(json.dumps({"id": 1, field: chat(*roles)}))
            card = score("trajectories", tmp_path / "gold.jsonl", tmp_path / "pred.jsonl", protocol="agentevals")
            assert list(card.values.values()) == [value, 1, 1, 1]
    (tmp_path / "gold.jsonl").write_text('"x"')
    with pytest.raises(GoldassayError, match="gold.jsonl:1"):
        score("trajectories", tmp_path / "gold.jsonl", tmp_path / "pred.jsonl", protocol="agentevals")
