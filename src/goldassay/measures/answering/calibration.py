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
from typing import Any, ClassVar, Self

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measures.answering.batch import Batch, Batched
from goldassay.measures.answering.matching import empty
from goldassay.measures.answering.records import confidence
from goldassay.statistics.evidence import summed
from goldassay.tally import Bins, Mean, T, divide
from goldassay.tally.sums import Number, State, brier_evidence

Array = Any  # numpy arrays


def _checked(confidence: Sequence[float], correct: Sequence[float]) -> tuple[Array, Array]:
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


COLUMNS = 200
NAMES = ("n", "score", "nothing")
Numbers = tuple[Number, Number, Number]
"""How many questions, the sum of their scores, the sum of what an empty answer would score."""


class ByConfidence(dict[float, Numbers]):
    """For each confidence (or probability) that was given the evidence of its questions; it adds up exactly.

    Of many examples it holds the sums, and ``rows``: the confidence and the three numbers of each. Their arrays, one
    column a confidence, are made only where somebody resamples.
    """

    rows: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, sure: Array, evidence: Array) -> Self:
        """The evidence of many examples; one without a question says nothing.

        >>> ByConfidence.of([0.5, 0.9, 0.5], [(1, 1.0, 0.0), (1, 0.0, 0.0), (1, 0.0, 0.0)])
        {0.5: (2.0, 1.0, 0.0), 0.9: (1.0, 0.0, 0.0)}
        """
        given, rows = np.asarray(sure, float), np.asarray(evidence, float).reshape(-1, 3)
        kept = rows[:, 0] > 0
        levels, place = np.unique(given[kept], return_inverse=True)
        sums = [np.bincount(place, column, len(levels)).tolist() for column in rows[kept].T]
        made = cls({level: (sums[0][i], sums[1][i], sums[2][i]) for i, level in enumerate(levels.tolist())})
        made.rows = given, rows
        return made

    def __add__(self, other: Mapping[float, Numbers], /) -> Self:
        if not isinstance(other, Mapping):
            return NotImplemented
        out = type(self)(self)
        for level, (n, score, nothing) in other.items():
            mine = out.get(level, (0.0, 0.0, 0.0))
            out[level] = mine[0] + n, mine[1] + score, mine[2] + nothing
        return out

    @property
    def summed(self) -> Self:
        """The evidence of all examples together."""
        return type(self)(self)

    def laid_out(self) -> dict[str, Array]:
        """The rows, one column each: all that the evidence of many examples comes from."""
        given, rows = self.rows if self.rows is not None else (np.zeros(0), np.zeros((0, 3)))
        return {"given": given, **dict(zip(NAMES, rows.T, strict=True))}

    def gathered(self, columns: Mapping[str, Array]) -> Self:
        """The evidence of the examples that these columns lay out."""
        return self.of(columns["given"], np.column_stack([columns[name] for name in NAMES]))

    @property
    def weight(self) -> Number:
        """How many questions."""
        return sum(n for n, _, _ in self.values())

    def columns(self, descending: bool = False) -> tuple[Array, Array]:
        """The confidences in order, and the evidence: the three numbers by confidence (and by resample)."""
        levels = sorted(self, reverse=descending)
        return np.array(levels), np.stack([np.array([self[one][side] for one in levels], float) for side in range(3)])

    def state(self) -> dict[str, dict[str, Any]]:
        """As JSON. Of many examples arrays, a number an example, for at most `COLUMNS` confidences: above that,
        neighbours are taken together under the highest of them, so that resampling stays linear."""
        if self.rows is None:
            return {repr(level): dict(zip(NAMES, self[level], strict=True)) for level in sorted(self)}
        given, rows = self.rows
        out = {}
        for group in np.array_split(np.array(sorted(self)), min(len(self), COLUMNS)) if self else ():
            here = (given >= group[0]) & (given <= group[-1])
            out[repr(float(group[-1]))] = dict(zip(NAMES, (rows * here[:, None]).T, strict=True))
        return out

    def from_state(self, state: State) -> Self:
        """The evidence again."""
        return type(self)({float(x): (one["n"], one["score"], one["nothing"]) for x, one in state.items()})


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
        return _plain(divide((rate * n + (lost - rate * before) * grown).sum(axis=0), n.sum(axis=0), empty=1.0))


class Best(ByConfidence):
    """``value`` is the highest mean score that a threshold on the probability of no answer reaches.

    >>> Best.of([0.1, 0.6, 0.9], [(1, 1, 0), (1, 0, 0), (1, 0, 1)]).value     # (1 + 0 + 1) / 3
    0.6666666666666666
    """

    @property
    def reached(self) -> tuple[Array, Array, Array]:
        """The thresholds, from none on, the sum of scores at each, and how many questions there are."""
        levels, (n, scores, nothing) = self.columns()
        gains = np.cumsum(scores - nothing, axis=0)
        sums = np.concatenate((np.zeros_like(gains[:1]), gains)) + nothing.sum(axis=0)
        return np.concatenate(([0.0], levels)), sums, n.sum(axis=0)

    @property
    def value(self) -> Number:
        """The best mean; 1 without a question."""
        if not self:
            return 1.0
        _, sums, n = self.reached
        return _plain(divide(sums.max(axis=0), n, empty=1.0))


class Threshold(Best):
    """``value`` is the lowest threshold that reaches the best mean; 0 where answering nothing is best."""

    @property
    def value(self) -> Number:
        """A probability of no answer."""
        if not self:
            return 0.0
        levels, sums, _ = self.reached
        return _plain(levels[(sums >= sums.max(axis=0) - 1e-9).argmax(axis=0)])


def _plain(found: Any) -> Number:
    return float(found) if np.ndim(found) == 0 else found


class Deciles(Bins):
    """Ten bins; ``value`` is the expected calibration error itself."""

    edges: ClassVar[int] = 10

    @classmethod
    def binned(cls, sure: Array, right: Array, weight: Array, bins: int = 10) -> Self:
        """The bin of each example; one of weight 0 is in none."""
        which = np.minimum((sure * bins).astype(int), bins - 1)
        made = {}
        for index in np.unique(which[weight > 0]).tolist():
            here = weight * (which == index)
            made[index] = here, sure * here, right * here
        return cls(made)

    @property
    def value(self) -> Number:
        """ECE; 0 is best."""
        return self.ece


class _Calibrated(Batched[T]):
    """Over the questions that were answered with a confidence; lower is better."""

    gold_fields: ClassVar[tuple[str, ...]] = ("answers",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "confidence")
    fixed: ClassVar[Mapping[str, str]] = {"correct": "exact_match", "over": "answered with a confidence"}
    lower_is_better: ClassVar[bool] = True


def _spoken(rows: Batch) -> tuple[Array, Array, Array]:
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


def risk_coverage(confidence: Sequence[float], correct: Sequence[float]) -> tuple[Array, Array]:
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
