"""Rows keep what a report shows: inputs, gold, each prompt as sent and its raw answer; not where that is not wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.measures import extraction
from goldassay.running import Run, new_folder
from goldassay.running.evaluate import evaluate

METRIC = Metric(extraction.SpanF1())


def test_a_row_keeps_inputs_gold_and_each_call(
    learner: Any, names_program: Any, names_gold: list[Any], tmp_path: Path
) -> None:
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    evaluate(names_program, names_gold, METRIC, lm=lm, threads=3, folder=tmp_path, progress=False)
    for row, example in zip(Run.load(tmp_path).rows, names_gold, strict=True):
        assert row.inputs == {"text": example["text"]}
        assert row.gold
        assert row.gold["entities"] == example["entities"]
        (call,) = row.calls
        assert call["lm"] == "scripted/learner"
        assert call["seconds"] > 0
        assert call["prompt"][0]["role"] == "system"
        assert example["text"] in call["prompt"][-1]["content"]  # a call stands in the row that it was made for
        assert "[[ ## mentions ## ]]" in call["answer"]


def test_no_trace_leaves_them_out(learner: Any, names_program: Any, names_gold: list[Any], tmp_path: Path) -> None:
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    evaluate(names_program, names_gold, METRIC, lm=lm, folder=tmp_path, progress=False, trace=False)
    assert all((row.inputs, row.gold, row.calls) == (None, None, ()) for row in Run.load(tmp_path).rows)


def test_no_secret_of_a_prompt_reaches_the_folder(
    learner: Any, names_program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "hunter2-hunter2")
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    gold = [dspy.Example(id="a", text="hunter2-hunter2 lives in Delft", entities=[]).with_inputs("text")]
    evaluate(names_program, gold, METRIC, lm=lm, folder=tmp_path, progress=False)
    rows = (tmp_path / "rows.jsonl").read_text(encoding="utf-8")
    assert "hunter2" not in rows
    assert "[hidden] lives in Delft" in json.loads(rows)["calls"][0]["prompt"][-1]["content"]


def test_a_run_folder_is_named_after_program_and_model(tmp_path: Path) -> None:
    assert new_folder(tmp_path, "answering", "openai/gpt 4").name.endswith("-answering-gpt-4")
    assert new_folder(tmp_path, "answering").name.endswith("-answering")
