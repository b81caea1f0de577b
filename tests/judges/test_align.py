"""A judge beside people: scripted judges come out with the rates that they were given."""

from __future__ import annotations

import random
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from goldassay.exceptions import DataError, GoldassayError
from goldassay.judges.agreement import align
from goldassay.judges.calibration import Fitted, threshold
from goldassay.judges.judge import Judge
from goldassay.judges.labels import JudgedItem, Labels
from goldassay.judges.panel import Panel, count, poll
from goldassay.judges.questions import question, rubric
from goldassay.statistics import power as needed

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
        labels = Labels(items(500, 300, seed=seed), YES)
        found = align(labels, poll(Scripted(seed), YES, labels.items))
        truth = sum(item.inputs["answer"].startswith("good") for item in labels.items) / 500
        for name, true in (("sensitivity", SENSITIVITY), ("specificity", SPECIFICITY)):
            one = getattr(found.rates, name)
            held[name] += one.low <= true <= one.high
        assert found.corrected is not None
        held["corrected"] += found.corrected.corrected.low <= truth <= found.corrected.corrected.high
        held["naive"] += found.corrected.naive.low <= truth <= found.corrected.naive.high
    # 95 % of intervals hold the truth: of 20, 16 or fewer do with a chance of 1.6 %; the seeds are fixed.
    assert min(held["sensitivity"], held["specificity"], held["corrected"]) >= 17
    assert held["naive"] < 10  # verdicts tend to 0.4 · 0.85 + 0.6 · 0.2 = 0.46, not 0.4


def test_coefficients_and_confusion_beside_an_oracle() -> None:
    labels = Labels(items(200, 200), YES)
    votes = poll(Scripted(3), YES, labels.items, threads=4)
    found = align(labels, votes)
    people, judge = [item.label for item in labels.items], [vote.label for vote in votes]
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(cohen_kappa_score(people, judge))
    assert found.kappa.low < found.kappa.value < found.kappa.high
    assert found.accuracy is not None
    assert found.accuracy.value == np.mean([a == b for a, b in zip(people, judge, strict=True)])
    pairs = list(zip(people, judge, strict=True))
    assert found.confusion["yes"] == {
        "yes": pairs.count(("yes", "yes")),
        "no": pairs.count(("yes", "no")),
        "unknown": 0,
    }
    assert (found.n, found.unlabelled, found.corrected) == (200, 0, None)
    assert "rate, corrected" not in found.needed


def test_three_samples_are_calibrated_on_the_other_half() -> None:
    labels = Labels(items(400, 400), YES)
    panel = Panel([Scripted(seed) for seed in (1, 2, 3)])
    found = align(labels, poll(panel, YES, labels.items))
    fitted = found.fitted
    assert fitted is not None
    assert (fitted.fitted, fitted.held_out) == (200, 200)
    assert fitted.brier_after < fitted.brier_before
    assert list(fitted.calibration.probabilities) == sorted(fitted.calibration.probabilities)
    assert fitted.threshold == pytest.approx(2 / 3)  # two of three: sensitivity .94, specificity .90
    assert fitted.after == fitted.before


def test_a_shifted_score_is_mended_by_its_threshold() -> None:
    rng = random.Random(0)
    truths = [i % 2 == 0 for i in range(200)]
    scores = [min(1.0, max(0.0, 0.2 * truth + 0.6 + rng.gauss(0, 0.05))) for truth in truths]
    found = Fitted.of(scores, truths, [score >= 0.4 for score in scores])  # as it is, everything is positive
    assert found.before.specificity is not None
    assert found.after.specificity is not None
    assert found.before.specificity.value == 0.0
    assert found.after.specificity.value > 0.9
    assert 0.6 < found.threshold < 0.8
    assert threshold([0.5, 0.5], [True, False]) == 0.5


def test_where_people_disagree_and_what_to_label_next() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes", "bob": "yes"}) for i in range(4)]
    rows += [JudgedItem(str(i), {}, {"ann": "no", "bob": "no"}) for i in range(4, 8)]
    rows += [JudgedItem("both", {}, {"ann": "yes", "bob": "no"}), JudgedItem("u1"), JudgedItem("u2"), JudgedItem("u3")]
    votes = [count(["yes"] * 3)] * 4 + [count(["no"] * 3)] * 4
    votes += [count(["yes"] * 3), count(["yes"] * 3), count(["yes", "yes", "no"]), count([None])]
    found = align(Labels(rows, YES), votes)
    assert [(one["id"], one["verdict"]) for one in found.divided] == [("both", "yes")]
    assert (found.no_majority, found.n, found.annotators) == (1, 8, 2)
    assert list(found.next) == ["u3", "u2", "u1"]
    assert found.people is not None
    assert found.people.value == pytest.approx(1 - (2 / 18) / (2 * 9 * 9 / (18 * 17)))  # 1 of 9 pairs differs


