"""BLEU and chrF of the corpus, as sacrebleu computes them by default; their values lie between 0 and 1.

BLEU: the geometric mean of the precision of word n-grams (n from 1 to 4, each counted at most as often as in the gold
answer that has it most often), times exp(1 − r / h) where the answers are shorter (h words) than the nearest gold (r).
An order without a match counts half of one, the next a quarter (``exp``). chrF: precision and recall of character
n-grams (n from 1 to 6, without white space), each averaged over n, and their F2.

Papineni et al., ACL 2002; Popović, WMT 2015; Post, WMT 2018 (sacrebleu 2.6, tokenizer 13a).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goldassay.measures.answering.matching import Answering, Batch
from goldassay.measures.calibration import plain
from goldassay.statistics.evidence import stacked
from goldassay.tally import By, Counts, Mean, Number, T, divide, positive

ORDERS, CHARACTERS = 4, 6
SPLITS = [
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
]
ENTITIES = {"<skipped>": "", "-\n": "", "\n": " ", "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}


def words(text: str) -> list[str]:
    """The words of mteval's tokenizer 13a.

    >>> words("It opened in 1,800.5 (twice).")
    ['It', 'opened', 'in', '1,800.5', '(', 'twice', ')', '.']
    """
    for entity, character in ENTITIES.items():
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, parts in SPLITS:
        text = pattern.sub(parts, text)
    return text.split()


def _grams(items: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(items[at : at + n]) for at in range(len(items) - n + 1))


class NGrams(By[str, Mean]):
    """Matches over n-grams for each n, and the answers' words over the gold's (``length``); ``value`` is BLEU."""

    inner: ClassVar[Mean] = Mean()

    @property
    def value(self) -> Number:
        """BLEU."""
        orders = [self.get(str(n), Mean()) for n in range(1, ORDERS + 1)]
        zeros: Number = 0.0
        logs: Number = 0.0
        for order in orders:
            none = 1.0 - positive(order.total)
            zeros = zeros + none
            share = divide(order.total + none / 2.0**zeros, order.weight, empty=1.0)
            logs = logs + np.log(share) - 1e9 * (1.0 - positive(order.weight))
        length = self.get("length", Mean())
        brevity = np.exp(np.minimum(0.0, 1.0 - divide(length.weight, length.total, empty=1e9)))
        none = 1.0 - positive(self.weight)
        return plain(brevity * np.exp(logs / ORDERS) * positive(sum(order.total for order in orders)) + none)


class CharacterGrams(By[str, Counts]):
    """The counts of character n-grams for each n; ``value`` is chrF."""

    @property
    def value(self) -> Number:
        """F2 of the mean precision and the mean recall over the orders that both sides have."""
        both = [positive(c.tp + c.fp) * positive(c.tp + c.fn) for c in self.values()]
        pairs = list(zip(self.values(), both, strict=True))
        p, r = (divide(sum(getattr(c, rate) * w for c, w in pairs), sum(both)) for rate in ("precision", "recall"))
        return plain(divide(5.0 * p * r, 4.0 * p + r) + (1.0 - positive(self.weight)))


class Translation(Answering[T]):
    """What BLEU and chrF share: each answer is counted beside all its golds."""

    gold_fields = ("answers", "reference")
    pred_fields = ("answer",)

    def tallies(self, batch: Batch) -> T:
        """The n-grams of each answer; those of a program that failed are none."""
        rows = zip(batch.answers, batch.failed, batch.texts, strict=True)
        tallies: T = stacked([self._counted("" if lost else text, golds) for text, lost, golds in rows], self.zero)
        return tallies

    def _counted(self, text: str, golds: Sequence[str]) -> T:
        raise NotImplementedError


@dataclass(frozen=True)
class BLEU(Translation[NGrams]):
    """BLEU of the corpus; an unanswerable question is left out, a program that failed gave no word.

    >>> round(BLEU()({"answers": ["the museum opened in 1800"]}, {"answer": "the museum opened in May"}).tally.value, 4)
    0.6687
    """

    name = "bleu"
    attains_one = False  # answers of fewer than four words have no n-gram of each order
    zero = NGrams()
    fixed = {
        "tokens": "13a",
        "case": "mixed",
        "smoothing": "exp",
        "golds": "all",
        "unanswerable": "skip",
        "failed": "0",
    }
    formula = "exp(min(0, 1 − r / h)) (p1 p2 p3 p4)^¼ over the corpus"
    source = "Papineni et al., ACL 2002; sacrebleu 2.6"

    def _counted(self, text: str, golds: Sequence[str]) -> NGrams:
        if not golds:
            return NGrams()
        mine, theirs = words(text), [words(gold) for gold in golds]
        nearest = min((abs(len(gold) - len(mine)), len(gold)) for gold in theirs)[1]
        counts = {"length": Mean(float(len(mine)), float(nearest))}
        for n in range(1, ORDERS + 1):
            grams, most = _grams(mine, n), Counter[tuple[str, ...]]()
            for gold in theirs:
                most |= _grams(gold, n)
            counts[str(n)] = Mean(float((grams & most).total()), float(grams.total()))
        return NGrams(counts)


@dataclass(frozen=True)
class ChrF(Translation[CharacterGrams]):
    """chrF of the corpus, for each question the gold answer with the highest chrF.

    >>> round(ChrF()({"answers": ["Rijksmuseum"]}, {"answer": "Rijksmusea"}).tally.value, 4)
    0.7733
    """

    name = "chrf"
    zero = CharacterGrams()
    fixed = {
        "characters": "1 to 6",
        "words": "none",
        "beta": "2",
        "golds": "best",
        "unanswerable": "skip",
        "failed": "0",
    }
    formula = "F2 of the mean precision and the mean recall of character n-grams over the corpus"
    source = "Popović, WMT 2015; sacrebleu 2.6"

    def _counted(self, text: str, golds: Sequence[str]) -> CharacterGrams:
        tallies = []
        for gold in golds:
            mine, theirs = ("".join(side.split()) for side in (text, gold))
            tally = CharacterGrams()
            for n in range(1, CHARACTERS + 1):
                left, right = _grams(mine, n), _grams(theirs, n)
                hits, predicted = float((left & right).total()), float(left.total()) if right else 0.0
                tally[str(n)] = Counts(hits, predicted - hits, float(right.total()) - hits)
            tallies.append(tally)
        return max(tallies, key=lambda tally: float(tally.value), default=CharacterGrams())
