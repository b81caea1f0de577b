"""Trajectories beside agentevals: 8 calls each, matched in its mode ``unordered`` with exact arguments.

Both sides start from messages with ``tool_calls``. agentevals is in the group ``oracles``; ``GOLDASSAY_ORACLES`` may
name a folder that has it and what it needs. It is measured on 2,000 trajectories (its time is linear), ours on those
too, and our whole scorecard of 17 values, reading included, on 20,000 and 100,000: linear.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from importlib import import_module
from typing import Any

from benchmarks.harness import versus

from goldassay.ext.protocols.agentevals import AgentMatch
from goldassay.measures.trajectories import TrajectoryMatch, scorecard

CALLS = 8
TOOLS = ("search", "read", "dates", "look_up", "describe")


def pairs(size: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Gold and predictions as messages: half of the trajectories have one damaged or another order."""
    rng = random.Random(seed)
    gold = []
    pred = []
    for _ in range(size):
        calls = [
            (rng.choice(TOOLS), {"id": rng.randrange(50), "query": f"Delft {rng.randrange(50)}"}) for _ in range(CALLS)
        ]
        taken = list(calls)
        damage = rng.randrange(4)
        if damage == 0:
            rng.shuffle(taken)
        elif damage == 1:
            taken[rng.randrange(CALLS)] = (rng.choice(TOOLS), {"id": 99})
        gold.append({"messages": messages(calls)})
        pred.append({"messages": messages(taken)})
    return gold, pred


def messages(calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """A question, a message with each call, an answer."""
    called = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "x", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}],
        }
        for name, args in calls
    ]
    return [{"role": "user", "content": "where"}, *called, {"role": "assistant", "content": "there"}]


def of_calls(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same records as gold has them: a list of calls."""
    listed = []
    for record in records:
        functions = [call["function"] for message in record["messages"] for call in message.get("tool_calls") or ()]
        listed.append({"calls": [{"name": f["name"], "args": json.loads(f["arguments"])} for f in functions]})
    return listed


def main() -> None:
    if os.environ.get("GOLDASSAY_ORACLES"):
        sys.path.append(os.environ["GOLDASSAY_ORACLES"])
    gold, pred = pairs(2000)
    listed = of_calls(gold)
    try:
        create = import_module("agentevals.trajectory.match").create_trajectory_match_evaluator
    except ImportError:
        print("agentevals is not installed: make oracles")
    else:
        evaluate = create(trajectory_match_mode="unordered")

        def theirs() -> list[float]:
            sides = zip(pred, gold, strict=True)
            return [float(evaluate(outputs=p["messages"], reference_outputs=g["messages"])["score"]) for p, g in sides]

        def as_they_do() -> list[float]:
            measure = AgentMatch("unordered")
            return list(measure.tallies(measure.batch(gold, pred)).total)

        def ours() -> list[float]:
            measure = TrajectoryMatch("unordered")
            return list(measure.tallies(measure.batch(listed, pred)).total)

        def equal(a: list[float], b: list[float]) -> bool:
            return a == b

        versus("2,000 trajectories × 8 calls, protocol agentevals", "agentevals", theirs, as_they_do, equal, 10)
        versus("2,000 trajectories × 8 calls, one to one", "agentevals", theirs, ours, equal, 10)

        def all_of_it() -> list[float]:
            scorecard(listed, pred)
            return theirs_once

        theirs_once = theirs()
        versus("2,000 trajectories × 8 calls, whole scorecard", "agentevals", theirs, all_of_it, equal, 10)
    for size in (20_000, 100_000):
        gold, pred = pairs(size)
        listed = of_calls(gold)
        before = time.process_time()
        scorecard(listed, pred)
        print(
            f"{size:,} trajectories × {CALLS} calls, whole scorecard: {time.process_time() - before:.1f} s", flush=True
        )


if __name__ == "__main__":
    main()
