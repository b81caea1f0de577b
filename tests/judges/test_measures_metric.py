"""metrics/answering.py: stand-ins under their own names without a judge, judged measures with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.judges import Judge
from goldassay.judges.judge import named
from goldassay.measures.judged import Verdict
from goldassay.text.words import sentences

GOLD = {"id": "a", "question": "When did it open?", "answers": ["1885"], "documents": ["d1"]}
PRED = {
    "answer": "1885",
    "retrieved_contexts": ["It opened in 1885.", "It is red."],
    "results": [{"doc_id": "d1", "score": 1.0}],
}


class Plain:
    """A judge that finds all claims in the first passage and half an answer."""

    name = "plain"

    def claims(self, text: str) -> list[str]:
        return [text]

    def verdict(self, question: str, /, text: str = "", **_: str) -> Verdict:
        if question == "relevance":
            return Verdict("partial", reason="no day")
        return Verdict("supported", text) if "1885" in text else Verdict("not_stated")


class Strict:
    """A judge of support alone: its claims are sentences, and it supports none of them."""

    name = "strict"
    questions = ("support",)

    def claims(self, text: str) -> list[str]:
        return sentences(text)

    def verdict(self, question: str, /, **_: str) -> Verdict:
        assert question == "support"
        return Verdict("not_stated")


@pytest.fixture(scope="module")
def module(root: Path) -> Any:
    return workspace.load(root / "metrics" / "answering.py")


def test_without_a_judge_the_stand_in_has_its_own_name(module: Any) -> None:
    score = module.metric(GOLD, PRED)
    assert "lexical_support" in score.objective_scores
    assert score.evidence["faithfulness"].weight == 0  # not applicable: nobody judged
    assert score.evidence["relevance"].weight == 0
    assert score.evidence["lexical_support"].weight == 1
    assert score.score == 1.0


def test_with_a_judge_the_same_names_have_values(module: Any) -> None:
    metric = module.metric_with(Plain())
    assert list(metric.measures) == list(module.metric.measures)
    assert (metric.weights, metric.targets) == (module.metric.weights, module.metric.targets)
    score = metric(GOLD, PRED)
    assert (score.objective_scores["faithfulness"], score.objective_scores["relevance"]) == (1.0, 0.5)
    assert score.score == 1.0  # by words still; what is judged has weight 0
    assert "The judge: no day" in score.feedback
    assert "judge=plain" in metric.conventions["faithfulness"]
    assert metric.met({"faithfulness": 1.0, "relevance": 0.5}) == {"faithfulness": True, "relevance": False}


def test_a_judge_of_support_alone(module: Any) -> None:
    metric = module.metric_with(Strict())
    score = metric(GOLD, PRED)
    assert (score.evidence["faithfulness"].value, score.evidence["relevance"].weight) == (0.0, 0)
    assert [error.message for error in score.errors] == [
        "The answer says “When did it open?”, which no retrieved passage supports.",
        "The answer says “1885”, which no retrieved passage supports.",
    ]


def test_a_judge_by_its_name(tmp_path: Path) -> None:
    judge = named("openai/gpt-4o-mini", verdicts=tmp_path / "verdicts.jsonl", version="2", max_tokens=99)
    assert isinstance(judge, Judge)
    assert (str(judge), judge.lm.kwargs["max_tokens"], judge.adapter) == ("openai/gpt-4o-mini@2", 99, None)
    judge.verdicts["a"] = None
    assert (tmp_path / "verdicts.jsonl").is_file()
    with pytest.raises(GoldassayError, match="no such model file"):
        named("local:absent.gguf")
