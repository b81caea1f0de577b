"""promptfoo: the file of ``promptfoo eval -o results.json``.

Each provider with each prompt, a column of promptfoo's table, is a system named ``PROVIDER #COLUMN``. The metric is
``pass``, whether all assertions of a test hold; ``score`` and the assertions' own metrics stand beside it. Tests of the
same variables (``--repeat``) are one document, if their metadata names none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from goldassay.running.logs.system import Sample, System

ERROR = 2  # the failureReason of a test whose provider failed


def systems(content: Any, file: Path) -> list[System]:
    """A system for each provider and prompt; none if this is no file of promptfoo."""
    body = content.get("results") if isinstance(content, dict) else None
    if not isinstance(body, dict) or "prompts" not in body:
        return []
    groups: dict[int, list[Sample]] = defaultdict(list)
    for result in body["results"]:
        groups[result["promptIdx"]].append(_sample(result))
    names = [f"{prompt['provider']} #{place}" for place, prompt in enumerate(body["prompts"], 1)]
    return [System("promptfoo", names[place], groups[place], "pass") for place in sorted(groups)]


def _sample(result: dict[str, Any]) -> Sample:
    variables, tokens = result["vars"], (result.get("response") or {}).get("tokenUsage") or {}
    same = {"document": json.dumps(variables, sort_keys=True)}  # --repeat asks again with the same variables
    return Sample(
        result["testIdx"],
        {"pass": result["success"], "score": result["score"], **result["namedScores"]},
        variables,
        {},
        {"output": (result.get("response") or {}).get("output")},
        {**same, **variables, **(result["testCase"].get("metadata") or {})},
        result["error"] if result["failureReason"] == ERROR else "",
        {"promptfoo": (result["gradingResult"] or {}).get("reason")},
        seconds=result["latencyMs"] / 1000,
        tokens=(tokens["prompt"], tokens["completion"]) if "prompt" in tokens else None,
    )
