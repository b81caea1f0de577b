"""Answers and whole models: `RAGEvaluator`, their ranking, and `significance_test`, whether two of them differ.

The ranking of several models by their final score is the specification's table, with its columns. The best is first;
models with the same final score share a rank, and the next one's counts them (1, 2, 2, 4). A model that lacks one of
the five values has no final score and no rank, and comes last.

The ranking keeps ``contexts.csv`` (what was retrieved), ``embeddings.csv`` and ``raw_responses.csv`` (what each model
answered, how sure it was, how long it took): `ModelRanking.recalculate_metrics_only` scores these again.

The test is repaired: lengths must agree, and values be finite; identical scores give p = 1 and not NaN; an unknown test
is an error; the bootstrap is seeded and heeds ``alpha``; results are plain numbers, ready for JSON.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import dspy
import numpy as np

from goldassay._support import files
from goldassay._support.exceptions import DataError, FieldError, GoldassayError, one_line
from goldassay.core.evidence import Evidences
from goldassay.core.fields import Column, Fields, JsonObject, Record, read
from goldassay.core.measure import Measure, check_choice
from goldassay.judges.measures import Rubric
from goldassay.measures.answering import (
    ClaimRate,
    ContextEntityRecall,
    JudgedMean,
    LexicalSupport,
    Relevance,
    rouge,
    scorecard,
)
from goldassay.measures.answering.matching import similarity
from goldassay.measures.answering.ranking import FINAL_SCORE_VALUES, FINAL_SCORE_WEIGHTS, final_score
from goldassay.measures.answering.records import check_texts
from goldassay.measures.judged import can_answer
from goldassay.models.embedding import Embedder, Vectors, available, resolve
from goldassay.results.result import Result, valued
from goldassay.statistics.paired import PAIRED_TESTS, classical, cohens_dz, compare
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

    def evaluate_answer(
        self, question: str, generated_answer: str, gold_answer: str, retrieved_context: str
    ) -> JsonObject:
        """The values of one answer; ``None`` if what would give one is missing, or cannot say."""
        texts = {"question": question, "answer": generated_answer, "reference": gold_answer}
        check_texts(**{name: [text] for name, text in (texts | {"context": retrieved_context}).items()})
        judge = self.llm_judge
        prediction = {"answer": generated_answer, "retrieved_contexts": [retrieved_context]}
        supports = hasattr(judge, "verdict")
        grades = supports and can_answer(judge, "rubric")
        overlap = rouge([generated_answer], [gold_answer])
        values: JsonObject = {
            "rouge": {f"rouge{kind}": float(rows[0, 2]) for kind, rows in overlap.items()},
            "semantic_similarity": self._cosine(generated_answer, gold_answer),
            "faithfulness": _judged(ClaimRate("faithfulness", judge), question, prediction) if supports else None,
            "relevance": _judged(Relevance(judge), question, prediction) if grades else None,
            "lexical_support": valued(LexicalSupport()({}, prediction).tally),
            "question_similarity": self._cosine(question, generated_answer),
        }
        if grades:
            rubric = Rubric(judge, CORRECTNESS, "correctness")
            values["llm_judge"] = _judged(rubric, f"{question}\nGold answer: {gold_answer}", prediction)
        elif judge is not None and not supports:
            values["llm_judge"] = judge(question, generated_answer, gold_answer)
        return values

    def _cosine(self, first: str, second: str) -> float | None:
        return None if self.embedder is None else float(similarity([first], [second], self.embedder)[0])


def _judged(measure: Measure[JudgedMean], question: str, prediction: Mapping[str, object]) -> float | None:
    """The value; ``None`` if nothing was judged, or no verdict came back."""
    tally = measure({"question": question}, prediction).tally
    return None if tally.unknown and tally.band == (0.0, 1.0) else valued(tally)


RANKING_COLUMNS = ("Rank", "Model", "Accuracy", "Quality", "Confidence", "Speed", "Robustness", "Final_Score")


def rankings(
    models: Mapping[str, Result | Mapping[str, float | None]], weights: Mapping[str, float] = FINAL_SCORE_WEIGHTS
) -> list[JsonObject]:
    """A row for each model with the keys `RANKING_COLUMNS`; each model is given by its scorecard or by its five values.

    Raises:
        GoldassayError: A model lacks one of the five values.

    >>> five = {"accuracy": 0.847, "quality": 0.891, "confidence": 0.756, "speed": 0.823, "robustness": 0.95}
    >>> for row in rankings({"BERT-Tiny": {**five, "accuracy": 0.5}, "RoBERTa": five}):
    ...     print(row["Rank"], row["Model"], round(row["Final_Score"], 3))     # 0.852 − 0.25 · 0.347 = 0.765
    1 RoBERTa 0.852
    2 BERT-Tiny 0.765
    """
    rows = []
    for name, model in models.items():
        values = model.values if isinstance(model, Result) else model
        if missing := [key for key in FINAL_SCORE_VALUES if key not in values]:
            needed = ", ".join(FINAL_SCORE_VALUES)
            raise GoldassayError(f"{name} has no {', '.join(missing)}; a ranking needs {needed} (None: unknown)")
        row = dict.fromkeys(RANKING_COLUMNS)
        row |= {key.capitalize(): values[key] for key in FINAL_SCORE_VALUES}
        rows.append(row | {"Model": name, "Final_Score": final_score(values, weights)})
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
) -> JsonObject:
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
    for index, row in enumerate(rows):
        record = {}
        for name, column in columns.items():
            try:  # a missing column is an error that names it, and no recall of 0
                record[name] = (column(row) if callable(column) else read(row, column)) or ""
            except (FieldError, KeyError, IndexError, AttributeError, TypeError) as error:
                message = f"{one_line(error)}; say where it is with {name}_column"
                raise DataError(message, record=index, field=name) from None
        try:
            values.append(valued(measure(record, record).tally))
        except DataError as error:
            raise error.at(record=index) from None
    counted = [value for value in values if value is not None]
    return {"context_entity_recall": sum(counted) / len(counted) if counted else None, "rows": values}


QUESTIONS: list[Fields] = files.resource("questions.json", "goldassay.ext.compat")
"""The specification's eight questions: five that its texts answer, three that they do not."""

