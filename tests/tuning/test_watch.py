"""The watch over an optimizer: which programs it keeps, and what it counts."""

from __future__ import annotations

import time

import dspy
import pytest

from goldassay._support import progress
from goldassay.tuning.watch import Watch


def test_the_watch_keeps_the_best_program_as_it_was_and_only_of_the_whole_dev_split() -> None:
    dev = [dspy.Example(id=str(i), text="x").with_inputs("text") for i in range(3)]
    train = [dspy.Example(id=f"t{i}", text="x").with_inputs("text") for i in range(3)]
    program = dspy.Predict(dspy.Signature("text -> label", "First."))
    watch = Watch(lambda gold, pred: 1.0, dev, progress=False)

    def evaluated(devset: list[dspy.Example], score: float) -> None:
        with watch:
            watch.on_evaluate_start("c", dspy.Evaluate(devset=devset, metric=watch), {"program": program})
            watch.on_evaluate_end("c", dspy.Prediction(score=score))

    evaluated(train, 90.0)  # as many, but not dev
    assert watch.candidates == []
    evaluated(dev, 50.0)
    program.signature = program.signature.with_instructions("Second.")  # as COPRO does, in place
    evaluated(dev, 40.0)
    assert watch.best is not None
    assert (watch.best[0], watch.best[1].signature.instructions) == (0.5, "First.")
    assert [value for _, value in watch.candidates] == [0.5, 0.4]


def test_off_a_terminal_the_lines_of_an_optimizer_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.02)
    with Watch(lambda gold, pred: 1.0, []) as watch:
        watch.show("edit 2, +0.040 so far, 12 examples left, about 30 s")
        time.sleep(0.3)
    assert "tuning: edit 2, +0.040 so far, 12 examples left, about 30 s: 0 s" in capsys.readouterr().err
