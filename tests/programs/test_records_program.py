"""Records' program on a scripted model, and the baseline without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay import evaluate, guard, workspace
from goldassay.gold import load


class Engine:
    """Gives one answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def complete(self, request: Any) -> Response:
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        message = Message.assistant([TextPart(self.answer)])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


@pytest.fixture(scope="module")
def gold(root: Path) -> Any:
    return load(root / "gold" / "records", task="records").records


def test_the_program_gives_a_model_that_the_metric_reads(root: Path, gold: Any) -> None:
    program = workspace.target(str(root / "programs" / "records.py")).load()
    metric = workspace.metric("records", str(root / "metrics" / "records.py"))
    example = gold.dev[0]
    lm = dspy.LM("scripted/model", engine=Engine(json.dumps({"record": example["record"]})), cache=False)
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        score = metric(example, program(text=example["text"]))
    assert (score.score, bool(score), score.errors) == (1.0, True, ())
    lm = dspy.LM("scripted/model", engine=Engine('{"record": {"institution": '), cache=False)
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        failed = metric(example, guard(program)(text=example["text"]))
    assert failed.score == 0
    assert failed.failure


def test_the_baseline_reads_most_fields(root: Path, gold: Any) -> None:
    baseline = workspace.target(str(root / "programs" / "records.py") + ":baseline").load()
    metric = workspace.metric("records", str(root / "metrics" / "records.py"))
    run = evaluate(baseline, gold.test, metric)
    assert 0.75 < run.values["field_f1"] < 0.95
    kinds = {error.kind for row in run.rows for error in row.errors}
    assert "missing_field" in kinds
