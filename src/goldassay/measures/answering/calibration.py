"""Calibration: is a program as right as it is sure, and what would it reach if it said nothing where it is unsure?

Over the questions that were answered with a confidence, where correct is an exact match: Brier = mean (confidence −
correct)². ECE = Σ_b (n_b / n) |accuracy_b − mean confidence_b| over equal bins of [0, 1]. AURC = the mean, over all
numbers k of answers kept, of the error rate among the k most confident ones: 0 is best, and a confidence that says
nothing has the error rate itself. Answers of one confidence are kept in every order at once: each counts the expected
error of its group.

SQuAD 2.0's best thresholds, over all questions: with a probability of no answer for each, the score under a threshold t
is the mean over questions where an answer counts if its probability is t or less, and an empty one stands in its place
otherwise. ``best_exact`` and ``best_f1`` are the highest of these means, ``best_exact_thresh`` and ``best_f1_thresh``
the thresholds that reach them (the lowest; 0 where answering nothing is best). Chosen on the questions that they are
measured on, these values are an upper bound and no result. Questions of one probability stand or fall together: the
official script counts a part of them too, which no threshold reaches.

Brier 1950; Naeini et al., AAAI 2015; Geifman, Uziel and El-Yaniv, ICLR 2019; Rajpurkar, Jia and Liang, ACL 2018
(https://rajpurkar.github.io/SQuAD-explorer/, evaluation script 2.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measures.answering.matching import Batch, Batched, empty
from goldassay.measures.answering.records import confidence
from goldassay.measures.answering.tally import Best, Deciles, Risk, Threshold
from goldassay.statistics.evidence import Floats, summed
from goldassay.tally import Mean, T
from goldassay.tally.sums import brier_evidence


def _checked(confidence: Sequence[float], correct: Sequence[float]) -> tuple[Floats, Floats]:
    sure, right = np.asarray(confidence, float), np.asarray(correct, float)
    if sure.shape != right.shape or sure.ndim != 1 or not len(sure):
        raise GoldassayError(
            f"{len(sure)} confidences against {len(right)} outcomes; calibration needs as many, one at least"
        )
    for name, values in (("confidence", sure), ("outcome", right)):
        bad = ~((values >= 0) & (values <= 1))
        if bad.any():
            raise GoldassayError(
                f"a {name} lies between 0 and 1, not {values[bad.argmax()]:g} (item {int(bad.argmax())})"
            )
    return sure, right


class _Calibrated(Batched[T]):
    """Over the questions that were answered with a confidence; lower is better."""

    gold_fields: ClassVar[tuple[str, ...]] = ("answers",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "confidence")
    fixed: ClassVar[Mapping[str, str]] = {"correct": "exact_match", "over": "answered with a confidence"}
    lower_is_better: ClassVar[bool] = True


def _spoken(rows: Batch) -> tuple[Floats, Floats, Floats]:
    """Of each question the confidence, right or wrong, and 1 where it was answered with a confidence, else three 0."""
    given = [
        None if lost or empty(text) else confidence(pred)
        for pred, text, lost in zip(rows.pred, rows.found, rows.broken, strict=True)
    ]
    weight = np.array([one is not None for one in given], float)
    return np.array([one or 0.0 for one in given]), rows.exact * weight, weight


@dataclass(frozen=True)
class Brier(_Calibrated[Mean]):
    """The mean squared distance of confidence and outcome; 0 is best.

    >>> Brier()({"answers": ["1800"]}, {"answer": "1900", "confidence": 0.5}).tally.value
    0.25
    """

    name: ClassVar[str] = "brier"
    zero: ClassVar[Mean] = Mean()
    formula: ClassVar[str] = "mean (confidence − correct)²; lower is better"
    source: ClassVar[str] = "Brier, Monthly Weather Review 1950"

    def tallies(self, batch: Batch) -> Mean:
        """The squared distance of each."""
        return brier_evidence(*_spoken(batch))


@dataclass(frozen=True)
class ECE(_Calibrated[Deciles]):
    """The expected calibration error over ten equal bins; 0 is best.

    >>> ECE()({"answers": ["1800"]}, {"answer": "1800", "confidence": 0.75}).tally.value
    0.25
    """

    name: ClassVar[str] = "ece"
    zero: ClassVar[Deciles] = Deciles()
    formula: ClassVar[str] = "Σ_b (n_b/n) |accuracy_b − confidence_b| over 10 equal bins; lower is better"
    source: ClassVar[str] = "Naeini et al., AAAI 2015"

    def tallies(self, batch: Batch) -> Deciles:
        """The bin of each."""
        return Deciles.binned(*_spoken(batch))


@dataclass(frozen=True)
class AURC(_Calibrated[Risk]):
    """The area under the risk–coverage curve; 0 is best."""

    name: ClassVar[str] = "aurc"
    zero: ClassVar[Risk] = Risk()
    fixed: ClassVar[Mapping[str, str]] = {**_Calibrated.fixed, "ties": "every order"}
    formula: ClassVar[str] = (
        "area under risk–coverage: mean over k of the error rate of the k most confident; lower is better"
    )
    source: ClassVar[str] = "Geifman et al., ICLR 2019"

    def tallies(self, batch: Batch) -> Risk:
        """The confidence of each, and whether it is right."""
        sure, right, weight = _spoken(batch)
        return Risk.of(sure, np.column_stack([weight, right, np.zeros_like(weight)]))


@dataclass(frozen=True)
class BestThreshold(Batched[Best]):
    """SQuAD 2.0's best exact match or F1 (``score``) over thresholds; ``part`` is the value or the ``threshold``.

    The probability of no answer is 1 − confidence; a prediction without a confidence is left out.
    """

    name: ClassVar[str] = "best"
    gold_fields: ClassVar[tuple[str, ...]] = ("answers",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "confidence")
    fixed: ClassVar[Mapping[str, str]] = {"probability": "1 − confidence", "ties": "together"}
    source: ClassVar[str] = "Rajpurkar, Jia and Liang, ACL 2018 (evaluation script 2.0)"

    score: str = "exact"
    part: str = "value"

    def __post_init__(self) -> None:
        if self.score not in ("exact", "f1") or self.part not in ("value", "threshold"):
            raise GoldassayError("BestThreshold: score is exact or f1, part is value or threshold")

    @property
    def zero(self) -> Best:  # type: ignore[override]
        """No evidence of its part."""
        return Threshold() if self.part == "threshold" else Best()

    @property
    def key(self) -> str:
        """``best_exact``, ``best_f1_thresh``."""
        return f"best_{self.score}{'_thresh' if self.part == 'threshold' else ''}"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Of its part."""
        if self.part == "threshold":
            return f"the probability of no answer up to which answers count in best_{self.score}"
        return "mean over questions at the best threshold on the probability of no answer; an upper bound"

    def tallies(self, batch: Batch) -> Best:
        """The probability of no answer of each, what its answer scores and what an empty one would."""
        scores = batch.exact if self.score == "exact" else batch.f1
        sure = [None if pred is None else confidence(pred) for pred in batch.pred]
        weight = np.array([one is not None for one in sure], float)
        unsure = [round(1 - one, 12) if one is not None else 0.0 for one in sure]
        nothing = np.array([not one for one in batch.expected], float)
        return type(self.zero).of(unsure, np.column_stack([weight, scores * weight, nothing * weight]))


