"""deepeval: ``test_run_*.json`` and ``.deepeval/.latest_*.json``, and ``evaluate(...).model_dump_json()``.

A metric's score is a value of its name; where lower is better follows from the cases that passed below the threshold.
A metric that raised an error fails its test case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay.running.logs.system import MOST, Sample, System, number


def systems(content: Any, file: Path) -> list[System] | None:
    """The one system of a test run; None if this is none."""
    if isinstance(content, dict) and isinstance(content.get("testRunData"), dict):
        content = content["testRunData"]
    if not isinstance(content, dict) or not {"testCases", "test_results"} & content.keys():
        return None
    cases = [*(content.get("testCases") or content.get("test_results") or ())]
    cases += content.get("conversationalTestCases") or ()
    cases = [{_snake(key): value for key, value in case.items()} for case in cases]
    cases.sort(key=lambda case: int(case.get("order") or case.get("index") or 0))
    names = [str(case.get("name") or "") for case in cases]
    ids = names if len(set(names)) == len(names) and all(names) else [str(place) for place in range(len(cases))]
    means = {each["metric"]: fmean(each["scores"]) for each in content.get("metricsScores") or () if each.get("scores")}
    settings = content.get("hyperparameters") or {}
    return [
        System(
            "deepeval",
            str(content.get("identifier") or file.stem.lstrip(".")),
            [_sample(key, case) for key, case in zip(ids, cases, strict=True)],
            means,
            frozenset(_lower(cases)),
            lm=str(settings["model"]) if settings.get("model") else None,
        )
    ]


def _snake(name: str) -> str:
    """``metricsData`` as ``metrics_data``, since deepeval writes both."""
    return "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)


def _sample(key: str, case: Mapping[str, Any]) -> Sample:
    metrics = {str(metric["name"]): metric for metric in case.get("metrics_data") or ()}
    wrong = [f"{name}: {metric['reason']}" for name, metric in metrics.items() if _missed(metric)]
    errors = [f"{name}: {metric['error']}" for name, metric in metrics.items() if metric.get("error")]
    turns = [turn.get("content") for turn in case.get("turns") or ()]
    inputs = {"input": case["input"]} if case.get("input") is not None else {"turns": turns}
    gold = {"output": case["expected_output"]} if case.get("expected_output") is not None else {}
    return Sample(
        key,
        {name: number(metric.get("score")) for name, metric in metrics.items()},
        question=[inputs, gold],
        inputs=inputs,
        gold=gold,
        prediction={"output": case["actual_output"]} if case.get("actual_output") is not None else {},
        metadata=case.get("metadata") or case.get("additional_metadata") or {},
        error="; ".join(errors)[:MOST],
        reason="; ".join(wrong)[:MOST],
        seconds=case.get("completion_time"),
        usage={name: case.get(f"{name.removesuffix('s')}_count") or 0 for name in ("input_tokens", "output_tokens")},
    )


def _missed(metric: Mapping[str, Any]) -> bool:
    return bool(not metric.get("success") and metric.get("reason"))


def _lower(cases: list[dict[str, Any]]) -> Iterator[str]:
    """The metrics of which a case passes below the threshold, or fails above it."""
    for case in cases:
        for metric in case.get("metrics_data") or ():
            score, threshold = number(metric.get("score")), number(metric.get("threshold"))
            if score is None or threshold is None or score == threshold or metric.get("success") is None:
                continue
            if (score < threshold) == bool(metric["success"]):
                yield str(metric["name"])
