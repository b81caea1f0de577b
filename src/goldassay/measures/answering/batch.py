"""Many questions at once: both sides read once, and the work that measures of answering share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure, failed
from goldassay.measures.answering.matching import asked, overlap
from goldassay.measures.answering.records import all_texts, answer, answers, references
from goldassay.measures.answering.rouge import Words
from goldassay.statistics.evidence import Floats, summed
from goldassay.tally import Mean, T
from goldassay.text import normal


class Batch:
    """Both sides of many questions, read once, and what measures share over them; made when first asked for."""

    def __init__(self, gold: Sequence[object], pred: Sequence[object]) -> None:
        self.gold, self.pred = gold, pred
        self.broken = [bool(failed(one)) for one in pred]
        self.found = [answer(one, other) for one, other in zip(pred, gold, strict=True)]
        self.expected = [answers(one) for one in gold]
        self._kept: dict[Hashable, Any] = {}

    @cached_property
    def texts(self) -> list[tuple[str, ...]]:
        """Of each question all texts that its answer may be compared with; none where it has no answer."""
        return [references(one) for one in self.gold]

    @cached_property
    def answerable(self) -> Floats:
        """1 for each question with an answer, 0 for the others."""
        return np.array([bool(one) for one in self.texts], float)

    @cached_property
    def pairs(self) -> tuple[list[str], list[str]]:
        """Each answer (empty where the program failed) beside each of its references."""
        mine = [
            "" if lost else text
            for text, lost, several in zip(self.found, self.broken, self.texts, strict=True)
            for _ in several
        ]
        return mine, [text for several in self.texts for text in several]

    @cached_property
    def _squad(self) -> tuple[Floats, Floats]:
        kept = 1.0 - np.array(self.broken, float)
        exact, f1 = squad(self.found, self.expected)
        return np.array(exact, float) * kept, np.array(f1, float) * kept

    @property
    def exact(self) -> Floats:
        """SQuAD's exact match of each; 0 for a program that failed."""
        return self._squad[0]

    @property
    def f1(self) -> Floats:
        """SQuAD's F1 of each; 0 for a program that failed."""
        return self._squad[1]

    def rouge(self, kind: str, stem: bool, tokenizer: str) -> Floats:
        """ROUGE of each pair: precision, recall and F1."""
        words = self.once(("words", stem, tokenizer), lambda: Words(*self.pairs, stem=stem, tokenizer=tokenizer))
        found: Floats = self.once(("rouge", kind, stem, tokenizer), lambda: words.rouge(kind))
        return found

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What is made once for all measures that ask for it under this key."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def best(self, values: Floats, by: Floats | None = None) -> Mean:
        """Of each question the value of its best reference (the first that is highest ``by``); none for the others."""
        out, ranks = np.zeros(len(self.gold)), values if by is None else by
        sizes = np.array([len(several) for several in self.texts], int)
        there = np.flatnonzero(sizes)
        if len(there):
            starts = np.concatenate(([0], np.cumsum(sizes[there])[:-1]))
            highest = np.repeat(np.maximum.reduceat(ranks, starts), sizes[there])
            places = np.where(ranks == highest, np.arange(len(ranks)), len(ranks))
            out[there] = values[np.minimum.reduceat(places, starts)]
        return Mean(out, self.answerable)


class Batched(Measure[T]):
    """A measure of answering that counts in `Batch`: one definition, of one question and of many."""

    task: ClassVar[str] = "answering"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """Both sides, read once."""
        return Batch(gold, pred)

    def assess(self, gold: object, pred: object) -> Assessment[T]:
        """The evidence of one question."""
        return Assessment(summed(self.tallies(Batch([gold], [pred]))))


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
        made = normal.squad_all([*predictions, *flat]) if predictions or flat else []
    except TypeError:
        all_texts(predictions, "prediction", "no answer is an empty text")
        all_texts(flat, "acceptable answer", "answers are texts")
        raise
    rest = iter(made[len(predictions) :])
    exact, f1 = [], []
    for mine, several in zip(made, golds, strict=False):
        texts = asked([next(rest) for _ in several])
        hit = mine in texts
        exact.append(float(hit))
        f1.append(1.0 if hit else max(overlap(mine, text) for text in texts))
    return exact, f1
