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
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import fsum
from typing import ClassVar

import numpy as np
import scipy

from goldassay.core.evidence import Floats
from goldassay.core.fields import read
from goldassay.core.measure import NO_EVIDENCE, Conventions, Names, Review
from goldassay.core.tally import Confusion, Counts, Number, Share, Sums, divide, harmonic
from goldassay.measures import Examples
from goldassay.measures.calibration import scalar
from goldassay.measures.protocols import Protocol
from goldassay.measures.triples import mistakes
from goldassay.measures.triples.measures import Matchings, TripleMeasure
from goldassay.measures.triples.objects import written
from goldassay.measures.triples.records import MatchedTriples, Triple, as_written, statements
from goldassay.results.result import fold

PARTS = ("subject", "predicate", "object")
COUNTED = {
    "relations": "statements",
    "ign": "statements; facts of the training set (train=FILE, in_train) left out of precision",
    "evidence": "evidence sentences of right statements",
}
"""The statements that each of DocRED's values counts."""


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
        precision = divide(new, new + self.fp)
        recall = divide(self.tp, self.tp + self.fn)
        return harmonic(precision, recall) + (self.weight == 0)


@dataclass(frozen=True)
class DocRED(TripleMeasure[Counts | Unseen, Matchings]):
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

    in_key: ClassVar[Names] = ("of",)
    choices = {"of": tuple(COUNTED)}

    of: str = "relations"

    @property
    def fixed(self) -> Conventions:
        """The things that are counted, and how."""
        shared = {"repeated": "once", "match": "ids, else words", "average": "micro", "empty": NO_EVIDENCE}
        return {"counted": COUNTED[self.of], **shared}

    @property
    def key(self) -> str:
        """``docred_f1``, ``docred_ign_f1``, ``docred_evidence_f1``."""
        return f"docred_{self.of}_f1".replace("relations_", "")

    @property
    def zero(self) -> Counts | Unseen:
        """No evidence."""
        return Unseen() if self.of == "ign" else Counts()

    def batch(self, gold: Examples, pred: Examples) -> Matchings:
        """Every example, its statements matched by ids or words, which `tally` gets."""
        batch = []
        for pair in zip(gold, pred, strict=True):
            matching = statements(*pair)
            matching.pred = list({_key(statement): statement for statement in matching.pred[::-1]}.values())
            places = {_key(statement): index for index, statement in enumerate(matching.gold)}
            keys = enumerate(map(_key, matching.pred))
            matching.pairs = {index: places[key] for index, key in keys if key in places}
            batch.append(matching)
        return batch

    def tally(self, matching: MatchedTriples) -> Counts | Unseen:
        """The counts of one example."""
        tp = len(matching.pairs)
        predicted = len(matching.pred)
        expected = len({*map(_key, matching.gold)})
        if self.of == "ign":
            seen = sum(bool(statement.triple.get("in_train")) for statement in matching.covered)
            return Unseen(tp, predicted - tp, expected - tp, seen)
        if self.of == "evidence":
            gold = [statement.triple.get("evidence") or () for statement in matching.gold]
            pred = [{*(statement.triple.get("evidence") or ())} for statement in matching.pred]
            tp = sum(len(pred[j].intersection(gold[i])) for j, i in matching.pairs.items())
            predicted = sum(map(len, pred))
            expected = sum(map(len, gold))
        return Counts(tp, predicted - tp, expected - tp)

    def reviews(self, batch: Matchings) -> list[Review]:
        """Missed and spurious statements."""
        return list(map(mistakes.errors, batch))


def _key(statement: Triple) -> tuple[object, ...]:
    ids = (statement.triple.get(f"{field}_id") for field in PARTS)
    return tuple(word if id_ in (None, "") else str(id_) for id_, word in zip(ids, statement.key, strict=True))


GOLD_STATEMENTS = ("", "gold")
UNKNOWN_STATEMENTS = ("", "unknown")  # predicted statements of sentences without gold
Statement = list[list[str]]
Steps = dict[tuple[str, str], Floats]
"""By confidence and sum the numbers that are added, an array with a number an example."""


@dataclass(eq=False, repr=False)
class Thresholds(Confusion):
    """The amounts that each confidence adds to precision, recall and the number of statements, against those of gold.

    ``value`` is the area under the curve of precision by recall (``auc``), else the rate where F1 is best.

    >>> both = {("0.9", "precision"): 1, ("0.9", "recall"): 1, ("0.9", "predicted"): 1, ("0.5", "predicted"): 1}
    >>> Thresholds({**both, GOLD_STATEMENTS: 2}, "f1").value, Thresholds({**both, GOLD_STATEMENTS: 2}, "auc").value
    (0.6666666666666666, 0.5)
    """

    rate: str = "f1"

    def repaired(self, share: Share, lower: bool = False) -> Thresholds:
        """Nothing: the errors of other measures are not errors of words."""
        return Thresholds({}, self.rate)

    @property
    def weight(self) -> Number:
        """How many gold statements there are."""
        return self.get(GOLD_STATEMENTS, 0.0)

    @property
    def value(self) -> Number:
        """The rate; 0 without predictions, 1 without gold; precision is 1 if no prediction is of a gold sentence."""
        # Each confidence holds what it adds, so the cumulative sums, the highest first, are those at each threshold: a
        # row a threshold (the first is above all confidences, where nothing is predicted), and of many examples or
        # resamples a column each. The curve of precision by recall has a point a row. As in the script, the area is
        # under straight lines between the points, and of several thresholds with the best F1 the lowest counts, which
        # is the first in the reversed rows.
        gold = np.asarray(self.weight, float)
        none = np.zeros_like(gold)
        confidences = sorted({key for key, _ in self if key}, key=float, reverse=True)

        def at_thresholds(name: str) -> Floats:
            steps = [none + self.get((key, name), 0.0) for key in confidences]
            return np.asarray(np.cumsum([none, *steps], axis=0))

        predicted = at_thresholds("predicted")
        precision = divide(at_thresholds("precision"), predicted, empty=1.0)
        recall = divide(at_thresholds("recall"), gold + 0 * predicted)
        if self.rate == "auc":
            value = scipy.integrate.trapezoid(precision, recall, axis=0)
        else:
            f1 = harmonic(precision, recall)
            best = len(f1) - 1 - np.argmax(f1[::-1], axis=0)
            chosen = {"precision": precision, "recall": recall, "f1": f1}[self.rate]
            value = np.take_along_axis(chosen, best[None], axis=0)[0]
            value = value * (predicted[-1] + self.get(UNKNOWN_STATEMENTS, 0.0) > 0)
        return scalar(np.where(gold > 0, value, 1.0))


