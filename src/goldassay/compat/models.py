"""What the founding document asks of whole models: their ranking, and `significance_test`, whether two of them differ.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldassay import files
from goldassay.compat.answering import COLUMNS, rankings
from goldassay.embedding import Embedder, resolve
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import check_choice
from goldassay.measures.answering import scorecard
from goldassay.measures.answering.ranking import FIVE, WEIGHTS
from goldassay.scorecard import Scorecard
from goldassay.statistics.evidence import Evidences
from goldassay.statistics.paired import TESTS, classical, compare
from goldassay.statistics.power import cohens_dz

if TYPE_CHECKING:
    import dspy


QUESTIONS: tuple[dict[str, Any], ...] = (
    {"question": "What is your return policy?", "answers": ["30-day return policy with full refund"]},
    {"question": "How long does shipping take?", "answers": ["Standard shipping takes 5-7 business days"]},
    {"question": "What are your customer service hours?", "answers": ["Monday to Friday 9am to 5pm"]},
    {"question": "Do you offer warranty on products?", "answers": ["1 year warranty on all electronics"]},
    {"question": "How can I track my order?", "answers": ["Use tracking number on our website"]},
    {"question": "What is the CEO's phone number?", "answers": []},
    {"question": "Will you have a Black Friday sale?", "answers": []},
    {"question": "How do prices compare to Amazon?", "answers": []},
)
"""The document's eight questions: five that its texts answer, three that they do not."""

CACHES = {
    "contexts.csv": ("Question", "Contexts"),
    "embeddings.csv": ("Text", "Embedding"),
    "raw_responses.csv": ("Model", "Question", "Answer", "Confidence", "Time_ms", "Error"),
}
DETAILS = (
    *("Model", "Question", "Answerable", "Expected", "Answer", "Raw_Confidence", "Time_ms"),
    *(name.capitalize() for name in FIVE),
)
OUTPUTS = ("model_rankings.csv", "model_responses.csv", "evaluation_summary.txt")
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
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))

    def score(self, questions: Sequence[Mapping[str, object]], answers: Sequence[Mapping[str, object]]) -> Scorecard:
        """The scorecard of aligned questions and answers."""
        return scorecard(questions, answers, measures=[*FIVE], embedder=self.embedder, tokens=self.tokens)


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
    questions: Sequence[Mapping[str, Any]] = QUESTIONS
    pack: ScorePack = field(default_factory=ScorePack)
    rankings: Rows = field(default_factory=list, init=False)
    """The ranking, the best first, with the document's columns."""
    responses: Rows = field(default_factory=list, init=False)
    """A row for each model and question."""

    def run_evaluation(self, force_refresh: bool = False) -> Rows:
        """Retrieve, ask and score what is not cached yet; all of it with ``force_refresh``."""
        if force_refresh:
            self.clean()
        contexts = {row["Question"]: row["Contexts"] for row in self._read("contexts.csv")}
        questions = [example["question"] for example in self.questions]
        for question in questions:
            if question not in contexts:
                contexts[question] = json.dumps(list(self.retrieve(question)), ensure_ascii=False)
        self._write("contexts.csv", [{"Question": question, "Contexts": text} for question, text in contexts.items()])
        rows = {(row["Model"], row["Question"]): row for row in self._read("raw_responses.csv")}
        for name, model in self.models.items():
            for question in questions:
                if (name, question) not in rows:
                    rows[name, question] = _response(name, model, question, json.loads(contexts[question]))
            self._write("raw_responses.csv", list(rows.values()))
        return self.recalculate_metrics_only()

    def recalculate_metrics_only(self) -> Rows:
        """Score the cached answers again; no model is asked."""
        rows = {(row["Model"], row["Question"]): row for row in self._read("raw_responses.csv")}
        if not rows:
            raise GoldassayError(f"no {self.folder / 'raw_responses.csv'}: run_evaluation() makes it")
        pack = ScorePack(self._embedder(), self.pack.tokens, self.pack.weights)
        cards: dict[str, Scorecard] = {}
        self.responses = []
        for name in dict.fromkeys(model for model, _ in rows):
            questions = [example for example in self.questions if (name, example["question"]) in rows]
            answers = [_prediction(rows[name, example["question"]]) for example in questions]
            cards[name] = pack.score(questions, answers)
            for example, answer in zip(questions, answers, strict=True):
                values = pack.score([example], [answer]).values
                about = name, example["question"], bool(example["answers"]), next(iter(example["answers"]), "")
                cells = *about, answer["answer"], answer["confidence"], answer["latency_ms"], *map(values.get, FIVE)
                self.responses.append(dict(zip(DETAILS, cells, strict=True)))
        self.rankings = rankings(cards, self.pack.weights)
        self._write(OUTPUTS[0], self.rankings, COLUMNS)
        self._write(OUTPUTS[1], self.responses, DETAILS)
        best = self.rankings[0]
        lines = [f"Winner: {best['Model']}" if best["Rank"] else "No winner: none of them has a final score", ""]
        for row in self.rankings:
            score = "no final score" if row["Final_Score"] is None else f"{row['Final_Score']:.4f}"
            lines.append(f"{row['Rank'] or '–'}  {row['Model']}  {score}")
        files.save(self.folder / OUTPUTS[2], "\n".join(lines) + "\n")
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
        """The ranking as a data frame, the best first."""
        return _frame(self.rankings)

    @property
    def detailed_df(self) -> Any:
        """A row for each model and question as a data frame."""
        return _frame(self.responses)

    def _embedder(self) -> Embedder | str | None:
        """The embedder, with its vectors cached in ``embeddings.csv``."""
        if self.pack.embedder is None:
            return None
        inner = resolve(self.pack.embedder) if isinstance(self.pack.embedder, str) else self.pack.embedder
        vectors = {row["Text"]: json.loads(row["Embedding"]) for row in self._read("embeddings.csv")}

        def embed(texts: Sequence[str]) -> Any:
            new = [text for text in dict.fromkeys(texts) if text not in vectors]
            if new:
                vectors.update({text: list(map(float, row)) for text, row in zip(new, inner(new), strict=True)})
                rounded = {text: json.dumps([float(f"{x:.7g}") for x in row]) for text, row in vectors.items()}
                self._write("embeddings.csv", [{"Text": text, "Embedding": row} for text, row in rounded.items()])
            return np.array([vectors[text] for text in texts], dtype=np.float32)

        embed.name = inner.name  # type: ignore[attr-defined]
        return embed  # type: ignore[return-value]

    def _read(self, name: str) -> list[dict[str, str]]:
        file = self.folder / name
        rows = list(csv.DictReader(io.StringIO(files.text(file)))) if file.is_file() else []
        if rows and tuple(rows[0]) != CACHES[name]:
            raise DataError(f"its columns are not {', '.join(CACHES[name])}; clean() starts anew", file=file)
        return rows

    def _write(self, name: str, rows: Sequence[Mapping[str, object]], columns: Sequence[str] = ()) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, columns or CACHES[name], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        files.save(self.folder / name, text.getvalue())


