"""MLflow: traces with assessments, and evaluation tables (``eval_results_table.json``).

Traces are a JSON list of ``trace.to_json()``, or ``mlflow.search_traces(...).to_json(orient="records")``, which
``mlflow.genai.evaluate`` gives too. Each MLflow run among them is a system; feedback gives values, expectations are
gold, and traces of the same inputs are one document, if their tags name none. In a table the columns
``NAME/score`` give values.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from goldassay.running.logs.system import Sample, System

PREDICTION = ("outputs", "output", "predictions", "prediction", "response")


def systems(content: Any, file: Path) -> list[System]:
    """A table's system, or one for each run among traces; none if these are neither."""
    if isinstance(content, dict) and content.keys() >= {"columns", "data"}:
        return _table(content["columns"], content["data"], file)
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict) or not {"info", "assessments"} & first.keys():
        return []
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for trace in map(_flat, content):
        runs[trace["trace_metadata"].get("mlflow.sourceRun", "no run")[:8]].append(trace)
    samples = {run: map(_sample, range(len(each)), sorted(each, key=_inputs)) for run, each in runs.items()}
    return [System("MLflow", run if len(runs) > 1 else file.stem, list(each)) for run, each in samples.items()]


def _flat(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace as ``search_traces`` has it: its info, with the inputs and outputs of its first span."""
    if "info" not in trace:
        return trace
    attributes = trace["data"]["spans"][0]["attributes"]
    sides = {"request": "mlflow.spanInputs", "response": "mlflow.spanOutputs"}
    return {**trace["info"], **{side: json.loads(attributes.get(name) or "null") for side, name in sides.items()}}


def _inputs(trace: dict[str, Any]) -> str:
    return json.dumps(trace["request"], sort_keys=True)


def _sample(place: int, trace: dict[str, Any]) -> Sample:
    """A trace; MLflow runs them in any order, so ``place`` is that of its inputs."""
    values, gold, reasons = {}, {}, {}
    errors = ["the traced call failed"] if trace["state"] == "ERROR" else []
    valid = [assessment for assessment in trace.get("assessments") or () if assessment.get("valid", True)]
    for assessment in sorted(valid, key=lambda assessment: assessment["assessment_name"]):
        name, feedback = assessment["assessment_name"], assessment.get("feedback")
        if not feedback:
            gold[name] = assessment["expectation"]["value"]
            continue
        values[name], reasons[name] = feedback.get("value"), assessment.get("rationale")
        errors += [f"{name}: {feedback['error'].get('error_message')}"] if feedback.get("error") else []
    metadata, answer = {"document": _inputs(trace), **trace["tags"]}, {"output": trace["response"]}
    milliseconds = trace.get("execution_duration_ms", trace.get("execution_duration"))
    usage = json.loads(trace["trace_metadata"].get("mlflow.trace.tokenUsage") or "{}")
    return Sample(
        place,
        values,
        {"inputs": trace["request"]},
        gold,
        answer,
        metadata,
        "; ".join(errors),
        reasons,
        seconds=None if milliseconds is None else milliseconds / 1000,
        tokens=(usage["input_tokens"], usage["output_tokens"]) if usage else None,
    )


def _table(columns: list[str], rows: list[list[Any]], file: Path) -> list[System]:
    """The system of a table, if any of its columns is a score."""
    samples = []
    for place, cells in enumerate(rows):
        row = dict(zip(columns, cells, strict=True))
        values = {name.removesuffix("/score"): row[name] for name in row if name.endswith("/score")}
        answer = {name: row[name] for name in row if name in PREDICTION}
        inputs = {name: row[name] for name in row if "/" not in name and name not in answer}
        samples.append(Sample(place, values, inputs, {}, answer, row))
    return [System("MLflow", file.stem, samples)] if any(sample.values for sample in samples) else []
