"""Judged measures inside Evaluate, GEPA, SIMBA and the project's own loop, on scripted models.

The judge's model is never the program's and the other way round; each distinct input is asked for once, so a second
evaluation costs nothing; unknown verdicts are seen; a budget counts the judge's calls too and stops.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage

import goldassay
from goldassay import Metric
from goldassay._support.exceptions import ModelError
from goldassay.judges.judge import Judge, Verdicts
from goldassay.measures.answering import Relevance
from goldassay.running.account import Account
from goldassay.running.budget import BudgetSpent, Meter
from goldassay.running.evaluate import evaluate


class Engine:
    """What a scripted model shares: it reads which fields are asked for, and keeps what it was asked."""

    def __init__(self) -> None:
        self.calls, self.fields, self.given = 0, set(), []  # type: ignore[var-annotated]

    def complete(self, request: Any) -> Any:
        self.calls += 1
        turn = "".join(p.text for p in request.messages[-1].parts if isinstance(p, TextPart))
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        data, _, asks = turn.rpartition("Respond with")
        names = [name for name in re.findall(r"\[\[ ## (\w+) ## \]\]", asks) if name != "completed"]
        inputs = dict(re.findall(r"\[\[ ## (\w+) ## \]\]\n(.*)", data))
        self.fields |= set(names)
        if names:
            self.given.append(inputs)
        texts = self.says(inputs, system.split("your objective is:")[-1])
        text = "".join(f"[[ ## {name} ## ]]\n{texts.get(name, 'x')}\n" for name in names)
        usage = Usage(input_tokens=5, output_tokens=5, total_tokens=10)
        parts = [TextPart(f"{text}[[ ## completed ## ]]")]
        return Response(
            id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=usage
        )

    def says(self, given: dict[str, str], objective: str) -> dict[str, str]:
        raise NotImplementedError


class Answering(Engine):
    """Answers in a word; in a sentence if the instructions ask for one, or every fourth time when it is ``hot``.

    As SIMBA's adviser it asks for a sentence.
    """

    hot = False

    def says(self, given: dict[str, str], objective: str) -> dict[str, str]:
        self.warm = self.hot and self.calls % 4 == 0
        number = given.get("question", "").removeprefix("q")
        answer = f"It is {number}, as is well known." if "sentence" in objective or self.warm else number
        return {"answer": answer, "module_advice": '{"self": "Answer in a sentence."}', "discussion": "too short"}


class Judging(Engine):
    """A sentence answers in full, a word in part; of question 5 it says what is no verdict."""

    def says(self, given: dict[str, str], objective: str) -> dict[str, str]:
        question, answer = json.loads(given["question"]), json.loads(given["answer"])
        verdict = "perhaps" if question == "q5" else "full" if answer.startswith("It is") else "partial"
        return {"reason": f"{question} wants a sentence", "verdict": verdict}


class Set:
    """A program, its model, a judge with another, and a metric."""

    def __init__(self, **options: Any) -> None:
        self.answering, self.judging = Answering(), Judging()
        self.lm = dspy.LM("scripted/program", engine=self.answering, cache=False)
        self.judge = Judge(dspy.LM("scripted/judge", engine=self.judging, cache=False), **options)
        self.metric = Metric(Relevance(self.judge))
        self.program = dspy.Predict(dspy.Signature("question -> answer", "Answer the question."))
        self.gold = [dspy.Example(id=f"e{i}", question=f"q{i}").with_inputs("question") for i in range(10)]

    def check(self) -> None:
        """Neither model was asked what the other is there for, and the judge nothing twice."""
        assert self.judging.fields == {"reason", "verdict"}
        assert not self.answering.fields & {"verdict"}
        question = Counter((json.loads(item["question"]), json.loads(item["answer"])) for item in self.judging.given)
        examples = {pair: times for pair, times in question.items() if pair[0] != "q5"}
        assert examples
        assert set(examples.values()) == {1}
        assert len(self.judge.verdicts) == len(question)
        assert all(times == 2 for pair, times in question.items() if pair[0] == "q5")  # asked again once, then unknown


@pytest.fixture
def case() -> Set:
    return Set()


@pytest.mark.parametrize("threads", [1, 4])
def test_evaluate(case: Set, threads: int) -> None:
    with dspy.context(lm=case.lm):
        run = dspy.Evaluate(devset=case.gold, metric=case.metric, num_threads=threads, display_progress=False)
        first = run(case.program)
        calls = case.judging.calls
        second = run(case.program)
    # nine known verdicts of 0.5; the unknown one stays in the denominator
    assert (first.score, second.score, case.judging.calls) == (45.0, 45.0, calls)
    case.check()
    assert case.judge.unknown == 1
    assert "unknown verdicts of scripted/judge@1: 1" in case.judge.warning
    (lost,) = [score for example, _, score in first.results if example.question == "q5"]
    assert lost.evidence["relevance"].state() == {"total": 0, "weight": 1, "most": 1, "unknown": 1}
    assert "is not known" in lost.feedback
    assert (float(lost), bool(lost)) == (0.0, False)  # an optimizer must not want it


def test_gepa(case: Set) -> None:
    heard: list[str] = []

    def propose(candidate: Any, reflective_dataset: Any, components_to_update: list[str]) -> dict[str, str]:
        heard.extend(record["Feedback"] for name in components_to_update for record in reflective_dataset[name])
        return dict.fromkeys(components_to_update, "Answer the question in a sentence.")

    with dspy.context(lm=case.lm):
        best = dspy.GEPA(
            metric=case.metric, max_metric_calls=40, instruction_proposer=propose, num_threads=1, seed=0
        ).compile(case.program, trainset=case.gold[:4], valset=case.gold[4:])
        value = dspy.Evaluate(devset=case.gold, metric=case.metric, num_threads=1, display_progress=False)(best).score
    assert value == 90.0  # of question 5 no verdict comes back
    assert any("wants a sentence" in item for item in heard)  # the judge's reason reached the proposer
    case.check()
    assert case.judge.asked > len(case.judge.verdicts)  # scored and reflected on, asked once


def test_simba(case: Set) -> None:
    case.answering.hot = True  # SIMBA learns from answers that differ
    with dspy.context(lm=case.lm):
        best = dspy.SIMBA(
            metric=case.metric,
            bsize=6,
            num_candidates=2,
            max_steps=2,
            max_demos=0,
            num_threads=1,
            prompt_model=case.lm,
        ).compile(case.program, trainset=case.gold, seed=1)
        value = dspy.Evaluate(devset=case.gold, metric=case.metric, num_threads=1, display_progress=False)(best).score
    assert value == 90.0
    assert "sentence" in best.predictors()[0].signature.instructions
    assert case.judge.asked > 3 * len(case.judge.verdicts)
    case.check()


def test_the_loop_of_the_project_keeps_the_unknowns(case: Set, tmp_path: Path) -> None:
    run = evaluate(case.program, case.gold, case.metric, lm=case.lm, folder=tmp_path / "run")
    assert run.value == 0.45
    state = run.total["relevance"].state()
    assert (state["unknown"], state["weight"]) == (1, 10)
    # nine halves over ten, with the unknown one for it and without
    total: Any = run.total["relevance"]
    assert total.band == (0.45, 0.55)
    rows = [json.loads(line) for line in (tmp_path / "run" / "rows.jsonl").read_text().splitlines()]
    assert [error["kind"] for error in rows[5]["errors"]] == ["unknown"]
    # what the judge costs is not put down to the program
    assert all(row["usage"]["calls"] == 1 for row in rows)
    assert case.judge.tokens == 10 * (9 + 4)  # of q5 two tries, each in two formats
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert "judge=scripted/judge@1" in about["measures"]["relevance"]["conventions"]
    loaded = goldassay.running.Run.load(tmp_path / "run", case.metric)
    assert loaded.value == 0.45
    low, high = loaded.intervals["relevance"].low, loaded.intervals["relevance"].high
    assert low <= 0.45 <= high


def test_a_second_run_with_the_same_verdicts_costs_nothing(tmp_path: Path) -> None:
    values = []
    for _ in range(2):
        judged = Set(verdicts=Verdicts(tmp_path / "verdicts.jsonl"))
        values.append(evaluate(judged.program, judged.gold, judged.metric, lm=judged.lm).value)
    assert values == [0.45, 0.45]
    assert (judged.judging.calls, judged.judge.unknown) == (0, 1)


def test_a_budget_counts_the_judge_and_stops(case: Set) -> None:
    meter = Meter("calls=7")
    with Account(meter).open(), dspy.context(lm=case.lm):
        for example in case.gold[:3]:
            case.metric(example, case.program(question=example.question))
        last = case.program(question="q3")
        with pytest.raises(BudgetSpent, match="7 calls is spent"):
            case.metric(case.gold[3], last)
    assert (case.answering.calls, case.judging.calls, meter.used["calls"]) == (4, 3, 7)
    assert meter.used["tokens"] == 70
    assert case.judge.unknown == 0  # a spent budget is no verdict


def test_tuning_stops_at_its_budget(case: Set) -> None:
    gold = {"train": case.gold[:4], "dev": case.gold[6:], "test": []}
    tuned = goldassay.tune(
        case.program,
        gold,
        case.metric,
        "bootstrap",
        lm=case.lm,
        budget="calls=12",
        progress=False,
        test=False,
    )
    assert case.answering.calls + case.judging.calls >= 12
    assert tuned.program is not case.program


class Gone:
    def __init__(self) -> None:
        self.calls = 0

    def complete(self, request: Any) -> Any:
        self.calls += 1
        raise ConnectionError("no route to host")


def test_a_judge_that_cannot_be_reached_stops_the_run(case: Set) -> None:
    gone = Gone()
    metric = Metric(Relevance(Judge(dspy.LM("scripted/gone", engine=gone, cache=False))))
    with pytest.raises(ModelError, match=r"the judge's model scripted/gone gives no answer"):
        evaluate(case.program, case.gold, metric, lm=case.lm)
    assert gone.calls == 1


@pytest.mark.parametrize("optimizer", ["bootstrap", "gepa", "simba", "patches"])
def test_a_judge_that_cannot_be_reached_stops_a_tuning_at_once(case: Set, optimizer: str) -> None:
    gone = Gone()
    metric = Metric(Relevance(Judge(dspy.LM("scripted/gone", engine=gone, cache=False))))
    gold = {"train": case.gold[:5], "dev": case.gold[5:], "test": []}
    with pytest.raises(ModelError, match=r"the judge's model scripted/gone gives no answer"):
        goldassay.tune(case.program, gold, metric, optimizer, lm=case.lm, progress=False, test=False)
    assert gone.calls == 1
    assert case.answering.calls <= 5  # the first batch may be under way
