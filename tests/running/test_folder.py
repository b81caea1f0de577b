"""What a run folder survives: odd values, cut lines, secrets of every kind, a real interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import ConventionError, DataError, GoldassayError, RunStopped
from goldassay._support.jsonl import dumps
from goldassay._support.secrets import redact, remember
from goldassay.measures import extraction
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

METRIC = Metric(extraction.SpanF1())


def examples(n: int) -> list[Any]:
    return [
        dspy.Example(id=f"e{i}", text=f"in {1500 + i}", entities=[(3, 7, "TMP")]).with_inputs("text") for i in range(n)
    ]


def right(text: str, **more: Any) -> Any:
    return dspy.Prediction(entities=[(3, 7, "TMP")], **more)


def test_a_row_is_on_disk_as_soon_as_it_is_made(tmp_path: Path) -> None:
    seen: list[int] = []

    def program(text: str) -> Any:
        seen.append(len((tmp_path / "r" / "rows.jsonl").read_text().splitlines()))
        return right(text)

    evaluate(program, examples(5), METRIC, folder=tmp_path / "r", progress=False)
    assert seen == [0, 1, 2, 3, 4]


def test_odd_predictions_are_written_and_read_back(tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    odd = [{("a", 1): 2}, float("inf"), {3, 1}, "half \ud83d of a pair", endless, object(), "line\u2028two\nthree"]
    gold = examples(len(odd))

    def program(text: str) -> Any:
        return right(text, odd=odd[int(text[3:]) - 1500])

    run = evaluate(program, gold, METRIC, folder=tmp_path / "r", progress=False)
    again = Run.load(tmp_path / "r")
    assert again.value == run.value == 1.0
    predictions = [(row.prediction or {})["odd"] for row in again.rows]
    assert predictions[:4] == [{"('a', 1)": 2}, None, [1, 3], "half \ufffd of a pair"]
    assert predictions[6] == odd[6]
    for line in (tmp_path / "r" / "rows.jsonl").read_bytes().decode().split("\n"):
        assert "Infinity" not in line
    assert dumps({"é": 1}) == '{"é": 1}'


def test_no_secret_of_any_model_or_setting_reaches_the_folder(tmp_path: Path) -> None:
    lms = [
        dspy.LM(
            "openai/a",
            cache=False,
            api_key=f'{who}-se"cret',
            extra_headers={"X-Auth-Token": f"{who}-header"},
        )
        for who in ("passed", "ambient", "bound")
    ]
    program = dspy.Predict("text -> rule")
    program.lm = lms[2]

    class Leaky(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = program

        def forward(self, text: str) -> Any:
            message = " ".join(str(lm.kwargs[key]) for lm in lms for key in ("api_key", "extra_headers"))
            return right(text, said=message, where={"password": "pw-of-the-program"})

    settings = {"lm": {"api_key": "of-the-settings", "max_tokens": 10}, "base": "http://u:pw-in-url@host/v1"}
    with dspy.context(lm=lms[1]):
        evaluate(Leaky(), examples(2), METRIC, folder=tmp_path / "r", progress=False, settings=settings)
    for name, lm in (("s", lms[0]), ("t", None)):
        evaluate(Leaky(), examples(1), METRIC, lm=lm, folder=tmp_path / name, progress=False)
    first = "".join(file.read_text() for file in (tmp_path / "r").iterdir())
    second = "".join(file.read_text() for file in (tmp_path / "s").iterdir())
    for secret in ("ambient-se", "ambient-header", "bound-se", "bound-header", "pw-of", "of-the-settings", "pw-in-url"):
        assert secret not in first
    assert "passed-header" not in second
    assert 'passed-se\\"cret' not in second
    remember(lms[0])
    assert redact(dumps({"said": 'it is "passed-se"cret"'})) == '{"said": "it is \\"[hidden]\\""}'
    about = json.loads((tmp_path / "r" / "run.json").read_text())
    assert about["settings"] == {"lm": {"api_key": "[hidden]", "max_tokens": 10}, "base": "http://[hidden]@host/v1"}
    assert about["lm"] == "openai/a"
    assert all((row.prediction or {})["entities"] == [[3, 7, "TMP"]] for row in Run.load(tmp_path / "r").rows)


def test_all_models_that_a_program_calls_are_named(tmp_path: Path) -> None:
    class Two(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.one = dspy.Predict("text -> rule")
            self.one.lm = dspy.LM("openai/own")
            self.other = dspy.Predict("text -> rule")

        def forward(self, text: str) -> Any:
            return right(text)

    run = evaluate(Two(), examples(1), METRIC, lm=dspy.LM("openai/given"), folder=tmp_path / "r", progress=False)
    assert run.head.lm == Run.load(tmp_path / "r").head.lm == "openai/own, openai/given"


def test_a_line_cut_in_a_character_is_made_again_and_a_broken_one_is_named(tmp_path: Path) -> None:
    def program(text: str) -> Any:
        return right(text, note="ééé")

    evaluate(program, examples(3), METRIC, folder=tmp_path / "r", progress=False)
    file = tmp_path / "r" / "rows.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex("é".encode()) + 1])
    assert len(Run.load(tmp_path / "r").rows) == 2
    file.write_bytes(whole[:-1])  # all of the last line but its end: not trusted either, so load and resume agree
    assert len(Run.load(tmp_path / "r").rows) == 2
    assert len(evaluate(program, examples(3), METRIC, resume=tmp_path / "r", progress=False).rows) == 3
    assert file.read_bytes().count(b"\n") == 3
    file.write_text('{"index": 0\n' + file.read_text())
    with pytest.raises(DataError, match=r"rows\.jsonl:1: not JSON"):
        Run.load(tmp_path / "r")
    (tmp_path / "r" / "run.json").write_text("{")
    with pytest.raises(DataError, match=r"run\.json:1: not JSON"):
        Run.load(tmp_path / "r")


def test_a_program_that_failed_is_tried_again_on_resume(tmp_path: Path) -> None:
    down = True

    def program(text: str) -> Any:
        if down and text.endswith("1"):
            raise TimeoutError("the model does not answer")
        return right(text)

    summary = evaluate(program, examples(3), METRIC, folder=tmp_path / "r", progress=False).summary()
    assert summary["failed"] == 1
    assert summary["warnings"][0].startswith("1 of 3 examples failed, and their gold counts as missed")
    down = False
    run = evaluate(program, examples(3), METRIC, resume=tmp_path / "r", progress=False)
    assert run.summary()["failed"] == 0
    assert Run.load(tmp_path / "r").value == 1.0


def test_a_run_is_not_resumed_with_another_function_of_the_same_file(tmp_path: Path) -> None:
    """It was: rows of both functions went into one value."""

    def strict(gold: Any, pred: Any) -> float | None:
        return None if gold["id"] == "e2" else 0.0

    def lenient(gold: Any, pred: Any) -> float:
        return 1.0

    with pytest.raises(GoldassayError, match="the metric returned None"):
        evaluate(right, examples(3), strict, folder=tmp_path / "r", threads=1, progress=False)
    with pytest.raises(ConventionError, match="started with another function as its metric; start a new run"):
        evaluate(right, examples(3), lenient, resume=tmp_path / "r", progress=False)


def test_a_metric_that_raises_says_on_which_example(tmp_path: Path) -> None:
    def metric(gold: Any, pred: Any) -> float:
        return 1 / (len(gold["text"]) - 7)

    with pytest.raises(RunStopped, match="all 2 examples failed; the first, e0: the metric raised Zero") as stopped:
        evaluate(right, examples(2), metric, folder=tmp_path / "r", progress=False)
    assert "fix it and start a new run" in str(stopped.value)  # the line of --resume was refused when it was fixed
    assert Run.load(tmp_path / "r").value == 0.0
    with pytest.raises(GoldassayError, match="the metric returned 'good'"):
        evaluate(right, examples(2), lambda gold, pred: "good", progress=False)
    with pytest.raises(GoldassayError, match="threads are at least 1"):
        evaluate(right, examples(2), METRIC, threads=0)


def test_settings_and_context_reach_the_workers_and_do_not_leak_out(learner: Any) -> None:
    seen: set[tuple[Any, str]] = set()

    def program(text: str) -> Any:
        seen.add((dspy.settings.lm, threading.current_thread().name))
        time.sleep(0.002)
        return right(text)

    mark = dspy.LM("scripted/a", engine=learner)
    with dspy.context(lm=mark):
        evaluate(program, examples(30), METRIC, threads=3, progress=False)
        assert {lm for lm, _ in seen} == {mark}
        assert len({name for _, name in seen}) == 3
        seen.clear()
        evaluate(program, examples(3), METRIC, lm=dspy.LM("scripted/b", engine=learner), progress=False)
        assert {lm.model for lm, _ in seen} == {"scripted/b"}
        assert dspy.settings.lm is mark


def test_an_interrupt_leaves_a_readable_run_that_goes_on(tmp_path: Path) -> None:
    """A real SIGINT, with two workers of which one hangs: what is done is on disk, and the exit is an interrupt."""
    script = tmp_path / "slow.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal, sys, time
            from pathlib import Path
            import dspy
            from goldassay import Metric
            from goldassay.measures import extraction
            from goldassay.running.evaluate import evaluate

            signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born without it

            def program(text):
                if text == "in 1507":
                    print("hanging", flush=True)
                    time.sleep(60)
                return dspy.Prediction(entities=[(3, 7, "TMP")])

            gold = [
                dspy.Example(id=f"e{i}", text=f"in {1500 + i}", entities=[(3, 7, "TMP")]).with_inputs("text")
                for i in range(8)
            ]
            evaluate(program, gold, Metric(extraction.SpanF1()), threads=2, folder=Path(sys.argv[1]))
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "r")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=20)
    assert process.returncode in (-signal.SIGINT, 130), complaint
    assert "KeyboardInterrupt" in complaint
    half = Run.load(tmp_path / "r")
    assert (half.head.status, len(half.rows), half.value) == ("interrupted", 7, 1.0)
    assert json.loads((tmp_path / "r" / "run.json").read_text())["values"] == {"strict_f1": 1.0}
    assert not os.path.exists(tmp_path / "r" / "run.json.part")


def test_money_is_counted_where_the_provider_names_it(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program = dspy.Predict("text -> rule")

    class Asks(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str) -> Any:
            program(text=text)
            return right(text)

    lm = dspy.LM("scripted/p", engine=learner, cache=False)
    assert "usd" not in evaluate(Asks(), examples(2), METRIC, lm=lm, progress=False).cost
    monkeypatch.setattr("dspy.clients.costs.estimate_cost", lambda *_, **__: (0.25, {}))
    assert evaluate(Asks(), examples(4), METRIC, lm=lm, progress=False).cost["usd"] == 1.0
    with pytest.raises(RunStopped, match="the budget of 0.5 usd is spent; what was done is safe") as stopped:
        evaluate(Asks(), examples(4), METRIC, lm=lm, progress=False, budget="usd=0.5")
    assert len(stopped.value.run.rows) == 2  # type: ignore[attr-defined]
