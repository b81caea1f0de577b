"""What embeddings say of an answer: similarity of texts, support of sentences, and BERTScore's matching of tokens.

Semantic similarity is the cosine of two texts' embeddings, which may be negative. It says that two texts are about the
same thing, not that they say the same: a negation or a wrong digit hardly moves it, and an echo of the question is near
every answer to it (see `benchmarks.mutation`). Reimers and Gurevych, Sentence-BERT, EMNLP 2019.

Semantic support is how near each sentence of an answer is to a sentence of the retrieved texts. It is an honest cheap
stand-in and no faithfulness: nearness is not entailment, and so it bears its own name. For each sentence of the answer
the best cosine with a sentence of the contexts counts, negative ones as 0. As in `lexical_support`, a pair of which one
has an odd number of negations and the other has not, or whose context sentence lacks a number of the answer's, supports
nothing: cosines hardly see a "not" or a wrong digit. A copied sentence has 1.

BERTScore: with unit vectors x of the answer's tokens and y of the gold's, and weights w (1, or idf over the golds;
special tokens 0): P = Σ w(x) max_y x·y / Σ w(x), R likewise over y, F1 = 2PR/(P+R). Special tokens can be matched, as
in the bert-score package. ``baseline`` rescales each as (v − b) / (1 − b), which may be negative and is never clamped
in silence. The package pads a batch, and its padding has the cosine 0: there a token all of whose cosines are negative
gets 0, or not, by what else is in the batch. Here nothing is padded, which is what the package gives with
``batch_size=1``. Zhang et al., BERTScore, ICLR 2020.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import Progress

from goldassay.embedding import DEFAULT, Embedder, TokenEmbedder, checked, cosine, resolve, resolve_tokens
from goldassay.exceptions import GoldassayError, ModelError
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.grounding import ENOUGH
from goldassay.measures.answering.matching import Batch, Batched, negations
from goldassay.measures.answering.measures import PARTS
from goldassay.measures.answering.mistakes import wrong
from goldassay.measures.answering.records import all_texts, answer, answers, contexts
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean, divide
from goldassay.text.words import sentences, tokens

V = TypeVar("V")
STEP = 64  # texts that are embedded between two looks at the progress bar
LIKE = 0.8  # below this an answer is shown as an error


def embedded(make: Callable[[list[str]], Iterable[V]], texts: list[str]) -> list[V]:
    """What is made of each text, some at a time; a progress bar on standard error where that is a terminal."""
    out: list[V] = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=len(texts) <= STEP or not console.is_terminal) as bar:
        task = bar.add_task("embedding", total=len(texts))
        for start in range(0, len(texts), STEP):
            out.extend(make(texts[start : start + STEP]))
            bar.update(task, completed=len(out))
    return out


def similarity(ones: Sequence[str], others: Sequence[str], embedder: Embedder | str = DEFAULT) -> Floats:
    """The cosine of each pair. Equal texts have 1, and a blank text is like nothing: 0; neither is embedded.

    >>> from goldassay.embedding import Function
    >>> lengths = Function(lambda texts: [[len(text), 3.0] for text in texts], "lengths")
    >>> similarity(["abcd", "x", ""], ["abcd", "abcd", "x"], lengths).round(3).tolist()     # (1·4 + 9) / (√10 · 5)
    [1.0, 0.822, 0.0]
    """
    all_texts(ones, "answer", "embedders take texts")
    all_texts(others, "reference", "embedders take texts")
    if len(ones) != len(others):
        raise GoldassayError(f"{len(ones)} texts against {len(others)}; they must be aligned")
    out = np.zeros(len(ones))
    pairs: dict[int, tuple[str, str]] = {}
    for place, (one, other) in enumerate(zip(ones, others, strict=True)):
        if one == other and one.strip():
            out[place] = 1.0
        elif one.strip() and other.strip():
            pairs[place] = one, other
    if pairs:
        distinct = {text: row for row, text in enumerate(dict.fromkeys(t for pair in pairs.values() for t in pair))}
        model = resolve(embedder) if isinstance(embedder, str) else embedder
        made = embedded(lambda part: checked(model(part), len(part), model.name), list(distinct))
        vectors = np.asarray(made, np.float64)
        left, right = ([distinct[pair[side]] for pair in pairs.values()] for side in (0, 1))
        out[list(pairs)] = cosine(vectors[left], vectors[right])
    return out


@dataclass(frozen=True)
class SemanticSimilarity(Batched[Mean]):
    """The cosine between the answer and the nearest of the answers and the reference; from −1 to 1.

    ``embedder`` is a name (see `goldassay.embedding`). An unanswerable question is left out; an empty answer has 0.
    """

    name: ClassVar[str] = "semantic_similarity"
    zero: ClassVar[Mean] = Mean()
    limits: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "reference")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    fixed: ClassVar[dict[str, str]] = {"golds": "best", "unanswerable": "skip", "empty": "0"}
    formula: ClassVar[str] = (
        "cos(e(answer), e(gold)), best of the answers and the reference; mean over answerable questions"
    )
    source: ClassVar[str] = "Reimers and Gurevych, EMNLP 2019"

    embedder: str = DEFAULT

    def tallies(self, batch: Batch) -> Mean:
        return batch.best(batch.once(("cosine", self.embedder), lambda: similarity(*batch.pairs, self.embedder)))

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """The best cosine, and what was expected where it is low."""
        tally = super().assess(gold, pred).tally
        low = tally.weight and tally.value < LIKE
        return Assessment(tally, wrong(gold, pred, answers(gold), answer(pred, gold)) if low else ())


def supports(text: str, texts: Sequence[str], embedder: Embedder | str = DEFAULT) -> list[tuple[str, float]]:
    """Each sentence of a text that has words, with how far the best sentence of the texts supports it."""
    mine = [one for one in sentences(text) if tokens(one, "unicode")]
    theirs = list(dict.fromkeys(one for each in texts for one in sentences(each) if tokens(one, "unicode")))
    if not mine or not theirs:
        return [(one, 0.0) for one in mine]
    every = list(dict.fromkeys([*mine, *theirs]))
    vectors = np.asarray((resolve(embedder) if isinstance(embedder, str) else embedder)(every), np.float64)
    rows = dict(zip(every, _unit(vectors), strict=True))
    near = np.clip(np.stack([rows[one] for one in mine]) @ np.stack([rows[one] for one in theirs]).T, 0.0, 1.0)
    for i, one in enumerate(mine):
        for j, other in enumerate(theirs):
            near[i, j] = 1.0 if one == other else near[i, j] * _alike(one, other)
    return [(one, float(best)) for one, best in zip(mine, near.max(axis=1), strict=True)]


def semantic_support(text: str, texts: Sequence[str], embedder: Embedder | str = DEFAULT) -> float | None:
    """The mean over the text's sentences; ``None`` where it has no words.

    >>> from goldassay.embedding import Function
    >>> lengths = Function(lambda texts: [[len(text), 3.0] for text in texts], "lengths")
    >>> semantic_support("Red it is. It opened in 1886.", ["Red it is. It opened in 1885."], lengths)
    0.5
    """
    found = supports(text, texts, embedder)
    return sum(value for _, value in found) / len(found) if found else None


def _unit(vectors: Floats) -> Floats:
    """Vectors of length 1; one without a length stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    out: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return out


