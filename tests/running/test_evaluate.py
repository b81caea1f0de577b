"""Evaluating in Python: options, folders as str, models by name, asynchronous forms, answers that are cut off."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import dspy
import pytest

import goldassay
from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import retrieval
from goldassay.measures.answering import ExactMatch
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

GOLD = [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in ("a", "b", "c")]


def exact(gold: Any, pred: Any) -> bool:
    return bool(gold["label"] == pred["label"])


def shout(text: str) -> Any:
    return dspy.Prediction(label=text.upper())


def test_a_folder_is_a_str(tmp_path: Path) -> None:
    run = evaluate(shout, GOLD, exact, folder=str(tmp_path / "a"), limit=2)
    assert run.folder == tmp_path / "a"
    assert len(Run.load(str(tmp_path / "a")).rows) == 2
    with pytest.raises(GoldassayError, match="no such model file: absent.gguf"):
        evaluate(shout, GOLD, exact, lm="local:absent.gguf")


def test_compare_takes_runs_and_folders(tmp_path: Path) -> None:
    evaluate(shout, GOLD, exact, folder=str(tmp_path / "a"))
    worse = evaluate(lambda text: dspy.Prediction(label=text), GOLD, exact)
    (comparison,) = goldassay.compare(worse, evaluate(shout, GOLD, exact))
    assert (comparison.difference, comparison.won) == (1.0, ("0", "1", "2"))
    comparisons = goldassay.compare(tmp_path / "a", str(tmp_path / "a"))
    assert comparisons[0].difference == 0.0


def test_the_asynchronous_forms_give_the_same(tmp_path: Path) -> None:
    async def both() -> list[Run]:
        return list(await asyncio.gather(*(goldassay.aevaluate(shout, GOLD, exact, seed=n) for n in (0, 1))))

    assert [run.value for run in asyncio.run(both())] == [1.0, 1.0]
    (comparison,) = asyncio.run(goldassay.acompare(*asyncio.run(both())))
    assert comparison.difference == 0.0
    gold = {"train": GOLD[:2], "dev": GOLD[2:]}
    model = dspy.utils.DummyLM([{"label": "C"}] * 9)
    tuned = asyncio.run(
        goldassay.atune(dspy.Predict("text -> label"), gold, exact, "labeled", lm=model, folder=str(tmp_path / "t"))
    )
    assert tuned.dev.after.value == 1.0


def test_a_cancelled_evaluation_stops_and_frees_its_folder(tmp_path: Path) -> None:
    calls: list[str] = []

    def slow(text: str) -> Any:
        calls.append(text)
        time.sleep(0.2)
        return dspy.Prediction(label=text.upper())

    gold = [dspy.Example(id=str(n), text=f"t{n}", label=f"T{n}").with_inputs("text") for n in range(40)]

    async def cancelled() -> int:
        task = asyncio.create_task(goldassay.aevaluate(slow, gold, exact, folder=tmp_path / "a", threads=2))
        while len(calls) < 6:
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(calls)

    begun = asyncio.run(cancelled())
    assert begun <= 10
    time.sleep(0.5)
    assert len(calls) == begun, "nothing begins after the cancel"
    assert Run.load(tmp_path / "a").head.status == "interrupted"
    run = evaluate(slow, gold, exact, resume=tmp_path / "a", threads=8)
    assert (run.value, len(calls)) == (1.0, 40)


def test_options_are_one_object_and_changes_replace_its_fields() -> None:
    options = goldassay.RunOptions(limit=2, name="two")
    assert len(evaluate(shout, GOLD, exact, options, limit=1).rows) == 1
    assert (options.limit, evaluate(shout, GOLD, exact, options).name) == (2, "two")
    with pytest.raises(TypeError, match="unexpected keyword argument 'thread'"):
        evaluate(shout, GOLD, exact, thread=2)


def test_an_answer_that_is_cut_off_says_so_and_stays_in_the_row(tmp_path: Path) -> None:
    class Cut:
        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            usage = Usage(input_tokens=9, output_tokens=256, total_tokens=265)
            message = Message.assistant([TextPart('{"lab')])
            return Response(id=None, model=request.model, message=message, finish_reason="length", usage=usage)

    lm = dspy.LM("scripted/cut", engine=Cut(), cache=True, max_tokens=256)
    evaluate(dspy.Predict("text -> label"), GOLD[:2], exact, lm=lm, max_failures=1)  # the next answers are cached
    run = evaluate(dspy.Predict("text -> label"), GOLD[:2], exact, lm=lm, folder=tmp_path / "r", max_failures=1)
    assert run.rows[0].error.startswith("the answer was cut at 256 tokens (max_tokens): AdapterParseError")
    assert run.rows[0].truncated
    assert run.rows[0].calls[-1]["answer"] == '{"lab'


@pytest.mark.parametrize("gold", ["gold.csv", Path("gold.csv"), {"dev": []}, iter(()), None])
def test_gold_that_is_not_a_list_is_one_line(gold: Any) -> None:
    with pytest.raises(GoldassayError, match="gold is a list of dspy.Example, not "):
        evaluate(lambda text: text, gold, lambda gold, pred: True)


def test_dspys_metrics_keep_their_defaults_and_a_measure_alone_is_not_a_metric() -> None:
    # flawed: frac=1.0 of answer_exact_match was None, so all rows failed; a measure was called as a function
    gold = [dspy.Example(question=text, answer=text).with_inputs("question") for text in "ab"]
    assert (
        evaluate(lambda question: {"answer": "a"}, gold, dspy.evaluate.answer_exact_match, progress=False).value == 0.5
    )
    with pytest.raises(GoldassayError, match=r"not ExactMatch\(.*; write Metric\(ExactMatch\("):
        evaluate(lambda question: question, gold, ExactMatch())


@pytest.mark.parametrize("field", ["results", "found"])
def test_rising_scores_are_told_as_in_score(field: str) -> None:
    gold = [dspy.Example(query=name, relevant=["a"]).with_inputs("query") for name in "xy"]
    metric = Metric(retrieval.RR(), columns={"pred.results": field})

    def program(query: str) -> Any:
        return dspy.Prediction({field: [{"doc_id": "a", "score": 0.1}, {"doc_id": "b", "score": 0.9}]})

    run = evaluate(program, gold, metric)
    assert run.value == 0.5
    assert any("negate distances" in note for note in run.warnings)
