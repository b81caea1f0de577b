"""Semantic support: how near each sentence of an answer is to a sentence of the retrieved texts, by embeddings.

It is an honest cheap stand-in and no faithfulness: nearness is not entailment, and so it bears its own name. For each
sentence of the answer the best cosine with a sentence of the contexts counts, negative ones as 0. As in
`lexical_support`, a pair of which one has an odd number of negations and the other has not, or whose context sentence
lacks a number of the answer's, supports nothing: cosines hardly see a "not" or a wrong digit. A copied sentence has 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goldassay.embedding import DEFAULT, Embedder, resolve
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.lexical import ENOUGH, negations
from goldassay.measures.answering.records import answer, contexts
from goldassay.tally import Mean
from goldassay.text.sentences import sentences
from goldassay.text.words import tokens

Array = Any  # numpy arrays


def supports(text: str, texts: Sequence[str], embedder: Embedder | str = DEFAULT) -> list[tuple[str, float]]:
    """Each sentence of a text that has words, with how far the best sentence of the texts supports it."""
    mine = [one for one in sentences(text) if tokens(one, "unicode")]
    theirs = list(dict.fromkeys(one for each in texts for one in sentences(each) if tokens(one, "unicode")))
    if not mine or not theirs:
        return [(one, 0.0) for one in mine]
    every = list(dict.fromkeys([*mine, *theirs]))
    vectors = np.asarray((resolve(embedder) if isinstance(embedder, str) else embedder)(every), np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    rows = {one: unit[index] for index, one in enumerate(every)}
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

    task: ClassVar[str] = "judges"
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

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
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
