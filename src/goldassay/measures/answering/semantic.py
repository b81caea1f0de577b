"""What embeddings say of an answer: similarity of texts, support of sentences; `bertscore` compares tokens.

Semantic similarity is the cosine of two texts' embeddings, which may be negative. It says that two texts are about the
same thing, not that they say the same: a negation or a wrong digit hardly moves it, and an echo of the question is near
every answer to it (see `goldassay.proof.mutation`).

Semantic support is how near each sentence of an answer is to a sentence of the retrieved texts. It is an honest cheap
stand-in and no faithfulness: nearness is not entailment, and so it bears its own name. For each sentence of the answer
the best cosine with a sentence of the contexts counts, negative ones as 0. As in `lexical_support`, a pair of which one
has an odd number of negations and the other has not, or whose context sentence lacks a number of the answer's, supports
nothing: cosines hardly see a "not" or a wrong digit. A copied sentence has 1.

Reimers and Gurevych, Sentence-BERT, EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import Progress

from goldassay.embedding import DEFAULT, Embedder, checked, cosine, resolve
from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.batch import Batch, Batched
from goldassay.measures.answering.grounding import ENOUGH
from goldassay.measures.answering.matching import negations
from goldassay.measures.answering.mistakes import wrong
from goldassay.measures.answering.records import all_texts, answer, answers, contexts
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean
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
        if not one.strip() or not other.strip():
            continue
        if one == other:
            out[place] = 1.0
        else:
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
        """All at once."""
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
