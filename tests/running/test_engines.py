"""Engines: the same rows from threads, processes and actors of Ray, and what happens when one of them dies."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, workspace
from goldassay.exceptions import GoldassayError, MetricError, ModelError, RunStopped
from goldassay.measures import classification
from goldassay.running import Run, dealing, evaluate

GOLD = [dspy.Example(id=str(i), text=f"text {i}", label="MG"[i % 2]).with_inputs("text") for i in range(24)]
METRIC = Metric(classification.Accuracy())
PROGRAM = """
import dspy

class Guess(dspy.Module):
    def forward(self, text):
        number = int(text.split()[1])
        if number == 5:
            raise ValueError("five is odd")
        print("said aloud")
        return dspy.Prediction(label="M" if number % 3 else "G")

program = Guess()
"""


def told(run: Run) -> list[dict[str, Any]]:
    """The rows without what is never the same twice."""
    return [{key: value for key, value in row.items() if key != "latency_s"} for row in run.rows]


@pytest.fixture
def program(tmp_path: Path) -> Any:
    file = tmp_path / "guess.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return workspace.load(file).program


@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_the_rows_are_those_of_threads(program: Any, engine: str, tmp_path: Path, capfd: Any) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
    alone = evaluate(program, GOLD, METRIC, folder=tmp_path / "threads")
    capfd.readouterr()
    away = evaluate(program, GOLD, METRIC, folder=tmp_path / engine, engine=engine, threads=4, workers=2)
    assert told(away) == told(alone)
    assert away.value == alone.value
    assert told(Run.load(tmp_path / engine)) == told(alone)
    assert away.rows[5]["error"] == "ValueError: five is odd"
    assert "said aloud" not in capfd.readouterr().out


def test_what_a_script_defines_travels_too() -> None:
    seen = {"text 1": "M"}
    run = evaluate(
        lambda text: dspy.Prediction(label=seen.get(text, "G")), GOLD[:4], METRIC, engine="processes", threads=2
    )
    assert [row["prediction"]["label"] for row in run.rows] == ["G", "M", "G", "G"]


def test_a_process_that_dies_is_started_again_and_its_examples_are_tried_once_more(tmp_path: Path) -> None:
    mark = tmp_path / "died"

    def dies_once(text: str) -> Any:
        if text == "text 3" and not mark.exists():
            mark.touch()
            os._exit(9)
        return dspy.Prediction(label="M")

    run = evaluate(dies_once, GOLD[:8], METRIC, engine="processes", threads=2, workers=1)
    assert mark.exists()
    assert [row.get("error") for row in run.rows] == [None] * 8


def test_an_example_that_kills_every_process_is_one_failed_example() -> None:
    def dies(text: str) -> Any:
        if text == "text 3":
            os._exit(9)
        return dspy.Prediction(label="M")

    run = evaluate(dies, GOLD[:6], METRIC, engine="processes", workers=1)
    assert [bool(row.get("error")) for row in run.rows] == [False, False, False, True, False, False]
    assert "WorkerDied" in run.rows[3]["error"]


def test_what_was_in_flight_beside_an_example_that_kills_is_made_all_the_same() -> None:
    def dies(text: str) -> Any:
        time.sleep(0.3)
        if text == "text 3":
            os._exit(9)
        return dspy.Prediction(label="M")

    run = evaluate(dies, GOLD[:6], METRIC, engine="processes", workers=1, threads=6)
    assert [bool(row.get("error")) for row in run.rows] == [False, False, False, True, False, False]


def test_a_process_that_says_nothing_any_more_counts_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds_the_interpreter(text: str) -> Any:
        if text == "text 1":
            re.match(r"(a+)+$", "a" * 40 + "b")  # no other thread of its process runs meanwhile, for hours
        return dspy.Prediction(label="M")

    monkeypatch.setattr(dealing, "SILENCE", 0.5)
    run = evaluate(holds_the_interpreter, GOLD[:3], METRIC, engine="processes", workers=1, threads=2, timeout=1)
    assert [bool(row.get("error")) for row in run.rows] == [False, True, False]
    assert "fell silent" in run.rows[1]["error"]


def test_what_breaks_a_run_elsewhere_breaks_it_and_the_rows_before_it_are_kept(tmp_path: Path) -> None:
    def strange(gold: Any, pred: Any) -> float:
        if gold.id == "9":
            raise MetricError("nine is not to be measured")
        return 1.0

    with pytest.raises(MetricError, match="nine is not to be measured"):
        evaluate(
            lambda text: dspy.Prediction(label="M"),
            GOLD,
            strange,
            engine="processes",
            workers=2,
            threads=2,
            folder=tmp_path / "r",
        )
    found = Run.load(tmp_path / "r", Metric.of(strange))
    assert 0 < len(found.rows) < len(GOLD)
    assert "9" not in [row["id"] for row in found.rows]


def test_what_cannot_travel_back_is_told_in_words() -> None:
    def holds(text: str) -> Any:
        return dspy.Prediction(label="M", lock=threading.Lock())

    run = evaluate(holds, GOLD[:4], METRIC, engine="processes", workers=1, threads=2)
    assert run.value == 0.5
    assert [row["prediction"]["lock"][:21] for row in run.rows] == ["<unlocked _thread.loc"] * 4


def test_an_error_that_cannot_be_copied_is_raised_in_words() -> None:
    class Odd(ModelError):
        def __init__(self, where: str, what: str) -> None:
            super().__init__(f"{where}: {what}")

    def judged(gold: Any, pred: Any) -> float:
        raise Odd("the judge", "is gone")

    with pytest.raises(GoldassayError, match="Odd: the judge: is gone"):
        evaluate(lambda text: dspy.Prediction(label="M"), GOLD[:4], judged, engine="processes", workers=1)


def test_gold_that_cannot_travel_is_one_line() -> None:
    gold = [dspy.Example(id="a", text="x", label="M", lock=threading.Lock()).with_inputs("text")]
    with pytest.raises(GoldassayError, match=r"gold cannot travel to another process \(TypeError: .*use --engine"):
        evaluate(lambda text: dspy.Prediction(label="M"), gold, METRIC, engine="processes", workers=1)


def test_a_run_that_stops_early_begins_nothing_more_elsewhere() -> None:
    def fails(text: str) -> Any:
        time.sleep(0.05)
        raise ValueError("no")

    with pytest.raises(RunStopped, match="the first 5 examples failed alike: ValueError: no") as stopped:
        evaluate(fails, GOLD * 20, METRIC, engine="processes", workers=2, threads=4)
    run: Any = stopped.value.run
    assert len(run.rows) < 60


def test_an_example_that_hangs_elsewhere_is_left_behind() -> None:
    def hangs(text: str) -> Any:
        time.sleep(60 if text == "text 1" else 0)
        return dspy.Prediction(label="M")

    before = time.monotonic()
    run = evaluate(hangs, GOLD[:4], METRIC, engine="processes", threads=2, workers=1, timeout=3)
    assert time.monotonic() - before < 40
    assert [bool(row.get("error")) for row in run.rows] == [False, True, False, False]


def test_an_example_that_comes_back_after_its_time_does_not_break_the_run() -> None:
    def late(text: str) -> Any:
        time.sleep(2.0 if text == "text 1" else 0.3)
        return dspy.Prediction(label="M")

    run = evaluate(late, GOLD, METRIC, engine="processes", threads=2, workers=1, timeout=1, progress=False)
    assert [row["id"] for row in run.rows if row.get("error")] == ["1"]


def test_several_examples_are_in_flight_in_one_process() -> None:
    def waits(text: str) -> Any:
        began = time.monotonic()
        time.sleep(0.5)
        return dspy.Prediction(label="M", began=began, ended=time.monotonic())

    run = evaluate(waits, GOLD[:16], METRIC, engine="processes", threads=16, workers=1)
    spans = [(row["prediction"]["began"], row["prediction"]["ended"]) for row in run.rows]
    assert any(one[0] < other[0] < one[1] for one in spans for other in spans)


def test_what_cannot_travel_and_unknown_engines_are_one_line() -> None:
    lock = threading.Lock()

    def holds(text: str) -> Any:
        with lock:
            return dspy.Prediction(label="M")

    with pytest.raises(GoldassayError, match="cannot travel to another process"):
        evaluate(holds, GOLD[:2], METRIC, engine="processes")
    with pytest.raises(GoldassayError, match="no engine 'cluster'; there are threads, processes, ray"):
        evaluate(holds, GOLD[:2], METRIC, engine="cluster")
