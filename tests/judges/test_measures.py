"""Judged answers and entities: values and errors by hand, with a judge that is a plain class."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.judges.measures import Criterion, Preference, Rubric
from goldassay.measures.answering import ContextEntityRecall, Relevance
from goldassay.measures.judged import JudgedMean, Verdict


class Plain:
    """A judge that says what it was told to, and remembers what it was asked."""

    name = "plain"

    def __init__(self, *labels: str | None) -> None:
        self.labels, self.asked = list(labels), []  # type: ignore[var-annotated]

    def verdict(self, question: str, /, **inputs: Any) -> Verdict:
        self.asked.append(tuple(inputs.values()))
        return Verdict(self.labels[len(self.asked) - 1], reason=f"reason {len(self.asked)}")

    def entities(self, text: str) -> list[str] | None:
        item = self.verdict("entities", text=text).label
        return None if item is None else item.split("|")


ASKED = {"question": "When did it open?"}
SAID = {"answer": "In 1885."}


def test_relevance_has_levels() -> None:
    measure = Relevance(judge := Plain("full", "partial", "none", "evasion", None))
    results = [measure(ASKED, SAID) for _ in range(5)]
    assert [item.tally.value for item in results[:4]] == [1.0, 0.5, 0.0, 0.0]
    total = sum((entry.tally for entry in results), JudgedMean())
    # (1 + 0.5 + 0 + 0 + 0) / 5, the fifth being unknown; with the fifth at 1 over 5
    assert (total.value, total.band, total.unknown) == (0.3, (0.3, 0.5), 1)
    assert results[0].errors == ()
    assert results[1].errors[0].message == "The answer answers in part only “When did it open?”. The judge: reason 2"
    assert results[4].errors[0].kind == "unknown"
    assert judge.asked[0] == ("When did it open?", "In 1885.")
    assert measure({**ASKED, "answers": []}, {"answer": ""}).tally == JudgedMean()
    assert measure({}, SAID).tally == JudgedMean()


def test_a_failed_program_evades() -> None:
    measure = Relevance(judge := Plain("evasion"))
    assert measure(ASKED, None).tally.value == 0
    assert judge.asked == [("When did it open?", "")]


def test_a_rubric_s_levels_are_even_steps() -> None:
    levels = {"rude": "insults", "curt": "says little", "kind": "helps"}
    measure = Rubric(judge := Plain("rude", "curt", "kind"), levels, "tone")
    results = [measure(ASKED, SAID) for _ in range(3)]
    assert [item.tally.value for item in results] == [0.0, 0.5, 1.0]
    assert results[1].errors[0].message == "tone: curt (says little); best is kind (helps). The judge: reason 2"
    assert measure.key == "tone"
    assert (
        measure.conventions
        == "tone[judge=plain, levels=rude<curt<kind, unknown=in the denominator, not counted as true]"
    )
    assert hash(measure) == hash(Rubric("plain", tuple(levels.items()), "tone"))
    assert judge.asked[0] == (levels, "When did it open?", "In 1885.")
    for bad in ({"one": "x"}, [("a", "x"), ("A", "y")], ()):
        with pytest.raises(GoldassayError, match="two or more levels"):
            Rubric(Plain(), bad)


def test_a_criterion_in_words() -> None:
    measure = Criterion(Plain("yes", "no"), "It names its source.", "sourced")
    results = [measure(ASKED, SAID) for _ in range(2)]
    assert [item.tally.value for item in results] == [1.0, 0.0]
    assert results[1].errors[0].message == (
        "The answer does not meet the criterion “It names its source.”. The judge: reason 2"
    )
    assert results[1].errors[0].kind == "sourced"
    with pytest.raises(GoldassayError, match="needs words"):
        Criterion(Plain())


def test_a_preference_over_another_answer() -> None:
    measure = Preference(Plain("first", "tie", "second"), over="baseline")
    gold = {**ASKED, "baseline": "Long ago."}
    results = [measure(gold, SAID) for _ in range(3)]
    assert [item.tally.value for item in results] == [1.0, 0.5, 0.0]
    assert results[2].errors[0].message == "The answer is worse than “Long ago.”. The judge: reason 3"
    assert measure(ASKED, SAID).tally == JudgedMean()


def test_entities_by_a_judge_or_a_program() -> None:
    gold, pred = {"reference": "Kunsthal, Rotterdam, 1992"}, {"retrieved_contexts": ["De kunsthal is uit 1992."]}
    result = ContextEntityRecall(judge=Plain("Kunsthal|Rotterdam|1992"))(gold, pred)
    assert result.tally.value == pytest.approx(2 / 3)
    assert [error.gold for error in result.errors] == ["Rotterdam"]
    unknown = ContextEntityRecall(judge=Plain(None))(gold, pred)
    assert (unknown.tally.weight, unknown.tally.unknown, unknown.errors[0].kind) == (1, 1, "unknown")

    def program(text: str) -> Any:
        return dspy.Prediction(entities=[{"text": word.strip(","), "type": "X"} for word in text.split()])

    measure = ContextEntityRecall(judge=program)
    assert measure(gold, pred).tally.value == pytest.approx(2 / 3)
    assert measure.judge.endswith("program")
    assert measure(gold, {"answer": "x"}).tally == JudgedMean()
    assert measure(gold, None).tally == JudgedMean()  # nothing was retrieved that could be judged
    assert ContextEntityRecall(judge=lambda text: [])(gold, pred).tally == JudgedMean()
    with pytest.raises(GoldassayError, match="match is exact"):
        ContextEntityRecall("near", judge=program)


def test_a_metric_folds_them_and_tells_the_reason() -> None:
    judge = Plain("partial", "no")
    score = Metric({Relevance(judge): 1.0, Criterion(judge, "It is short."): 1.0})(ASKED, SAID)
    assert score.score == 0.25  # (0.5 + 0) / 2
    assert "The judge: reason 1" in score.feedback
    assert "The judge: reason 2" in score.feedback
    total = score + score
    assert total.value == 0.25
    assert total.evidence["relevance"].state()["weight"] == 2