CACHES = {
    "contexts.csv": ("Question", "Contexts"),
    "embeddings.csv": ("Text", "Embedding"),
    "raw_responses.csv": ("Model", "Question", "Answer", "Confidence", "Time_ms", "Error"),
}
OUTPUT_FILES = ("model_rankings.csv", "model_responses.csv", "evaluation_summary.txt")
ReadingModel = Callable[[str, Sequence[str]], Any]
Rows = list[dict[str, Any]]


@dataclass
class ScorePack:
    """The five metrics of many answers in one go.

    ``embedder`` gives quality (the cosine), ``tokens`` accuracy (BERTScore); a value without its model is ``None``, and
    then there is no final score.

    >>> pack = ScorePack(embedder=None, tokens=None)
    >>> answers = [{"answer": "", "confidence": 0.1, "latency_ms": 500}]
    >>> card = pack.score([{"question": "Who?", "answers": []}], answers)
    >>> card.values["confidence"], card.values["speed"], card.values["robustness"]
    (1.0, 0.75, 1.0)
    """

    embedder: Embedder | str | None = None
    tokens: Any = None
    weights: Mapping[str, float] = field(default_factory=lambda: dict(FINAL_SCORE_WEIGHTS))

    def score(self, questions: Sequence[Mapping[str, object]], answers: Sequence[Mapping[str, object]]) -> Result:
        """The scorecard of aligned questions and answers."""
        return scorecard(questions, answers, measures=[*FINAL_SCORE_VALUES], embedder=self.embedder, tokens=self.tokens)


