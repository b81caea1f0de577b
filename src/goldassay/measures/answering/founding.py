"""The founding document's class: one answer, all values that need no judge, and the judge's where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from goldassay.embedding import Embedder, available
from goldassay.measures.answering.lexical import lexical_support
from goldassay.measures.answering.records import all_texts
from goldassay.measures.answering.rouge import rouge
from goldassay.measures.answering.similarity import similarity


class RAGEvaluator:
    """End-to-end evaluation of one answer; every part can be replaced, and the judge is really optional.

    ``llm_judge`` is called with (question, generated answer, gold answer). ``faithfulness`` is called with (answer,
    context) and ``relevance`` with (question, answer): both take a judge or an entailment model, and are ``None``
    without one. What can be said without is said under its own name: ``lexical_support`` and ``question_similarity``
    (the cosine to the question, which an echo of the question wins). ``embedder`` is a name or an embedder; the one
    at hand without.

    >>> fact = "It opened in 1800."
    >>> found = RAGEvaluator(embedder=None).evaluate_answer("When?", "In 1800.", fact, fact)
    >>> list(found)
    ['rouge', 'semantic_similarity', 'faithfulness', 'relevance', 'lexical_support', 'question_similarity']
    >>> found["rouge"]["rouge1"], found["lexical_support"], found["faithfulness"]
    (0.6666666666666666, 1.0, None)
    """

    def __init__(
        self,
        llm_judge: Callable[[str, str, str], Any] | None = None,
        *,
        embedder: Embedder | str | None = "auto",
        faithfulness: Callable[[str, str], float | None] | None = None,
        relevance: Callable[[str, str], float | None] | None = None,
    ) -> None:
        self.llm_judge = llm_judge
        self.embedder = available() if embedder == "auto" else embedder
        self.faithfulness, self.relevance = faithfulness, relevance

    def evaluate_answer(
        self, question: str, generated_answer: str, gold_answer: str, retrieved_context: str
    ) -> dict[str, Any]:
        """The values of one answer; ``None`` where what would give one is not there."""
        given = {"question": question, "answer": generated_answer, "reference": gold_answer}
        for name, text in (given | {"context": retrieved_context}).items():
            all_texts([text], name, "no answer is an empty text, and several contexts are one, with lines between")
        values: dict[str, Any] = {
            "rouge": {f"rouge{kind}": rouge(generated_answer, gold_answer, kind)[2] for kind in ("1", "2", "L")},
            "semantic_similarity": self._cosine(generated_answer, gold_answer),
            "faithfulness": self.faithfulness(generated_answer, retrieved_context) if self.faithfulness else None,
            "relevance": self.relevance(question, generated_answer) if self.relevance else None,
            "lexical_support": lexical_support(generated_answer, [retrieved_context]),
            "question_similarity": self._cosine(question, generated_answer),
        }
        if self.llm_judge is not None:
            values["llm_judge"] = self.llm_judge(question, generated_answer, gold_answer)
        return values

    def evaluate(self, rows: list[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The values of many answers, given as mappings with the four arguments of `evaluate_answer`."""
        return [self.evaluate_answer(**row) for row in rows]

    def _cosine(self, one: str, other: str) -> float | None:
        return None if self.embedder is None else float(similarity([one], [other], self.embedder)[0])
