"""How answers are compared by their words, and `Batch`: many questions, read once, with the work that measures share.

F1 over words is over the multiset of normalised words (SQuAD); `squad` and `rouge` compare many answers at once. None
of these comparisons sees meaning: docs/blind-measures.md says which damage each measure notices.

Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop. The numbers are those of rouge-score, to
the last bits of a float; ROUGE-Lsum, where a line is a sentence, is computed by rouge-score itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from itertools import chain, count
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cpdist

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure, check_choice, failed, pred_field
from goldassay.measures.answering.records import answer, answers, check_pairs, check_texts, confidence, references
from goldassay.measures.calibration import Confidences
from goldassay.statistics.evidence import Floats, Ints
from goldassay.tally import Mean, T, divide
from goldassay.text import normal
from goldassay.text.words import ascii_words, runs, stemmed, tokens

V = TypeVar("V")
KINDS = ("1", "2", "L", "Lsum")
PARTS = ("p", "r", "f")


def empty(text: str) -> bool:
    """Whether an answer says nothing: it has no letter and no digit.

    >>> empty(" … "), empty("5"), empty("NL")
    (True, False, False)
    """
    return not any(character.isalnum() for character in text)


def overlap(one: str, other: str) -> float:
    """F1 over the words of two normalised texts.

    >>> overlap("opened in 1800", "1800")       # P 1/3, R 1
    0.5
    """
    if one == other:
        return 1.0
    left, right = one.split(), other.split()
    common = sum(min(left.count(word), right.count(word)) for word in {*left} & {*right})
    if not common:
        return 0.0
    precision, recall = common / len(left), common / len(right)
    return 2 * precision * recall / (precision + recall)


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
    check_texts("predictions", predictions)
    check_texts(
        "golds",
        [text for several in golds for text in ([None] if several is None or isinstance(several, str) else several)],
    )
    if len(predictions) != len(golds):
        raise GoldassayError(f"{len(predictions)} predictions against {len(golds)} questions; they must be aligned")
    pairs = zip(predictions, golds, strict=True)
    rows = [agreement(normal.squad(text), [*map(normal.squad, several)]) for text, several in pairs]
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
    check_pairs(predictions, references)
    n, split = len(predictions), ascii_words if tokenizer == "rouge-score" else partial(runs, tokenizer=tokenizer)
    words: list[Any] = [split(text) for text in (*predictions, *references)]
    lengths = np.array([*map(len, words)], int)
    number: defaultdict[Any, int] = defaultdict(count().__next__)
    ids = np.fromiter(map(number.__getitem__, chain.from_iterable(words)), int, lengths.sum())
    if stem:
        distinct = [word if isinstance(word, str) else word.decode() for word in number]
        number = defaultdict(count().__next__)
        ids = np.array([number[stemmed(word)] for word in distinct], int)[ids]
        words = [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]
    values = {}
    for kind in kinds:
        check_choice("kind", kind, KINDS)
        totals, grams = lengths, ids
        if kind == "Lsum":
            values[kind] = _by_line(predictions, references, partial(tokens, tokenizer=tokenizer, stem=stem))
            continue
        if kind == "2":
            totals, last = np.maximum(lengths - 1, 0), np.cumsum(lengths)[lengths > 0] - 1
            grams = np.delete(ids * len(number) + np.append(ids[1:], 0), last)
        if kind == "L":
            common = cpdist(words[:n], words[n:], scorer=LCSseq.similarity, dtype=np.int64) if n else np.zeros(0)
        else:
            common = _overlap(grams, len(number) ** int(kind), totals, n)
        precision, recall = common / np.maximum(totals[:n], 1), common / np.maximum(totals[n:], 1)
        values[kind] = np.stack([precision, recall, divide(2 * precision * recall, precision + recall)], axis=1)
    return values


def _overlap(grams: Ints, size: int, totals: Ints, n: int) -> Floats:
    """How many grams the two texts of each pair share, each as often as both have it; ``totals`` are those of each."""
    if n * size >= 2**61:  # a key would not fit: number the grams that occur
        grams, size = np.unique(grams, return_inverse=True)[1], len(grams)
    # Each (pair, gram) is a key whose lowest bit says the side: sorted, equal keys stand together.
    text = np.arange(2 * n)
    keys = np.repeat(text % max(n, 1) * (2 * size) + text // max(n, 1), totals) + 2 * grams
    keys.sort()
    first = np.flatnonzero(np.diff(keys >> 1, prepend=-1))
    theirs, both = np.add.reduceat(keys & 1, first), np.diff(first, append=len(keys))
    return np.bincount(keys[first] // (2 * size), np.minimum(theirs, both - theirs), n).astype(float)


def _by_line(predictions: Sequence[str], references: Sequence[str], split: Callable[[str], list[str]]) -> Floats:
    """ROUGE-Lsum: the union of longest common subsequences, line by line."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeLsum"], tokenizer=SimpleNamespace(tokenize=split))
    scores = (scorer.score(gold, text)["rougeLsum"] for text, gold in zip(predictions, references, strict=True))
    return np.array([(score.precision, score.recall, score.fmeasure) for score in scores], float).reshape(-1, 3)


