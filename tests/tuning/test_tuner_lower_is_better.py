"""An error (Brier) as the metric of DSPy and of tuning: the program with the lower error wins, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, guard
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import answering
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.tuning import tune
from goldassay.tuning.measuring import Bench

BRIER = Metric(answering.Calibration(statistic="brier"))
OWN = Metric.of(lambda gold, pred: (pred.confidence - float(pred.answer in gold.answers)) ** 2, lower_is_better=True)
NAMES = [f"{kind} {place}" for place in ("Delft", "Gouda", "Tiel", "Ede", "Zwolle", "Leiden") for kind in "abcdef"]


class Sure:
    """Answers half of the questions right, and knows which only with demonstrations (``learns``), or only without."""

    def __init__(self, *, learns: bool) -> None:
        self.learns = learns

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        turns = ["".join(part.text for part in message.parts) for message in request.messages]
        output = len(turns) > 1 or "Be exact" in str(request.system)
        knows = output if self.learns else not output
        fields: dict[str, Any] = {"proposed_instruction": "Be exact.", "proposed_prefix_for_output_field": "Answer:"}
        for name in re.findall(r"\[\[ ## question ## \]\]\n(.*)", turns[-1]):
            right = NAMES.index(name) % 2 == 0
            fields = {"answer": name if right else "no idea", "confidence": 0.9 if right == knows else 0.1}
        text = "\n\n".join(f"[[ ## {key} ## ]]\n{value}" for key, value in fields.items())
        parts = [TextPart(f"{text}\n\n[[ ## completed ## ]]")]
        return Response(
            id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=Usage()
        )


def lm(*, learns: bool) -> Any:
    return dspy.LM("scripted/sure", engine=Sure(learns=learns), cache=False)


@pytest.fixture
def gold() -> dict[str, list[Any]]:
    rows = [
        dspy.Example(id=name, question=name, answers=[name], answer=name, confidence=0.9).with_inputs("question")
        for name in NAMES
    ]
    return {"train": rows[:14], "dev": rows[14:26], "test": rows[26:]}


def program() -> Any:
    return dspy.Predict("question -> answer, confidence: float")


OPTIMIZERS = ("patches", "bootstrap", "copro", "labeled", "simba")


@pytest.mark.parametrize(
    ("metric", "optimizer"),
    [
        *(pytest.param(BRIER, optimizer, id=f"brier-{optimizer}") for optimizer in OPTIMIZERS),
        pytest.param(OWN, "labeled", id="function-labeled"),
        *(
            pytest.param(OWN, optimizer, id=f"function-{optimizer}", marks=pytest.mark.nightly)
            for optimizer in OPTIMIZERS
            if optimizer != "labeled"
        ),
    ],
)
def test_tuning_never_keeps_the_worse_program(metric: Metric, optimizer: str, gold: dict[str, list[Any]]) -> None:
    settings: dict[str, Any] = {
        "bootstrap": {"num_candidate_programs": 1},
        "copro": {"breadth": 2, "depth": 1},
        "simba": {"bsize": 6, "num_candidates": 2, "max_steps": 1, "max_demos": 2},
    }.get(optimizer, {})
    tuned = tune(program(), gold, metric, optimizer, lm=lm(learns=False), settings=settings, progress=False)
    (key,) = metric.measures
    assert tuned.dev.before.values[key] == pytest.approx(0.01)
    assert not tuned.ledger.kept
    if optimizer == "labeled":  # it chooses nothing: it is called what it is
        assert tuned.test is not None
        assert tuned.test.after.values[key] == pytest.approx(0.81)
        assert tuned.verdict == "worse on test"
        assert tuned.test.difference.difference == pytest.approx(-0.8)
    else:
        assert tuned.dev.after.values[key] == pytest.approx(0.01)


@pytest.mark.parametrize("optimizer", ["patches", "bootstrap", "labeled"])
def test_tuning_keeps_the_program_with_the_lower_error(optimizer: str, gold: dict[str, list[Any]]) -> None:
    settings = {"num_candidate_programs": 1} if optimizer == "bootstrap" else {}
    tuned = tune(program(), gold, BRIER, optimizer, lm=lm(learns=True), settings=settings, progress=False)
    assert tuned.test is not None
    assert (tuned.test.before.values["brier"], tuned.test.after.values["brier"]) == pytest.approx((0.81, 0.01))
    assert tuned.verdict == "proven on test"


@pytest.mark.parametrize("metric", [BRIER, OWN], ids=["brier", "function"])
def test_evaluate_gives_the_better_program_the_higher_score(metric: Metric, gold: dict[str, list[Any]]) -> None:
    scores = []
    for learns in (True, False):
        with dspy.context(lm=lm(learns=learns)):
            result = dspy.Evaluate(devset=gold["test"], metric=metric, num_threads=2)(program())
            run = evaluate(program(), gold["test"], metric, progress=False)
        assert result.score == pytest.approx(100 * run.value)
        assert {score.objective_scores[key] for *_, score in result.results for key in score.objective_scores} == {
            score.score for *_, score in result.results
        }
        scores.append(result.score)
    assert scores == [19.0, 99.0]
    assert "lower is better" in result.results[0][2].feedback


def test_a_program_that_fails_is_worse_than_any_that_answers(gold: dict[str, list[Any]]) -> None:
    broken = guard(lambda question: 1 / 0)
    score = OWN(gold["test"][0], broken(question="x"))
    assert (score.score, score.evidence["score"].value) == (0.0, 1.0)
    minutes = Metric.of(lambda gold, pred: pred.minutes, name="minutes", lower_is_better=True, worst=60)
    assert minutes({}, dspy.Prediction(minutes=15)).score == 0.75
    assert minutes({}, broken(question="x")).evidence["minutes"].value == 60


def test_a_rise_of_a_guarded_error_is_a_drop(gold: dict[str, list[Any]]) -> None:
    both = Metric({answering.ExactMatch(): 1.0, answering.Calibration(statistic="brier"): 0.0})
    with dspy.context(lm=lm(learns=False)):
        runs = [evaluate(guard(item), gold["dev"], both, progress=False) for item in (program(), sure)]
    bench = Bench(gold["dev"], both, {"brier": 0.0})
    assert bench.drops(runs[1].cases, runs[0].cases).startswith("brier by")
    assert bench.drops(runs[0].cases, runs[1].cases) == ""


def sure(question: str) -> Any:
    return dspy.Prediction(answer="no idea", confidence=1.0)


def test_a_weight_is_never_negative() -> None:
    with pytest.raises(GoldassayError, match="not negative"):
        Metric({answering.ExactMatch(): -1.0})


def test_a_run_read_back_keeps_the_direction(tmp_path: Path, gold: dict[str, list[Any]]) -> None:
    minutes = Metric.of(lambda gold, pred: pred.confidence * 60, name="minutes", lower_is_better=True, worst=60)
    with dspy.context(lm=lm(learns=False)):
        run = evaluate(program(), gold["test"], minutes, folder=tmp_path / "r", progress=False)
    assert (run.values["minutes"], run.value) == pytest.approx((30.0, 0.5))
    again = Run.load(tmp_path / "r")
    assert (again.value, again.zero.worst) == (run.value, {"minutes": 60.0})
    about = json.loads((tmp_path / "r" / "run.json").read_text())
    about["measures"]["minutes"]["weight"] = -1.0  # as an earlier goldassay said that lower is better
    (tmp_path / "r" / "run.json").write_text(json.dumps(about))
    assert Run.load(tmp_path / "r").value == run.value


def test_a_function_that_calls_a_metric_has_its_direction(gold: dict[str, list[Any]]) -> None:
    def wrapped(gold: Any, pred: Any) -> Any:
        return BRIER(gold, pred)

    metric, score = Metric.of(wrapped), BRIER(gold["test"][0], sure("x"))
    assert metric(gold["test"][0], sure("x")).score == score.score == 0.0
    assert metric.zero.worst == {"brier": 1.0}
    assert "lower is better" in score.feedback
