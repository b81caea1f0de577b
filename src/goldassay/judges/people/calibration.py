"""A judge's score made better: the threshold and the calibration, fitted on one half and reported on the other.

The threshold is the score t with the largest sensitivity + specificity − 1 when ``score ≥ t`` is positive (Youden
1950; of several, the most accurate, then the lowest). The calibration is isotonic regression of people's labels on the
score (Zadrozny and Elkan 2002; scikit-learn's). Brier = mean (probability − label)² (Brier 1950).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from goldassay.exceptions import DataError
from goldassay.judges.people.rates import Rates, rates
from goldassay.measures.answering.calibration import brier


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores to probabilities: straight lines between known points, flat outside."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, score: float) -> float:
        """The probability that people would call it positive.

        >>> Calibration((0.0, 1.0), (0.2, 0.8))(0.5)
        0.5
        """
        return float(np.interp(score, self.scores, self.probabilities))


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted on ``fitted`` items, and what it does on the ``held`` others, beside the judge as it is."""

    threshold: float
    calibration: Calibration
    fitted: int
    held: int
    before: Rates
    after: Rates
    brier_before: float
    brier_after: float

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def fit(
    scores: Sequence[float], truths: Sequence[bool], positives: Sequence[bool], *, level: float = 0.95, seed: int = 0
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
    one, other = halves(truths, seed)
    best = threshold([scores[i] for i in one], [truths[i] for i in one])
    curve = calibrate([scores[i] for i in one], [truths[i] for i in one])
    held = [truths[i] for i in other]
    return Fitted(
        best,
        curve,
        len(one),
        len(other),
        rates(held, [positives[i] for i in other], level),
        rates(held, [scores[i] >= best for i in other], level),
        brier([scores[i] for i in other], held),
        brier([curve(scores[i]) for i in other], held),
    )


def halves(truths: Sequence[bool], seed: int = 0) -> tuple[list[int], list[int]]:
    """Two halves with as many positive items in both (one more or less).

    >>> one, other = halves([True] * 4 + [False] * 6)
    >>> len(one), len(other), sum(i < 4 for i in one)
    (5, 5, 2)
    """
    rng = random.Random(seed)
    sides: tuple[list[int], list[int]] = ([], [])
    for value in (True, False):
        places = [index for index, truth in enumerate(truths) if truth is value]
        if len(places) < 2:
            raise DataError(
                f"{len(places)} labels are {'positive' if value else 'not positive'}; halves need 2 of each"
            )
        rng.shuffle(places)
        middle = (len(places) + (len(sides[0]) <= len(sides[1]))) // 2
        sides[0].extend(places[:middle])
        sides[1].extend(places[middle:])
    return sides


def threshold(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """The score from which on an item is positive.

    >>> threshold([0.1, 0.4, 0.6, 0.9], [False, False, True, True])
    0.6
    """
    score, truth = np.asarray(scores, float), np.asarray(truths, bool)
    best, chosen = (-2.0, -1.0), 0.0
    for cut in np.unique(score):
        said = score >= cut
        youden = float(said[truth].mean() - said[~truth].mean()) if truth.any() and not truth.all() else 0.0
        found = (round(youden, 12), round(float((said == truth).mean()), 12))
        if found > best:
            best, chosen = found, float(cut)
    return chosen


def calibrate(scores: Sequence[float], truths: Sequence[bool]) -> Calibration:
    """The isotonic calibration.

    >>> calibrate([0, 0, 1, 1, 1], [False, True, True, True, False]).probabilities      # 1 of 2, 2 of 3
    (0.5, 0.666666666667)
    """
    made = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    made.fit(np.asarray(scores, float), np.asarray(truths, float))
    return Calibration(
        tuple(float(x) for x in made.X_thresholds_), tuple(float(round(y, 12)) for y in made.y_thresholds_)
    )
