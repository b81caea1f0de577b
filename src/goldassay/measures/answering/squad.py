"""SQuAD's exact match and F1: the best over the acceptable answers, mean over questions.

EM is 1 when the normalised texts are equal. F1 is 2·P·R / (P + R) over the multiset of normalised words; where either
side is empty after normalisation, F1 is 1 when both are and 0 otherwise (SQuAD 2.0's rule; 1.1 never has such gold). A
question without answers is right when the answer is empty. A program that failed did not abstain: it counts 0.

Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018. https://rajpurkar.github.io/SQuAD-explorer/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure, failed
from goldassay.measures.answering.records import all_texts, answer, answers, wrong
from goldassay.tally import Mean
from goldassay.text import normal

SOURCE = "Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018"


def overlap(one: str, other: str) -> float:
    """F1 over the words of two normalised texts.

    >>> overlap("opened in 1800", "1800")       # P 1/3, R 1
    0.5
    """
    if one == other:
        return 1.0
    left, right = one.split(), other.split()
    first, second = set(left), set(right)
    if len(first) == len(left) and len(second) == len(right):
        common = len(first & second)
    else:
        common = (Counter(left) & Counter(right)).total()
    if not common:
        return 0.0
    precision, recall = common / len(left), common / len(right)
    return 2 * precision * recall / (precision + recall)


def asked(golds: Sequence[str]) -> list[str]:
    """The normalised golds that hold a word; where none does, nothing is the answer (SQuAD 2.0's rule)."""
    return [gold for gold in golds if gold] or [""]


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


@dataclass(frozen=True)
class _Answered(Measure[Mean]):
    """The best of the acceptable answers; 0 for a program that failed."""

    task: ClassVar[str] = "answering"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("answers",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    source: ClassVar[str] = SOURCE

    def normalised(self, text: str) -> str:
        """The text as it is compared."""
        return normal.squad(text)

    def agreement(self, one: str, other: str) -> float:
        """How well two normalised texts agree."""
        return float(one == other)

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        expected, found = answers(gold), answer(pred, gold)
        mine = self.normalised(found)
        texts = asked([self.normalised(text) for text in expected])
        value = 0.0 if failed(pred) else max(self.agreement(mine, text) for text in texts)
        errors = wrong(gold, pred, expected, found) if value < 1 else ()
        right = (f"the answer “{found}”" if expected else "no answer where there is none",) if value == 1 else ()
        return Assessment(Mean.of(value), errors, right)


@dataclass(frozen=True)
class ExactMatch(_Answered):
    """The share of questions whose answer equals an acceptable one after SQuAD's normalisation.

    >>> ExactMatch()({"answers": ["Rijksmuseum"]}, {"answer": "the Rijksmuseum."}).tally.value
    1.0
    """

    name: ClassVar[str] = "exact_match"
    fixed: ClassVar[dict[str, str]] = {
        "normalisation": "SQuAD (ASCII)",
        "golds": "best",
        "unanswerable": "empty is right",
    }
    formula: ClassVar[str] = "1 where the normalised answer equals a normalised acceptable answer; mean over questions"


@dataclass(frozen=True)
class F1(_Answered):
    """The F1 of words with the nearest acceptable answer, after SQuAD's normalisation.

    >>> F1()({"answers": ["in 1800"]}, {"answer": "1800"}).tally.value      # P 1, R 1/2
    0.6666666666666666
    """

    name: ClassVar[str] = "f1"
    fixed: ClassVar[dict[str, str]] = {
        "normalisation": "SQuAD (ASCII)",
        "golds": "best",
        "unanswerable": "empty is right",
    }
    formula: ClassVar[str] = (
        "2PR/(P+R) over the multiset of normalised words, best acceptable answer; mean over questions"
    )

    def agreement(self, one: str, other: str) -> float:
        """F1 over the words."""
        return overlap(one, other)


@dataclass(frozen=True)
class UnicodeExactMatch(_Answered):
    """Exact match for texts of any script; ``articles`` are the words that do not count.

    >>> UnicodeExactMatch()({"answers": ["«Эрмитаж»"]}, {"answer": "эрмитаж"}).tally.value
    1.0
    """

    name: ClassVar[str] = "unicode_exact_match"
    fixed: ClassVar[dict[str, str]] = {"normalisation": "NFKC, casefold, Unicode punctuation", "golds": "best"}
    formula: ClassVar[str] = ExactMatch.formula
    source: ClassVar[str] = f"after {SOURCE}, widened to Unicode by goldassay"

    articles: tuple[str, ...] = normal.ARTICLES

    def normalised(self, text: str) -> str:
        """The text by the rules for any script."""
        return normal.unicode(text, self.articles)


@dataclass(frozen=True)
class UnicodeF1(UnicodeExactMatch):
    """The F1 of words for texts of any script; ``articles`` are the words that do not count.

    >>> UnicodeF1(articles=("het",))({"answers": ["het Rijks"]}, {"answer": "Rijks …"}).tally.value
    1.0
    """

    name: ClassVar[str] = "unicode_f1"
    formula: ClassVar[str] = F1.formula

    def agreement(self, one: str, other: str) -> float:
        """F1 over the words."""
        return overlap(one, other)
