"""Protocol ``agentevals`` against the package, on thousands of random trajectories of 0 to 40 calls.

The package is in the group ``oracles``; ``GOLDASSAY_ORACLES`` may name a folder that has it and what it needs.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

import pytest

from goldassay.ext.protocols.agentevals import MODES, AgentMatch
from goldassay.measures.trajectories.matching import ARGUMENTS

OVERRIDES: list[dict[str, Any]] = [
    {},
    {"search": "ignore", "read": ["page.id", "n"]},
    {"search": "superset", "look": "subset"},
]


@pytest.fixture(scope="module")
def evaluator() -> Any:
    if os.environ.get("GOLDASSAY_ORACLES"):
        sys.path.append(os.environ["GOLDASSAY_ORACLES"])
    match = pytest.importorskip("agentevals.trajectory.match", reason="agentevals is not installed: make oracles")
    return match.create_trajectory_match_evaluator


def argument(draw: random.Random) -> Any:
    return draw.choice([1, 1.0, True, 2, "1", None, "Delft", ["a"], {"id": 1}, {"id": 2, "of": {"n": None}}])


def call(draw: random.Random) -> dict[str, Any]:
    names = draw.sample(["page", "n", "q"], draw.randrange(3))
    return {"name": draw.choice(["search", "read", "look"]), "args": {name: argument(draw) for name in names}}


def messages(calls: list[dict[str, Any]], draw: random.Random) -> list[dict[str, Any]]:
    """The calls as messages, some of them together in one; an answer of the tool after each at times."""
    written: list[dict[str, Any]] = [{"role": "user", "content": "where"}] if draw.random() < 0.7 else []
    left = list(calls)
    while left:
        together = [left.pop(0) for _ in range(min(len(left), draw.choice([1, 1, 1, 2, 3])))]
        listed = [
            {"id": "x", "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
            for c in together
        ]
        written.append({"role": "assistant", "content": "", "tool_calls": listed})
        if draw.random() < 0.3:
            written += [{"role": "tool", "content": "…", "tool_call_id": "x"} for _ in together]
    return written + ([{"role": "assistant", "content": "there"}] if draw.random() < 0.8 else [])


def pair(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Messages of a reference, and of a prediction that has been damaged here and there."""
    draw = random.Random(seed)
    size = draw.choice([0, 1, 2, 3, 5, 8, 13, 40])
    gold = [call(draw) for _ in range(size)]
    pred = [dict(c) for c in gold]
    for damage in draw.sample(["drop", "add", "swap", "change", "argument"], draw.choice([0, 0, 1, 1, 2])):
        at = draw.randrange(len(pred)) if pred else 0
        if damage == "add":
            pred.insert(at, call(draw))
        elif pred and damage == "drop":
            del pred[at]
        elif pred and damage == "swap":
            pred[at], pred[0] = pred[0], pred[at]
        elif pred and damage == "change":
            pred[at] = call(draw)
        elif pred:
            pred[at] = pred[at] | {"args": pred[at]["args"] | {"n": argument(draw)}}
    if draw.random() < 0.5:  # the same messages, so that strict has something to find
        layout = draw.random()
        return messages(gold, random.Random(layout)), messages(pred, random.Random(layout))
    return messages(gold, draw), messages(pred, draw)


@pytest.mark.parametrize("pairs", [60, pytest.param(750, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("mode", MODES)
def test_equal_to_the_package(evaluator: Any, mode: str, pairs: int) -> None:
    differing = []
    right = 0
    for seed in range(pairs):
        gold, pred = pair(seed)
        arguments = ARGUMENTS[seed % 4]
        overrides = OVERRIDES[seed % 3]
        match = evaluator(
            trajectory_match_mode=mode, tool_args_match_mode=arguments, tool_args_match_overrides=overrides or None
        )
        expected = match(outputs=json.loads(json.dumps(pred)), reference_outputs=json.loads(json.dumps(gold)))["score"]
        value = AgentMatch(mode, arguments, overrides)({"messages": gold}, {"messages": pred}).tally.value
        right += bool(expected)
        if bool(value) != bool(expected):
            differing.append((seed, arguments, value, expected))
    assert differing == []
    assert pairs / 15 < right < pairs - pairs / 15
