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
    traces = (
        [trace.get("info", trace) for trace in content if isinstance(trace, dict)] if isinstance(content, list) else []
    )
    if not traces or not traces[0].keys() >= {"assessments", "trace_metadata"}:
        return []
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for trace in traces:
        runs[trace["trace_metadata"].get("mlflow.sourceRun", "no run")[:8]].append(trace)
    return [
        System(
            "MLflow",
            file.stem if len(runs) == 1 else run,
            list(map(_sample, range(len(traces)), sorted(traces, key=_inputs))),
        )
        for run, traces in runs.items()
    ]


def _inputs(trace: dict[str, Any]) -> str:
    return str(trace["trace_metadata"]["mlflow.traceInputs"])


def _sample(place: int, trace: dict[str, Any]) -> Sample:
    """A trace; MLflow runs them in any order, so ``place`` is that of its inputs."""
    inputs, output = _inputs(trace), trace["trace_metadata"].get("mlflow.traceOutputs") or "null"
    values, gold, reasons = {}, {}, {}
    errors = ["the traced call failed"] if trace["state"] == "ERROR" else []
    for assessment in sorted(trace["assessments"], key=lambda assessment: assessment["assessment_name"]):
        name, feedback = assessment["assessment_name"], assessment.get("feedback")
        if not feedback:
            gold[name] = assessment["expectation"]["value"]
            continue
        values[name], reasons[name] = feedback.get("value"), assessment.get("rationale")
        errors += [f"{name}: {feedback['error'].get('error_message')}"] if feedback.get("error") else []
    metadata = {"document": inputs, **trace["tags"]}
    answer = {"output": json.loads(output)}
    return Sample(place, values, {"inputs": json.loads(inputs)}, gold, answer, metadata, "; ".join(errors), reasons)


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
