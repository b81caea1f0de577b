"""Runs of records by field: precision, recall and F1 in the summary, on the terminal and in a tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest

import goldassay
from goldassay import Metric
from goldassay.measures import records
from goldassay.reporting import terminal
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

GOLD = [
    dspy.Example(id=str(n), text=f"no {n}, total {n * 2}", record={"no": n, "total": n * 2, "tax": 1}).with_inputs(
        "text"
    )
    for n in range(1, 9)
]
METRIC = Metric(records.FieldF1(compare={"total": "exact"}))


class Reader(dspy.Module):  # type: ignore[misc]
    """Reads every number, half of the totals, and no tax; one text it cannot read."""

    def __init__(self) -> None:
        super().__init__()
        self.record = dspy.Predict("text -> record: dict")

    def forward(self, text: str) -> Any:
        number = int(text.split(",")[0].removeprefix("no "))
        if number == 8:
            raise ValueError("no eights")
        return dspy.Prediction(record={"no": number, "total": number * (2 if number % 2 else 3)})


def test_a_run_of_records_is_told_by_field_the_worst_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = evaluate(Reader(), GOLD, METRIC, folder=tmp_path / "run", progress=False)
    for each in (run, Run.load(tmp_path / "run")):
        by_field: Any = each.summary()["by"]
        assert {key: part["recall"] for key, part in by_field["field"].items()} == {"no": 7 / 8, "total": 0.5, "tax": 0}
        assert by_field["field"]["total"]["precision"] == 4 / 7
        assert by_field["field"]["no"]["support"] == 8
    terminal.show(run.view())
    lines = capsys.readouterr().out.partition("by field")[2].splitlines()
    assert [line.split()[1] for line in lines if line.startswith("│")] == ["tax", "total", "no"]
    without = evaluate(Reader(), GOLD, METRIC, folder=tmp_path / "untraced", progress=False, trace=False)
    assert without.summary()["by"] == {}


def test_a_tuning_of_records_is_told_by_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = {"train": GOLD[:3], "dev": GOLD[3:5], "test": GOLD[5:7]}
    lm = dspy.utils.DummyLM([{"record": "{}"}] * 99)
    tuned = goldassay.tune(Reader(), gold, METRIC, "labeled", lm=lm, folder=tmp_path / "tuned")
    state: Any = tuned.test and tuned.test.state()
    assert state["by"]["field"]["tax"]["f1"] == 0
    terminal.show(tuned.view())
    assert "test, after: by field" in capsys.readouterr().out
