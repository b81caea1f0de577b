"""BERTScore: each token is matched with the most similar token of the other text.

With unit vectors x of the answer's tokens and y of the gold's, and weights w (1, or idf over the golds; special tokens
0): P = Σ w(x) max_y x·y / Σ w(x), R likewise over y, F1 = 2PR/(P+R). Special tokens can be matched, as in the
bert-score package. ``baseline`` rescales each as (v − b) / (1 − b), which may be negative and is never clamped in
silence. The package pads a batch, and its padding has the cosine 0: there a token all of whose cosines are negative
gets 0, or not, by what else is in the batch. Here nothing is padded, which is what the package gives with
``batch_size=1``.

Zhang et al., BERTScore, ICLR 2020.
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
from goldassay.measure import Assessment
from goldassay.measures.answering.batch import Batch, Batched
from goldassay.measures.answering.measures import PARTS
from goldassay.measures.answering.records import all_texts
from goldassay.measures.answering.semantic import embedded
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean, divide

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
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        out.append(
            ([int(number) for number in ids], np.divide(made, lengths, out=np.zeros_like(made), where=lengths > 0))
        )
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
        """All at once."""
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