class Batch:
    """Both sides of many questions, read once, and what measures share over them; each part is made when first used."""

    def __init__(self, gold: Sequence[object], pred: Sequence[object]) -> None:
        self.gold, self.pred = gold, pred
        self.failed = [bool(failed(each)) for each in pred]
        self.answers = [answer(each, other) for each, other in zip(pred, gold, strict=True)]
        self.golds = [answers(each) for each in gold]
        self._cache: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """What ``make`` returns, made once for all measures that use this key."""
        if key not in self._cache:
            self._cache[key] = make()
        value: V = self._cache[key]
        return value

    @cached_property
    def absent(self) -> list[bool]:
        """Whether no answer came, not even an empty one."""
        return [lost or pred_field(each, "answer") is None for lost, each in zip(self.failed, self.pred, strict=True)]

    @cached_property
    def texts(self) -> list[tuple[str, ...]]:
        """For each question all texts that its answer may be compared with; none if it has no answer."""
        return [references(each) for each in self.gold]

    @cached_property
    def pairs(self) -> tuple[list[str], list[str]]:
        """Each answer (empty if the program failed) beside each of its references."""
        rows = zip(self.answers, self.failed, self.texts, strict=True)
        mine = ["" if lost else text for text, lost, several in rows for _ in several]
        return mine, [text for several in self.texts for text in several]

    @cached_property
    def squad(self) -> Floats:
        """SQuAD's exact match and F1 of each, in two rows; 0 for a program that failed."""
        return np.array(squad(self.answers, self.golds), float) * (1.0 - np.array(self.failed, float))

    @cached_property
    def confidences(self) -> Confidences:
        """The questions that were answered with a confidence; correct is an exact match."""
        rows = zip(self.pred, self.answers, self.failed, strict=True)
        sure = [None if lost or empty(text) else confidence(pred) for pred, text, lost in rows]
        row = np.array([place for place, each in enumerate(sure) if each is not None], int)
        return Confidences(len(sure), row, np.array([sure[place] for place in row], float), self.squad[0][row])

    def rouge(self, kind: str, stem: bool, tokenizer: str) -> Floats:
        """ROUGE of each pair: precision, recall and F1."""
        options: Any = {"stem": stem, "tokenizer": tokenizer}
        return self.once((kind, stem, tokenizer), lambda: rouge(*self.pairs, [kind], **options)[kind])

    def best(self, values: Floats, by: Floats | None = None) -> Mean:
        """For each question the value of its best reference (the first that is highest ``by``); none for the others."""
        ranks, means, end = values if by is None else by, [], 0
        for several in self.texts:
            start, end = end, end + len(several)
            means.append(float(values[start + ranks[start:end].argmax()]) if several else 0.0)
        return Mean(np.array(means), np.array([float(bool(several)) for several in self.texts]))


class Answering(Measure[T]):
    """A measure of answering, which counts in a `Batch`."""

    task = "answering"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """Both sides, read once."""
        return Batch(gold, pred)

    def tallies(self, batch: Batch) -> T:
        """The evidence of each question; measures that cannot count many at once write `tally`."""
        return super().tallies(zip(batch.gold, batch.pred, strict=True))


class AnsweringMean(Measure[Mean]):
    """A measure of answering that counts one pair at a time in `tally`; its value is a mean."""

    task = "answering"
    zero = Mean()