@dataclass
class ModelRanking:
    """Ranks models that read: each is called with a question and its contexts, and returns an answer.

    Args:
        models: By name, a function of (question, contexts) that returns text, or something with ``answer`` and
            ``confidence`` (a dict, a ``dspy.Prediction``).
        retrieve: A function of a question that returns its contexts.
        folder: Where caches and outputs go.
        questions: Records with ``question`` and ``answers`` (none: it cannot be answered).
        pack: How answers are scored.
    """

    models: Mapping[str, ReadingModel]
    retrieve: Callable[[str], Sequence[str]]
    folder: Path
    questions: Sequence[Record] = field(default_factory=lambda: QUESTIONS)
    pack: ScorePack = field(default_factory=ScorePack)
    rankings: Rows = field(default_factory=list, init=False)
    """The ranking, the best first, with the specification's columns."""
    responses: Rows = field(default_factory=list, init=False)
    """A row for each model and question."""

    def run_evaluation(self, force_refresh: bool = False) -> Rows:
        """Retrieve, ask and score what is not cached yet; all of it with ``force_refresh``."""
        if force_refresh:
            self.clean()
        contexts = {row["Question"]: row["Contexts"] for row in self._read("contexts.csv")}
        answers = self._read("raw_responses.csv")
        questions = [example["question"] for example in self.questions]
        for question in questions:
            if question not in contexts:
                contexts[question] = json.dumps(list(self.retrieve(question)), ensure_ascii=False)
        self._write("contexts.csv", [{"Question": key, "Contexts": text} for key, text in contexts.items()])
        cached = {(row["Model"], row["Question"]) for row in answers}
        for name, model in self.models.items():
            for question in questions:
                if (name, question) not in cached:
                    answer = _answer(model, question, json.loads(contexts[question]))
                    answers.append({"Model": name, "Question": question, **answer})
            self._write("raw_responses.csv", answers)
        return self.recalculate_metrics_only()

    def recalculate_metrics_only(self) -> Rows:
        """Score the cached answers again; no model is asked.

        Raises:
            GoldassayError: No answers are cached.
        """
        answers: dict[str, dict[str, Fields]] = {}
        for row in self._read("raw_responses.csv"):
            answers.setdefault(row["Model"], {})[row["Question"]] = row
        if not answers:
            raise GoldassayError(f"no {self.folder / 'raw_responses.csv'}: run_evaluation() makes it")
        pack = ScorePack(self._embedder(), self.pack.tokens, self.pack.weights)
        cards: dict[str, Result] = {}
        self.responses = []
        for name, rows in answers.items():
            questions = [example for example in self.questions if example["question"] in rows]
            predictions = [
                {
                    "answer": row["Answer"],
                    "confidence": float(row["Confidence"]) if row["Confidence"] else None,
                    "latency_ms": float(row["Time_ms"]),
                    "error": row["Error"],
                }
                for row in (rows[example["question"]] for example in questions)
            ]
            cards[name] = pack.score(questions, predictions)
            for example, prediction in zip(questions, predictions, strict=True):
                about = {"Model": name, "Question": example["question"], "Answerable": bool(example["answers"])}
                about |= {"Expected": next(iter(example["answers"]), ""), "Answer": prediction["answer"]}
                about |= {"Raw_Confidence": prediction["confidence"], "Time_ms": prediction["latency_ms"]}
                values = pack.score([example], [prediction]).values
                self.responses.append(about | {item.capitalize(): values.get(item) for item in FINAL_SCORE_VALUES})
        self.rankings = rankings(cards, self.pack.weights)
        best = self.rankings[0]
        lines = [f"Winner: {best['Model']}" if best["Rank"] else "No winner: none of them has a final score", ""]
        for row in self.rankings:
            score = "no final score" if row["Final_Score"] is None else f"{row['Final_Score']:.4f}"
            lines.append(f"{row['Rank'] or '–'}  {row['Model']}  {score}")
        self._write(OUTPUT_FILES[0], self.rankings)
        self._write(OUTPUT_FILES[1], self.responses)
        files.save(self.folder / OUTPUT_FILES[2], "\n".join(lines) + "\n")
        return self.rankings

    def clean(self) -> None:
        """Delete the caches."""
        for name in CACHES:
            (self.folder / name).unlink(missing_ok=True)

    def show_cache_status(self) -> dict[str, int | None]:
        """Print, and return, how many rows each cache has; ``None`` for one that does not exist."""
        status = {name: len(self._read(name)) if (self.folder / name).is_file() else None for name in CACHES}
        print("\n".join(f"{name}: {'none' if rows is None else f'{rows} rows'}" for name, rows in status.items()))
        return status

    @property
    def rankings_df(self) -> Any:
        """The ranking as a data frame of pandas, the best first."""
        return import_module("pandas").DataFrame(self.rankings)

    @property
    def detailed_df(self) -> Any:
        """A row for each model and question as a data frame of pandas."""
        return import_module("pandas").DataFrame(self.responses)

    def _embedder(self) -> Embedder | str | None:
        """The embedder, with its vectors cached in ``embeddings.csv``."""
        if self.pack.embedder is None:
            return None
        inner = resolve(self.pack.embedder) if isinstance(self.pack.embedder, str) else self.pack.embedder
        vectors = {row["Text"]: json.loads(row["Embedding"]) for row in self._read("embeddings.csv")}

        def embed(texts: Sequence[str]) -> Vectors:
            if new := [text for text in dict.fromkeys(texts) if text not in vectors]:
                vectors.update({text: [float(x) for x in row] for text, row in zip(new, inner(new), strict=True)})
                rounded = {text: json.dumps([float(f"{x:.7g}") for x in row]) for text, row in vectors.items()}
                self._write("embeddings.csv", [{"Text": text, "Embedding": row} for text, row in rounded.items()])
            return np.array([vectors[text] for text in texts], dtype=np.float32)

        embed.name = inner.name  # type: ignore[attr-defined]
        return embed  # type: ignore[return-value]

    def _read(self, name: str) -> Rows:
        """The rows of a cache."""
        file = self.folder / name
        if not file.is_file():
            return []
        reader = csv.DictReader(io.StringIO(files.text(file)))
        if tuple(reader.fieldnames or ()) != CACHES[name]:
            raise DataError(f"its columns are not {', '.join(CACHES[name])}; clean() starts anew", file=file)
        return [{column: files.csv_cell(row[column] or "") for column in CACHES[name]} for row in reader]

    def _write(self, name: str, rows: Rows) -> None:
        columns = CACHES.get(name) or list(rows[0])
        files.save(self.folder / name, files.csv_text([columns, *([row.get(key) for key in columns] for row in rows)]))


