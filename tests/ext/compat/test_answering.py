"""RAGEvaluator: the founding document's keys, with and without a judge, every part replaced."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.ext.compat import RAGEvaluator
from goldassay.ext.compat.models import CORRECTNESS
from goldassay.measures.answering import LexicalSupport
from goldassay.measures.judged import Verdict

KEYS = ["rouge", "semantic_similarity", "faithfulness", "relevance", "lexical_support", "question_similarity"]
ROW = {
    "question": "When did it open?",
    "generated_answer": "It opened in 1885. It is blue.",
    "gold_answer": "In 1885.",
    "retrieved_context": "It opened in 1885.",
}


class Supporting:
    """Says of each sentence whether it stands in the text: a judge of support alone."""

    name = "supporting"
    questions: tuple[str, ...] = ("support",)

    def claims(self, text: str) -> list[str]:
        return [part.strip() for part in text.split(".") if part.strip()]

    def verdict(self, question: str, /, text: str = "", claim: str = "", **_: Any) -> Verdict:
        return Verdict("supported", claim) if claim in text else Verdict("not_stated")


class Full(Supporting):
    """A judge of everything."""

    name = "full"
    questions = ("support", "relevance", "rubric")
    level: str | None = "mostly right"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def verdict(self, question: str, /, text: str = "", claim: str = "", **inputs: Any) -> Verdict:
        if question == "support":
            return super().verdict(question, text, claim)
        if question == "relevance":
            return Verdict("partial", reason="no day")
        self.asked.append(tuple(inputs.values()))
        return Verdict(self.level)


def test_without_a_judge_its_values_are_none() -> None:
    values = RAGEvaluator(embedder=None).evaluate_answer(**ROW)
    assert list(values) == KEYS
    assert (values["faithfulness"], values["relevance"], values["semantic_similarity"]) == (None, None, None)
    pred = {"answer": ROW["generated_answer"], "retrieved_contexts": [ROW["retrieved_context"]]}
    assert values["lexical_support"] == LexicalSupport()({}, pred).tally.value


def test_a_judge_gives_all_three() -> None:
    judge = Full()
    values = RAGEvaluator(judge, embedder=None).evaluate_answer(**ROW)
    assert list(values) == [*KEYS, "llm_judge"]
    # one of two claims stands in the context; a part of an answer; the fourth of five levels, 3/4
    assert (values["faithfulness"], values["relevance"], values["llm_judge"]) == (0.5, 0.5, 0.75)
    levels, question, answer = judge.asked[0]
    assert (list(levels), answer) == (list(CORRECTNESS), ROW["generated_answer"])
    assert question == "When did it open?\nGold answer: In 1885."
    judge.level = None
    assert RAGEvaluator(judge, embedder=None).evaluate_answer(**ROW)["llm_judge"] is None
    assert RAGEvaluator(judge, embedder=None).evaluate_answer(**{**ROW, "generated_answer": ""})["faithfulness"] is None


def test_a_judge_of_support_gives_faithfulness_alone() -> None:
    values = RAGEvaluator(Supporting(), embedder=None).evaluate_answer(**ROW)
    assert list(values) == KEYS
    assert (values["faithfulness"], values["relevance"]) == (0.5, None)


def test_a_function_may_judge() -> None:
    judge = lambda question, answer, gold: f"{question}|{answer}|{gold}"  # noqa: E731
    values = RAGEvaluator(judge, embedder=None).evaluate_answer(**ROW)
    assert values["llm_judge"] == f"{ROW['question']}|{ROW['generated_answer']}|{ROW['gold_answer']}"
    assert (values["faithfulness"], values["relevance"]) == (None, None)


def test_rouge() -> None:
    rouge: Any = RAGEvaluator(embedder=None).evaluate_answer(**ROW)["rouge"]
    assert rouge["rouge1"] == pytest.approx(4 / 9)  # it opened in 1885 it is blue / in 1885: P 2/7, R 2/2
