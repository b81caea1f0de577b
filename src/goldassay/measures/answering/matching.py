"""How answers are compared, and `AnswerBatch`: many questions, read once, with the work that measures share.

F1 over words is over the multiset of normalised words (SQuAD). `squad`, `rouge`, `similarity` and `bertscore` compare
many answers at once. docs/blind-measures.md says which damage each measure notices.

ROUGE: Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop. The numbers are those of
rouge-score, to the last bits of a float; ROUGE-Lsum, where a line is a sentence, is computed by rouge-score itself.

Semantic similarity is the cosine of two texts' embeddings, which may be negative. It says that two texts are about the
same thing, not that they say the same: a negation or a wrong digit hardly moves it, and an echo of the question is near
every answer to it. Reimers and Gurevych, Sentence-BERT, EMNLP 2019.

BERTScore: with unit vectors x of the answer's tokens and y of the gold's, P is the mean over x of max_y x·y, R likewise
over y, F1 = 2PR/(P+R). Special tokens can be matched, but weigh nothing, as in the bert-score package. ``baseline``
rescales each as (v − b) / (1 − b), which may be negative and is never clamped. The package pads a batch, and its
padding has the cosine 0: there a token all of whose cosines are negative gets 0 or not, depending on what else is in
the batch. Here nothing is padded, which is what the package gives with ``batch_size=1``. Zhang et al., ICLR 2020.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, count, starmap
from types import SimpleNamespace
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cpdist

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Floats, Ints
from goldassay.core.measure import Review, check_choice
from goldassay.core.tally import Mean, T, harmonic
from goldassay.measures import Examples, TaskMeasure, cached
from goldassay.measures.answering.mistakes import wrong_answer
from goldassay.measures.answering.records import AnswerPair, Texts, check_texts
from goldassay.models.embedding import (
    DEFAULT_EMBEDDER,
    Embedder,
    TokenEmbedder,
    checked,
    cosine,
    resolve,
    resolve_tokens,
)
from goldassay.text import normal
from goldassay.text.words import ascii_letters, tokens

ROUGE_KINDS = ("1", "2", "L", "Lsum")
ROUGE_RATES = ("p", "r", "f")


def empty(text: str) -> bool:
    """Whether an answer says nothing: it has no letter and no digit.

    >>> empty(" … "), empty("5"), empty("NL")
    (True, False, False)
    """
    return not any(character.isalnum() for character in text)


def overlap(text: str, gold: str) -> float:
    """F1 over the words of two normalised texts.

    >>> overlap("opened in 1800", "1800")       # P 1/3, R 1
    0.5
    """
    if text == gold:
        return 1.0
    words = text.split()
    expected = gold.split()
    common = sum(min(words.count(word), expected.count(word)) for word in {*words} & {*expected})
    return float(harmonic(common / len(words), common / len(expected))) if common else 0.0


def agreement(text: str, golds: Sequence[str]) -> tuple[float, float]:
    """Exact match and F1 of a normalised answer with the nearest of the normalised golds.

    Golds without a word do not count; if none is left, an empty answer is right (SQuAD 2.0's rule).
    """
    expected = [gold for gold in golds if gold] or [""]
    return (1.0, 1.0) if text in expected else (0.0, max(overlap(text, gold) for gold in expected))


def squad(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> tuple[list[float], list[float]]:
    """Exact match and F1 of many answers by SQuAD's rules; an empty sequence of golds is unanswerable.

    >>> squad(["The 1800s", ""], [["1800s", "1801"], []])
    ([1.0, 1.0], [1.0, 1.0])
    """
    lists = ["" if isinstance(answers, (list, tuple)) else None for answers in golds]
    check_texts(predictions=predictions, golds=lists)
    pairs = zip(predictions, golds, strict=True)
    rows = [agreement(normal.squad(text), [*map(normal.squad, answers)]) for text, answers in pairs]
    return [exact for exact, _ in rows], [f1 for _, f1 in rows]


def rouge(
    predictions: Sequence[str],
    references: Sequence[str],
    kinds: Sequence[str] = ("1", "2", "L"),
    *,
    stem: bool = False,
    tokenizer: str = "rouge-score",
) -> dict[str, Floats]:
    """ROUGE of many pairs: for each kind an array of shape (n, 3) with precision, recall and F1 of each pair.

    Args:
        predictions: n answers.
        references: n gold texts, one for each.
        kinds: of ``1``, ``2``, ``L`` and ``Lsum``.
        stem: compare Porter's stems.
        tokenizer: ``rouge-score`` (ASCII letters and digits) or ``unicode``.

    >>> rouge(["the museum opened"], ["the museum has opened"])["L"].round(4).tolist()    # LCS 3; P 3/3, R 3/4
    [[1.0, 0.75, 0.8571]]
    """
    check_texts(predictions=predictions, references=references)
    split: Callable[[str], Sequence[Hashable]] = partial(tokens, tokenizer=tokenizer, stem=stem)
    if tokenizer == "rouge-score" and not stem:
        split = _ascii_words  # the same words, faster
    n = len(predictions)
    words = [*map(split, predictions), *map(split, references)]
    lengths = np.array([*map(len, words)], int)
    number: defaultdict[Hashable, int] = defaultdict(count().__next__)
    ids = np.fromiter(map(number.__getitem__, chain.from_iterable(words)), int, lengths.sum())
    values = {}
    for kind in kinds:
        check_choice("kind", kind, ROUGE_KINDS)
        totals = lengths
        if kind == "Lsum":  # the union of longest common subsequences, line by line
            from rouge_score.rouge_scorer import RougeScorer

            by_line = SimpleNamespace(tokenize=partial(tokens, tokenizer=tokenizer, stem=stem))
            scorer = RougeScorer(["rougeLsum"], tokenizer=by_line)
            scores = (scorer.score(gold, text)["rougeLsum"] for text, gold in zip(predictions, references, strict=True))
            values[kind] = np.array([tuple(score) for score in scores], float).reshape(-1, 3)
            continue
        if kind == "1":
            common = _common(ids, len(number), totals, n)
        elif kind == "2":
            totals = np.maximum(lengths - 1, 0)
            last = np.cumsum(lengths)[lengths > 0] - 1
            grams = np.delete(ids * len(number) + np.append(ids[1:], 0), last)
            common = _common(grams, len(number) ** 2, totals, n)
        else:
            common = cpdist(words[:n], words[n:], scorer=LCSseq.similarity, dtype=np.int64) if n else np.zeros(0)
        precision = common / np.maximum(totals[:n], 1)
        recall = common / np.maximum(totals[n:], 1)
        values[kind] = np.stack([precision, recall, harmonic(precision, recall)], axis=1)
    return values


def _ascii_words(text: str) -> list[bytes]:
    return ascii_letters(text).split()


def _common(grams: Ints, size: int, totals: Ints, n: int) -> Floats:
    """How many grams the two texts of each pair share, each as often as both have it; ``totals`` are those of each."""
    if n * size >= 2**61:  # a key would not fit: number the grams that occur
        grams = np.unique(grams, return_inverse=True)[1]
        size = len(grams)
    # Each (pair, gram) is a key whose lowest bit says the side: sorted, equal keys are neighbours.
    text = np.arange(2 * n)
    keys = np.repeat(text % max(n, 1) * (2 * size) + text // max(n, 1), totals) + 2 * grams
    keys.sort()
    first = np.flatnonzero(np.diff(keys >> 1, prepend=-1))
    theirs = np.add.reduceat(keys & 1, first)
    lengths = np.diff(first, append=len(keys))
    return np.bincount(keys[first] // (2 * size), np.minimum(theirs, lengths - theirs), n).astype(float)


def similarity(
    predictions: Sequence[str], references: Sequence[str], embedder: Embedder | str = DEFAULT_EMBEDDER
) -> Floats:
    """The cosine of each pair. Equal texts have 1, and a blank text has 0 with any other; neither is embedded.

    >>> from goldassay.models.embedding import Function
    >>> lengths = Function(lambda texts: [[len(text), 3.0] for text in texts], "lengths")
    >>> similarity(["abcd", "x", ""], ["abcd", "abcd", "x"], lengths).round(3).tolist()     # (1·4 + 9) / (√10 · 5)
    [1.0, 0.822, 0.0]
    """
    check_texts(predictions=predictions, references=references)
    pairs = list(zip(predictions, references, strict=True))
    values = np.array([float(text == gold and bool(text.strip())) for text, gold in pairs])
    remaining = [at for at, (text, gold) in enumerate(pairs) if text != gold and text.strip() and gold.strip()]
    if remaining:
        row = {text: row for row, text in enumerate(dict.fromkeys(text for at in remaining for text in pairs[at]))}
        model = resolve(embedder) if isinstance(embedder, str) else embedder
        vectors = np.asarray(checked(model(list(row)), len(row), model.name), np.float64)
        texts = vectors[[row[pairs[at][0]] for at in remaining]]
        golds = vectors[[row[pairs[at][1]] for at in remaining]]
        values[remaining] = cosine(texts, golds)
    return values


Baseline = float | tuple[float, float, float]


def bertscore(
    predictions: Sequence[str],
    references: Sequence[str],
    embedder: TokenEmbedder | str = DEFAULT_EMBEDDER,
    *,
    baseline: Baseline | None = None,
) -> Floats:
    """Precision, recall and F1 of each pair, an array of shape (n, 3); 0 before rescaling where a text is blank.

    Args:
        predictions: the answers, n texts.
        references: the gold texts, one for each answer.
        embedder: makes the vectors of tokens; a name (see `goldassay.models.embedding`) or an object.
        baseline: rescale each value v as (v − b) / (1 − b); one number, or one each for precision, recall and F1.

    Raises:
        GoldassayError: the lengths differ, something is not a text, or the baseline is not under 1.
    """
    check_texts(predictions=predictions, references=references)
    model = resolve_tokens(embedder) if isinstance(embedder, str) else embedder
    texts = list(dict.fromkeys([*predictions, *references]))
    vectors = {}
    for text, (ids, raw) in zip(texts, model(texts), strict=True):
        rows = np.asarray(raw, np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        weights = np.array([float(int(token) not in model.special) for token in ids])
        vectors[text] = rows / np.where(lengths > 0, lengths, 1), weights
    values = np.zeros((len(predictions), 3))
    for row, text, gold in zip(values, predictions, references, strict=True):
        words, weights = vectors[text]
        gold_words, gold_weights = vectors[gold]
        if weights.any() and gold_weights.any():  # each token goes with the nearest of the other side
            cosines = words @ gold_words.T
            precision = float(weights @ cosines.max(axis=1)) / float(weights.sum())
            recall = float(gold_weights @ cosines.max(axis=0)) / float(gold_weights.sum())
            row[:] = precision, recall, harmonic(precision, recall)
    low = np.asarray(baseline or 0.0, np.float64)
    if (low >= 1).any() or low.shape not in ((), (3,)):
        raise GoldassayError(f"a baseline is a number under 1, or three (P, R, F1), not {baseline!r}")
    return (values - low) / (1 - low)


class AnswerBatch:
    """Both sides of many questions, and what measures share over them; each part is made when first used."""

    def __init__(self, gold: Examples, pred: Examples) -> None:
        self.questions = [*starmap(AnswerPair, zip(gold, pred, strict=True))]

    def __iter__(self) -> Iterator[AnswerPair]:
        return iter(self.questions)

    @cached
    def rouge(self, kind: str, stem: bool, tokenizer: str) -> Floats:
        """ROUGE of each pair (`rouge`)."""
        return rouge(*self.pairs, [kind], stem=stem, tokenizer=tokenizer)[kind]

    @cached
    def cosines(self, embedder: str) -> Floats:
        """The cosine of each pair (`similarity`)."""
        return similarity(*self.pairs, embedder)

    @cached
    def bertscore(self, model: str, layer: int | None, baseline: Baseline | None) -> Floats:
        """BERTScore of each pair (`bertscore`)."""
        return bertscore(*self.pairs, resolve_tokens(model, layer), baseline=baseline)

    @cached_property
    def failed(self) -> list[bool]:
        """Whether the program failed."""
        return [pair.failed for pair in self]

    @cached_property
    def answers(self) -> list[str]:
        """The answers; empty where the program abstained or failed."""
        return [pair.answer for pair in self]

    @cached_property
    def golds(self) -> list[Texts]:
        """The acceptable short answers."""
        return [pair.answers for pair in self]

    @cached_property
    def texts(self) -> list[Texts]:
        """For each question all texts that its answer may be compared with; none if it has no answer."""
        return [pair.references for pair in self]

    @cached_property
    def pairs(self) -> tuple[list[str], list[str]]:
        """Each answer against each of its references."""
        answers = [text for text, references in zip(self.answers, self.texts, strict=True) for _ in references]
        return answers, [*chain.from_iterable(self.texts)]

    @cached_property
    def squad(self) -> Floats:
        """SQuAD's exact match and F1 of each, in two rows; 0 for a program that failed."""
        return np.array(squad(self.answers, self.golds), float) * (1.0 - np.array(self.failed, float))

    def best(self, values: Floats, by: Floats | None = None) -> Mean:
        """For each question the value of its best reference (the first that is highest ``by``); none for the others."""
        ranks = values if by is None else by
        means: list[float] = []
        start = 0
        for references in self.texts:
            end = start + len(references)
            means.append(float(values[start + ranks[start:end].argmax()]) if references else 0.0)
            start = end
        return Mean(np.array(means), np.array([float(bool(references)) for references in self.texts]))


class AnswerMeasure(TaskMeasure[T, AnswerBatch]):
    """A measure of answering, which counts in an `AnswerBatch`: many questions in `tallies`, or one in `tally`."""

    task = "answering"
    enough = 0.0  # an answer with a lower value is an error

    def batch(self, gold: Examples, pred: Examples) -> AnswerBatch:
        """Both sides, read once."""
        return AnswerBatch(gold, pred)

    def reviews(self, batch: AnswerBatch) -> list[Review]:
        """The errors of answers whose value is low."""
        reviews: list[Review] = [((), ()) for _ in batch.questions]
        if self.enough:
            tally: Any = self.tallies(batch)
            for index in np.flatnonzero((tally.weight != 0) & (tally.total < self.enough)):
                reviews[index] = wrong_answer(batch.questions[index])
        return reviews


class Assessed(AnswerMeasure[T]):
    """A measure whose evidence and errors come from one reading of a pair."""

    def reviews(self, batch: AnswerBatch) -> list[Review]:
        """The errors of each pair."""
        return [(self.assess(question).errors, ()) for question in batch.questions]
