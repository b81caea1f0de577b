"""Corpus values inside an unmodified ``dspy.Evaluate``."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from typing import Any

import dspy
import pytest

from goldassay import Metric, guard
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import classification, extraction
from goldassay.running.evaluate import evaluate

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})


def corpus(gold: list[Any], predictions: list[Any]) -> float:
    card = extraction.scorecard(gold, predictions)
    strict, partial = card.values["strict_f1"], card.values["partial_f1"]
    assert strict is not None
    assert partial is not None
    return 0.7 * strict + 0.3 * partial


@pytest.mark.parametrize(
    ("threads", "progress"),
    [
        (1, True),
        (4, False),
        pytest.param(1, False, marks=pytest.mark.nightly),
        pytest.param(4, True, marks=pytest.mark.nightly),
    ],
)
def test_evaluate_reports_the_corpus_value(
    learner: Any, names_program: Any, names_gold: list[Any], threads: int, progress: bool
) -> None:
    with dspy.context(lm=dspy.LM("scripted/learner", engine=learner, cache=False)):
        check = dspy.Evaluate(devset=names_gold, metric=METRIC, num_threads=threads, display_progress=progress)
        result = check(guard(names_program))
    want = corpus(names_gold, [pred for _, pred, _ in result.results])
    scores = [score for *_, score in result.results]
    assert 100 * sum(scores) / len(scores) == pytest.approx(100 * want, abs=1e-9)
    assert result.score == round(100 * want, 2)
    assert want != pytest.approx(sum(float(score) for score in scores) / len(scores), abs=1e-3)
    with dspy.context(lm=dspy.LM("scripted/learner", engine=learner, cache=False)):
        run = evaluate(names_program, names_gold, METRIC, threads=threads, progress=False)
    assert run.value == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_program_that_fails_on_every_example_is_told_of(names_gold: list[Any], threads: int) -> None:
    def broken(text: str) -> Any:
        raise RuntimeError("no key")

    check = dspy.Evaluate(devset=names_gold[:3], metric=METRIC, num_threads=threads)
    with pytest.warns(UserWarning, match=r"^the program has failed on every example so far; .*: RuntimeError: no key$"):
        result = check(guard(broken))
    assert result.score == 0.0
    scores = [score for *_, score in result.results]
    again = pickle.loads(pickle.dumps(scores))  # noqa: S301  our own
    assert [score.failure for score in again] == ["RuntimeError: no key"] * 3
    total = sum(again)
    assert f"{total}" == "0.0"  # to show a sum warns of nothing
    with pytest.warns(UserWarning, match="failed on every example"):
        assert total / 3 == 0.0


def test_the_gold_of_a_failed_example_counts_as_missed(learner: Any, names_program: Any, names_gold: list[Any]) -> None:
    broken = [*names_gold[:6], dspy.Example(id="x", text="BROKEN Delft", entities=[(7, 12, "TOP")]).with_inputs("text")]
    with dspy.context(lm=dspy.LM("scripted/learner", engine=learner, cache=False)):
        with pytest.warns(UserWarning, match="1 of 7 examples have no score"):
            bare = dspy.Evaluate(devset=broken, metric=METRIC, num_threads=1, max_errors=5)(names_program)
        guarded = dspy.Evaluate(devset=broken, metric=METRIC, num_threads=1)(guard(names_program))
        run = evaluate(names_program, broken, METRIC, progress=False)
    missed = [score.evidence["strict_f1"].fn for *_, score in guarded.results]
    assert missed[-1] == 1
    assert sum(score for *_, score in bare.results).plain == 0.0  # dspy's failure score: an example without evidence
    scored = [score for *_, score in bare.results][:6]
    assert bare.score == round(100 * float((sum(scored) / 6) * 6 / 7), 2)
    assert bare.score < guarded.score  # F1 with its gold missed; never a value as if all had been well
    assert run.rows[-1].error.startswith("RuntimeError: this text cannot be read")
    assert run.value == pytest.approx(guarded.score / 100, abs=1e-4)


def test_a_score_survives_pickle_deepcopy_and_threads(names_gold: list[Any]) -> None:
    gold = names_gold[1]
    score = METRIC(gold, {"entities": gold["entities"]})
    for same in (pickle.loads(pickle.dumps(score)), copy.deepcopy(score), score.copy()):  # noqa: S301  our own bytes
        assert (same.score, bool(same), same.feedback) == (1.0, True, score.feedback)
        assert same.evidence == score.evidence
        assert same.evidence.weights == score.evidence.weights
    sums: list[float] = []
    add: Any = sum
    workers = [threading.Thread(target=lambda: sums.append(add([score] * 50).value)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sums == [1.0] * 4


def test_the_truth_of_a_score_is_its_pass_mark(names_gold: list[Any]) -> None:
    gold = names_gold[0]
    half = {"entities": gold["entities"][:1]}
    assert not METRIC(gold, half)
    assert Metric(extraction.SpanF1(), pass_mark=0.5)(gold, half)
    assert isinstance(METRIC(gold, half), dspy.Prediction)


def test_plain_numbers_in_the_sum_are_examples_without_evidence(names_gold: list[Any]) -> None:
    score = METRIC(names_gold[0], {"entities": names_gold[0]["entities"]})
    add: Any = sum
    for numbers in ([score, 0.0, score], [0.0, score, score], [score, score, 0]):
        with pytest.warns(UserWarning, match="1 of 3 examples have no score"):
            assert add(numbers) / 3 == pytest.approx(2 / 3)
    with pytest.warns(UserWarning, match="1 of 2 examples have no score"):
        assert add([score, 0.5]) / 2 == 0.75  # a failure score of one's own counts as such
    assert f"{add([score, 0.0]):.2f}" == "1.00"


@pytest.mark.parametrize("threads", [1, 3])
def test_examples_without_a_score_are_told_of_once_at_the_end(names_gold: list[Any], threads: int) -> None:
    def metric(gold: Any, pred: Any, trace: object = None) -> Any:
        return 0.0 if gold["id"] == names_gold[1]["id"] else METRIC(gold, pred)  # a plain number among scores

    program = guard(lambda text: dspy.Prediction(entities=[]))
    check = dspy.Evaluate(devset=names_gold[:12], metric=metric, num_threads=threads, display_progress=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        check(program)
    assert [str(each.message).partition(",")[0] for each in caught] == ["1 of 12 examples have no score"]
    assert caught[0].filename.endswith("evaluate.py")  # DSPy's own


@pytest.mark.parametrize("measure", [classification.Accuracy(), extraction.SpanF1()])
def test_a_program_that_raises_on_one_of_two_is_not_reported_as_right(measure: Any) -> None:
    rows: list[dict[str, Any]] = [{"text": text, "label": "M", "entities": [(0, 1, "TOP")]} for text in "ab"]
    dev = [dspy.Example(**row).with_inputs("text") for row in rows]

    def program(text: str) -> Any:
        if text == "b":
            raise RuntimeError("down")
        return dspy.Prediction(label="M", entities=[(0, 1, "TOP")])

    metric = Metric(measure)
    with pytest.warns(UserWarning, match="each takes the value down"):
        bare = dspy.Evaluate(devset=dev, metric=metric, num_threads=1)(program).score
    assert bare == 50.0
    guarded = dspy.Evaluate(devset=dev, metric=metric, num_threads=1)(guard(program)).score
    assert guarded == (50.0 if isinstance(measure, classification.Accuracy) else 66.67)  # F1: P 1, R 1/2


@pytest.mark.parametrize("odd", ["Delft", [1, 2], 7, None])
def test_what_cannot_be_measured_is_a_failed_example_in_evaluate_too(names_gold: list[Any], odd: Any) -> None:
    gold = [each for each in names_gold if each["entities"]][:3]
    answers = {each["text"]: each["entities"] for each in gold} | {gold[1]["text"]: odd}

    def program(text: str) -> Any:
        return dspy.Prediction(entities=answers[text]) if odd is not None or text != gold[1]["text"] else "Delft"

    with pytest.warns(UserWarning, match="an example whose gold counts as missed: .*; found "):
        evaluated = dspy.Evaluate(devset=gold, metric=METRIC, num_threads=2, max_errors=1)(guard(program))
    assert evaluated.score == pytest.approx(100 * evaluate(program, gold, METRIC, progress=False).value, abs=0.01)
    failed = evaluated.results[1][2]
    assert failed.evidence["strict_f1"].fn == len(gold[1]["entities"])
    assert "found" in failed.failure
    assert failed.failure in failed.feedback


def test_gold_that_is_wrong_is_no_fault_of_a_prediction(names_gold: list[Any]) -> None:
    with pytest.raises(GoldassayError, match="entities"):
        METRIC({"text": "in Delft", "entities": [1]}, {"entities": []})
