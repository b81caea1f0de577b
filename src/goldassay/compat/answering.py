"""Answering under the names of the first specification: `RAGEvaluator`, `rankings`, `context_entity_recall`.

The ranking of several models by their final score is the specification's table, with its columns. The best is first;
models with the same final score share a rank, and the next one's counts them (1, 2, 2, 4). A model that lacks one of
the five values has no final score and no rank, and comes last.

Context entity recall is over rows of any shape: the texts are named by a field, a dotted path or a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from goldassay.embedding import Embedder, available
from goldassay.exceptions import DataError, FieldError, GoldassayError, one_line
from goldassay.fields import Column, Fields, read
from goldassay.judges.measures import Rubric
from goldassay.measure import Measure
from goldassay.measures.answering import ClaimRate, ContextEntityRecall, JudgedMean, LexicalSupport, Relevance, rouge
from goldassay.measures.answering.matching import similarity
from goldassay.measures.answering.ranking import FIVE, WEIGHTS, final_score
from goldassay.measures.answering.records import check_texts
from goldassay.measures.judged import can_answer
from goldassay.scorecard import Scorecard
from goldassay.text.words import found_entities

CORRECTNESS = {
    "wrong": "says nothing that the gold answer says, or contradicts it",
    "mostly wrong": "has a little of what the gold answer says",
    "half right": "has about half of what the gold answer says",
    "mostly right": "lacks a little of what the gold answer says, or adds a small mistake",
    "right": "says what the gold answer says",
}


class RAGEvaluator:
    """End-to-end evaluation of one answer; the judge is optional.

    A `Judge` gives ``faithfulness``, ``relevance`` and ``llm_judge`` (from 0 wrong to 1 right, by the levels of
    `CORRECTNESS`); a judge of support alone gives faithfulness only, a function of (question,
    answer, gold answer) ``llm_judge`` only. A value that it cannot give is ``None``. Two values need no judge:
    ``lexical_support`` and ``question_similarity`` (the cosine to the question, which an echo of the question wins).

    Args:
        llm_judge: a `Judge`, a judge of support, or a function of (question, answer, gold answer).
        embedder: a name or an embedder; the one at hand by default, ``None`` for none.

    >>> fact = "It opened in 1800."
    >>> values = RAGEvaluator(embedder=None).evaluate_answer("When?", "In 1800.", fact, fact)
    >>> list(values)
    ['rouge', 'semantic_similarity', 'faithfulness', 'relevance', 'lexical_support', 'question_similarity']
    >>> values["rouge"]["rouge1"], values["lexical_support"], values["faithfulness"]
    (0.6666666666666666, 1.0, None)
    """

    def __init__(self, llm_judge: Any = None, *, embedder: Embedder | str | None = "auto") -> None:
        self.llm_judge = llm_judge
        self.embedder = available() if embedder == "auto" else embedder

    def evaluate_answer(self, question: str, generated_answer: str, gold_answer: str, retrieved_context: str) -> Fields:
        """The values of one answer; ``None`` if what would give one is missing, or cannot say."""
        texts = {"question": question, "answer": generated_answer, "reference": gold_answer}
        check_texts(**{name: [text] for name, text in (texts | {"context": retrieved_context}).items()})
        judge = self.llm_judge
        prediction = {"answer": generated_answer, "retrieved_contexts": [retrieved_context]}
        supports = hasattr(judge, "verdict")
        grades = supports and can_answer(judge, "rubric")
        overlap = rouge([generated_answer], [gold_answer])
        support = LexicalSupport()({}, prediction).tally
        values: dict[str, object] = {
            "rouge": {f"rouge{kind}": float(rows[0, 2]) for kind, rows in overlap.items()},
            "semantic_similarity": self._cosine(generated_answer, gold_answer),
            "faithfulness": _judged(ClaimRate("faithfulness", judge), question, prediction) if supports else None,
            "relevance": _judged(Relevance(judge), question, prediction) if grades else None,
            "lexical_support": float(support.value) if support.weight else None,
            "question_similarity": self._cosine(question, generated_answer),
        }
        if grades:
            rubric = Rubric(judge, CORRECTNESS, "correctness")
            values["llm_judge"] = _judged(rubric, f"{question}\nGold answer: {gold_answer}", prediction)
        elif judge is not None and not supports:
            values["llm_judge"] = judge(question, generated_answer, gold_answer)
        return values

    def _cosine(self, one: str, other: str) -> float | None:
        return None if self.embedder is None else float(similarity([one], [other], self.embedder)[0])


def _judged(measure: Measure[JudgedMean], question: str, prediction: Mapping[str, object]) -> float | None:
    """The value; ``None`` if nothing was judged, or no verdict came back."""
    tally = measure({"question": question}, prediction).tally
    return None if not tally.weight or (tally.unknown and tally.band == (0.0, 1.0)) else float(tally.value)


COLUMNS = ("Rank", "Model", "Accuracy", "Quality", "Confidence", "Speed", "Robustness", "Final_Score")
FiveValues = Mapping[str, float | None]


def rankings(models: Mapping[str, Scorecard | FiveValues], weights: Mapping[str, float] = WEIGHTS) -> list[Fields]:
    """A row for each model with the keys `COLUMNS`; each model is given by its scorecard or by its five values.

    Raises:
        GoldassayError: A model lacks one of the five values.

    >>> five = {"accuracy": 0.847, "quality": 0.891, "confidence": 0.756, "speed": 0.823, "robustness": 0.95}
    >>> for row in rankings({"BERT-Tiny": {**five, "accuracy": 0.5}, "RoBERTa": five}):
    ...     print(row["Rank"], row["Model"], round(row["Final_Score"], 3))     # 0.852 − 0.25 · 0.347 = 0.765
    1 RoBERTa 0.852
    2 BERT-Tiny 0.765
    """
    rows: list[Fields] = []
    for name, model in models.items():
        values = model.values if isinstance(model, Scorecard) else model
        if missing := [key for key in FIVE if key not in values]:
            needed = ", ".join(FIVE)
            raise GoldassayError(f"{name} has no {', '.join(missing)}; a ranking needs {needed} (None: unknown)")
        cells = {key.capitalize(): values[key] for key in FIVE} | {"Final_Score": final_score(values, weights)}
        rows.append({column: cells.get(column) for column in COLUMNS} | {"Model": name})
    finals = [row["Final_Score"] for row in rows if row["Final_Score"] is not None]
    for row in rows:
        if row["Final_Score"] is not None:
            row["Rank"] = 1 + sum(other > row["Final_Score"] for other in finals)
    return sorted(rows, key=lambda row: row["Rank"] or len(rows) + 1)


def context_entity_recall(
    rows: Sequence[object],
    *,
    retrieved_contexts_column: Column = "retrieved_contexts",
    reference_column: Column = "reference",
    extract: Callable[[str], Iterable[object]] = found_entities,
) -> Fields:
    """Context entity recall over rows of any shape.

    Args:
        rows: mappings or objects.
        retrieved_contexts_column: where the contexts are: a name, a dotted path, or a function of the row.
        reference_column: where the reference is, likewise.
        extract: finds the entities of a text.

    Raises:
        DataError: a row lacks a column, or it holds what it should not.

    >>> row = {"model": {"contexts": ["Rotterdam"]}, "truth": "Kunsthal Rotterdam, 1992"}
    >>> context_entity_recall([row], retrieved_contexts_column="model.contexts", reference_column="truth")
    {'context_entity_recall': 0.0, 'rows': [0.0]}
    >>> context_entity_recall([row], retrieved_contexts_column=lambda r: ["opened 1992"], reference_column="truth")
    {'context_entity_recall': 0.5, 'rows': [0.5]}
    """
    columns = {"retrieved_contexts": retrieved_contexts_column, "reference": reference_column}
    measure = ContextEntityRecall(judge=extract)
    values: list[float | None] = []
    for place, row in enumerate(rows):
        record: Fields = {}
        for name, column in columns.items():
            try:  # a missing column is an error that names it, and no recall of 0
                record[name] = (column(row) if callable(column) else read(row, column)) or ""
            except (FieldError, KeyError, IndexError, AttributeError, TypeError) as error:
                message = f"{one_line(error)}; say where it is with {name}_column"
                raise DataError(message, record=place, field=name) from None
        try:
            tally = measure(record, record).tally
        except DataError as error:
            raise error.at(record=place) from None
        values.append(float(tally.value) if tally.weight else None)
    counted = [value for value in values if value is not None]
    return {"context_entity_recall": sum(counted) / len(counted) if counted else None, "rows": values}
