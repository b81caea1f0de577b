"""Relations as their official scripts count them: DocRED (documents) and CaRB (open information extraction).

DocRED: F1 of relations, F1 without the facts of the training set (Ign F1), and F1 of evidence. A statement is (subject,
predicate, object) by its ids, or by its words where it has none. ``evidence`` is a list of sentence numbers on both
sides. Gold says with ``in_train`` which statements the training set has (the format ``docred`` finds them).

CaRB: statements are scored word by word, along the confidences. The further arguments of a statement are joined to the
object; without a second argument the object is empty. Words are compared as they are written. Each pair of a gold and a
predicted statement has a precision and a recall over words. At a threshold of confidence, recall is the best of each
gold statement; for precision the pairs are taken one to one, the best first. The confidence is any number; without one
it is 1.

Yao et al., DocRED, ACL 2019, and https://github.com/thunlp/DocRED (evaluation.py); Bhardwaj et al., CaRB: a
crowdsourced benchmark for open IE, EMNLP 2019, and https://github.com/dair-iitd/CaRB (carb.py)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum
from typing import Any, ClassVar

import numpy as np
import scipy

from goldassay.fields import read
from goldassay.measure import EMPTY, Review
from goldassay.measures.calibration import scalar
from goldassay.measures.triples import mistakes
from goldassay.measures.triples.measures import TripleMeasure
from goldassay.measures.triples.objects import written
from goldassay.measures.triples.records import MatchedTriples, Triple, as_written, statements
from goldassay.statistics.evidence import Floats
from goldassay.tally import Confusion, Counts, Number, Share, Sums, divide

PARTS = ("subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class Unseen(Sums):
    """Counts of statements, ``seen`` of whose true positives the training set has; ``value`` is Ign F1.

    >>> Unseen(tp=3, fp=1, fn=1, seen=2).value      # P 1/2, R 3/4
    0.6
    """

    tp: Number = 0.0
    fp: Number = 0.0
    fn: Number = 0.0
    seen: Number = 0.0

    @property
    def weight(self) -> Number:
        """How many statements there are."""
        return self.tp + self.fp + self.fn

    @property
    def value(self) -> Number:
        """Ign F1; 1 without evidence."""
        new = self.tp - self.seen
        precision, recall = divide(new, new + self.fp), divide(self.tp, self.tp + self.fn)
        return divide(2 * precision * recall, precision + recall) + (self.weight == 0)


@dataclass(frozen=True)
class DocRED(TripleMeasure[Any]):
    """F1 over the corpus of ``relations``, without the facts of the training set (``ign``), or of their ``evidence``.

    A statement that is predicted again counts once, where it is most confident, else first.

    Source: Yao et al., ACL 2019 (evaluation.py)

    Formula: 2 tp / (2 tp + fp + fn) of statements, or of evidence sentences, where those of a wrong statement
        are fp; ign: P = (tp − seen) / (tp − seen + fp), R = tp / (tp + fn), with seen the tp of the training
        set

    >>> written = {"subject": "Emma", "predicate": "author", "object": "Austen", "evidence": [0, 2], "in_train": True}
    >>> gold = {"triples": [written, {"subject": "Emma", "predicate": "year", "object": "1815", "evidence": [1]}]}
    >>> pred = {"triples": [{**written, "evidence": [2]}, {**written, "object": "Scott", "evidence": [3]}]}
    >>> [DocRED(of)(gold, pred).tally.value for of in ("relations", "ign", "evidence")]     # evidence: P 1/2, R 1/3
    [0.5, 0.0, 0.4]
    """

    fixed: ClassVar[Mapping[str, str]] = {
        "repeated": "once",
        "match": "ids, else words",
        "average": "micro",
        "empty": EMPTY,
    }
    in_key: ClassVar[tuple[str, ...]] = ("of",)
    choices = {"of": ("relations", "ign", "evidence")}

    of: str = "relations"

    @property
    def key(self) -> str:
        """``docred_f1``, ``docred_ign_f1``, ``docred_evidence_f1``."""
        return f"docred_{self.of}_f1".replace("relations_", "")

    @property
    def zero(self) -> Any:
        """No evidence."""
        return Unseen() if self.of == "ign" else Counts()

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> list[tuple[MatchedTriples]]:
        """Every example, its statements matched by ids or words: what `tally` takes."""
        return [(_matched(*pair),) for pair in zip(gold, pred, strict=True)]

    def tally(self, matching: MatchedTriples) -> Any:
        """The counts of one example."""
        tp = len(matching.pairs)
        counts = tp, len(matching.pred) - tp, len({*map(_key, matching.gold)}) - tp
        if self.of == "ign":
            return Unseen(*counts, sum(bool(matching.gold[i].triple.get("in_train")) for i in matching.pairs.values()))
        if self.of == "evidence":
            left, right = (
                [each.triple.get("evidence") or () for each in side] for side in (matching.gold, matching.pred)
            )
            tp = sum(len({*right[j]} & {*left[i]}) for j, i in matching.pairs.items())
            counts = tp, sum(len({*sentences}) for sentences in right) - tp, sum(map(len, left)) - tp
        return Counts(*counts)

    def review(self, gold: object, pred: object, batch: list[tuple[MatchedTriples]]) -> Review:
        """Missed and spurious statements."""
        return mistakes.errors(*batch[0], gold)


def _matched(gold: object, pred: object) -> MatchedTriples:
    """The statements of both sides by their ids or words, each predicted one once."""
    matching = statements(gold, pred)
    matching.pred = list({_key(statement): statement for statement in matching.pred[::-1]}.values())
    places = {_key(statement): place for place, statement in enumerate(matching.gold)}
    keys = map(_key, matching.pred)
    matching.pairs = {place: places[key] for place, key in enumerate(keys) if key in places}
    return matching


def _key(statement: Triple) -> tuple[object, ...]:
    ids = (statement.triple.get(f"{part}_id") for part in PARTS)
    return tuple(word if id_ in (None, "") else str(id_) for id_, word in zip(ids, statement.key, strict=True))


DOCRED = {
    "RE_F1": DocRED(),
    "Evi_F1": DocRED("evidence"),
    "RE_ignore_annotated_F1": DocRED("ign"),
}
"""The values under the names of the evaluation script."""

RATES = ("precision", "recall", "f1", "auc")
SUMS = ("precision", "recall", "predicted")
FORMS = {"be", "is", "am", "are", "was", "were", "been", "being"}
SAYING = ("said", "told", "added", "adds", "says")
GOLD = ("", "gold")
Statement = list[list[str]]


class Thresholds(Confusion):
    """What each confidence adds to the sums of precision and recall and to the statements, beside those of gold.

    ``value`` is the area under the curve of precision by recall (``auc``), else the rate where F1 is best.

    >>> both = {("0.9", "precision"): 1, ("0.9", "recall"): 1, ("0.9", "predicted"): 1, ("0.5", "predicted"): 1}
    >>> Thresholds({**both, GOLD: 2}, "f1").value, Thresholds({**both, GOLD: 2}, "auc").value
    (0.6666666666666666, 0.5)
    """

    settings = ("rate",)

    def __init__(self, items: Mapping[tuple[str, str], Number] = {}, rate: str = "f1") -> None:
        super().__init__(items)
        self.rate = rate

    def repaired(self, share: Share, lower: bool = False) -> Thresholds:
        """Nothing: the errors of other measures are not errors of words."""
        return Thresholds({}, self.rate)

    @property
    def weight(self) -> Number:
        """How many gold statements there are."""
        return self.get(GOLD, 0.0)

    @property
    def value(self) -> Number:
        """The rate; 0 without predictions, 1 without gold."""
        gold = np.asarray(self.weight, float)
        confidences = sorted({key for key, _ in self if key}, key=float, reverse=True)
        none = np.zeros_like(gold)
        precise, recalled, predicted = (
            np.cumsum([none, *(none + self.get((key, part), 0.0) for key in confidences)], axis=0) for part in SUMS
        )
        precision, recall = divide(precise, predicted, empty=1.0), divide(recalled, gold + 0 * predicted)
        if self.rate == "auc":
            value = scipy.integrate.trapezoid(precision, recall, axis=0)
        else:
            f1 = divide(2 * precision * recall, precision + recall)
            best = len(f1) - 1 - np.argmax(f1[::-1], axis=0)  # of equals, the lowest confidence
            chosen = {"precision": precision, "recall": recall, "f1": f1}[self.rate]
            value = np.take_along_axis(chosen, best[None], axis=0)[0] * (predicted[-1] > 0)
        return scalar(np.where(gold > 0, value, 1.0))


@dataclass(frozen=True)
class CaRB(TripleMeasure[Any]):
    """CaRB's precision, recall or F1 at the confidence where F1 is best, or the area under the curve (``auc``).

    Statements of more than two arguments have them all in their ``meta``, as ``arguments``.

    Formula: Σ precision / predicted and Σ recall / gold at each confidence; best F1, or the area under the
        curve
    Source: Bhardwaj et al., EMNLP 2019 (carb.py, binary lenient match)

    >>> gold = {"triples": [{"subject": "Jane Austen", "predicate": "wrote", "object": "Emma in 1815"}]}
    >>> pred = {"triples": [{"subject": "Austen", "predicate": "wrote", "object": "Emma", "confidence": 0.9}]}
    >>> [CaRB(rate)(gold, pred).tally.value for rate in ("precision", "recall")]       # 3/3 and 3/6 words
    [1.0, 0.5]
    """

    name = "carb_{rate}"
    fixed: ClassVar[Mapping[str, str]] = {
        "match": "words of each part",
        "precision": "one to one, best first",
        "recall": "best of each",
        "no gold": "left out",
        "empty": EMPTY,
    }
    in_key: ClassVar[tuple[str, ...]] = ("rate",)
    attains_one: ClassVar[bool] = False  # gold's external ids and addresses are no statements to extract
    choices = {"rate": RATES}

    rate: str = "f1"

    @property
    def zero(self) -> Thresholds:
        """No evidence."""
        return Thresholds({}, self.rate)

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> dict[tuple[str, str], Floats]:
        """What each confidence adds, an array with a number an example."""
        columns: dict[tuple[str, str], Floats] = defaultdict(lambda: np.zeros(len(gold)))
        for place, pair in enumerate(zip(gold, pred, strict=True)):
            for key, number in _steps(*pair).items():
                columns[key][place] = number
        return columns

    def tallies(self, batch: dict[tuple[str, str], Floats]) -> Thresholds:
        """The evidence of each example."""
        return Thresholds(batch, self.rate)


CARB = {"AUC": CaRB("auc"), **{rate.capitalize(): CaRB(rate) for rate in RATES[:-1]}}
"""What the evaluation script prints, by name."""


def _steps(gold: object, pred: object) -> dict[tuple[str, str], float]:
    """What each confidence of one example adds."""
    left, right = as_written(gold, pred)
    if not left:
        return {}
    steps: dict[tuple[str, str], float] = {GOLD: float(len(left))}
    before = (0.0, 0.0, 0.0)
    expected, predicted = ([_statement(triple) for triple in side] for side in (left, right))
    pairs = np.array([[_rates(statement, other) for other in predicted] for statement in expected], float)
    stated = (read(triple, "confidence", None) for triple in right)
    confidences = np.array([1.0 if confidence is None else confidence for confidence in stated], float)
    for confidence in sorted({*confidences.tolist()}, reverse=True):
        precision, recall = np.moveaxis(pairs[:, confidences >= confidence], -1, 0).copy()
        sums = _one_to_one(precision), fsum(recall.max(axis=1)), float(recall.shape[1])
        steps |= {(repr(confidence), part): now - then for part, now, then in zip(SUMS, sums, before, strict=True)}
        before = sums
    return steps


def _one_to_one(scores: Floats) -> float:
    """The sum of the scores that are taken one to one, the best first (of equals, the first)."""
    taken = list[float]()
    for _ in range(min(scores.shape)):
        row, column = np.unravel_index(np.argmax(scores), scores.shape)
        taken.append(scores[row, column])
        scores[row], scores[:, column] = -1.0, -1.0
    return fsum(taken)


def _statement(triple: object) -> Statement:
    """The words of the predicate, of the first argument and of the others; of those that are there."""
    arguments = read(triple, "meta.arguments", None) or [read(triple, "subject"), read(triple, "object")]
    predicate, *parts = (written(part).split() for part in (read(triple, "predicate"), *arguments))
    while parts and not parts[-1]:
        parts.pop()
    return [predicate, *parts[:1], *([[*chain(*parts[1:])]] if parts[1:] else [])]


def _rates(gold: Statement, pred: Statement) -> tuple[float, float]:
    """Precision and recall over words; where gold says that somebody says, the arguments may be swapped."""
    orders = [pred]
    if len(pred) > 2 and any(verb in " ".join(gold[0]) for verb in SAYING):
        orders.append([pred[0], pred[2], pred[1]])
    return max(_words(gold, order) for order in orders)


def _words(gold: Statement, pred: Statement) -> tuple[float, float]:
    common = [(Counter(left) & Counter(right)).total() for left, right in zip(gold, pred, strict=False)]
    # "be" stands for its forms
    common[0] += pred[0].count("be") > gold[0].count("be") and not FORMS.isdisjoint(gold[0])
    if not common[0] or len(pred) < len(gold):
        return 0.0, 0.0
    return sum(common) / sum(map(len, pred[: len(gold)])), sum(common) / sum(map(len, gold))
