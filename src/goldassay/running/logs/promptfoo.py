"""promptfoo: the file of ``promptfoo eval -o results.json``.

Each provider with each prompt, a column of promptfoo's table, is a system named ``PROVIDER #COLUMN``. The metric is
``pass``, whether all assertions of a test hold; ``score`` and the assertions' own metrics stand beside it. Tests of the
same variables are repeats (``--repeat``).
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from goldassay.fields import identity
from goldassay.running.logs.system import Sample, System

ERROR = 2  # the failureReason of a test whose provider failed


def systems(content: Any, file: Path) -> list[System]:
    """A system for each provider and prompt; none if this is no file of promptfoo."""
    body = content.get("results") if isinstance(content, dict) else None
    if not isinstance(body, dict) or "prompts" not in body:
        return []
    groups: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for result in sorted(body["results"], key=lambda result: (result["promptIdx"], result["testIdx"])):
        groups[result["promptIdx"]].append(result)
    names = [f"{prompt['provider']} #{place}" for place, prompt in enumerate(body["prompts"], 1)]
    return [System("promptfoo", names[place], _samples(results), "pass") for place, results in groups.items()]


def _samples(results: list[dict[str, Any]]) -> list[Sample]:
    repeats: dict[str, int] = defaultdict(int)
    samples = []
    for result in results:
        key = json.dumps(result["vars"], sort_keys=True)
        repeats[key] += 1
        metadata = {**result["vars"], **(result["testCase"].get("metadata") or {})}
        samples.append(
            Sample(
                identity(metadata, list(repeats).index(key)),
                {"pass": float(result["success"]), "score": result["score"], **result["namedScores"]},
                result["vars"],
                {},
                {"output": (result.get("response") or {}).get("output")},
                metadata,
                repeats[key],
                result["error"] if result["failureReason"] == ERROR else "",
                [] if result["success"] else [(result["gradingResult"] or {}).get("reason", "")],
            )
        )
    return samples
