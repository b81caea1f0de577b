"""How often a judge is right, and what it says of many items: rates with Wilson's intervals.

Beside people: sensitivity = verdicts that are positive / items that people call positive; specificity = verdicts that
are not positive / items that people do not call positive. Both are ``None`` where there is no such item.

Of many items: how often which verdict, and how often people would call them positive. ``naive`` counts the verdicts as
if they were right; ``corrected`` takes them with the labels that some items have (`goldassay.statistics.ppi`), and is
there when two items have a label and one has none. ``mean`` is the mean grade of a question that has grades.

A judge's score made better: the threshold and the calibration, fitted on one half and reported on the other.

The threshold is the score t with the largest sensitivity + specificity − 1 when ``score ≥ t`` is positive (Youden
1950; of several, the most accurate, then the lowest). The calibration is isotonic regression of people's labels on the
score (Zadrozny and Elkan 2002; scikit-learn's). Brier = mean (probability − label)² (Brier 1950).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from goldassay.exceptions import DataError
from goldassay.judges.ask.panel import Vote
from goldassay.judges.people.grades import Graded, graded
from goldassay.judges.people.labels import Labels
from goldassay.statistics.intervals import Interval, wilson
from goldassay.statistics.ppi import Corrected, corrected


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of a judge that says positive or not."""

    accuracy: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def rates(truths: Sequence[bool], positives: Sequence[bool], level: float = 0.95) -> Rates:
    """The rates of verdicts beside what people said.

    >>> found = rates([True, True, True, False], [True, True, False, False])
    >>> round(found.sensitivity.value, 3), found.specificity.value, found.accuracy.value
    (0.667, 1.0, 0.75)
    >>> rates([True], [True]).specificity is None
    True
    """
    pairs = list(zip(truths, positives, strict=True))
    return Rates(
        rate([truth == said for truth, said in pairs], level),
        rate([said for truth, said in pairs if truth], level),
        rate([not said for truth, said in pairs if not truth], level),
    )


def rate(right: Sequence[bool], level: float = 0.95) -> Interval | None:
    """A rate with Wilson's interval; ``None`` of nothing.

    >>> rate([]) is None
    True
    """
    if not right:
        return None
    n, hits = len(right), sum(right)
    return Interval(hits / n, *wilson(hits, n, level), level, n, "wilson")


@dataclass(frozen=True, slots=True)
class Estimate:
    """Counts, rates and what they cost; ``disagreement`` is the mean one of a panel, ``cached`` answers are free."""

    judge: str
    question: str
    positive: str
    n: int
    unknown: int
    verdicts: Mapping[str, int]
    naive: Interval | None
    corrected: Corrected | None
    disagreement: float
    calls: int = 0
    cached: int = 0
    tokens: int = 0
    mean: Graded | None = None

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def estimate(labels: Labels, votes: Sequence[Vote], judge: object = "") -> Estimate:
    """The counts and rates of votes on items.

    >>> from goldassay.judges.people.labels import JudgedItem
    >>> from goldassay.judges.ask.questions import question
    >>> from goldassay.judges.ask.panel import count
    >>> items = [JudgedItem(str(n)) for n in range(3)]
    >>> found = estimate(Labels(items, question("criterion")), [count(["yes"]), count(["no"]), count([None])])
    >>> found.naive.value, dict(found.verdicts), found.unknown, found.corrected
    (0.5, {'yes': 1, 'no': 1}, 1, None)
    """
    if len(votes) != len(labels.items):
        raise DataError(f"{len(votes)} verdicts on {len(labels.items)} items; each item needs its verdict")
    positive = labels.question.positive
    known = [(item, vote) for item, vote in zip(labels.items, votes, strict=True) if vote.label is not None]
    seen = Counter(vote.label for _, vote in known)
    both = [(item.label == positive, vote.label == positive) for item, vote in known if item.label is not None]
    alone = [vote.label == positive for item, vote in known if not item.labels]
    mended = None
    if len(both) > 1 and alone:
        mended = corrected([people for people, _ in both], [said for _, said in both], alone)
    return Estimate(
        str(judge),
        labels.question.name,
        positive,
        len(votes),
        len(votes) - len(known),
        {name: seen[name] for name in labels.question.labels},
        rate([vote.label == positive for _, vote in known]),
        mended,
        sum(vote.disagreement for _, vote in known) / len(known) if known else 0.0,
        int(getattr(judge, "calls", 0)),
        int(getattr(judge, "cached", 0)),
        int(getattr(judge, "tokens", 0)),
        graded(labels, votes),
    )


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Scores to probabilities: straight lines between known points, flat outside."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, score: float) -> float:
        """The probability that people would call it positive.

        >>> Calibrator((0.0, 1.0), (0.2, 0.8))(0.5)
        0.5
        """
        return float(np.interp(score, self.scores, self.probabilities))


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted on ``fitted`` items, and what it does on the ``held`` others, beside the judge as it is."""

    threshold: float
    calibration: Calibrator
    fitted: int
    held: int
    before: Rates
    after: Rates
    brier_before: float
    brier_after: float

    def state(self) -> dict[str, object]:
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
        _brier([scores[i] for i in other], held),
        _brier([curve(scores[i]) for i in other], held),
    )


def _brier(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """The mean squared distance of scores and truths."""
    return sum((score - truth) ** 2 for score, truth in zip(scores, truths, strict=True)) / len(scores)


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


def calibrate(scores: Sequence[float], truths: Sequence[bool]) -> Calibrator:
    """The isotonic calibration.

    >>> calibrate([0, 0, 1, 1, 1], [False, True, True, True, False]).probabilities      # 1 of 2, 2 of 3
    (0.5, 0.666666666667)
    """
    made = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    made.fit(np.asarray(scores, float), np.asarray(truths, float))
    return Calibrator(
        tuple(float(x) for x in made.X_thresholds_), tuple(float(round(y, 12)) for y in made.y_thresholds_)
    )