def test_unknown_verdicts_are_counted_not_guessed() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes" if i % 2 else "no"}) for i in range(10)]
    votes = [count(["yes" if i % 2 else "no"]) for i in range(8)] + [count([None])] * 2
    found = align(Labels(rows, YES), votes)
    assert (found.n, found.unknown) == (8, 2)
    assert found.confusion["yes"]["unknown"] == 1
    assert found.warnings[0].startswith("2 items with a label have no verdict")


def test_one_class_one_annotator_few_labels() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes"}) for i in range(5)]
    found = align(Labels(rows, YES), [count(["yes"])] * 5)
    assert (found.kappa, found.alpha, found.people, found.fitted, found.rates.specificity) == (None,) * 5
    assert found.rates.sensitivity is not None
    told = " | ".join(found.warnings)
    for part in ("on one side of 'yes'", "kappa is not defined", "one annotator", "5 labels are few"):
        assert part in told


def test_a_judge_that_always_says_the_same_tells_nothing() -> None:
    rows = [JudgedItem(str(i), {}, {"ann": "yes" if i % 2 else "no"}) for i in range(40)]
    found = align(Labels(rows, YES), [count(["no"])] * 40)
    assert found.kappa is not None
    assert (found.kappa.value, found.fitted) == (0.0, None)  # no score to cut at
    assert "kappa" not in found.needed
    assert "the judge always says 'no': it tells nothing apart" in found.warnings


def test_levels_of_a_rubric_are_ordinal() -> None:
    asked = rubric({"1": "wrong", "2": "thin", "3": "fair", "4": "full"})
    people, judge = "11223344" * 3, "12223443" * 3
    rows = [JudgedItem(str(n), {}, {"ann": label}) for n, label in enumerate(people)]
    found = align(Labels(rows, asked), [count([said]) for said in judge])
    assert found.alpha is not None
    want = krippendorff.alpha([list(map(int, people)), list(map(int, judge))], level_of_measurement="ordinal")
    assert found.alpha.value == pytest.approx(want)
    assert found.positive == "4"


def test_refusals() -> None:
    rows = [JudgedItem("a", {}, {"ann": "yes"}), JudgedItem("b")]
    with pytest.raises(DataError, match="no item has a label and a known verdict"):
        align(Labels(rows, YES, source="f"), [count([None]), count(["yes"])])
    with pytest.raises(DataError, match="1 verdicts on 2 items"):
        align(Labels(rows, YES), [count(["yes"])])
    with pytest.raises(DataError, match="no verdicts in this file; name a model that judges"):
        _ = Labels(rows, YES, source="f").votes
    with pytest.raises(DataError, match="record a: no input 'criterion'"):
        poll(Scripted(0), YES, rows)
    with pytest.raises(GoldassayError, match="width is between 0 and 1, not 2"):
        needed.for_rate(0.5, 2)


def test_labels_needed_give_the_width() -> None:
    """With the number that it names, the corrected interval has the wanted width, and needs fewer than people alone."""
    rng = np.random.default_rng(0)
    truth = rng.random(40_000) < 0.4
    said = np.where(truth, rng.random(40_000) < SENSITIVITY, rng.random(40_000) < 1 - SPECIFICITY)
    alone = needed.for_corrected(truth[:2000].tolist(), said[:2000].tolist(), 0, 0.1)
    with_judge = needed.for_corrected(truth[:2000].tolist(), said[:2000].tolist(), 5000, 0.1)
    assert alone == pytest.approx(4 * 1.96**2 * 0.24 / 0.01, rel=0.03)  # p (1 − p) = 0.24
    assert with_judge < 0.75 * alone
    from goldassay.statistics import corrected

    n = with_judge
    found = corrected(truth[:n].tolist(), said[:n].tolist(), said[n : n + 5000].tolist()).corrected
    assert found.high - found.low == pytest.approx(0.1, rel=0.06)


def test_labels_that_are_all_alike_do_not_say_that_one_is_enough() -> None:
    """With 2 of 2 positive, p is taken as 4 of 6: 4·1.96²·0.222/0.01 = 341 labels; the verdicts tell nothing of it."""
    assert needed.for_corrected([1, 1], [0, 0], 0, 0.1) == pytest.approx(341, abs=5)
    assert 35 < needed.for_corrected([1] * 40, [1] * 40, 400, 0.1) < needed.for_corrected([1] * 40, [1] * 40, 0, 0.1)
