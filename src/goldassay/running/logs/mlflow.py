"""MLflow: traces with assessments, and evaluation tables (``eval_results_table.json``).

Traces are a JSON list of ``trace.to_json()``, or ``mlflow.search_traces(...).to_json(orient="records")``, which
``mlflow.genai.evaluate`` gives too. Each MLflow run among them is a system; feedback gives values, expectations are
gold, and traces of the same inputs are repeats. In a table the columns ``NAME/score`` give values.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from goldassay.fields import identity
from goldassay.running.logs.system import Sample, System, number

PREDICTION = ("outputs", "output", "predictions", "prediction", "response")


def systems(content: Any, file: Path) -> list[System]:
    """A table's system, or one for each run among traces; none if these are neither."""
    if isinstance(content, dict) and content.keys() >= {"columns", "data"}:
        return _table(content["columns"], content["data"], file)
    traces = (
        [trace.get("info", trace) for trace in content if isinstance(trace, dict)] if isinstance(content, list) else []
    )
    runs: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for trace in traces:
        if "assessments" in trace and "trace_metadata" in trace:
            about = trace["trace_metadata"]
            runs[about.get("mlflow.sourceRun", "no run")][about["mlflow.traceInputs"]].append(trace)
    systems = []
    for run, by_inputs in runs.items():
        samples = [
            _sample(trace, json.loads(inputs), place, repeat)
            for place, (inputs, each) in enumerate(sorted(by_inputs.items()))  # MLflow runs them in any order
            for repeat, trace in enumerate(each, 1)
        ]
        systems.append(System("MLflow", file.stem if len(runs) == 1 else run[:8], samples))
    return systems


def _sample(trace: dict[str, Any], inputs: Any, place: int, repeat: int) -> Sample:
    inputs = inputs if isinstance(inputs, dict) else {"input": inputs}
    values: dict[str, float | None] = {}
    gold, reasons, errors = {}, [], ["the traced call failed"] if trace["state"] == "ERROR" else []
    for assessment in sorted(trace["assessments"], key=lambda assessment: assessment["assessment_name"]):
        name, feedback = assessment["assessment_name"], assessment.get("feedback")
        if not feedback:
            gold[name] = assessment["expectation"]["value"]
            continue
        values[name] = number(feedback.get("value"))
        reasons += [f"{name}: {assessment['rationale']}"] if "rationale" in assessment else []
        errors += [f"{name}: {feedback['error'].get('error_message')}"] if feedback.get("error") else []
    answer = trace["trace_metadata"].get("mlflow.traceOutputs") or "null"
    metadata = {**inputs, **trace["tags"]}
    key = identity(metadata, place)
    return Sample(
        key, values, inputs, gold, {"output": json.loads(answer)}, metadata, repeat, "; ".join(errors), reasons
    )


def _table(columns: list[str], rows: list[list[Any]], file: Path) -> list[System]:
    """The system of a table, if any of its columns is a score."""
    samples = []
    for place, cells in enumerate(rows):
        row = dict(zip(columns, cells, strict=True))
        values = {name.removesuffix("/score"): number(row[name]) for name in row if name.endswith("/score")}
        answer = {name: row[name] for name in row if name in PREDICTION}
        inputs = {name: row[name] for name in row if "/" not in name and name not in answer}
        reasons = [f"{name}: {row[name]}" for name in row if name.endswith("/justification")]
        samples.append(Sample(identity(row, place), values, inputs, {}, answer, row, reasons=reasons))
    return [System("MLflow", file.stem, samples)] if any(sample.values for sample in samples) else []
