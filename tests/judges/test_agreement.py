"""A judge compared with people: scripted judges come out with the rates that they were given."""

from __future__ import annotations

import random
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from goldassay._support.exceptions import DataError
from goldassay.judges.agreement import align
from goldassay.judges.judge import Judge
from goldassay.judges.labels import JudgedItem, LabelFile, poll
from goldassay.judges.questions import count, question, rubric

YES = question("criterion")
SENSITIVITY, SPECIFICITY = 0.85, 0.80


class Scripted(Judge):
    """Knows the truth from the answer's first word, and errs as often as it is told; now and then it says nothing."""

    def __init__(self, seed: int, sensitivity: float = SENSITIVITY, specificity: float = SPECIFICITY) -> None:
        super().__init__(object())
        self.seed, self.rates = seed, {"good": sensitivity, "bad": 1 - specificity}

    def ask(self, signature: Any, accept: Any = None, /, **inputs: str) -> Any:
        kind = inputs["answer"].split()[0]
        lucky = random.Random(f"{self.seed} {inputs['answer']}").random()
        return {"verdict": "yes" if lucky < self.rates[kind] else "no", "reason": ""}


def items(n: int, labelled: int, truth: float = 0.4, seed: int = 0) -> list[JudgedItem]:
    rng, out = random.Random(seed), []
    for index in range(n):
        good = rng.random() < truth
        inputs = {"criterion": "c", "question": "q", "answer": f"{'good' if good else 'bad'} {seed} {index}"}
        labels = {"ann": "yes" if good else "no"} if index < labelled else {}
        out.append(JudgedItem(f"i{index}", inputs, labels))
    return out


def test_known_error_rates_come_out_inside_the_intervals() -> None:
    held = dict.fromkeys(("sensitivity", "specificity", "corrected", "naive"), 0)
    for seed in range(20):
        labels = LabelFile(items(500, 300, seed=seed), YES)
        alignment = align(labels, poll(Scripted(seed), YES, labels.items))
        truth = sum(item.inputs["answer"].startswith("good") for item in labels.items) / 500
        for name, true in (("sensitivity", SENSITIVITY), ("specificity", SPECIFICITY)):
            interval = getattr(alignment, name)
            held[name] += interval.low <= true <= interval.high
        assert alignment.corrected is not None
        held["corrected"] += alignment.corrected.corrected.low <= truth <= alignment.corrected.corrected.high
        held["naive"] += alignment.corrected.naive.low <= truth <= alignment.corrected.naive.high
    # 95 % of intervals hold the truth: of 20, 16 or fewer do with a chance of 1.6 %; the seeds are fixed.
    assert min(held["sensitivity"], held["specificity"], held["corrected"]) >= 17
    assert held["naive"] < 10  # verdicts tend to 0.4 · 0.85 + 0.6 · 0.2 = 0.46, not 0.4


def test_coefficients_and_confusion_beside_an_oracle() -> None:
    labels = LabelFile(items(200, 200), YES)
    votes = poll(Scripted(3), YES, labels.items, threads=4)
    alignment = align(labels, votes)
    people, judge = [item.label for item in labels.items], [vote.label for vote in votes]
    assert alignment.kappa is not None
    assert alignment.kappa.value == pytest.approx(cohen_kappa_score(people, judge))
    assert alignment.kappa.low < alignment.kappa.value < alignment.kappa.high
    assert alignment.accuracy is not None
    assert alignment.accuracy.value == np.mean([a == b for a, b in zip(people, judge, strict=True)])
    pairs = list(zip(people, judge, strict=True))
    assert alignment.confusion["yes"] == {
        "yes": pairs.count(("yes", "yes")),
        "no": pairs.count(("yes", "no")),
        "unknown": 0,
    }
    assert (alignment.n, alignment.unlabelled, alignment.corrected) == (200, 0, None)


def test_where_people_disagree() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes", "bob": "yes"}) for i in range(4)]
    rows += [JudgedItem(str(i), {}, {"ann": "no", "bob": "no"}) for i in range(4, 8)]
    rows += [JudgedItem("both", {}, {"ann": "yes", "bob": "no"}), JudgedItem("u1"), JudgedItem("u2"), JudgedItem("u3")]
    votes = [count(["yes"] * 3)] * 4 + [count(["no"] * 3)] * 4
    votes += [count(["yes"] * 3), count(["yes"] * 3), count(["yes", "yes", "no"]), count([None])]
    alignment = align(LabelFile(rows, YES), votes)
    assert [(item["id"], item["verdict"]) for item in alignment.divided] == [("both", "yes")]
    assert (alignment.no_majority, alignment.n, alignment.annotators) == (1, 8, 2)
    assert alignment.people is not None
    assert alignment.people.value == pytest.approx(1 - (2 / 18) / (2 * 9 * 9 / (18 * 17)))  # 1 of 9 pairs differs


def test_unknown_verdicts_are_counted_not_guessed() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes" if i % 2 else "no"}) for i in range(10)]
    votes = [count(["yes" if i % 2 else "no"]) for i in range(8)] + [count([None])] * 2
    alignment = align(LabelFile(rows, YES), votes)
    assert (alignment.n, alignment.unknown) == (8, 2)
    assert alignment.confusion["yes"]["unknown"] == 1
    assert alignment.warnings[0].startswith("2 items with a label have no verdict")


def test_one_class_one_annotator_few_labels() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes"}) for i in range(5)]
    alignment = align(LabelFile(rows, YES), [count(["yes"])] * 5)
    assert (alignment.kappa, alignment.alpha, alignment.people, alignment.specificity) == (None,) * 4
    assert alignment.sensitivity is not None
    message = " | ".join(alignment.warnings)
    for part in ("on one side of 'yes'", "kappa is not defined", "how far people agree", "5 labels are few"):
        assert part in message


def test_a_judge_that_always_says_the_same_tells_nothing() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes" if i % 2 else "no"}) for i in range(40)]
    alignment = align(LabelFile(rows, YES), [count(["no"])] * 40)
    assert alignment.kappa is not None
    assert alignment.kappa.value == 0.0
    assert "the judge always says 'no', whatever it judges" in alignment.warnings


def test_levels_of_a_rubric_are_ordinal() -> None:
    question = rubric({"1": "wrong", "2": "thin", "3": "fair", "4": "full"})
    people, judge = "11223344" * 3, "12223443" * 3
    rows = [JudgedItem(str(n), {}, {"ann": label}) for n, label in enumerate(people)]
    alignment = align(LabelFile(rows, question), [count([item]) for item in judge])
    assert alignment.alpha is not None
    want = krippendorff.alpha([list(map(int, people)), list(map(int, judge))], level_of_measurement="ordinal")
    assert alignment.alpha.value == pytest.approx(want)
    assert alignment.positive == "4"


def test_refusals() -> None:
    rows = [JudgedItem("a", {}, {"ann": "yes"}), JudgedItem("b")]
    with pytest.raises(DataError, match="no item has a label and a known verdict"):
        align(LabelFile(rows, YES, source="f"), [count([None]), count(["yes"])])
    with pytest.raises(DataError, match="1 verdicts on 2 items"):
        align(LabelFile(rows, YES), [count(["yes"])])
    assert [vote.label for vote in LabelFile(rows, YES, source="f").votes] == [None, None]
    with pytest.raises(DataError, match="record a: no input 'criterion'"):
        poll(Scripted(0), YES, rows)
