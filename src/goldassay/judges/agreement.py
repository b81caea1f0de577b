"""A judge beside people: how often it is right, how far it agrees, corrected rates and means.

Compared are the items that have a label and a known verdict. Labels without a majority and verdicts that did not come
back are counted, never guessed.

* Rates have Wilson's intervals. Sensitivity = positive verdicts / items that people call positive; specificity =
  verdicts that are not positive / items that people do not call positive.
* κ is Cohen's and α Krippendorff's (ordinal for the steps of a scale) of people's label and the verdict, with intervals
  over items; ``people`` is α among the annotators.
* The corrected rate or mean is what people would find over all items, from a few labels and all verdicts
  (`goldassay.statistics.ppi`); it needs two items with a label and one without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.judges.labels import JudgedItem, Labels
from goldassay.judges.panel import Vote
from goldassay.judges.questions import Question
from goldassay.statistics.intervals import Bounds, Interval, interval
from goldassay.statistics.ppi import UNBOUNDED, Corrected, corrected

UNKNOWN = "unknown"


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
    return interval([float(value) for value in right], bounds=(0.0, 1.0), level=level) if right else None


def coefficient(units: Sequence[Sequence[Any]], kind: str, level: float = 0.95) -> Interval | None:
    """A coefficient of agreement with its interval; None if nothing varies or nothing can be compared."""
    tallies = [tally for unit in units if (tally := Coefficient.of([unit], kind)).weight]
    if not tallies or sum(tallies, Coefficient(kind)).defined is None:
        return None
    return interval(tallies, Coefficient(kind), bounds=(-1.0, 1.0), level=level)


@dataclass(frozen=True, slots=True)
class Graded(Report):
    """A mean grade: ``naive`` is that of the verdicts as they are; ``low`` and ``high`` are the ends of the scale."""

    low: float | None
    high: float | None
    labels: int
    verdicts: int
    naive: Interval | None
    corrected: Corrected | None
    unknown: int = 0


def mean_grade(
    people: Sequence[float | None],
    verdicts: Sequence[float | None],
    bounds: Bounds | None = None,
    origin: str = "unknown",
) -> Graded:
    """The mean of grades, some or all of which people gave; None is no label, or an unknown verdict.

    Args:
        people: The labels, one an item.
        verdicts: The judge's grades of the same items.
        bounds: The ends of the scale.
        origin: How the labelled items were chosen (`goldassay.statistics.ppi.corrected`).

    >>> graded = mean_grade([3.5, 4.0, None], [4.0, 5.0, 2.0], (1, 5))
    >>> round(graded.naive.value, 3), graded.corrected.people_only.value, graded.labels
    (3.667, 3.75, 2)
    """
    rows = [(label, verdict) for label, verdict in zip(people, verdicts, strict=True) if verdict is not None]
    both = [(label, verdict) for label, verdict in rows if label is not None]
    others, known = [verdict for label, verdict in rows if label is None], [verdict for _, verdict in rows]
    naive = interval(known, method="t", bounds=bounds or UNBOUNDED) if len(rows) > 1 else None
    (low, high), mended = bounds or (None, None), _corrected(both, others, origin, bounds)
    return Graded(low, high, len(both), len(rows), naive, mended, unknown=len(verdicts) - len(rows))


def _graded(labels: Labels, votes: Sequence[Vote], origin: str) -> Graded | None:
    """The mean grade in the scale's own numbers; None for a question without grades.

    An item's label is the mean of its annotators' grades, its verdict that of a panel's known ballots, so that draws
    need no majority.
    """
    question = labels.question
    if not question.graded:
        return None
    (low, high), worth = question.unit, question.worth
    grades = [fmean(worth[label] for label in item.labels.values()) if item.labels else None for item in labels.items]
    people, verdicts = (
        [None if grade is None else low + grade * (high - low) for grade in side]
        for side in (grades, [vote.mean for vote in votes])
    )
    return mean_grade(people, verdicts, (min(low, high), max(low, high)), origin)


def _corrected(
    both: Sequence[tuple[float, float]], others: Sequence[float], origin: str, bounds: Bounds | None = None
) -> Corrected | None:
    if len(both) < 2 or not others:
        return None
    people, verdicts = zip(*both, strict=True)
    return corrected(people, verdicts, others, bounds=bounds, origin=origin)


@dataclass(frozen=True, slots=True)
class Estimate(Report):
    """What a judge says of many items; ``disagreement`` is the mean one of a panel, ``cached`` answers are free."""

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


def estimate(labels: Labels, votes: Sequence[Vote], judge: object = "", *, origin: str = "unknown") -> Estimate:
    """How often which verdict, and how often people would call the items positive.

    ``origin`` says how the labelled items were chosen (`goldassay.statistics.ppi.corrected`).

    >>> from goldassay.judges.questions import question
    >>> from goldassay.judges.panel import count
    >>> items = [JudgedItem(str(n)) for n in range(3)]
    >>> result = estimate(Labels(items, question("criterion")), [count(["yes"]), count(["no"]), count([None])])
    >>> result.naive.value, dict(result.verdicts), result.unknown, result.corrected
    (0.5, {'yes': 1, 'no': 1}, 1, None)
    """
    positive = labels.question.positive
    known = [(item, vote) for item, vote in _pairs(labels, votes) if vote.label is not None]
    counts = Counter(vote.label for _, vote in known)
    both = [(item.label == positive, vote.label == positive) for item, vote in known if item.label is not None]
    others = [vote.label == positive for item, vote in known if not item.labels]
    return Estimate(
        judge=str(judge),
        question=labels.question.name,
        positive=positive,
        n=len(votes),
        unknown=len(votes) - len(known),
        verdicts={name: counts[name] for name in labels.question.labels},
        naive=rate([vote.label == positive for _, vote in known]),
        corrected=_corrected(both, others, origin),
        disagreement=fmean(vote.disagreement for _, vote in known) if known else 0.0,
        mean=_graded(labels, votes, origin),
        **{name: int(getattr(judge, name, 0)) for name in ("calls", "cached", "tokens")},
    )


def _pairs(labels: Labels, votes: Sequence[Vote]) -> list[tuple[JudgedItem, Vote]]:
    if len(votes) != len(labels.items):
        raise DataError(f"{len(votes)} verdicts on {len(labels.items)} items; each item needs its verdict")
    return list(zip(labels.items, votes, strict=True))


@dataclass(frozen=True)
class JudgeAgreement(Report):
    """A judge beside people; `align` makes it. ``divided`` are the items on which people disagree."""

    question: str
    positive: str
    n: int
    unlabelled: int
    unknown: int
    no_majority: int
    annotators: int
    accuracy: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None
    kappa: Interval | None
    alpha: Interval | None
    people: Interval | None
    confusion: Mapping[str, Mapping[str, int]]
    corrected: Corrected | None
    divided: Sequence[Mapping[str, Any]]
    warnings: Sequence[str] = field(default_factory=tuple)
    mean: Graded | None = None


def align(labels: Labels, votes: Sequence[Vote], *, origin: str = "unknown") -> JudgeAgreement:
    """A judge's votes (`goldassay.judges.panel.poll`) beside the labels of the same items.

    Args:
        labels: the items, labelled or not.
        votes: the judge's, one for each item.
        origin: how the labelled items were chosen (`goldassay.statistics.ppi.corrected`).

    Raises:
        DataError: an item lacks its verdict, or none has both a label and a known verdict.
    """
    rows, question = _pairs(labels, votes), labels.question
    pairs = [(item.label, vote.label) for item, vote in rows if item.label is not None and vote.label is not None]
    if not pairs:
        raise DataError("no item has a label and a known verdict, so there is nothing to compare", file=labels.source)
    unlabelled = [vote.label for item, vote in rows if not item.labels]
    both = [(label == question.positive, verdict == question.positive) for label, verdict in pairs]
    agreement = JudgeAgreement(
        question=question.name,
        positive=question.positive,
        n=len(pairs),
        unlabelled=len(unlabelled),
        unknown=sum(item.label is not None and vote.label is None for item, vote in rows),
        no_majority=sum(bool(item.labels) and item.label is None for item in labels.items),
        annotators=len(labels.annotators),
        accuracy=rate([label == verdict for label, verdict in pairs]),
        sensitivity=rate([verdict for label, verdict in both if label]),
        specificity=rate([not verdict for label, verdict in both if not label]),
        kappa=coefficient(pairs, "cohen"),
        alpha=_alpha(pairs, question),
        people=_alpha([list(item.labels.values()) for item in labels.items], question),
        confusion=_confusion(question.labels, rows),
        corrected=_corrected(both, [label == question.positive for label in unlabelled if label is not None], origin),
        divided=[
            {"id": item.id, "labels": dict(item.labels), "verdict": vote.label}
            for item, vote in rows
            if len(set(item.labels.values())) > 1
        ],
        mean=_graded(labels, votes, origin),
    )
    return replace(agreement, warnings=_warnings(agreement, {verdict for _, verdict in pairs}))


def _alpha(units: Sequence[Sequence[str | None]], question: Question) -> Interval | None:
    """Krippendorff's α of units: ordinal where the question's labels are steps of a scale."""
    if not question.ordered:
        return coefficient(units, "nominal")
    return coefficient([[label and question.worth[label] for label in unit] for unit in units], "ordinal")


def _confusion(names: Sequence[str], rows: Sequence[tuple[JudgedItem, Vote]]) -> dict[str, dict[str, int]]:
    """For each label of people, how often the judge gave which verdict."""
    counts = Counter((item.label, vote.label or UNKNOWN) for item, vote in rows if item.label is not None)
    return {row: {column: counts[row, column] for column in (*names, UNKNOWN)} for row in names}


def _warnings(result: JudgeAgreement, verdicts: set[str]) -> list[str]:
    cases = [
        (result.unknown, f"{result.unknown} items with a label have no verdict; they are left out of every value here"),
        (
            result.sensitivity is None or result.specificity is None,
            f"all labels are on one side of {result.positive!r}: one of sensitivity and specificity is not known",
        ),
        (len(verdicts) == 1, f"the judge always says {min(verdicts)!r}: it tells nothing apart"),
        (result.kappa is None, "labels and verdicts are all the same, so that kappa is not defined"),
        (
            result.people is None,
            "how far people agree among themselves is not known: no item varies between two annotators",
        ),
        (result.n < 30, f"{result.n} labels are few; the intervals are wide and only approximate"),
    ]
    return [warning for holds, warning in cases if holds]
