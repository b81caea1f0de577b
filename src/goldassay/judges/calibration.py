"""How often verdicts are right, and a judge's score made better by a threshold and a calibration.

Both are fitted on one half of the labels and reported on the other. The threshold is the score t with the largest
sensitivity + specificity - 1 when ``score >= t`` is positive (Youden 1950; of several, the most accurate, then the
lowest). The calibration is isotonic regression of people's labels on the score (Zadrozny and Elkan 2002;
scikit-learn's). Brier = mean (probability - label)² (Brier 1950).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from goldassay.exceptions import DataError
from goldassay.statistics.intervals import Interval, interval


class Report:
    """What is measured of a judge; ``state`` is its JSON."""

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


def rate(right: Sequence[bool], level: float = 0.95) -> Interval | None:
    """A rate with Wilson's interval; None of nothing.

    >>> rate([]) is None, rate([True, False]).value
    (True, 0.5)
    """
    return interval([float(value) for value in right], method="wilson", level=level) if right else None


@dataclass(frozen=True, slots=True)
class Rates(Report):
    """How often verdicts that are positive or not are right."""

    accuracy: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None

    @classmethod
    def of(cls, truths: Sequence[bool], positives: Sequence[bool], level: float = 0.95) -> Rates:
        """The rates of verdicts beside people's labels.

        >>> rates = Rates.of([True, True, True, False], [True, True, False, False])
        >>> round(rates.sensitivity.value, 3), rates.specificity.value, rates.accuracy.value
        (0.667, 1.0, 0.75)
        >>> Rates.of([True], [True]).specificity is None
        True
        """
        pairs = list(zip(truths, positives, strict=True))
        return cls(
            rate([truth == positive for truth, positive in pairs], level),
            rate([positive for truth, positive in pairs if truth], level),
            rate([not positive for truth, positive in pairs if not truth], level),
        )


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Scores to probabilities: straight lines between known points, flat outside."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    @classmethod
    def fit(cls, scores: Sequence[float], truths: Sequence[bool]) -> Calibrator:
        """The isotonic calibration.

        >>> Calibrator.fit([0, 0, 1, 1, 1], [False, True, True, True, False]).probabilities      # 1 of 2, 2 of 3
        (0.5, 0.666666666667)
        """
        curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        curve.fit(np.asarray(scores, float), np.asarray(truths, float))
        return cls(tuple(map(float, curve.X_thresholds_)), tuple(round(float(y), 12) for y in curve.y_thresholds_))

    def __call__(self, score: float) -> float:
        """The probability that people would call it positive.

        >>> Calibrator((0.0, 1.0), (0.2, 0.8))(0.5)
        0.5
        """
        return float(np.interp(score, self.scores, self.probabilities))


def threshold(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """The score from which on an item is positive.

    >>> threshold([0.1, 0.4, 0.6, 0.9], [False, False, True, True])
    0.6
    """
    score, truth = np.asarray(scores, float), np.asarray(truths, bool)
    best, chosen = (-2.0, -1.0), 0.0
    for cut in np.unique(score):
        positive = score >= cut
        youden = float(positive[truth].mean() - positive[~truth].mean()) if truth.any() and not truth.all() else 0.0
        quality = (round(youden, 12), round(float((positive == truth).mean()), 12))
        if quality > best:
            best, chosen = quality, float(cut)
    return chosen


@dataclass(frozen=True, slots=True)
class Fitted(Report):
    """What was fitted on ``fitted`` items, and what it does on the ``held_out`` others, beside the judge as it is."""

    threshold: float
    calibration: Calibrator
    fitted: int
    held_out: int
    before: Rates
    after: Rates
    brier_before: float
    brier_after: float

    @classmethod
    def of(
        cls,
        scores: Sequence[float],
        truths: Sequence[bool],
        positives: Sequence[bool],
        *,
        level: float = 0.95,
        seed: int = 0,
    ) -> Fitted:
        """Threshold and calibration of scores, learnt on one half and tested on the other.

        Args:
            scores: the judge's, between 0 and 1, one an item.
            truths: whether people call the item positive.
            positives: the verdicts as they are, without a threshold.
            level: of the intervals.
            seed: of the halves.

        Raises:
            DataError: fewer than two items are positive, or not positive, for people.
        """
        train, test = _halves(truths, seed)
        cut = threshold([scores[i] for i in train], [truths[i] for i in train])
        calibrator = Calibrator.fit([scores[i] for i in train], [truths[i] for i in train])
        expected = [truths[i] for i in test]
        return cls(
            threshold=cut,
            calibration=calibrator,
            fitted=len(train),
            held_out=len(test),
            before=Rates.of(expected, [positives[i] for i in test], level),
            after=Rates.of(expected, [scores[i] >= cut for i in test], level),
            brier_before=_brier([scores[i] for i in test], expected),
            brier_after=_brier([calibrator(scores[i]) for i in test], expected),
        )


def _brier(chances: Sequence[float], truths: Sequence[bool]) -> float:
    """The mean squared distance of probabilities and truths."""
    return fmean((chance - truth) ** 2 for chance, truth in zip(chances, truths, strict=True))


def _halves(truths: Sequence[bool], seed: int = 0) -> tuple[list[int], list[int]]:
    """Two halves with as many positive items in both (one more or less).

    >>> first, second = _halves([True] * 4 + [False] * 6)
    >>> len(first), len(second), sum(i < 4 for i in first)
    (5, 5, 2)
    """
    rng = random.Random(seed)
    sides: tuple[list[int], list[int]] = ([], [])
    for value in (True, False):
        places = [index for index, truth in enumerate(truths) if truth is value]
        if len(places) < 2:
            kind = "positive" if value else "not positive"
            raise DataError(f"{len(places)} labels are {kind}; halves need 2 of each")
        rng.shuffle(places)
        middle = (len(places) + (len(sides[0]) <= len(sides[1]))) // 2
        sides[0].extend(places[:middle])
        sides[1].extend(places[middle:])
    return sides