def reading(
    program: dspy.Module, lm: dspy.BaseLM | str | None = None, adapter: dspy.Adapter | None = None
) -> ReadingModel:
    """A program that searches and answers (see ``programs/answering.py``) as a reader of given contexts."""
    import dspy

    def read(question: str, contexts: Sequence[str]) -> Any:
        passages = [{"id": str(place), "text": text} for place, text in enumerate(contexts)]
        with dspy.context(**({"lm": lm} if lm else {}), **({"adapter": adapter} if adapter else {})):
            reader: Any = copy.copy(program)
            return reader.index(passages)(question=question)

    return read


def _frame(rows: Sequence[Mapping[str, object]]) -> Any:
    try:
        return import_module("pandas").DataFrame(rows)
    except ModuleNotFoundError:
        raise GoldassayError("a data frame needs pandas: pip install pandas") from None


def _response(name: str, model: ReadingModel, question: str, contexts: Sequence[str]) -> dict[str, Any]:
    """One answer as a row of the cache, with the error if the model raised one."""
    started = time.perf_counter()
    answer: Any = ""
    confidence, error = None, ""
    try:
        answer = model(question, contexts)
        if not isinstance(answer, str):
            answer, confidence = answer["answer"], answer.get("confidence")
    except Exception as raised:  # noqa: BLE001  whatever a model raises is its result
        answer, error = "", f"{type(raised).__name__}: {raised}"[:500]
    milliseconds = round(1000 * (time.perf_counter() - started), 3)
    cells = name, question, str(answer or ""), "" if confidence is None else confidence, milliseconds, error
    return dict(zip(CACHES["raw_responses.csv"], cells, strict=True))


def _prediction(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the cache as a prediction."""
    return {
        "answer": row["Answer"],
        "confidence": None if row["Confidence"] in ("", None) else float(row["Confidence"]),
        "latency_ms": float(row["Time_ms"]),
        "error": row["Error"],
    }


def significance_test(
    scores_a: Sequence[float],
    scores_b: Sequence[float],
    test_type: str = "paired_t",
    alpha: float = 0.05,
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Whether the per-example scores of two models differ by more than chance.

    ``test_type``: ``paired_t``, ``wilcoxon``, ``mcnemar``, ``permutation`` or ``bootstrap``. For values that are
    not means (micro-F1), give tallies to `compare`. A statistic without bound is null.

    Args:
        scores_a: The scores of one model, a number an example.
        scores_b: The other's, aligned with them.
        alpha: The level of the test, such as 0.05.
        seed: Of everything that is drawn at random.

    >>> found = significance_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.7])
    >>> found["test"], round(found["statistic"], 3), round(found["p_value"], 4), found["significant"]
    ('paired_t', 5.745, 0.0105, True)
    """
    check_choice("test_type", test_type, TESTS)
    if not 0 < alpha < 1:
        raise GoldassayError(f"alpha is between 0 and 1, not {alpha}")
    if len(scores_a) != len(scores_b):
        raise GoldassayError(f"a paired comparison needs the same examples: {len(scores_a)} against {len(scores_b)}")
    gaps = np.asarray(Evidences(scores_a).matrix[:, 0] - Evidences(scores_b).matrix[:, 0])
    details = {"n": len(gaps), "mean_difference": float(gaps.mean()), "effect_size": _finite(cohens_dz(gaps))}
    if test_type in ("bootstrap", "permutation"):
        comparison = compare(scores_a, scores_b, test=test_type, seed=seed)
        p, statistic = comparison.test_p, comparison.difference
    else:
        statistic, p = classical(test_type, gaps)
    significant = p < alpha
    if test_type == "bootstrap":
        wide = compare(scores_a, scores_b, test=test_type, level=1 - alpha, seed=seed).interval
        details |= {"ci_95_lower": comparison.interval.low, "ci_95_upper": comparison.interval.high}
        significant = len(gaps) > 1 and not wide.low <= 0 <= wide.high
    return {
        "test": test_type,
        "statistic": _finite(statistic),
        "p_value": p,
        "significant": bool(significant),
        "alpha": alpha,
        **details,
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
