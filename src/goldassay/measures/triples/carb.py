"""CaRB: open information extraction scored word by word, along the confidences.

A statement is (subject, predicate, object), its further arguments joined to the object; without a second argument the
object is empty. Words are compared as they are written. Each pair of a gold and a predicted statement has a precision
and a recall over words. At a threshold of confidence, recall is the best of each gold statement; for precision the
pairs are taken one to one, the best first. The confidence is any number; without one it is 1.

Bhardwaj et al., CaRB: a crowdsourced benchmark for open IE, EMNLP 2019, and https://github.com/dair-iitd/CaRB (carb.py)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum
from typing import Any

import numpy as np

from goldassay.fields import read
from goldassay.measure import EMPTY, Measure
from goldassay.measures.calibration import plain
from goldassay.measures.triples.objects import written
from goldassay.measures.triples.records import sides_as_written
from goldassay.statistics.evidence import Floats
from goldassay.tally import Confusion, Number, divide

RATES = ("precision", "recall", "f1", "auc")
PARTS = ("precision", "recall", "predicted")
FORMS = {"be", "is", "am", "are", "was", "were", "been", "being"}
SAYING = ("said", "told", "added", "adds", "says")
GOLD = ("", "gold")
PREPOSITIONS = """above across against along among around at before behind below beneath beside between by for from in
into near of off on to toward under upon with within"""
Statement = list[list[str]]


class Thresholds(Confusion):
    """What each confidence adds to the sums of precision and recall and to the statements, beside those of gold.

    ``value`` is the area under the curve of precision by recall (``auc``), else the rate where F1 is best.

    >>> both = {("0.9", "precision"): 1, ("0.9", "recall"): 1, ("0.9", "predicted"): 1, ("0.5", "predicted"): 1}
    >>> Thresholds({**both, GOLD: 2}, "f1").value, Thresholds({**both, GOLD: 2}, "auc").value
    (0.6666666666666666, 0.5)
    """

    def __init__(self, items: Any = {}, rate: str = "f1") -> None:
        super().__init__(items)
        self.rate = rate

    def with_items(self, items: Any) -> Thresholds:  # type: ignore[override]
        return type(self)(items, self.rate)

    def repaired(self, share: float) -> Thresholds:
        """Nothing: the errors of other measures are not errors of words."""
        return self.with_items({})

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
            np.cumsum([none, *(none + self.get((key, part), 0.0) for key in confidences)], axis=0) for part in PARTS
        )
        precision, recall = divide(precise, predicted, empty=1.0), divide(recalled, gold + 0 * predicted)
        if self.rate == "auc":
            value = (np.diff(recall, axis=0) * (precision[1:] + precision[:-1]) / 2).sum(axis=0)
        else:
            f1 = divide(2 * precision * recall, precision + recall)
            best = len(f1) - 1 - np.argmax(f1[::-1], axis=0)  # of equals, the lowest confidence
            chosen = {"precision": precision, "recall": recall, "f1": f1}[self.rate]
            value = np.take_along_axis(chosen, best[None], axis=0)[0] * (predicted[-1] > 0)
        return plain(np.where(gold > 0, value, 1.0))


@dataclass(frozen=True)
class CaRB(Measure[Any]):
    """CaRB's precision, recall or F1 at the confidence where F1 is best, or the area under the curve (``auc``).

    ``binary`` first makes statements of more than two arguments binary. These have all arguments in their ``meta``, as
    ``arguments``.

    >>> gold = {"triples": [{"subject": "Jane Austen", "predicate": "wrote", "object": "Emma in 1815"}]}
    >>> pred = {"triples": [{"subject": "Austen", "predicate": "wrote", "object": "Emma", "confidence": 0.9}]}
    >>> [CaRB(rate)(gold, pred).tally.value for rate in ("precision", "recall")]       # 3/3 and 3/6 words
    [1.0, 0.5]
    """

    name = "carb_{rate}"
    task = "triples"
    gold_fields = ("triples",)
    pred_fields = ("triples",)
    fixed = {
        "match": "words of each part",
        "precision": "one to one, best first",
        "recall": "best of each",
        "no gold": "left out",
        "empty": EMPTY,
    }
    formula = "Σ precision / predicted and Σ recall / gold at each confidence; best F1, or the area under the curve"
    source = "Bhardwaj et al., EMNLP 2019 (carb.py, binary lenient match)"
    shares = ("binary",)
    in_key = ("rate",)
    attains_one = False  # gold's external ids and addresses are no statements to extract
    choices = {"rate": RATES}

    rate: str = "f1"
    binary: bool = False

    @property
    def zero(self) -> Thresholds:  # type: ignore[override]
        """No evidence."""
        return Thresholds({}, self.rate)

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> dict[tuple[str, str], Floats]:
        """What each confidence adds, an array with a number an example."""
        columns: dict[tuple[str, str], Floats] = {}
        for place, pair in enumerate(zip(gold, pred, strict=True)):
            for key, number in _steps(*pair, self.binary).items():
                columns.setdefault(key, np.zeros(len(gold)))[place] = number
        return columns

    def tallies(self, batch: dict[tuple[str, str], Floats]) -> Thresholds:
        """The evidence of each example."""
        return self.zero.with_items(batch)


PROTOCOL, BINARY = (
    {"AUC": CaRB("auc", binary), **{rate.capitalize(): CaRB(rate, binary) for rate in RATES[:-1]}}
    for binary in (False, True)
)
"""What the evaluation script prints, by name; also with its ``--binary``."""


def _steps(gold: object, pred: object, binary: bool) -> dict[tuple[str, str], float]:
    """What each confidence of one example adds."""
    left, triples = sides_as_written(gold, pred)
    expected = _statements(left, binary)
    if not expected:
        return {}
    steps: dict[tuple[str, str], float] = {GOLD: float(len(expected))}
    before = (0.0, 0.0, 0)
    predicted = [(statement, _confidence(triple)) for triple in triples for statement in _statements([triple], binary)]
    pairs = np.array([[_rates(statement, other) for other, _ in predicted] for statement in expected], float)
    confidences = np.array([confidence for _, confidence in predicted], float)
    for confidence in sorted(set(confidences.tolist()), reverse=True):
        confident = pairs[:, confidences >= confidence]
        sums = (_one_to_one(confident[:, :, 0].copy()), fsum(confident[:, :, 1].max(axis=1)), confident.shape[1])
        for part, now, then in zip(PARTS, sums, before, strict=True):
            steps[repr(confidence), part] = now - then
        before = sums
    return steps


def _confidence(triple: Any) -> float:
    raw = read(triple, "confidence", None)
    return 1.0 if raw is None else float(raw)


def _one_to_one(scores: Floats) -> float:
    """The sum of the scores that are taken one to one, the best first (of equals, the first)."""
    taken = list[float]()
    for _ in range(min(scores.shape)):
        row, column = np.unravel_index(np.argmax(scores), scores.shape)
        taken.append(scores[row, column])
        scores[row], scores[:, column] = -1.0, -1.0
    return fsum(taken)


def _statements(triples: Iterable[Any], binary: bool) -> list[Statement]:
    """The words of the predicate, of the first argument and of the others; of those that are there.

    ``binary`` statements have two arguments: predicate and second argument, with a preposition before the last one, are
    the new predicate. Of a longer statement the script keeps the last such pair, as often as there are pairs.
    """
    statements = list[Statement]()
    for triple in triples:
        raw = read(triple, "meta.arguments", None) or [read(triple, "subject"), read(triple, "object")]
        predicate, *parts = (written(part).split() for part in (read(triple, "predicate"), *raw))
        while parts and not parts[-1]:
            parts.pop()
        times = max(len(parts) - 1, 1) if binary else 1
        if binary and len(parts) > 2:
            last = parts[-1]
            moved = last[0].lower() in PREPOSITIONS.split()
            predicate, parts = [*predicate, *parts[1], *last[:moved]], [parts[0], last[moved:]]
        others = [list(chain(*parts[1:]))] if parts[1:] else []
        statements += [[predicate, *parts[:1], *others]] * times
    return statements


def _rates(gold: Statement, pred: Statement) -> tuple[float, float]:
    """Precision and recall over words; where gold says that somebody says, the arguments may be swapped."""
    straight = _words(gold, pred)
    if len(pred) < 3 or not any(verb in " ".join(gold[0]) for verb in SAYING):
        return straight
    return max(straight, _words(gold, [pred[0], pred[2], pred[1]]))


def _words(gold: Statement, pred: Statement) -> tuple[float, float]:
    common = (Counter(gold[0]) & Counter(pred[0])).total()
    rest = Counter(pred[0]) - Counter(gold[0])
    common += rest["be"] > 0 and not FORMS.isdisjoint(gold[0])  # "be" stands for its forms
    if not common or len(pred) < len(gold):
        return 0.0, 0.0
    pairs = list(zip(gold, pred, strict=False))
    common += sum((Counter(left) & Counter(right)).total() for left, right in pairs[1:])
    return common / sum(len(other) for _, other in pairs), common / sum(map(len, gold))
