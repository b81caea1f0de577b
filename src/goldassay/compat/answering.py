"""The founding document's class: one answer, all values that need no judge, and the judge's where there is one.

The ranking of several models by their final score: the founding document's table, with its columns.

The best stands first; models with the same final score share a rank, and the next one's counts them (1, 2, 2, 4). A
model that lacks one of the five values has no final score and no rank: it stands last.

Context entity recall over rows of any shape: where the texts stand is said by name, dotted path or function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from goldassay.embedding import Embedder, available
from goldassay.exceptions import DataError, FieldError, GoldassayError
from goldassay.fields import Column, read
from goldassay.measures.answering.grounding import lexical_support
from goldassay.measures.answering.matching import Aliases, distinct, found_entities, lacking
from goldassay.measures.answering.measures import rouge
from goldassay.measures.answering.ranking import FIVE, WEIGHTS, final_score
from goldassay.measures.answering.records import all_texts, contexts, reference
from goldassay.measures.answering.semantic import similarity
from goldassay.scorecard import Scorecard


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


COLUMNS = ("Rank", "Model", "Accuracy", "Quality", "Confidence", "Speed", "Robustness", "Final_Score")
Values = Mapping[str, float | None]


def rankings(models: Mapping[str, Scorecard | Values], weights: Mapping[str, float] = WEIGHTS) -> list[dict[str, Any]]:
    """A row for each model with the keys `COLUMNS`; each model is given by its scorecard or by its five values.

    >>> five = {"accuracy": 0.847, "quality": 0.891, "confidence": 0.756, "speed": 0.823, "robustness": 0.95}
    >>> for row in rankings({"BERT-Tiny": {**five, "accuracy": 0.5}, "RoBERTa": five}):
    ...     print(row["Rank"], row["Model"], round(row["Final_Score"], 3))     # 0.852 − 0.25 · 0.347 = 0.765
    1 RoBERTa 0.852
    2 BERT-Tiny 0.765
    """
    made = {name: _row(name, given, weights) for name, given in models.items()}
    finals = [row["Final_Score"] for row in made.values() if row["Final_Score"] is not None]
    for row in made.values():
        if row["Final_Score"] is not None:
            row["Rank"] = 1 + sum(other > row["Final_Score"] for other in finals)
    return sorted(made.values(), key=lambda row: len(made) + 1 if row["Rank"] is None else row["Rank"])


def _row(name: str, given: Scorecard | Values, weights: Mapping[str, float]) -> dict[str, Any]:
    values = given.values if isinstance(given, Scorecard) else given
    lacking = [key for key in FIVE if key not in values]
    if lacking:
        raise GoldassayError(f"{name} has no {', '.join(lacking)}; a ranking needs {', '.join(FIVE)} (None: unknown)")
    five = {key.capitalize(): values[key] for key in FIVE}
    filled = {"Rank": None, "Model": name, **five, "Final_Score": final_score(values, weights)}
    return {column: filled[column] for column in COLUMNS}


def context_entity_recall(
    rows: Sequence[object],
    *,
    retrieved_contexts_column: Column = "retrieved_contexts",
    reference_column: Column = "reference",
    extract: Callable[[str], Iterable[Any]] = found_entities,
    match: str = "normalised",
    aliases: Aliases = (),
) -> dict[str, Any]:
    """Context entity recall over rows of any shape.

    Args:
        rows: mappings or objects.
        retrieved_contexts_column: where the contexts stand: a name, a dotted path, or a function of the row.
        reference_column: where the reference stands, likewise.
        extract: finds the entities of a text.
        match: ``exact``, ``normalised``, ``alias`` or ``id``.
        aliases: rows of names that stand for each other.

    Raises:
        DataError: a row lacks a column, or it holds what it should not.

    >>> row = {"model": {"contexts": ["Rotterdam"]}, "truth": "Kunsthal Rotterdam, 1992"}
    >>> context_entity_recall([row], retrieved_contexts_column="model.contexts", reference_column="truth")
    {'context_entity_recall': 0.0, 'rows': [0.0]}
    >>> context_entity_recall([row], retrieved_contexts_column=lambda r: ["opened 1992"], reference_column="truth")
    {'context_entity_recall': 0.5, 'rows': [0.5]}
    """
    columns = {"retrieved_contexts": retrieved_contexts_column, "reference": reference_column}
    values: list[float | None] = []
    for place, row in enumerate(rows):
        seen = {name: _cell(row, column, name, place) for name, column in columns.items()}
        try:
            texts, text = contexts(seen) or (), reference(seen)
        except DataError as error:
            raise error.at(record=place) from None
        wanted = distinct(extract(text), match, aliases)
        missing = lacking(wanted.values(), texts, None, match, aliases)
        values.append((len(wanted) - len(missing)) / len(wanted) if wanted else None)
    counted = [value for value in values if value is not None]
    return {"context_entity_recall": sum(counted) / len(counted) if counted else None, "rows": values}


def _cell(row: Any, column: Column, name: str, place: int) -> Any:
    """What stands in a column of a row; one that is not there is an error that names it, and no recall of 0."""
    try:
        return column(row) if callable(column) else read(row, column)
    except FieldError as error:
        raise DataError(f"{error}; say where it is with {name}_column", record=place, field=name) from None
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise DataError(f"the function for {name}_column raised {what}", record=place, field=name) from None
