"""BERTScore: each token is matched with the most similar token of the other text.

With unit vectors x of the answer's tokens and y of the gold's, and weights w (1, or idf over the golds; special
tokens 0): P = Σ w(x) max_y x·y / Σ w(x), R likewise over y, F1 = 2PR/(P+R). Special tokens can be matched, as in the
bert-score package. ``baseline`` rescales each as (v − b) / (1 − b), which may be negative and is never clamped in
silence.

The package pads a batch, and its padding has the cosine 0: there a token all of whose cosines are negative gets 0, or
not, by what else is in the batch. Here nothing is padded, which is what the package gives with ``batch_size=1``.

Zhang et al., BERTScore: evaluating text generation with BERT, ICLR 2020.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goldassay.embedding import DEFAULT, TokenEmbedder, resolve_tokens
from goldassay.exceptions import GoldassayError, ModelError
from goldassay.measure import Assessment, Measure, failed
from goldassay.measures.answering.records import all_texts, answer, references
from goldassay.measures.answering.rouge import PARTS
from goldassay.tally import Mean, divide

Array = Any  # numpy arrays
Baseline = float | tuple[float, float, float]


def bertscore(
    predictions: Sequence[str],
    references: Sequence[str],
    embedder: TokenEmbedder | str = DEFAULT,
    *,
    idf: bool = False,
    baseline: Baseline | None = None,
) -> Array:
    """An array of shape (pairs, 3): precision, recall and F1 of each pair; 0 before rescaling where a text is blank.

    ``idf`` weighs each token by log((N + 1) / (df + 1)) over the N references. ``baseline`` is one number, or one each
    for precision, recall and F1.
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


def rescaled(values: Array, baseline: Baseline) -> Array:
    """(v − b) / (1 − b).

    >>> rescaled(np.array([[0.9, 0.8, 0.7]]), 0.8).round(3).tolist()
    [[0.5, 0.0, -0.5]]
    """
    low = np.asarray(baseline, np.float64)
    if (low >= 1).any() or low.shape not in ((), (3,)):
        raise GoldassayError(f"a baseline is a number under 1, or three (P, R, F1), not {baseline!r}")
    return (values - low) / (1 - low)


def _embedded(model: TokenEmbedder, texts: Sequence[str]) -> list[tuple[list[int], Array]]:
    """The ids of each text with unit vectors."""
    found = model(texts)
    if len(found) != len(texts):
        raise ModelError(f"the embedder {model.name!r} gave {len(found)} results for {len(texts)} texts")
    out = []
    for ids, vectors in found:
        made = np.asarray(vectors, np.float64)
        if made.ndim != 2 or len(made) != len(ids):
            raise ModelError(f"the embedder {model.name!r} gave an array of shape {made.shape} for {len(ids)} tokens")
        if not np.isfinite(made).all():
            raise ModelError(f"the embedder {model.name!r} gave NaN or infinity")
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        out.append(
            ([int(number) for number in ids], np.divide(made, lengths, out=np.zeros_like(made), where=lengths > 0))
        )
    return out


def _idf(documents: Sequence[Sequence[int]]) -> dict[int, float]:
    seen = Counter(number for ids in documents for number in set(ids))
    return {number: math.log((len(documents) + 1) / (count + 1)) for number, count in seen.items()}


def _greedy(
    one: tuple[list[int], Array],
    other: tuple[list[int], Array],
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
class BERTScore(Measure[Mean]):
    """BERTScore's precision (``p``), recall (``r``) or F1 (``f``), best over the answers and the reference.

    ``model`` is a transformers model (see `goldassay.embedding`), ``layer`` one of its layers (the last by default).
    Weighing by idf needs all references at once: `bertscore` and the scorecard do it.
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "bertscore"
    zero: ClassVar[Mean] = Mean()
    bounds: ClassVar[tuple[float, float]] = (-math.inf, 1.0)
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "reference")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    fixed: ClassVar[dict[str, str]] = {"idf": "no", "golds": "best by F1", "unanswerable": "skip", "empty": "0"}
    formula: ClassVar[str] = (
        "greedy matching of tokens by cosine, P over the answer's and R over the gold's, F1 = 2PR/(P+R); "
        "mean over answerable questions"
    )
    source: ClassVar[str] = "Zhang et al., ICLR 2020; bert-score 0.3.13"

    model: str = DEFAULT
    layer: int | None = None
    part: str = "f"
    baseline: float | tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise GoldassayError(f"BERTScore: part is one of {', '.join(PARTS)}, not {self.part!r}")

    @property
    def key(self) -> str:
        """``bertscore_f1``, ``bertscore_precision``, ``bertscore_recall``."""
        return f"{self.name}_{dict(zip(PARTS, ('precision', 'recall', 'f1'), strict=True))[self.part]}"

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The part of the best reference's score."""
        several, found = references(gold), answer(pred, gold)
        if not several:
            return Assessment(Mean())
        if failed(pred) or not found.strip():
            return Assessment(Mean.of(0.0))
        model = resolve_tokens(self.model, self.layer)
        rows = bertscore([found] * len(several), several, model, baseline=self.baseline)
        return Assessment(Mean.of(float(rows[rows[:, 2].argmax()][PARTS.index(self.part)])))