@dataclass(frozen=True)
class CaRB(TripleMeasure[Thresholds, Steps]):
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
    fixed: ClassVar[Conventions] = {
        "match": "words of each part",
        "precision": "one to one, best first",
        "recall": "best of each",
        "no gold": "left out, precision 1 if nothing else is predicted",
        "empty": NO_EVIDENCE,
    }
    in_key: ClassVar[Names] = ("rate",)
    attains_one: ClassVar[bool] = False  # gold's external ids and addresses are not statements to extract
    choices = {"rate": ("precision", "recall", "f1", "auc")}

    rate: str = "f1"

    @property
    def zero(self) -> Thresholds:
        """No evidence."""
        return Thresholds({}, self.rate)

    def batch(self, gold: Examples, pred: Examples) -> Steps:
        """The numbers that each confidence adds: arrays of shape (examples,)."""
        columns: Steps = defaultdict(lambda: np.zeros(len(gold)))
        for index, pair in enumerate(zip(gold, pred, strict=True)):
            expected, predicted = as_written(*pair)
            if not expected:
                if predicted:
                    columns[UNKNOWN_STATEMENTS][index] = len(predicted)
                continue
            columns[GOLD_STATEMENTS][index] = len(expected)
            statements = [*map(_statement, predicted)]
            rates = [[_rates(triple, other) for other in statements] for triple in map(_statement, expected)]
            pairs = np.array(rates, float)
            stated = (read(triple, "confidence", None) for triple in predicted)
            confidences = np.array([1.0 if confidence is None else confidence for confidence in stated], float)
            before = (0.0, 0.0, 0.0)
            for confidence in sorted({*confidences.tolist()}, reverse=True):
                precision, recall = np.moveaxis(pairs[:, confidences >= confidence], -1, 0).copy()
                taken = list[float]()  # one to one, the best first (of equals, the first)
                for _ in range(min(precision.shape)):
                    row, column = np.unravel_index(np.argmax(precision), precision.shape)
                    taken.append(precision[row, column])
                    precision[row] = -1.0
                    precision[:, column] = -1.0
                sums = (fsum(taken), fsum(recall.max(axis=1)), float(recall.shape[1]))
                for name, now, then in zip(("precision", "recall", "predicted"), sums, before, strict=True):
                    columns[repr(confidence), name][index] = now - then
                before = sums
        return columns

    def tallies(self, batch: Steps) -> Thresholds:
        """The evidence of each example."""
        return Thresholds(batch, self.rate)


def _statement(triple: object) -> Statement:
    """The words of the predicate, of the first argument and of the others; of those that are there."""
    arguments = read(triple, "meta.arguments", None)
    parts = [written(argument).split() for argument in arguments or [read(triple, "subject"), read(triple, "object")]]
    while not arguments and parts and not parts[-1]:
        parts.pop()
    further = [[*chain(*parts[1:])]] if parts[1:] else []
    return [written(read(triple, "predicate")).split(), *parts[:1], *further]


def _rates(gold: Statement, pred: Statement) -> tuple[float, float]:
    """Precision and recall over words; where gold says that somebody says, the arguments may be swapped."""
    orders = [pred]
    if len(pred) > 2 and any(verb in " ".join(gold[0]) for verb in ("said", "told", "added", "adds", "says")):
        orders.append([pred[0], pred[2], pred[1]])
    best = (0.0, 0.0)
    forms = {"be", "is", "am", "are", "was", "were", "been", "being"}  # "be" stands for its forms
    for order in orders:
        common = [(Counter(words) & Counter(predicted)).total() for words, predicted in zip(gold, order, strict=False)]
        common[0] += pred[0].count("be") > gold[0].count("be") and not forms.isdisjoint(gold[0])
        if common[0] and len(order) >= len(gold):
            hits = sum(common)
            best = max(best, (hits / sum(map(len, order[: len(gold)])), hits / sum(map(len, gold))))
    return best


MEASURES = (
    *(DocRED(of) for of in ("relations", "ign", "evidence")),
    *(CaRB(rate) for rate in ("precision", "recall", "f1", "auc")),
)
# The values of both under the names of their evaluation scripts.
_DOCRED = {"RE_F1": DocRED(), "Evi_F1": DocRED("evidence"), "RE_ignore_annotated_F1": DocRED("ign")}
_CARB = {"AUC": CaRB("auc"), "Precision": CaRB("precision"), "Recall": CaRB("recall"), "F1": CaRB("f1")}
DOCRED = Protocol("docred", ("triples",), partial(fold, "triples", _DOCRED), format="docred")
CARB = Protocol("carb", ("triples",), partial(fold, "triples", _CARB), format="carb")
