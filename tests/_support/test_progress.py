"""Progress on standard error: lines where there is no terminal, nothing if it is not wanted."""

from __future__ import annotations

import re
import time
from typing import Any

import dspy
import pytest

import goldassay
from goldassay._support import progress
from goldassay.reporting import terminal
from goldassay.running.evaluate import evaluate

GOLD = [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in ("a", "b", "c")]


def exact(gold: Any, pred: Any) -> bool:
    return bool(gold["label"] == pred["label"])


def shout(text: str) -> Any:
    return dspy.Prediction(label=text.upper())


def test_progress_is_a_line_now_and_then_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    evaluate(shout, GOLD, exact)
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"shout, score 1.000, evaluated 3 of 3, \d+ s, 0 s left", output.err.splitlines()[-1])
    monkeypatch.setenv(progress.QUIET_VARIABLE, "1")
    evaluate(shout, GOLD, exact)
    evaluate(shout, GOLD, exact, progress=False)
    assert capsys.readouterr().err == ""


def test_a_slow_model_is_not_silent_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.02)
    monkeypatch.setattr(progress, "SLOW_ANSWER", 0.0)

    class Slow:
        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            time.sleep(0.3)
            text = "[[ ## label ## ]]\nA\n\n[[ ## completed ## ]]"
            usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
            message = Message.assistant([TextPart(text)])
            return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    lm = dspy.LM("scripted/slow", engine=Slow(), cache=False)
    evaluate(dspy.Predict("text -> label"), GOLD[:1], exact, lm=lm)
    assert ", 0 s; 1 call has waited for the model for 0 s" in capsys.readouterr().err
    with terminal.working("a pilot"):
        time.sleep(0.1)
    assert "a pilot: 0 s" in capsys.readouterr().err
    with terminal.progress("judging", 3) as update:
        update(2)
        time.sleep(0.1)
    assert "judging, 2 of 3: 0 s" in capsys.readouterr().err


def test_a_tuning_is_not_silent_without_a_terminal(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.02)
    slow = dspy.utils.DummyLM([{"label": "C"}] * 99)

    class Slow(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.label = dspy.Predict("text -> label")

        def forward(self, text: str) -> Any:
            time.sleep(0.1)
            return self.label(text=text)

    with terminal.quiet():
        goldassay.tune(Slow(), {"train": GOLD[:2], "dev": GOLD[2:]}, exact, "bootstrap", lm=slow, progress=True)
    assert "tuning: " in capfd.readouterr().err


def test_a_run_inside_a_longer_task_prints_the_only_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.3)

    def slow(text: str) -> Any:
        time.sleep(0.5)
        return shout(text)

    started = time.monotonic()
    with terminal.working("a pilot"):
        evaluate(slow, GOLD * 2, exact)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a pilot"
    assert all(line.startswith("slow") for line in lines[1:])
    assert 3 <= len(lines[1:]) <= (time.monotonic() - started) / 0.3
