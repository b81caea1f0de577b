"""OpenTelemetry: traces as OTLP JSON, one export or one a line, with the attributes of OpenInference, gen_ai or MLflow.

Each service is a system and each trace a sample: its inputs and answer are those of the first span from the root that
has both. Traces carry no scores, so they become drafts of gold and no runs (`goldassay.running.drafts`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay.running.logs.system import Sample, System

INPUTS = ("input.value", "mlflow.spanInputs", "traceloop.entity.input", "gen_ai.input.messages", "gen_ai.prompt")
OUTPUTS = (
    *("output.value", "mlflow.spanOutputs", "traceloop.entity.output"),
    *("gen_ai.output.messages", "gen_ai.completion"),
)
FAILED = (2, "STATUS_CODE_ERROR")
Span = Mapping[str, Any]


def systems(content: Any, file: Path) -> list[System]:
    """A system for each service; none if this is no OTLP."""
    exports = content if isinstance(content, list) else [content]
    if not exports or not all(isinstance(part, dict) and "resourceSpans" in part for part in exports):
        return []
    services: dict[str, dict[str, list[Span]]] = defaultdict(lambda: defaultdict(list))
    for resource in (each for part in exports for each in part["resourceSpans"]):
        name = attributes(resource.get("resource", {})).get("service.name", file.stem)
        for span in (each for scope in resource["scopeSpans"] for each in scope["spans"]):
            services[str(name)][span["traceId"]].append(span)
    return [
        System("OpenTelemetry", name, [sample for key, spans in traces.items() for sample in _sample(key, spans)])
        for name, traces in services.items()
    ]


def _sample(key: str, spans: list[Span]) -> Iterator[Sample]:
    """The sample of a trace, if a span has inputs and an answer; a parent counts before its children."""
    by_id = {span["spanId"]: span for span in spans}

    def depth(span: Span) -> int:
        parent = by_id.get(span.get("parentSpanId", ""))
        return 0 if parent is None else 1 + depth(parent)

    for span in sorted(spans, key=lambda span: (depth(span), int(span.get("startTimeUnixNano", 0)))):
        about = attributes(span)
        inputs, answer = (next((about[name] for name in names if name in about), None) for names in (INPUTS, OUTPUTS))
        if inputs is not None and answer is not None:
            error = "the traced call failed" if span.get("status", {}).get("code") in FAILED else ""
            fields = [value if isinstance(value, dict) else None for value in map(parsed, (inputs, answer))]
            asked, answered = fields[0] or {"input": parsed(inputs)}, fields[1] or {"output": parsed(answer)}
            yield Sample(key, {}, asked, {}, answered, about, error=error)
            return


def attributes(part: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span or a resource, as a dict.

    >>> attributes({"attributes": [{"key": "n", "value": {"intValue": "3"}}]})
    {'n': 3}
    """
    return {each["key"]: _value(each["value"]) for each in part.get("attributes", ())}


def _value(value: Mapping[str, Any]) -> Any:
    kind: str
    inner: Any
    kind, inner = next(iter(value.items()), ("", None))
    if kind == "arrayValue":
        return [_value(each) for each in inner.get("values", ())]
    if kind == "kvlistValue":
        return {each["key"]: _value(each["value"]) for each in inner.get("values", ())}
    return int(inner) if kind == "intValue" else inner


def parsed(value: Any) -> Any:
    """A value that may be JSON in a text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
