"""What the founding document asks of whole models: their ranking, and `significance_test`, whether two of them differ.

The ranking keeps ``contexts.csv`` (what was retrieved), ``embeddings.csv`` and ``raw_responses.csv`` (what each model
said, how sure, how long it took): from them alone `ModelRanking.recalculate_metrics_only` makes the metrics again.

The test is repaired: lengths must agree, and values be finite; identical scores give p = 1 and not NaN; an unknown test
is an error; the bootstrap is seeded and heeds ``alpha``; results are plain numbers, ready for JSON.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldassay.compat.answering import COLUMNS, rankings
from goldassay.embedding import Embedder, resolve
from goldassay.exceptions import DataError, GoldassayError
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
OUTPUTS = ("model_rankings.csv", "model_responses.csv", "evaluation_summary.txt")
ReadingModel = Callable[[str, Sequence[str]], Any]


@dataclass
class ScorePack:
    """The five metrics of many answers in one go.

    ``embedder`` gives quality (the cosine), ``tokens`` accuracy (BERTScore); what has none is ``None``, and then there
    is no final score.

    >>> pack = ScorePack(embedder=None, tokens=None)
    >>> said = [{"answer": "", "confidence": 0.1, "latency_ms": 500}]
    >>> card = pack.score([{"question": "Who?", "answers": []}], said)
    >>> card.values["confidence"], card.values["speed"], card.values["robustness"]
    (1.0, 0.75, 1.0)
    """

    embedder: Embedder | str | None = None
    tokens: Any = None
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))

    def score(self, questions: Sequence[Mapping[str, object]], answers: Sequence[Mapping[str, object]]) -> Scorecard:
        """The scorecard of aligned questions and answers."""
        asked = [*FIVE, "final_score"]
        return scorecard(
            questions, answers, measures=asked, embedder=self.embedder, tokens=self.tokens, weights=self.weights
        )


@dataclass
class ModelRanking:
    """Ranks models that read: each is called with a question and its contexts, and says an answer.

    Args:
        models: by name, a function of (question, contexts) that returns text, or something with ``answer`` and
            ``confidence`` (a dict, a ``dspy.Prediction``).
        retrieve: a function of a question that returns its contexts.
        folder: where caches and outputs go.
        questions: records with ``question`` and ``answers`` (none: it cannot be answered).
        pack: how answers are scored.
    """

    models: Mapping[str, ReadingModel]
    retrieve: Callable[[str], Sequence[str]]
    folder: Path
    questions: Sequence[Mapping[str, Any]] = QUESTIONS
    pack: ScorePack = field(default_factory=ScorePack)
    rankings: list[dict[str, Any]] = field(default_factory=list, init=False)
    """The ranking, the best first, with the document's columns."""
    responses: list[dict[str, Any]] = field(default_factory=list, init=False)
    """A row for each model and question."""

    def run_evaluation(self, force_refresh: bool = False) -> list[dict[str, Any]]:
        """Retrieve, ask and score what is not cached yet; all of it with ``force_refresh``."""
        if force_refresh:
            self.clean()
        contexts = {row["Question"]: row["Contexts"] for row in self._read("contexts.csv")}
        for one in self.questions:
            if one["question"] not in contexts:
                contexts[one["question"]] = json.dumps(list(self.retrieve(one["question"])), ensure_ascii=False)
        self._write("contexts.csv", [{"Question": q, "Contexts": found} for q, found in contexts.items()])
        known = {(row["Model"], row["Question"]): row for row in self._read("raw_responses.csv")}
        for name, model in self.models.items():
            missing = [one["question"] for one in self.questions if (name, one["question"]) not in known]
            for question in missing:
                known[name, question] = _asked(name, model, question, json.loads(contexts[question]))
            if missing:
                self._write("raw_responses.csv", list(known.values()))
        return self.recalculate_metrics_only()

    def recalculate_metrics_only(self) -> list[dict[str, Any]]:
        """Score the cached answers again; no model is asked."""
        rows = self._read("raw_responses.csv")
        if not rows:
            raise GoldassayError(f"no {self.folder / 'raw_responses.csv'}: run_evaluation() makes it")
        said = {(row["Model"], row["Question"]): row for row in rows}
        pack = ScorePack(self._cached(), self.pack.tokens, self.pack.weights)
        cards: dict[str, Scorecard] = {}
        self.responses = []
        for name in dict.fromkeys(row["Model"] for row in rows):
            asked = [one for one in self.questions if (name, one["question"]) in said]
            answers = [_answer(said[name, one["question"]]) for one in asked]
            cards[name] = pack.score(asked, answers)
            singles = [pack.score([one], [answer]).values for one, answer in zip(asked, answers, strict=True)]
            for one, answer, values in zip(asked, answers, singles, strict=True):
                self.responses.append(
                    {
                        "Model": name,
                        "Question": one["question"],
                        "Answerable": bool(one["answers"]),
                        "Expected": one["answers"][0] if one["answers"] else "",
                        "Answer": answer["answer"],
                        "Raw_Confidence": answer["confidence"],
                        "Time_ms": answer["latency_ms"],
                        **{key.capitalize(): values.get(key) for key in FIVE},
                    }
                )
        self.rankings = rankings(cards, self.pack.weights)
        self._outputs()
        return self.rankings

    def clean(self) -> None:
        """Delete the caches."""
        for name in CACHES:
            (self.folder / name).unlink(missing_ok=True)

    def show_cache_status(self) -> dict[str, int | None]:
        """Print, and return, how many rows each cache has; ``None`` where there is none."""
        found = {name: len(self._read(name)) if (self.folder / name).is_file() else None for name in CACHES}
        print("\n".join(f"{name}: {'none' if rows is None else f'{rows} rows'}" for name, rows in found.items()))
        return found

    @property
    def rankings_df(self) -> Any:
        """The ranking as a data frame, the best first."""
        return _frame(self.rankings)

    @property
    def detailed_df(self) -> Any:
        """A row for each model and question as a data frame."""
        return _frame(self.responses)

    def _cached(self) -> Embedder | str | None:
        """The embedder, with its vectors kept in ``embeddings.csv``."""
        embedder = self.pack.embedder
        if embedder is None:
            return None
        inner = resolve(embedder) if isinstance(embedder, str) else embedder
        vectors = {row["Text"]: json.loads(row["Embedding"]) for row in self._read("embeddings.csv")}
        return _Kept(inner, vectors, lambda: self._write("embeddings.csv", _vectors(vectors)))

    def _read(self, name: str) -> list[dict[str, str]]:
        file = self.folder / name
        if not file.is_file():
            return []
        with file.open(encoding="utf-8", newline="") as text:
            reader = csv.DictReader(text)
            if tuple(reader.fieldnames or ()) != CACHES[name]:
                raise DataError(f"its columns are not {', '.join(CACHES[name])}; clean() starts anew", file=file)
            return list(reader)

    def _write(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f"{name}.part"
        part.write_text(_csv(rows, CACHES[name]), encoding="utf-8", newline="")
        os.replace(part, self.folder / name)

    def _outputs(self) -> None:
        best = self.rankings[0]
        first = f"Winner: {best['Model']}" if best["Rank"] else "No winner: none of them has a final score"
        lines = [first, ""] + [
            f"{row['Rank'] or '–'}  {row['Model']}  "
            + ("no final score" if row["Final_Score"] is None else f"{row['Final_Score']:.4f}")
            for row in self.rankings
        ]
        tables = _csv(self.rankings, COLUMNS), _csv(self.responses, tuple(self.responses[0]))
        for name, text in zip(OUTPUTS, (*tables, "\n".join(lines) + "\n"), strict=True):
            (self.folder / name).write_text(text, encoding="utf-8", newline="")


def reading(
    program: dspy.Module, lm: dspy.BaseLM | str | None = None, adapter: dspy.Adapter | None = None
) -> ReadingModel:
    """A program that searches and answers (see ``programs/answering.py``) as a reader of the contexts it is given."""
    import dspy

    def read(question: str, contexts: Sequence[str]) -> Any:
        passages = [{"id": str(place), "text": text} for place, text in enumerate(contexts)]
        with dspy.context(**({"lm": lm} if lm else {}), **({"adapter": adapter} if adapter else {})):
            made: Any = copy.copy(program)
            return made.index(passages)(question=question)

    return read


def _frame(rows: Sequence[Mapping[str, object]]) -> Any:
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError:
        raise GoldassayError("a data frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(rows)


def _asked(name: str, model: ReadingModel, question: str, contexts: Sequence[str]) -> dict[str, Any]:
    """One answer as a row of the cache; what a model raises is its error."""
    started = time.perf_counter()
    answer: Any = ""
    confidence, error = "", ""
    try:
        made = model(question, contexts)
        if isinstance(made, str):
            answer = made
        else:
            answer, confidence = made["answer"], made.get("confidence", "")
    except Exception as raised:  # noqa: BLE001  whatever a model raises is its result
        error = f"{type(raised).__name__}: {raised}"[:500]
    took = 1000 * (time.perf_counter() - started)
    cells = name, question, str(answer or ""), "" if confidence is None else confidence, round(took, 3), error
    return dict(zip(CACHES["raw_responses.csv"], cells, strict=True))


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the cache as a prediction."""
    return {
        "answer": row["Answer"],
        "confidence": None if row["Confidence"] in ("", None) else float(row["Confidence"]),
        "latency_ms": float(row["Time_ms"]),
        "error": row["Error"],
    }


def _csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _vectors(vectors: Mapping[str, Sequence[float]]) -> list[dict[str, str]]:
    return [{"Text": text, "Embedding": json.dumps([float(f"{x:.7g}") for x in row])} for text, row in vectors.items()]


class _Kept:
    """An embedder that asks another only for texts that it has not seen."""

    def __init__(self, inner: Embedder, vectors: dict[str, list[float]], keep: Callable[[], None]) -> None:
        self.inner, self.vectors, self.keep, self.name = inner, vectors, keep, inner.name

    def __call__(self, texts: Sequence[str]) -> Any:
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        if new:
            for text, row in zip(new, self.inner(new), strict=True):
                self.vectors[text] = [float(x) for x in row]
            self.keep()
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


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
    if test_type not in TESTS:
        raise GoldassayError(f"no test {test_type!r}; there are {', '.join(TESTS)}")
    if not 0 < alpha < 1:
        raise GoldassayError(f"alpha is between 0 and 1, not {alpha}")
    if len(scores_a) != len(scores_b):
        raise GoldassayError(f"a paired comparison needs the same examples: {len(scores_a)} against {len(scores_b)}")
    gaps = Evidences(scores_a).matrix[:, 0] - Evidences(scores_b).matrix[:, 0]
    common = {"n": len(gaps), "mean_difference": float(gaps.mean()), "effect_size": _finite(cohens_dz(gaps))}
    if test_type in ("bootstrap", "permutation"):
        found = compare(scores_a, scores_b, test=test_type, seed=seed)
        p, statistic = found.test_p, found.difference
        significant = p < alpha
        if test_type == "bootstrap":
            wide = compare(scores_a, scores_b, test=test_type, level=1 - alpha, seed=seed).interval
            common |= {"ci_95_lower": found.interval.low, "ci_95_upper": found.interval.high}
            significant = len(gaps) > 1 and not wide.low <= 0 <= wide.high
    else:
        statistic, p = classical(test_type, np.asarray(gaps))
        significant = p < alpha
    return {
        "test": test_type,
        "statistic": _finite(statistic),
        "p_value": p,
        "significant": bool(significant),
        "alpha": alpha,
        **common,
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
