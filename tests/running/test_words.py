"""Python has the words of the command line: folders as str, models by name, limits; and asynchronous forms."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import dspy
import pytest

import goldassay
from goldassay import progress
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

GOLD = [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in ("a", "b", "c")]


def exact(gold: Any, pred: Any) -> bool:
    return bool(gold["label"] == pred["label"])


def shout(text: str) -> Any:
    return dspy.Prediction(label=text.upper())


def test_a_folder_is_a_str(tmp_path: Path) -> None:
    made = evaluate(shout, GOLD, exact, folder=str(tmp_path / "a"), limit=2)
    assert made.folder == tmp_path / "a"
    assert len(Run.load(str(tmp_path / "a")).rows) == 2
    with pytest.raises(GoldassayError, match="no such model file: absent.gguf"):
        evaluate(shout, GOLD, exact, lm="local:absent.gguf")


def test_compare_takes_runs_and_folders(tmp_path: Path) -> None:
    evaluate(shout, GOLD, exact, folder=str(tmp_path / "a"))
    worse = evaluate(lambda text: dspy.Prediction(label=text), GOLD, exact)
    (found,) = goldassay.compare(worse, evaluate(shout, GOLD, exact))
    assert (found.comparison.difference, found.won) == (1.0, ("0", "1", "2"))
    kept = goldassay.compare(tmp_path / "a", str(tmp_path / "a"))
    assert kept[0].comparison.difference == 0.0


def test_the_asynchronous_forms_give_the_same(tmp_path: Path) -> None:
    async def both() -> list[Run]:
        return list(await asyncio.gather(*(goldassay.aevaluate(shout, GOLD, exact, seed=n) for n in (0, 1))))

    assert [made.value for made in asyncio.run(both())] == [1.0, 1.0]
    (found,) = asyncio.run(goldassay.acompare(*asyncio.run(both())))
    assert found.comparison.difference == 0.0
    gold = {"train": GOLD[:2], "dev": GOLD[2:]}
    model = dspy.utils.DummyLM([{"label": "C"}] * 9)
    tuned = asyncio.run(
        goldassay.atune(dspy.Predict("text -> label"), gold, exact, "labeled", lm=model, folder=str(tmp_path / "t"))
    )
    assert tuned.dev.after.value == 1.0


def test_progress_is_a_line_now_and_then_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    evaluate(shout, GOLD, exact)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.fullmatch(r"run, score 1.000, evaluated 3 of 3, \d+ s, 0 s left", shown.err.splitlines()[-1])
    monkeypatch.setenv(progress.QUIET, "1")
    evaluate(shout, GOLD, exact)
    evaluate(shout, GOLD, exact, progress=False)
    assert capsys.readouterr().err == ""


def test_options_are_one_object_and_changes_replace_its_fields() -> None:
    options = goldassay.RunOptions(limit=2, name="two")
    assert len(evaluate(shout, GOLD, exact, options, limit=1).rows) == 1
    assert (options.limit, evaluate(shout, GOLD, exact, options).name) == (2, "two")
    with pytest.raises(TypeError, match="unexpected keyword argument 'thread'"):
        evaluate(shout, GOLD, exact, thread=2)


def test_a_slow_model_is_not_silent_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.02)
    monkeypatch.setattr(progress, "SLOW", 0.0)

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
    assert ", 0 s; 1 calls wait for the model, one for 0 s" in capsys.readouterr().err
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
    assert "tuning, " in capfd.readouterr().err


def test_an_answer_that_is_cut_off_says_so_and_stays_in_the_row(tmp_path: Path) -> None:
    class Cut:
        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            usage = Usage(input_tokens=9, output_tokens=256, total_tokens=265)
            message = Message.assistant([TextPart('{"lab')])
            return Response(id=None, model=request.model, message=message, finish_reason="length", usage=usage)

    lm = dspy.LM("scripted/cut", engine=Cut(), cache=False)
    run = evaluate(dspy.Predict("text -> label"), GOLD[:2], exact, lm=lm, folder=tmp_path / "r", max_failures=1)
    assert run.rows[0]["error"].startswith("the answer was cut at 256 tokens (max_tokens): AdapterParseError")
    assert run.rows[0]["truncated"]
    assert run.rows[0]["calls"][-1]["answer"] == '{"lab'
