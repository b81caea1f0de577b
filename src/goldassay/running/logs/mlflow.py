"""MLflow: traces with assessments, and evaluation tables (``eval_results_table.json``).

Traces are a JSON list of ``trace.to_json()``, or ``mlflow.search_traces(...).to_json(orient="records")``, which
``mlflow.genai.evaluate`` gives too. Each MLflow run among them is a system; feedback gives values, expectations are
gold, and traces of the same inputs are repeats. In a table the columns ``NAME/score`` give values.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay.fields import identity
from goldassay.running.logs.system import MOST, Sample, System, number

INPUTS = ("inputs", "input", "question", "query", "request")
GOLD = ("targets", "target", "ground_truth", "expected_output", "answer", "label")
PREDICTION = ("outputs", "output", "predictions", "prediction", "response")
OWN = "mlflow."  # MLflow's own tags


def systems(content: Any, file: Path) -> list[System] | None:
    """A table's system, or one for each run among traces; None if these are neither."""
    if isinstance(content, dict) and isinstance(content.get("traces"), list):
        content = content["traces"]
    if isinstance(content, dict) and {"info", "data"} <= content.keys():
        content = [content]
    if isinstance(content, dict) and isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):
        return _table(content["columns"], content["data"], file)
    if not isinstance(content, list) or not content or not all(isinstance(trace, dict) for trace in content):
        return None
    infos = [_info(trace) for trace in content]
    if not all("assessments" in info for info in infos):
        return None
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for info in infos:
        groups[str((info.get("trace_metadata") or {}).get(f"{OWN}sourceRun") or "")].append(info)
    names = [file.stem if len(groups) == 1 else (run[:8] or "no run") for run in groups]
    return [
        System("MLflow", name, _samples(traces), lm=None) for name, traces in zip(names, groups.values(), strict=True)
    ]


def _info(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace of either form: its info, with the inputs and outputs of its first span."""
    if not isinstance(trace.get("info"), dict):
        return dict(trace)
    info = dict(trace["info"])
    info.setdefault("assessments", [])
    spans = (trace.get("data") or {}).get("spans") or [{}]
    root = next((span for span in spans if not span.get("parent_span_id")), spans[0]).get("attributes") or {}
    sides = {"request": (f"{OWN}spanInputs", "request_preview"), "response": (f"{OWN}spanOutputs", "response_preview")}
    for side, (attribute, preview) in sides.items():
        info[side] = _parsed(root.get(attribute, info.get(preview)))
    info["execution_duration"] = info.get("execution_duration_ms")
    return info


def _name(assessment: Mapping[str, Any]) -> str:
    return str(assessment.get("assessment_name") or assessment.get("name"))


def _parsed(value: Any) -> Any:
    """JSON in a text as what it says."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _samples(traces: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """The traces in the order of their inputs, since MLflow runs them in any."""
    keyed = sorted(((json.dumps(trace.get("request"), sort_keys=True), trace) for trace in traces), key=lambda t: t[0])
    seen: Counter[str] = Counter()
    samples = []
    for key, trace in keyed:
        seen[key] += 1
        samples.append(_sample(trace, key, len(seen) - 1, seen[key]))
    return samples


def _sample(trace: Mapping[str, Any], key: str, place: int, repeat: int) -> Sample:
    values: dict[str, float | None] = {}
    gold, reasons, errors = {}, [], []
    for assessment in sorted(trace["assessments"], key=_name):
        name = _name(assessment)
        feedback, expectation = assessment.get("feedback"), assessment.get("expectation")
        if assessment.get("valid") is False or not (feedback or expectation):
            continue
        if not feedback:
            gold[name] = _parsed(expectation.get("value"))
            continue
        values[name] = number(_parsed(feedback.get("value")))
        if feedback.get("error"):
            errors.append(f"{name}: {feedback['error'].get('error_message') or feedback['error'].get('error_code')}")
        elif assessment.get("rationale") and (values[name] or 0) < 1:
            reasons.append(f"{name}: {assessment['rationale']}")
    inputs, about = trace.get("request"), trace.get("trace_metadata") or {}
    inputs = inputs if isinstance(inputs, dict) else {"input": inputs}
    tags = {name: tag for name, tag in (trace.get("tags") or {}).items() if not name.startswith(OWN)}
    failed = ["the traced call failed"] if trace.get("state") == "ERROR" else []
    metadata = {**inputs, **tags}
    return Sample(
        identity(metadata, place),
        values,
        question=key,
        inputs=inputs,
        gold=gold,
        prediction={} if failed else {"output": trace.get("response")},
        metadata=metadata,
        repeat=repeat,
        error="; ".join([*failed, *errors])[:MOST],
        reason="; ".join(reasons)[:MOST],
        seconds=float(trace.get("execution_duration") or 0) / 1000,
        usage=_parsed(about.get(f"{OWN}trace.tokenUsage")) or {},
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], file: Path) -> list[System] | None:
    """The system of a table; None if none of its columns is a score."""
    names = {column: column.removesuffix("/score").removesuffix("/v1") for column in columns if "/score" in column}
    if not names:
        return None
    samples = []
    for place, cells in enumerate(rows):
        row = dict(zip(columns, cells, strict=True))
        inputs, gold, predicted = (
            {name: row[name] for name in side if name in row} for side in (INPUTS, GOLD, PREDICTION)
        )
        metadata = {name: value for name, value in row.items() if "/" not in name and name not in predicted}
        why = [
            f"{names[name]}: {text}" for name in names if (text := row.get(name.replace("/score", "/justification")))
        ]
        samples.append(
            Sample(
                identity(metadata, place),
                {name: number(row[column]) for column, name in names.items()},
                question=[inputs, gold],
                inputs=inputs,
                gold={"output": next(iter(gold.values()))} if gold else {},
                prediction={"output": next(iter(predicted.values()))} if predicted else {},
                metadata=metadata,
                reason="; ".join(why)[:MOST],
            )
        )
    return [System("MLflow", file.stem, samples)]
