"""Calibration of answers: is a program as right as it is confident, and what if it abstained where it is unsure?

Over the questions answered with a confidence, where correct is an exact match. Brier and ECE are defined in
`goldassay.measures.calibration`. AURC is the mean, over all numbers k of answers kept, of the error rate among the k
most confident ones: 0 is best, and a confidence without information has the error rate itself. Answers with equal
confidence are kept in every order at once: each counts the expected error of its group.

SQuAD 2.0's best thresholds, over all questions: each has a probability of no answer, and the score under a threshold t
is the mean over questions where an answer counts if its probability is at most t, and an empty answer otherwise.
``best_exact`` and ``best_f1`` are the highest of these means, ``best_exact_thresh`` and ``best_f1_thresh`` the lowest
thresholds that reach them (0 if answering nothing is best). Chosen on the questions that they are measured on, these
values are an upper bound and no result. Questions with equal probability stand or fall together; the official script
also counts a part of such a group, which no threshold reaches.

Geifman, Uziel and El-Yaniv, ICLR 2019; Rajpurkar, Jia and Liang, ACL 2018
(https://rajpurkar.github.io/SQuAD-explorer/, evaluation script 2.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.measures.answering.matching import Answering, Batch
from goldassay.measures.answering.records import confidence
from goldassay.measures.calibration import ByConfidence, CalibrationMeasure, Confidences, plain
from goldassay.tally import Number, divide


class Risk(ByConfidence):
    """``value`` is the area under the risk–coverage curve.

    A group of m answers after K others, W of them wrong, has the errors W + j·e at K + j for j = 1 … m, where e is its
    error rate; its share of the area is e·m + (W − e·K)(H(K + m) − H(K)), H being the harmonic numbers.

    >>> round(Risk.of([0.9, 0.1, 0.5], [(1, 1, 0), (1, 0, 0), (1, 0, 0)]).value, 4)      # (0 + 1/2 + 2/3) / 3
    0.3889
    """

    @property
    def value(self) -> Number:
        """The mean over k of the error rate of the k most confident; 1 without an answer."""
        if not self:
            return 1.0
        _, (n, right, _) = self.columns(descending=True)
        wrong = n - right
        before, lost = np.cumsum(n, axis=0) - n, np.cumsum(wrong, axis=0) - wrong
        harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, round(float((before + n).max())) + 1))))
        grown = harmonic[np.rint(before + n).astype(int)] - harmonic[np.rint(before).astype(int)]
        rate = divide(wrong, n)
        return plain(divide((rate * n + (lost - rate * before) * grown).sum(axis=0), n.sum(axis=0), empty=1.0))


class Best(ByConfidence):
    """``value`` is the highest mean score that a threshold on the probability of no answer reaches.

    >>> Best.of([0.1, 0.6, 0.9], [(1, 1, 0), (1, 0, 0), (1, 0, 1)]).value     # (1 + 0 + 1) / 3
    0.6666666666666666
    """

    @property
    def value(self) -> Number:
        """The best mean; 1 without a question."""
        return self.reached[0]

    @property
    def reached(self) -> tuple[Number, Number]:
        """The best mean, and the lowest threshold that reaches it: 0 where answering nothing is best."""
        if not self:
            return 1.0, 0.0
        levels, (n, scores, nothing) = self.columns()
        gains = np.cumsum(scores - nothing, axis=0)
        sums = np.concatenate((np.zeros_like(gains[:1]), gains)) + nothing.sum(axis=0)
        lowest = np.concatenate(([0.0], levels))[(sums >= sums.max(axis=0) - 1e-9).argmax(axis=0)]
        return plain(divide(sums.max(axis=0), n.sum(axis=0), empty=1.0)), plain(lowest)


class Threshold(Best):
    """``value`` is the lowest threshold that reaches the best mean."""

    @property
    def value(self) -> Number:
        """A probability of no answer."""
        return self.reached[1]


@dataclass(frozen=True)
class Calibration(CalibrationMeasure, Answering[Any]):
    """Calibration of the questions answered with a confidence: ``statistic`` ``brier``, ``ece`` (ten bins) or ``aurc``.

    Lower is better for all three.

    >>> pred = {"answer": "1800", "confidence": 0.75}
    >>> [Calibration(statistic=name)({"answers": ["1800"]}, pred).tally.value for name in ("brier", "ece", "aurc")]
    [0.0625, 0.25, 0.0]
    """

    gold_fields = ("answers",)
    pred_fields = ("answer", "confidence")
    choices = {"statistic": ("brier", "ece", "aurc")}

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """What is correct, and which questions count."""
        ties = {"ties": "every order"} if self.statistic == "aurc" else {}
        bins = {"bins": str(self.edges)} if self.statistic == "ece" else {}
        return {"correct": "exact_match", "over": "answered with a confidence", "failed": "left out", **bins, **ties}

    @property
    def zero(self) -> Any:  # type: ignore[override]
        """No evidence."""
        return Risk() if self.statistic == "aurc" else super().zero

    def confidences(self, batch: Batch) -> Confidences:
        """The questions that were answered with a confidence."""
        return batch.confidences

    def tallies(self, batch: Batch) -> Any:
        """The confidence of each question, and whether its answer is right."""
        if self.statistic != "aurc":
            return super().tallies(batch)
        n, row, sure, correct = batch.confidences
        evidence = np.zeros((n, 4))
        evidence[row] = np.column_stack([sure, np.ones(len(row)), correct, np.zeros(len(row))])
        return Risk.of(evidence[:, 0], evidence[:, 1:])


@dataclass(frozen=True)
class BestThreshold(Answering[Best]):
    """SQuAD 2.0's best exact match or F1 (``score``) over thresholds; ``part`` is the value or the ``threshold``.

    The probability of no answer is 1 − confidence; a prediction without a confidence is left out.

    >>> unanswerable = {"answers": []}, {"answer": "x", "confidence": 0.2}
    >>> pairs = [unanswerable, ({"answers": ["y"]}, {"answer": "y", "confidence": 0.9})]
    >>> both = [BestThreshold(), BestThreshold(part="threshold")]
    >>> [sum((best(*pair).tally for pair in pairs), best.zero).value for best in both]
    [1.0, 0.1]
    """

    gold_fields = ("answers",)
    pred_fields = ("answer", "confidence")
    fixed = {"probability": "1 − confidence", "ties": "together", "failed": "left out"}
    source = "Rajpurkar, Jia and Liang, ACL 2018 (evaluation script 2.0)"
    choices = {"score": ("exact", "f1"), "part": ("value", "threshold")}

    score: str = "exact"
    part: str = "value"

    @property
    def zero(self) -> Best:  # type: ignore[override]
        """No evidence."""
        return Threshold() if self.part == "threshold" else Best()

    @property
    def key(self) -> str:
        """``best_exact``, ``best_f1_thresh``."""
        return f"best_{self.score}{'_thresh' if self.part == 'threshold' else ''}"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the part."""
        if self.part == "threshold":
            return f"the probability of no answer up to which answers count in best_{self.score}"
        return "mean over questions at the best threshold on the probability of no answer; an upper bound"

    def tallies(self, batch: Batch) -> Best:
        """The probability of no answer of each, what its answer scores and what an empty one would."""
        scores = batch.squad[("exact", "f1").index(self.score)]
        sure = [None if pred is None else confidence(pred) for pred in batch.pred]
        weight = np.array([each is not None for each in sure], float)
        unsure = [0.0 if each is None else round(1 - each, 12) for each in sure]
        nothing = np.array([not golds for golds in batch.golds], float)
        return type(self.zero).of(unsure, np.column_stack([weight, scores * weight, nothing * weight]))