def _alike(one: str, other: str) -> float:
    """0 where negations or numbers speak against it."""
    mine, theirs = tokens(one, "unicode"), tokens(other, "unicode")
    numbers = {word for word in mine if any(c.isdigit() for c in word)}
    return float(negations(mine) % 2 == negations(theirs) % 2 and numbers <= set(theirs))


@dataclass(frozen=True)
class SemanticSupport(Measure[Mean]):
    """Semantic support of the answer by ``retrieved_contexts``; an empty answer and absent contexts are left out.

    ``embedder`` is a name (see `goldassay.embedding`).
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "semantic_support"
    zero: ClassVar[Mean] = Mean()
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "retrieved_contexts")
    fixed: ClassVar[dict[str, str]] = {"unit": "sentence", "negation": "parity", "numbers": "all", "negative": "0"}
    formula: ClassVar[str] = (
        "mean over the answer's sentences of the best cos(e(sentence), e(context sentence)); 0 where negations or "
        "numbers differ; mean over answers"
    )
    source: ClassVar[str] = "goldassay; an embedding stand-in, not faithfulness"

    embedder: str = DEFAULT

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """The mean over the sentences."""
        if failed(pred):
            return Assessment(Mean())
        text, texts = answer(pred, gold), contexts(pred)
        found = [] if texts is None else supports(text, texts, self.embedder)
        if not found:
            return Assessment(Mean())
        errors = tuple(
            Error("unsupported", f"“{sentence}” is near nothing in the retrieved texts.", pred=sentence, field="answer")
            for sentence, value in found
            if value < ENOUGH
        )
        return Assessment(Mean.of(sum(value for _, value in found) / len(found)), errors)


Baseline = float | tuple[float, float, float]


def bertscore(
    predictions: Sequence[str],
    references: Sequence[str],
    embedder: TokenEmbedder | str = DEFAULT,
    *,
    idf: bool = False,
    baseline: Baseline | None = None,
) -> Floats:
    """Precision, recall and F1 of each pair; 0 before rescaling where a text is blank.

    Args:
        predictions: the answers, n texts.
        references: the gold texts, one for each answer.
        embedder: makes the vectors of tokens; a name (see `goldassay.embedding`) or an object.
        idf: weigh each token by log((N + 1) / (df + 1)) over the N references.
        baseline: rescale each value v as (v − b) / (1 − b); one number, or one each for precision, recall and F1.

    Returns:
        An array of shape (n, 3).

    Raises:
        GoldassayError: the lengths differ, or something is no text.
        ModelError: the embedder gives what are no vectors.
    """
    all_texts(predictions, "prediction", "BERTScore compares texts")
    all_texts(references, "reference", "BERTScore compares texts")
    if len(predictions) != len(references):
        raise GoldassayError(
            f"{len(predictions)} predictions against {len(references)} references; they must be aligned"
        )
    model = resolve_tokens(embedder) if isinstance(embedder, str) else embedder
    texts = list(dict.fromkeys([*predictions, *references]))
    tokens = dict(zip(texts, _embedded(model, texts), strict=True))
    weights = _idf([tokens[text][0] for text in references]) if idf else {}
    rare = math.log(len(references) + 1) if idf else 1.0
    rows = [
        _greedy(tokens[one], tokens[other], model.special, weights, rare)
        for one, other in zip(predictions, references, strict=True)
    ]
    out = np.asarray(rows, np.float64).reshape(-1, 3)
    return out if baseline is None else rescaled(out, baseline)


def rescaled(values: Floats, baseline: Baseline) -> Floats:
    """(v − b) / (1 − b).

    >>> rescaled(np.array([[0.9, 0.8, 0.7]]), 0.8).round(3).tolist()
    [[0.5, 0.0, -0.5]]
    """
    low = np.asarray(baseline, np.float64)
    if (low >= 1).any() or low.shape not in ((), (3,)):
        raise GoldassayError(f"a baseline is a number under 1, or three (P, R, F1), not {baseline!r}")
    return (values - low) / (1 - low)


def _embedded(model: TokenEmbedder, texts: Sequence[str]) -> list[tuple[list[int], Floats]]:
    """The ids of each text with unit vectors."""

    def part(some: list[str]) -> Sequence[Any]:
        found = model(some)
        if len(found) != len(some):
            raise ModelError(f"the embedder {model.name!r} gave {len(found)} results for {len(some)} texts")
        return found

    out = []
    for ids, vectors in embedded(part, list(texts)):
        made = np.asarray(vectors, np.float64)
        if made.ndim != 2 or len(made) != len(ids):
            raise ModelError(f"the embedder {model.name!r} gave an array of shape {made.shape} for {len(ids)} tokens")
        if not np.isfinite(made).all():
            raise ModelError(f"the embedder {model.name!r} gave NaN or infinity")
        out.append(([int(number) for number in ids], _unit(made)))
    return out


def _idf(documents: Sequence[Sequence[int]]) -> dict[int, float]:
    seen = Counter(number for ids in documents for number in set(ids))
    return {number: math.log((len(documents) + 1) / (count + 1)) for number, count in seen.items()}


def _greedy(
    one: tuple[list[int], Floats],
    other: tuple[list[int], Floats],
    special: frozenset[int],
    weights: Mapping[int, float],
    rare: float,
) -> tuple[float, float, float]:
    sides = [
        np.array([0.0 if number in special else weights.get(number, rare) for number in ids]) for ids, _ in (one, other)
    ]
    if any(all(number in special for number in ids) for ids, _ in (one, other)):
        return 0.0, 0.0, 0.0
    cosines = one[1] @ other[1].T
    precision = float(divide(float(sides[0] @ cosines.max(axis=1)), float(sides[0].sum())))
    recall = float(divide(float(sides[1] @ cosines.max(axis=0)), float(sides[1].sum())))
    return precision, recall, float(divide(2 * precision * recall, precision + recall))


@dataclass(frozen=True)
class BERTScore(Batched[Mean]):
    """BERTScore's precision (``p``), recall (``r``) or F1 (``f``), best over the answers and the reference.

    ``model`` is a transformers model (see `goldassay.embedding`), ``layer`` one of its layers (the last by default).
    ``idf`` weighs tokens by how rare they are among all references, so it is for many examples at once: a scorecard,
    or `bertscore`. ``baseline`` rescales; an empty answer has 0 also then.
    """

    name: ClassVar[str] = "bertscore"
    zero: ClassVar[Mean] = Mean()
    limits: ClassVar[tuple[float, float]] = (-math.inf, 1.0)
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "reference")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    fixed: ClassVar[dict[str, str]] = {"golds": "best by F1", "unanswerable": "skip", "empty": "0"}
    formula: ClassVar[str] = (
        "greedy matching of tokens by cosine, P over the answer's and R over the gold's, F1 = 2PR/(P+R); "
        "mean over answerable questions"
    )
    source: ClassVar[str] = "Zhang et al., ICLR 2020; bert-score 0.3.13"

    model: str = DEFAULT
    layer: int | None = None
    part: str = "f"
    baseline: float | tuple[float, float, float] | None = None
    idf: bool = False

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise GoldassayError(f"BERTScore: part is one of {', '.join(PARTS)}, not {self.part!r}")

    @property
    def key(self) -> str:
        """``bertscore_f1``, ``bertscore_precision``, ``bertscore_recall``."""
        return f"{self.name}_{('precision', 'recall', 'f1')[PARTS.index(self.part)]}"

    def tallies(self, batch: Batch) -> Mean:
        rows = batch.once(("bertscore", self.model, self.layer, self.baseline, self.idf), lambda: self._rows(batch))
        return batch.best(rows[:, PARTS.index(self.part)], by=rows[:, 2])

    def _rows(self, batch: Batch) -> Floats:
        model = resolve_tokens(self.model, self.layer)
        rows = bertscore(*batch.pairs, model, idf=self.idf, baseline=self.baseline)
        said = np.array([bool(text.strip()) for text in batch.pairs[0]], np.float64)
        return np.multiply(rows, said[:, None])

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """The part of the best reference's score."""
        if self.idf:
            raise GoldassayError("BERTScore by idf needs all references at once; score many examples with it")
        return super().assess(gold, pred)
