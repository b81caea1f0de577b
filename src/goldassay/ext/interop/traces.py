"""Traces as predictions of trajectories: the steps of each, its answer, and whether it came to its end.

Traces have ids of their own. Where gold does not have them, a trace belongs to the gold record whose question is among
its inputs (`goldassay.gold.pairing`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from goldassay._support import files
from goldassay._support.jsonl import JSON
from goldassay.core.fields import as_text, read
from goldassay.gold.formats import HEAD_BYTES, Format, Source, SourceRecord

KEYS = (
    "resourceSpans",
    "resourceLogs",
    "traceId",
    "trace_id",
    "context.trace_id",
    "run_type",
    "observations",
    "contents",
    "events",
    "eval",
)
SUFFIXES = (".json", ".jsonl", ".csv", ".eval")


def _traces(source: Source) -> Iterator[SourceRecord]:
    """A record for each sample of a log; of one with repeats the first."""
    from goldassay.ext.interop.logs.tools import systems_in  # loads numpy, which records are read without

    for sample in (sample for system in systems_in(source.path) for sample in system.samples):
        if source.counts(sample):
            name = str(sample["id"])
            steps = [step.state() for step in sample.get("steps") or ()]
            paths = ("answer", "output.answer", "output.output", "output")
            outputs = (read(sample, f"prediction.{path}", None) for path in paths)
            answer = next((value for value in outputs if value is not None), sample.get("prediction"))
            answers = [*_texts(as_text(answer))]
            source.questions[name] = [*_texts(sample.get("inputs"))]
            record = {"id": name, "trajectory": steps, "answer": answers[-1] if answers else None}
            yield SourceRecord({**record, "finished": not sample.get("error")})


def _texts(value: JSON) -> Iterator[str]:
    """All texts in a value."""
    from goldassay.ext.interop.logs.spans import decoded

    value = decoded(value)
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _holds_traces(file: Path, task: str) -> bool:
    """Whether a file has the names that traces have in its beginning, and can be read as some."""
    if task != "trajectories" or not file.is_file() or file.suffix.lower() not in SUFFIXES:
        return False
    with files.opened(file) as stream:
        head = stream.read(HEAD_BYTES)
    names = "|".join(map(re.escape, KEYS))
    if not head.startswith(b"PK") and not re.search(
        rf'"({names})":|(^|,)({names})(,|$)', head.decode("utf-8", "replace")
    ):
        return False
    from goldassay.ext.interop.logs.tools import systems_in

    return any(system.tool not in ("dspy.Evaluate", "promptfoo", "deepeval") for system in systems_in(file))


TRACES = Format(("trajectories",), _traces, recognises=_holds_traces)
