"""The Ray engine: the same rows as threads, and what happens when an actor dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, workspace
from goldassay._support.exceptions import GoldassayError, MetricError, ModelError
from goldassay.measures import classification
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.running.rows import Row

GOLD = [dspy.Example(id=str(i), text=f"text {i}", label="MG"[i % 2]).with_inputs("text") for i in range(24)]
METRIC = Metric(classification.Accuracy())
RAY: dict[str, Any] = {"engine": "ray", "workers": 1, "progress": False}
PROGRAM = """
import dspy

class Guess(dspy.Module):
    def forward(self, text):
        number = int(text.split()[1])
        if number == 5:
            raise ValueError("five is odd")
        print("printed by the program")
        return dspy.Prediction(label="M" if number % 3 else "G")

program = Guess()
"""


@pytest.fixture(scope="module", autouse=True)
def ray() -> Any:
    return pytest.importorskip("ray", reason="the extra ray is not installed")


def without_times(run: Run) -> list[Row]:
    steps = [tuple(replace(step, seconds=None) for step in row.steps) for row in run.rows]
    return [replace(row, latency_s=None, steps=own) for row, own in zip(run.rows, steps, strict=True)]


def test_the_rows_are_those_of_threads(tmp_path: Path, capfd: Any) -> None:
    file = tmp_path / "guess.py"
    file.write_text(PROGRAM, encoding="utf-8")
    program = workspace.load(file).program
    threads = evaluate(program, GOLD, METRIC, folder=tmp_path / "threads", progress=False)
    capfd.readouterr()
    actors = evaluate(program, GOLD, METRIC, folder=tmp_path / "ray", threads=4, **RAY)
    assert without_times(actors) == without_times(threads)
    assert without_times(Run.load(tmp_path / "ray")) == without_times(threads)
    assert (actors.value, actors.rows[5].error) == (threads.value, "ValueError: five is odd")
    assert "printed by the program" not in capfd.readouterr().out


@pytest.mark.nightly
def test_an_actor_that_is_killed_costs_no_row_and_an_example_that_hangs_one(tmp_path: Path) -> None:
    def program(text: str) -> Any:
        time.sleep(60 if text == "text 1" else 0.2)
        return dspy.Prediction(label="M")

    killed = tmp_path / "killed"

    def dies_once(text: str) -> Any:
        if text == "text 3" and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return program(text)

    run = evaluate(dies_once, GOLD, METRIC, threads=8, timeout=2, **RAY)
    assert killed.exists()
    assert {row.id: row.error for row in run.rows if row.error} == {"1": "TimeoutError: no answer within 2 s"}


@pytest.mark.nightly
def test_an_example_that_kills_every_process_is_one_failed_row() -> None:
    def dies(text: str) -> Any:
        time.sleep(0.1)
        if text == "text 3":
            os._exit(9)
        return dspy.Prediction(label="M")

    run = evaluate(dies, GOLD[:6], METRIC, threads=6, **RAY)
    assert [bool(row.error) for row in run.rows] == [False, False, False, True, False, False]
    assert "WorkerDied" in run.rows[3].error
    assert run.rows[3].score == 0.0


@pytest.mark.nightly
def test_what_breaks_a_run_in_an_actor_breaks_it_and_the_rows_before_it_stay(tmp_path: Path) -> None:
    def strange(gold: Any, pred: Any) -> float:
        if gold.id == "9":
            raise MetricError("nine cannot be measured")
        return 1.0

    class Odd(ModelError):
        def __init__(self, where: str, what: str) -> None:
            super().__init__(f"{where}: {what}")

    def judged(gold: Any, pred: Any) -> float:
        raise Odd("the judge", "is gone")

    def program(text: str) -> Any:
        return dspy.Prediction(label="M", lock=threading.Lock())

    with pytest.raises(MetricError, match="nine cannot be measured"):
        evaluate(program, GOLD, strange, threads=2, folder=tmp_path / "r", **RAY)
    run = Run.load(tmp_path / "r", Metric.of(strange))
    assert 0 < len(run.rows) < len(GOLD)
    assert "9" not in [row.id for row in run.rows]
    assert (run.rows[0].prediction or {})["lock"].startswith("<unlocked _thread.loc")  # what cannot be sent is its text
    with pytest.raises(GoldassayError, match="the judge: is gone"):
        evaluate(program, GOLD[:4], judged, **RAY)


@pytest.mark.parametrize(
    "engine", [{"progress": False}, pytest.param({**RAY, "workers": 2}, marks=pytest.mark.nightly)]
)
def test_ctrl_c_that_a_program_raises_ends_the_run_as_any_other(engine: dict[str, Any], tmp_path: Path) -> None:
    def program(text: str) -> Any:
        if text == "text 9":
            raise KeyboardInterrupt
        return dspy.Prediction(label="M")

    with pytest.raises(KeyboardInterrupt):
        evaluate(program, GOLD, METRIC, folder=tmp_path / "r", **engine)
    run = Run.load(tmp_path / "r")
    assert run.head.status == "interrupted"
    assert len(run.rows) >= 5
    assert "9" not in [row.id for row in run.rows]
    assert not any(row.error for row in run.rows)


def test_what_cannot_travel_is_one_line() -> None:
    lock = threading.Lock()

    def holds(text: str) -> Any:
        with lock:
            return dspy.Prediction(label="M")

    with pytest.raises(GoldassayError, match=r"cannot be sent to a worker .*; use `engine=threads`"):
        evaluate(holds, GOLD[:2], METRIC, **RAY)
    gold = [dspy.Example(id="a", text="x", label="M", lock=lock).with_inputs("text")]
    with pytest.raises(GoldassayError, match=r"example a cannot be sent to a worker .*; use `engine=threads`"):
        evaluate(lambda text: dspy.Prediction(label="M"), gold, METRIC, **RAY)
