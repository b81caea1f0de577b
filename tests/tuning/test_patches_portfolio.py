"""Patches as a portfolio: a model writes the whole instruction from the errors and what was rejected; and the start is
never left for what is not better on dev."""

from __future__ import annotations

import random
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.core.measure import Error
from goldassay.tuning import tune
from goldassay.tuning.campaign import strongest_first
from goldassay.tuning.edits import Diagnosis
from goldassay.tuning.instructions import rewritten
from goldassay.tuning.patches import apply
from goldassay.tuning.patterns import Pattern

METRIC = Metric.of(lambda gold, pred: gold["label"] == pred["label"])


class Obedient(dspy.Module):  # type: ignore[misc]
    """Right on half of the texts; with a good instruction on all, with a bad one on none."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict(dspy.Signature("text -> label", "As it is."))

    def forward(self, text: str) -> Any:
        words = self.answer.signature.instructions
        right = "good" in words or ("bad" not in words and hash_of(text) % 2)
        return dspy.Prediction(label="x" if right else "y")


def hash_of(text: str) -> int:
    return sum(map(ord, text))


@pytest.mark.parametrize(("whole", "value"), [("bad", "0.000"), ("the same", "0.467")])
def test_a_program_that_is_not_better_on_dev_is_not_kept(whole: str, value: str) -> None:
    words = ["".join(random.Random(n).choices("abcdefghijklmnopqrst ", k=30)) for n in range(90)]
    rows = [dspy.Example(id=str(n), text=words[n], label="x").with_inputs("text") for n in range(90)]
    gold = {"train": rows[:30], "dev": rows[30:60], "test": rows[60:]}

    def sly(diagnosis: Diagnosis) -> Any:
        text = "good" if len(diagnosis.train) < 30 else whole  # all folds are better, and the program itself is not
        return {"words": [diagnosis.draft(action="add_instruction", text=text)]}

    settings = {"bundles": [[sly]], "nearest": 0}
    tuned = tune(Obedient(), gold, METRIC, "patches", settings=settings, progress=False)
    assert tuned.dev.after.value == tuned.dev.before.value
    assert tuned.program.answer.signature.instructions == "As it is."
    assert f"the patched program ({value}) is not better than as it is" in tuned.note
    assert not tuned.ledger.kept
    assert not tuned.ledger.verdict.kept
    assert {patch.status for patch in tuned.ledger.patches} == {"rejected"}


def test_a_model_writes_the_whole_instruction_and_sees_what_was_rejected() -> None:
    asked: list[str] = []

    class Writer:
        def __init__(self, text: str) -> None:
            self.text = text

        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            asked.append(str(request))
            parts = [TextPart(self.text)]
            return Response(
                id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=Usage()
            )

    lm = dspy.LM("scripted/writer", engine=Writer('{"new_instruction": "Be good."}'), cache=False)
    pattern = Pattern("wrong", "x", "y", (), (Error("wrong", "It was y."),), ("1",), 0.5)
    diagnosis = Diagnosis([pattern], Obedient(), [], ["rules: -0.100, rejected: Be bad."])
    (patch,) = rewritten(diagnosis, lm)["instruction"]
    assert "It was y." in asked[0]
    assert "rejected: Be bad." in asked[0]
    program: Any = apply(Obedient(), patch)
    assert program.answer.signature.instructions == "Be good."
    assert getattr(strongest_first(reflection_lm=lm)[-1][0], "func", None) is rewritten
    silent = Diagnosis([pattern], Obedient(), [])
    assert rewritten(silent, dspy.LM("scripted/none", engine=Writer("no"), cache=False)) == {}
    assert "wrote no instruction" in silent.failures[0]
