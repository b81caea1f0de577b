"""The founding document's ``RAGEvaluator`` with a judge behind it: the same method, the same keys.

A judge is optional. Without one, ``faithfulness`` and ``relevance`` are ``None`` and ``llm_judge`` is absent; what
needs no judge stands under its own name. A judge of support alone (an entailment model) gives faithfulness only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goldassay.compat import answering as founding
from goldassay.embedding import Embedder
from goldassay.judges.measures import Faithfulness, Judged, Relevance, Rubric

CORRECTNESS = {
    "wrong": "says nothing that the gold answer says, or contradicts it",
    "mostly wrong": "has a little of what the gold answer says",
    "half right": "has about half of what the gold answer says",
    "mostly right": "lacks a little of what the gold answer says, or adds a small mistake",
    "right": "says what the gold answer says",
}


class RAGEvaluator(founding.RAGEvaluator):
    """One answer's values; every part can be replaced by a function of one's own.

    A `Judge` gives ``faithfulness``, ``relevance`` and ``llm_judge`` (from 0 wrong to 1 right, by the levels of
    `CORRECTNESS`); a value that it cannot give is ``None``.

    Args:
        llm_judge: a `Judge`, a judge of support, or a function of (question, answer, gold answer).
        embedder: a name or an embedder; the one at hand by default, ``None`` for none.
        faithfulness: a function of (answer, context) in the judge's place.
        relevance: a function of (question, answer) in the judge's place.
        rouge: called with (answer, gold answer).
        similarity: called with two texts.
        support: called with (answer, [context]).

    >>> found = RAGEvaluator(embedder=None, similarity=lambda one, other: float(one == other))
    >>> found.evaluate_answer("When?", "1885", "1885", "It opened in 1885.")["semantic_similarity"]
    1.0
    """

    def __init__(
        self,
        llm_judge: Any = None,
        *,
        embedder: Embedder | str | None = "auto",
        faithfulness: Callable[[str, str], float | None] | None = None,
        relevance: Callable[[str, str], float | None] | None = None,
        rouge: Callable[[str, str], dict[str, float]] | None = None,
        similarity: Callable[[str, str], float | None] | None = None,
        support: Callable[[str, list[str]], float | None] | None = None,
    ) -> None:
        judge = llm_judge if hasattr(llm_judge, "support") else None
        rates = hasattr(judge, "rubric")
        super().__init__(
            (lambda *asked: correctness(judge, *asked)) if rates else llm_judge if judge is None else None,
            embedder=embedder,
            faithfulness=faithfulness,
            relevance=relevance or ((lambda q, a: relevant(judge, q, a)) if rates else None),
        )
        self.judge = judge if faithfulness is None else None
        self.rouge, self.similarity, self.support = rouge, similarity, support

    def evaluate_answer(
        self, question: str, generated_answer: str, gold_answer: str, retrieved_context: str
    ) -> dict[str, Any]:
        """The values of one answer; ``None`` where what would give one is not there, or cannot say."""
        values = super().evaluate_answer(question, generated_answer, gold_answer, retrieved_context)
        if self.judge is not None:
            values["faithfulness"] = faithful(self.judge, question, generated_answer, retrieved_context)
        if self.rouge is not None:
            values["rouge"] = self.rouge(generated_answer, gold_answer)
        if self.support is not None:
            values["lexical_support"] = self.support(generated_answer, [retrieved_context])
        return values

    def _cosine(self, one: str, other: str) -> float | None:
        return self.similarity(one, other) if self.similarity is not None else super()._cosine(one, other)


def faithful(judge: object, question: str, answer: str, context: str) -> float | None:
    """The share of the answer's claims that the context supports; ``None`` where it makes none or none is known."""
    tally = Faithfulness(judge)({"question": question}, {"answer": answer, "retrieved_contexts": [context]}).tally
    return _known(tally)


def relevant(judge: object, question: str, answer: str) -> float | None:
    """In full 1, in part 0.5, not at all or by an evasion 0."""
    tally = Relevance(judge)({"question": question}, {"answer": answer}).tally
    return _known(tally)


def correctness(judge: object, question: str, answer: str, gold: str) -> float | None:
    """The worth of an answer's level beside the gold answer."""
    asked = {"question": f"{question}\nGold answer: {gold}"}
    tally = Rubric(judge, CORRECTNESS, "correctness")(asked, {"answer": answer}).tally
    return _known(tally)


def _known(tally: Judged) -> float | None:
    """The value; ``None`` where nothing was judged, or no verdict came back."""
    return None if not tally.weight or (tally.unknown and tally.band == (0.0, 1.0)) else float(tally.value)