def brier(confidence: Sequence[float], correct: Sequence[float]) -> float:
    """The mean squared distance of confidence and outcome.

    >>> brier([1.0, 0.5], [0, 1])      # (1 + 0.25) / 2
    0.625
    """
    found = brier_evidence(*_checked(confidence, correct))
    return float(np.mean(found.total))


def ece(confidence: Sequence[float], correct: Sequence[float], bins: int = 10) -> float:
    """The expected calibration error over equal bins (the last one closed).

    >>> round(ece([0.95, 0.91, 0.1], [1, 0, 0]), 4)     # 2/3·|0.5 − 0.93| + 1/3·|0 − 0.1|
    0.32
    """
    sure, right = _checked(confidence, correct)
    if bins < 1:
        raise GoldassayError(f"calibration needs at least one bin, not {bins}")
    return float(summed(Deciles.binned(sure, right, np.ones(len(sure)), bins)).value)


def aurc(confidence: Sequence[float], correct: Sequence[float]) -> float:
    """The area under the risk–coverage curve: the mean of its risks.

    >>> round(aurc([0.9, 0.1, 0.5], [1, 0, 0]), 4), aurc([1.0, 1.0], [1, 0])      # (0 + 1/2 + 2/3) / 3
    (0.3889, 0.5)
    """
    sure, right = _checked(confidence, correct)
    return float(Risk.of(sure, np.column_stack([np.ones(len(sure)), right, np.zeros(len(sure))])).value)


def risk_coverage(confidence: Sequence[float], correct: Sequence[float]) -> tuple[Floats, Floats]:
    """Coverage (k / n) and risk (error rate among the k most confident) for k from 1 to n.

    >>> [found.round(3).tolist() for found in risk_coverage([0.9, 0.1, 0.5], [1, 0, 0])]
    [[0.333, 0.667, 1.0], [0.0, 0.5, 0.667]]
    """
    sure, right = _checked(confidence, correct)
    _, group, sizes = np.unique(-sure, return_inverse=True, return_counts=True)
    expected = np.bincount(group, 1 - right) / sizes
    wrong = np.repeat(expected, sizes).cumsum()
    kept = np.arange(1, len(sure) + 1)
    return kept / len(sure), wrong / kept


def best_threshold(
    scores: Sequence[float], no_answer: Sequence[float], answerable: Sequence[bool]
) -> tuple[float, float]:
    """The highest mean of the scores, and the threshold on the probability of no answer that reaches it.

    ``scores`` are those of the answers as given; a question with its answer taken away has 1 where it is unanswerable.

    >>> best_threshold([1.0, 0.0, 0.0], [0.1, 0.6, 0.9], [True, True, False])     # (1 + 0 + 1) / 3
    (0.6666666666666666, 0.1)
    >>> best_threshold([0.0, 0.0], [0.1, 0.2], [False, True])     # nothing is better than any answer
    (0.5, 0.0)
    """
    if not len(scores) == len(no_answer) == len(answerable) or not len(scores):
        raise GoldassayError(
            f"{len(scores)} scores, {len(no_answer)} probabilities and {len(answerable)} questions; "
            "a threshold needs as many of each, one at least"
        )
    unsure = np.asarray(no_answer, float)
    if not ((unsure >= 0) & (unsure <= 1)).all():
        raise GoldassayError("a probability of no answer lies between 0 and 1")
    nothing = (~np.asarray(answerable, bool)).astype(float)
    evidence = np.column_stack([np.ones(len(unsure)), np.asarray(scores, float), nothing])
    return float(Best.of(unsure, evidence).value), float(Threshold.of(unsure, evidence).value)
