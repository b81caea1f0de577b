"""``dspy.experimental.ReAnchor`` averages the scores of examples; in a tuning these add up to the corpus value."""

from __future__ import annotations

import random
from typing import Any

import dspy
import pytest
from dspy.experimental import Noul, ReAnchor

from goldassay import Metric
from goldassay.measures import answering, extraction
from goldassay.tuning import tune

LONG = [(5 * at, 5 * at + 4, "TOP") for at in range(20)]


class Unsure:
    """It always thinks ``yes`` with probability .4."""

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        parts = [TextPart('[[ ## all ## ]]\n{"noul": 0.4}\n\n[[ ## completed ## ]]')]
        return Response(
            id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=Usage()
        )


class All(dspy.Module):  # type: ignore[misc]
    """All twenty names, or the first."""

    def __init__(self) -> None:
        super().__init__()
        signature = dspy.Signature("text: str -> all", "Are there many names?")
        self.decide = dspy.Predict(
            signature.with_updated_fields("all", type_=Noul, desc="Whether there are many names.")
        )

    def forward(self, text: str) -> Any:
        return dspy.Prediction(entities=LONG if bool(self.decide(text=text).all) else LONG[:1], answer="a")


def gold(part: str) -> list[Any]:
    """A third has all names, the others have one."""
    rng, examples = random.Random(part), []
    for index in range(12):
        text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz    ", k=120))
        names = LONG if index % 3 == 0 else LONG[:1]
        example = dspy.Example(id=f"{part}{index}", text=text, entities=names, answers=["a"])
        examples.append(example.with_inputs("text"))
    return examples


@pytest.fixture
def lm() -> Any:
    return dspy.LM("scripted/unsure", engine=Unsure(), cache=False)


@pytest.mark.parametrize(
    ("metric", "mean"),
    [
        pytest.param(Metric(answering.ExactMatch()), 1.0, marks=pytest.mark.nightly),
        (Metric(extraction.SpanF1()), (8 + 4 * 2 / 21) / 12),  # one name of one; 2 · 1 / (2 · 1 + 19) of twenty
    ],
)
def test_by_itself_it_reports_the_mean_of_the_examples(lm: Any, metric: Metric, mean: float) -> None:
    with dspy.context(lm=lm):
        optimizer = ReAnchor(metric=metric, num_threads=1, require_cache=False)
        optimizer.compile(All(), trainset=gold("a"))
    assert optimizer.report["train_score_before"] == pytest.approx(mean, abs=1e-4)


def test_a_tuning_has_it_maximise_the_corpus_value(lm: Any) -> None:
    # All twenty everywhere: tp 88, fp 152: F1 .537, mean of F1 .397. The first alone: tp 12, fn 76: .24, mean .698.
    splits = {name: gold(name) for name in ("train", "dev", "test")}
    optimizer = ReAnchor(metric=None, num_threads=1, require_cache=False)
    tuned = tune(All(), splits, Metric(extraction.SpanF1()), optimizer, lm=lm, progress=False)
    assert tuned.test is not None
    assert (tuned.test.before.value, tuned.test.after.value) == pytest.approx((24 / 100, 176 / 328))
