"""How answers are compared by their words, and `Batch`: many questions, read once, with the work that measures share.

F1 over words is over the multiset of normalised words (SQuAD); `squad` compares many answers at once. None of these
comparisons sees meaning: docs/blind-measures.md says which damage each measure notices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure, failed, pred_field
from goldassay.measures.answering.records import answer, answers, check_texts, confidence, references
from goldassay.measures.answering.rouge import Words
from goldassay.measures.calibration import Confidences
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean, T
from goldassay.text import normal

V = TypeVar("V")


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
    first, second = set(left), set(right)
    if len(first) == len(left) and len(second) == len(right):  # no word twice: sets are faster
        common = len(first & second)
    else:
        common = (Counter(left) & Counter(right)).total()
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
    """Exact match and F1 of many answers, each text normalised once; an empty sequence of golds is unanswerable.

    >>> squad(["The 1800s", ""], [["1800s", "1801"], []])
    ([1.0, 1.0], [1.0, 1.0])
    """
    if isinstance(predictions, str):
        raise GoldassayError(f"predictions are a list of texts, not {predictions!r}")
    if len(predictions) != len(golds):
        raise GoldassayError(f"{len(predictions)} predictions against {len(golds)} questions; they must be aligned")
    for place, several in enumerate(golds):
        if several is None or isinstance(several, str):
            raise GoldassayError(f"question {place} needs a list of acceptable answers (empty: none), not {several!r}")
    flat = [gold for several in golds for gold in several]
    try:
        texts = normal.squad_all([*predictions, *flat]) if predictions or flat else []
    except TypeError:
        check_texts(predictions, "prediction", "no answer is an empty text")
        check_texts(flat, "acceptable answer", "answers are texts")
        raise
    rest = iter(texts[len(predictions) :])
    rows = [agreement(text, [next(rest) for _ in several]) for text, several in zip(texts, golds, strict=False)]
    return [exact for exact, _ in rows], [f1 for _, f1 in rows]


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
    def _squad(self) -> Floats:
        return np.array(squad(self.answers, self.golds), float) * (1.0 - np.array(self.failed, float))

    @property
    def exact(self) -> Floats:
        """SQuAD's exact match of each; 0 for a program that failed."""
        exact: Floats = self._squad[0]
        return exact

    @property
    def f1(self) -> Floats:
        """SQuAD's F1 of each; 0 for a program that failed."""
        f1: Floats = self._squad[1]
        return f1

    @cached_property
    def confidences(self) -> Confidences:
        """The questions that were answered with a confidence; correct is an exact match."""
        rows = zip(self.pred, self.answers, self.failed, strict=True)
        sure = [None if lost or empty(text) else confidence(pred) for pred, text, lost in rows]
        row = np.array([place for place, each in enumerate(sure) if each is not None], int)
        return Confidences(
            len(sure), row, np.array([each for each in sure if each is not None], float), self.exact[row]
        )

    def rouge(self, kind: str, stem: bool, tokenizer: str) -> Floats:
        """ROUGE of each pair: precision, recall and F1."""
        words = self.once(("words", stem, tokenizer), lambda: Words(*self.pairs, stem=stem, tokenizer=tokenizer))
        return self.once(("rouge", kind, stem, tokenizer), lambda: words.rouge(kind))

    @cached_property
    def illegible(self) -> int:
        """How many questions have answers most of whose letters rouge-score's tokenizer drops: it knows ASCII alone."""
        letters = ([one for one in "".join(texts) if one.isalnum()] for texts in self.texts)
        return sum(2 * sum(map(str.isascii, some)) < len(some) for some in letters)

    def best(self, values: Floats, by: Floats | None = None) -> Mean:
        """For each question the value of its best reference (the first that is highest ``by``); none for the others."""
        ranks = values if by is None else by
        sizes = np.array([len(several) for several in self.texts], int)
        answerable, best = np.flatnonzero(sizes), np.zeros(len(sizes))
        if len(answerable):
            starts = np.concatenate(([0], np.cumsum(sizes[answerable])[:-1]))
            highest = np.repeat(np.maximum.reduceat(ranks, starts), sizes[answerable])
            places = np.where(ranks == highest, np.arange(len(ranks)), len(ranks))
            best[answerable] = values[np.minimum.reduceat(places, starts)]
        return Mean(best, (sizes > 0).astype(float))


class Answering(Measure[T]):
    """A measure of answering, which counts in a `Batch`."""

    task = "answering"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """Both sides, read once."""
        return Batch(gold, pred)

    def tallies(self, batch: Batch) -> T:
        """The evidence of each question; measures that cannot count many at once write `tally`."""
        return super().tallies(zip(batch.gold, batch.pred, strict=True))