def reading(
    program: dspy.Module, lm: dspy.BaseLM | str | None = None, adapter: dspy.Adapter | None = None
) -> ReadingModel:
    """A program that searches and answers (see ``programs/answering.py``) as a reader of given contexts."""

    def read(question: str, contexts: Sequence[str]) -> object:
        passages = [{"id": str(index), "text": text} for index, text in enumerate(contexts)]
        with dspy.context(**({"lm": lm} if lm else {}), **({"adapter": adapter} if adapter else {})):
            reader: Any = copy.copy(program)
            return reader.index(passages)(question=question)

    return read


def _answer(model: ReadingModel, question: str, contexts: Sequence[str]) -> JsonObject:
    """One answer, and the error if the model raised one."""
    started = time.perf_counter()
    confidence: float | None = None
    error = ""
    try:
        answer = model(question, contexts)
        if not isinstance(answer, str):
            confidence = answer.get("confidence")
            answer = answer["answer"]
    except Exception as raised:  # noqa: BLE001  whatever a model raises is its result
        answer = ""
        error = f"{type(raised).__name__}: {raised}"[:500]
    milliseconds = round(1000 * (time.perf_counter() - started), 3)
    return {"Answer": str(answer or ""), "Confidence": confidence, "Time_ms": milliseconds, "Error": error}


def significance_test(
    scores_a: Sequence[float],
    scores_b: Sequence[float],
    test_type: str = "paired_t",
    alpha: float = 0.05,
    *,
    seed: int = 0,
) -> JsonObject:
    """Whether the per-example scores of two models differ by more than chance.

    ``test_type``: ``paired_t``, ``wilcoxon``, ``mcnemar``, ``permutation`` or ``bootstrap``. For values that are
    not means (micro-F1), give tallies to `compare`. A statistic without bound is null.

    Args:
        scores_a: The scores of one model, a number an example.
        scores_b: The other's, aligned with them.
        alpha: The level of the test, such as 0.05.
        seed: Of everything that is drawn at random.

    Raises:
        GoldassayError: There is no such test, ``alpha`` is not a level, or the lengths differ.

    >>> test = significance_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.7])
    >>> test["test"], round(test["statistic"], 3), round(test["p_value"], 4), test["significant"]
    ('paired_t', 5.745, 0.0105, True)
    """
    check_choice("test_type", test_type, PAIRED_TESTS)
    if not 0 < alpha < 1:
        raise GoldassayError(f"alpha is between 0 and 1, not {alpha}")
    if len(scores_a) != len(scores_b):
        raise GoldassayError(f"a paired comparison needs the same examples: {len(scores_a)} against {len(scores_b)}")
    gaps = np.asarray(Evidences(scores_a).matrix[:, 0] - Evidences(scores_b).matrix[:, 0])
    details = {"n": len(gaps), "mean_difference": float(gaps.mean()), "effect_size": _finite(cohens_dz(gaps))}
    if test_type in ("bootstrap", "permutation"):
        comparison = compare(scores_a, scores_b, test=test_type, seed=seed)
        p = comparison.test_p
        statistic = comparison.difference
    else:
        statistic, p = classical(test_type, gaps)
    significant = p < alpha
    if test_type == "bootstrap":
        wide = compare(scores_a, scores_b, test=test_type, level=1 - alpha, seed=seed).interval
        details |= {"ci_95_lower": comparison.interval.low, "ci_95_upper": comparison.interval.high}
        significant = len(gaps) > 1 and not wide.low <= 0 <= wide.high
    values = {"test": test_type, "statistic": _finite(statistic), "p_value": p, "alpha": alpha, **details}
    return {**values, "significant": bool(significant)}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
