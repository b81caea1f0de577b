"""What embeddings say about an answer: similarity of texts, and BERTScore's matching of tokens.

Semantic similarity is the cosine of two texts' embeddings, which may be negative. It says that two texts are about the
same thing, not that they say the same: a negation or a wrong digit hardly moves it, and an echo of the question is near
every answer to it (see docs/blind-measures.md). Reimers and Gurevych, Sentence-BERT, EMNLP 2019.

BERTScore: with unit vectors x of the answer's tokens and y of the gold's, P is the mean over x of max_y x·y, R likewise
over y, F1 = 2PR/(P+R). Special tokens can be matched, but weigh nothing, as in the bert-score package. ``baseline``
rescales each as (v − b) / (1 − b), which may be negative and is never clamped.
The package pads a batch, and its padding has the cosine 0: there a token all of whose cosines are negative gets 0 or
not, depending on what else is in the batch. Here nothing is padded, which is what the package gives with
``batch_size=1``. Zhang et al., BERTScore, ICLR 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.embedding import DEFAULT, Embedder, Transformer, checked, cosine, resolve, resolve_tokens
from goldassay.exceptions import GoldassayError, ModelError
from goldassay.measure import Review
from goldassay.measures.answering.matching import PARTS, Answering, Batch
from goldassay.measures.answering.mistakes import wrong_answer
from goldassay.measures.answering.records import check_pairs
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean, divide

LOW = 0.8  # a similarity below this is shown as an error


def similarity(predictions: Sequence[str], references: Sequence[str], embedder: Embedder | str = DEFAULT) -> Floats:
    """The cosine of each pair. Equal texts have 1, and a blank text has 0 with any other; neither is embedded.

    >>> from goldassay.embedding import Function
    >>> lengths = Function(lambda texts: [[len(text), 3.0] for text in texts], "lengths")
    >>> similarity(["abcd", "x", ""], ["abcd", "abcd", "x"], lengths).round(3).tolist()     # (1·4 + 9) / (√10 · 5)
    [1.0, 0.822, 0.0]
    """
    check_pairs(predictions, references)
    pairs = list(zip(predictions, references, strict=True))
    values = np.array([float(one == other and bool(one.strip())) for one, other in pairs])
    rest = [at for at, (one, other) in enumerate(pairs) if one != other and one.strip() and other.strip()]
    if rest:
        row = {text: row for row, text in enumerate(dict.fromkeys(text for at in rest for text in pairs[at]))}
        model = resolve(embedder) if isinstance(embedder, str) else embedder
        vectors = np.asarray(checked(model(list(row)), len(row), model.name), np.float64)
        left, right = (vectors[[row[pairs[at][side]] for at in rest]] for side in (0, 1))
        values[rest] = cosine(left, right)
    return values


@dataclass(frozen=True)
class SemanticSimilarity(Answering[Mean]):
    """The cosine between the answer and the nearest of the answers and the reference; from −1 to 1.

    ``embedder`` is a name (see `goldassay.embedding`). An unanswerable question is left out; an empty answer has 0.
    """

    name = "semantic_similarity"
    zero = Mean()
    limits = (-1.0, 1.0)
    gold_fields = ("answers", "reference")
    pred_fields = ("answer",)
    fixed = {"golds": "best", "unanswerable": "skip", "empty": "0", "failed": "0"}
    formula = "cos(e(answer), e(gold)), best of the answers and the reference; mean over answerable questions"
    source = "Reimers and Gurevych, EMNLP 2019"

    embedder: str = DEFAULT

    def tallies(self, batch: Batch) -> Mean:
        """The best cosine of each answer."""
        return batch.best(batch.once(("cosine", self.embedder), lambda: similarity(*batch.pairs, self.embedder)))

    def review(self, gold: object, pred: object, batch: Batch) -> Review:
        """What was expected, if the similarity is low."""
        tally: Any = self.tallies(batch)
        return wrong_answer(gold, pred) if tally.weight[0] and tally.total[0] < LOW else ((), ())


Baseline = float | tuple[float, float, float]


def bertscore(
    predictions: Sequence[str],
    references: Sequence[str],
    embedder: Transformer | str = DEFAULT,
    *,
    baseline: Baseline | None = None,
) -> Floats:
    """Precision, recall and F1 of each pair; 0 before rescaling where a text is blank.

    Args:
        predictions: the answers, n texts.
        references: the gold texts, one for each answer.
        embedder: makes the vectors of tokens; a name (see `goldassay.embedding`) or an object.
        baseline: rescale each value v as (v − b) / (1 − b); one number, or one each for precision, recall and F1.

    Returns:
        An array of shape (n, 3).

    Raises:
        GoldassayError: the lengths differ, something is no text, or the baseline is not under 1.
        ModelError: the embedder returns no vectors.
    """
    check_pairs(predictions, references)
    model = resolve_tokens(embedder) if isinstance(embedder, str) else embedder
    texts = list(dict.fromkeys([*predictions, *references]))
    vectors = dict(zip(texts, _token_vectors(model, texts), strict=True))
    pairs = zip(predictions, references, strict=True)
    rows = [_greedy(vectors[one], vectors[other], model.special) for one, other in pairs]
    values = np.asarray(rows, np.float64).reshape(-1, 3)
    if baseline is None:
        return values
    low = np.asarray(baseline, np.float64)
    if (low >= 1).any() or low.shape not in ((), (3,)):
        raise GoldassayError(f"a baseline is a number under 1, or three (P, R, F1), not {baseline!r}")
    return (values - low) / (1 - low)


Tokens = tuple[list[int], Floats]


def _token_vectors(model: Transformer, texts: list[str]) -> list[Tokens]:
    """The token ids of each text with unit vectors."""
    results = model(texts)
    if len(results) != len(texts):
        raise ModelError(f"the embedder {model.name!r} gave {len(results)} results for {len(texts)} texts")
    rows = []
    for ids, raw in results:
        vectors = np.asarray(raw, np.float64)
        if vectors.ndim != 2 or len(vectors) != len(ids) or not np.isfinite(vectors).all():
            shape = f"an array of shape {vectors.shape} for {len(ids)} tokens"
            raise ModelError(f"the embedder {model.name!r} gave {shape}, or NaN or infinity in it")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        rows.append(([int(number) for number in ids], vectors / np.where(lengths > 0, lengths, 1)))
    return rows


def _greedy(one: Tokens, other: Tokens, special: frozenset[int]) -> tuple[float, float, float]:
    """Match each token with the nearest of the other side."""
    if any(special.issuperset(ids) for ids, _ in (one, other)):
        return 0.0, 0.0, 0.0
    cosines = one[1] @ other[1].T
    rates = []
    for axis, (ids, _) in ((1, one), (0, other)):
        each = np.array([float(token not in special) for token in ids])
        rates.append(float(divide(float(each @ cosines.max(axis=axis)), float(each.sum()))))
    precision, recall = rates
    return precision, recall, divide(2 * precision * recall, precision + recall)


@dataclass(frozen=True)
class BERTScore(Answering[Mean]):
    """BERTScore's precision (``p``), recall (``r``) or F1 (``f``), best over the answers and the reference.

    ``model`` is a transformers model (see `goldassay.embedding`), ``layer`` one of its layers (the last by default).
    ``baseline`` rescales; an empty answer has 0 also then.
    """

    name = "bertscore"
    zero = Mean()
    limits = (-math.inf, 1.0)
    gold_fields = ("answers", "reference")
    pred_fields = ("answer",)
    choices = {"part": PARTS}
    fixed = {"golds": "best by F1", "unanswerable": "skip", "empty": "0", "failed": "0"}
    formula = (
        "greedy matching of tokens by cosine, P over the answer's and R over the gold's, F1 = 2PR/(P+R); "
        "mean over answerable questions"
    )
    source = "Zhang et al., ICLR 2020; bert-score 0.3.13"

    model: str = DEFAULT
    layer: int | None = None
    part: str = "f"
    baseline: Baseline | None = None

    @property
    def key(self) -> str:
        """``bertscore_f1``, ``bertscore_precision``, ``bertscore_recall``."""
        return f"bertscore_{('precision', 'recall', 'f1')[PARTS.index(self.part)]}"

    def tallies(self, batch: Batch) -> Mean:
        """The part of each best reference's score."""

        def score() -> Floats:
            model = resolve_tokens(self.model, self.layer)
            rows = bertscore(*batch.pairs, model, baseline=self.baseline)
            spoken = np.array([bool(text.strip()) for text in batch.pairs[0]], np.float64)
            return np.multiply(rows, spoken[:, None])

        rows = batch.once(("bertscore", self.model, self.layer, self.baseline), score)
        return batch.best(rows[:, PARTS.index(self.part)], by=rows[:, 2])
