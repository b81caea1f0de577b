"""A judge inside a measure travels: what processes and actors of Ray measure is what threads measure."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.judges import Judge, Verdicts
from goldassay.measures.answering import Relevance
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

GOLD = [dspy.Example(id=str(i), question=f"Question {i}?", answers=["x"]).with_inputs("question") for i in range(8)]


def scripted() -> Any:
    """A model that finds every third answer full and does not come back with every fourth verdict."""

    class Engine:  # made in a function, so that it travels by value
        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            question = "".join(part.text for part in request.messages[-1].parts)
            number = int(question.split("Question ")[1][0])
            verdict = "?" if number % 4 == 3 else "full" if number % 3 == 0 else "none"
            text = f"[[ ## reason ## ]]\nr\n\n[[ ## verdict ## ]]\n{verdict}\n\n[[ ## completed ## ]]"
            usage = Usage(input_tokens=3, output_tokens=1, total_tokens=4)
            message = Message.assistant([TextPart(text)])
            return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    return dspy.LM("scripted/judge", engine=Engine(), cache=False)


def said(run: Run) -> list[Any]:
    return [(row.tallies, row.errors) for row in run.rows]


@pytest.mark.nightly
def test_a_judged_measure_travels(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")

    def program(question: str) -> Any:
        return dspy.Prediction(answer="an answer")

    run = evaluate(program, GOLD, Metric(Relevance(Judge(scripted(), adapter=dspy.ChatAdapter()))))
    store = Verdicts(tmp_path / "verdicts.jsonl")
    judge = Judge(scripted(), adapter=dspy.ChatAdapter(), verdicts=store)
    away = evaluate(program, GOLD, Metric(Relevance(judge)), engine="ray", workers=2, threads=2)
    assert said(away) == said(run)
    assert run.value == 2 / 8  # 0 and 6 are full; 3 and 7 are unknown, and stay in the denominator
    assert len(Verdicts(store.file)) == 8  # what the processes were told is in the one file


def test_a_judge_that_was_pickled_has_what_it_was_told() -> None:
    bound = Judge("a model")
    bound.verdicts["key"] = {"verdict": "yes"}
    copied = pickle.loads(pickle.dumps(bound))  # noqa: S301
    assert copied.verdicts == bound.verdicts
