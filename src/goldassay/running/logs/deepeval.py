"""deepeval: ``test_run_*.json`` and ``.deepeval/.latest_*.json``, and ``evaluate(...).model_dump_json()``.

A metric's score is a value of its name; where lower is better follows from the cases that passed below the threshold.
A metric that raised an error fails its test case.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from goldassay.running.logs.system import Sample, System


def systems(content: Any, file: Path) -> list[System]:
    """The one system of a test run; none if this is another file."""
    content = content.get("testRunData", content) if isinstance(content, dict) else {}
    cases = content.get("testCases") or content.get("test_results")
    if not cases:
        return []
    lower: set[str] = set()
    samples = [_sample({re.sub("[A-Z]", r"_\g<0>", key).lower(): case[key] for key in case}, lower) for case in cases]
    model = (content.get("hyperparameters") or {}).get("model")
    return [System("deepeval", file.stem.lstrip("."), samples, lower_is_better=frozenset(lower), lm=model)]


def _sample(case: dict[str, Any], lower: set[str]) -> Sample:
    """A test case; the metrics in which it passes below the threshold, or fails above it, become part of ``lower``."""
    metrics = {metric["name"]: metric for metric in case["metrics_data"] or ()}
    for name, metric in metrics.items():
        score, threshold = metric.get("score"), metric.get("threshold")
        if None not in (score, threshold) and score != threshold and (score < threshold) == metric["success"]:
            lower.add(name)
    return Sample(
        case.get("order", case.get("index")),
        {name: metric.get("score") for name, metric in metrics.items()},
        {"input": case.get("input")},
        {"output": case.get("expected_output")},
        {"output": case.get("actual_output")},
        case.get("metadata") or {},
        "; ".join(f"{name}: {metric['error']}" for name, metric in metrics.items() if metric.get("error")),
        {name: metric.get("reason") for name, metric in metrics.items() if not metric["success"]},
        seconds=case.get("completion_time"),
    )
