"""Semantic similarity: the cosine of two texts' embeddings, which may be negative.

It says that two texts are about the same thing, not that they say the same: a negation or a wrong digit hardly moves
it, and an echo of the question is near every answer to it (see `goldassay.proof.mutation`).

Reimers and Gurevych, Sentence-BERT, EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goldassay.embedding import DEFAULT, Embedder, checked, cosine, resolve
from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure, failed
from goldassay.measures.answering.records import all_texts, answer, answers, references, wrong
from goldassay.tally import Mean

Array = Any  # numpy arrays
LIKE = 0.8  # below this an answer is shown as an error


def similarity(ones: Sequence[str], others: Sequence[str], embedder: Embedder | str = DEFAULT) -> Array:
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
        if not one.strip() or not other.strip():
            continue
        if one == other:
            out[place] = 1.0
        else:
            pairs[place] = one, other
    if pairs:
        distinct = {text: row for row, text in enumerate(dict.fromkeys(t for pair in pairs.values() for t in pair))}
        model = resolve(embedder) if isinstance(embedder, str) else embedder
        vectors = checked(model(list(distinct)), len(distinct), model.name)
        left, right = ([distinct[pair[side]] for pair in pairs.values()] for side in (0, 1))
        out[list(pairs)] = cosine(vectors[left], vectors[right])
    return out


@dataclass(frozen=True)
class SemanticSimilarity(Measure[Mean]):
    """The cosine between the answer and the nearest of the answers and the reference; from −1 to 1.

    ``embedder`` is a name (see `goldassay.embedding`). An unanswerable question is left out; an empty answer has 0.
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "semantic_similarity"
    zero: ClassVar[Mean] = Mean()
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "reference")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    fixed: ClassVar[dict[str, str]] = {"golds": "best", "unanswerable": "skip", "empty": "0"}
    formula: ClassVar[str] = (
        "cos(e(answer), e(gold)), best of the answers and the reference; mean over answerable questions"
    )
    source: ClassVar[str] = "Reimers and Gurevych, EMNLP 2019"

    embedder: str = DEFAULT

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The best cosine."""
        several, found = references(gold), answer(pred, gold)
        if not several:
            return Assessment(Mean())
        value = 0.0 if failed(pred) else float(similarity([found] * len(several), several, self.embedder).max())
        return Assessment(Mean.of(value), wrong(gold, pred, answers(gold), found) if value < LIKE else ())
