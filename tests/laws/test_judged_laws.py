"""The laws of measures over those whose evidence a judge gives: one that sees words alone, and one that forgets."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from goldassay import Metric, judges
from goldassay.core.measure import Measure, parse, stored
from goldassay.judges.measures import Criterion, Preference, Rubric
from goldassay.measures import answering
from goldassay.measures.answering.claims import CLAIM_RATES
from goldassay.measures.judged import JudgedMean, Verdict
from goldassay.text.words import sentences

LEVELS = (("poor", "says nothing that gold says"), ("good", "says what gold says"))


class Literal:
    """A judge that knows what stands in a text, word for word; the better answer is the longer one."""

    name = "literal"

    def claims(self, text: str) -> list[str] | None:
        return sentences(text)

    def entities(self, text: str) -> list[str] | None:
        return list(answering.found_entities(text))

    def verdict(self, question: str, /, **inputs: Any) -> Verdict:
        if question == "support":
            supported = inputs["claim"] in inputs["text"]
            return Verdict("supported", inputs["claim"]) if supported else Verdict("not_stated")
        if question == "preference":
            gap = len(inputs["first"]) - len(inputs["second"])
            return Verdict("first" if gap > 0 else "second" if gap < 0 else "tie")
        mention, levels = inputs.get("mention", ""), list(inputs.get("levels", ("no", "yes")))
        right = {"type": not mention.isdigit(), "link": mention in inputs.get("entity", "")}
        good = right.get(question, bool(inputs.get("answer")))
        return Verdict(("full" if good else "evasion") if question == "relevance" else levels[-1 if good else 0])


class Forgetful(Literal):
    """The same, but every third verdict does not come back."""

    name = "forgetful"

    def __init__(self) -> None:
        self.asked = 0

    def __getattribute__(self, name: str) -> Any:
        attribute = super().__getattribute__(name)
        if name != "verdict":
            return attribute

        def says(*args: Any, **options: Any) -> Any:
            self.asked += 1
            return Verdict(None) if self.asked % 3 == 0 else attribute(*args, **options)

        return says


def judged(judge: Any) -> list[Measure[Any]]:
    made: list[Measure[Any]] = [answering.ClaimRate(rate, judge) for rate in CLAIM_RATES]
    made += [
        answering.Relevance(judge),
        answering.ContextEntityRecall(judge=judge),
        Rubric(judge, LEVELS),
        Criterion(judge, "It is an answer."),
    ]
    return [*made, Preference(judge, over="worse")]


LITERAL, FORGETFUL = Literal(), Forgetful()
TEXTS = ["The museum opened in 1885. It is red.", "The archive of Delft burned in 1540.", "The Boekhuis has maps."]
GOLD = [
    {
        "question": f"What is known of {n}?",
        "reference": text,
        "worse": "It is.",
        "text": "Delft in 1885",
    }
    for n, text in enumerate(TEXTS)
]


def perfect(gold: dict[str, Any]) -> dict[str, Any]:
    return {
        "answer": gold["reference"],
        "retrieved_contexts": [gold["reference"]],
        "entities": [{"start": 0, "end": 5, "type": "TOP"}],
        "links": [{"start": 0, "end": 5, "candidates": ["Q1"]}],
    }


def pairs(seed: int) -> list[tuple[Any, Any]]:
    rng = random.Random(seed)
    examples = []
    for gold in GOLD * 3:
        prediction = perfect(rng.choice(GOLD))
        prediction["entities"] += [{"start": 9, "end": 13, "type": "TOP"}] * rng.randint(0, 1)
        examples.append((gold, prediction if rng.random() < 0.8 else {**prediction, "answer": ""}))
    return examples


each = pytest.mark.parametrize("measure", judged(LITERAL), ids=repr)
both = pytest.mark.parametrize("measure", [*judged(LITERAL), *judged(FORGETFUL)], ids=repr)


def test_all_that_a_judge_gives_are_among_them() -> None:
    names = {type(measure).__name__ for measure in judged(LITERAL)}
    assert names >= set(judges.measures.__all__)
    fields = {name: getattr(getattr(answering, name), "__annotations__", {}) for name in answering.__all__}
    assert {name for name, annotations in fields.items() if "judge" in annotations} == names - set(
        judges.measures.__all__
    )


@each
def test_gold_against_gold_is_best(measure: Measure[Any]) -> None:
    best = 0.0 if getattr(measure, "lower_is_better", False) else 1.0
    total = sum((measure(gold, perfect(gold)).tally for gold in GOLD), JudgedMean())
    assert total.weight == 3
    assert total.band == (best, best)


@each
def test_the_score_of_gold_is_the_highest(measure: Measure[Any]) -> None:
    metric = Metric(measure)
    for gold in GOLD:
        score = metric(gold, perfect(gold))
        assert (score.score, bool(score), score.objective_scores) == (1.0, True, {measure.key: 1.0})
    assert all(metric(*pair).score <= 1 for pair in pairs(1))
    if measure.lower_is_better and measure.key == "hallucination":
        assert metric(GOLD[0], perfect(GOLD[1]) | {"retrieved_contexts": []}).score == 0.0


@both
def test_the_repr_and_the_stored_name_read_back(measure: Measure[Any]) -> None:
    again = parse(stored(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert f"judge={measure.judge}" in measure.conventions  # type: ignore[attr-defined]
    assert measure.key in measure.conventions
    assert "unknown=" in measure.conventions


@both
@pytest.mark.parametrize("seed", range(3))
def test_folding(measure: Measure[Any], seed: int) -> None:
    tallies = [measure(gold, pred).tally for gold, pred in pairs(seed)]
    total = sum(tallies, JudgedMean())
    low, high = total.band
    assert 0 <= low <= high <= 1 + 1e-12
    assert low == float(total.value)
    assert (low < high) <= bool(total.unknown)
    cut = random.Random(seed).randrange(1, len(tallies))
    halves = sum(tallies[:cut], JudgedMean()) + sum(tallies[cut:], JudgedMean())
    assert halves.state() == pytest.approx(total.state())
    assert tallies[0] + measure.zero == tallies[0] == measure.zero + tallies[0]
    assert measure.zero.from_state(json.loads(json.dumps(tallies[0].state()))) == tallies[0]


@both
def test_an_unknown_verdict_is_never_dropped(measure: Measure[Any]) -> None:
    for gold, pred in pairs(7):
        example = measure(gold, pred)
        assert not example.tally.unknown or example.tally.weight
        for error in example.errors:
            assert error.kind
            assert "\n" not in error.message
            assert json.loads(json.dumps(error.state()))


def test_the_judge_that_forgets_was_asked_and_its_gaps_count() -> None:
    total = JudgedMean()
    for gold, pred in pairs(1):
        total = total + answering.ClaimRate("faithfulness", FORGETFUL)(gold, pred).tally
    assert total.unknown > 0
    assert total.value < total.highest


@each
def test_a_scorecard_equals_the_fold(measure: Measure[Any]) -> None:
    from goldassay.core.measure import Batches
    from goldassay.results.result import fold

    gold, pred = zip(*pairs(3), strict=True)
    card = fold("answering", [measure], Batches(gold, pred))
    total = sum((measure(example, other).tally for example, other in pairs(3)), JudgedMean())
    assert card.values[measure.key] == pytest.approx(float(total.value) if total.weight else None)
    assert card.conventions[measure.key] == measure.conventions
    assert (measure.key in card.intervals) == (card.values[measure.key] is not None)
