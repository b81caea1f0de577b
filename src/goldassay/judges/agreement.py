"""A judge beside people: how often it is right, how far it agrees, corrected rates and means, and labels needed.

Compared are the items that have a label and a known verdict. Labels without a majority and verdicts that did not come
back are counted, never guessed.

* Rates have Wilson's intervals. Sensitivity = positive verdicts / items that people call positive; specificity =
  verdicts that are not positive / items that people do not call positive.
* κ is Cohen's and α Krippendorff's (ordinal for the steps of a scale) of people's label and the verdict, with intervals
  over items; ``people`` is α among the annotators.
* The corrected rate or mean is what people would find over all items, from a few labels and all verdicts
  (`goldassay.statistics.ppi`); it needs two items with a label and one without.
* A judge's score is made better by a threshold and a calibration (`goldassay.judges.calibration`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.judges.calibration import Fitted, Rates, Report, rate
from goldassay.judges.labels import JudgedItem, Labels
from goldassay.judges.panel import Vote
from goldassay.judges.questions import Question
from goldassay.statistics import power
from goldassay.statistics.intervals import Bounds, Interval, interval
from goldassay.statistics.ppi import UNBOUNDED, Corrected, corrected

UNKNOWN = "unknown"


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
    level: float = 0.95,
    origin: str = "unknown",
) -> Graded:
    """The mean of grades, some or all of which people gave; None is no label, or an unknown verdict.

    Args:
        people: The labels, one an item.
        verdicts: The judge's grades of the same items.
        bounds: The ends of the scale.
        level: Of the intervals.
        origin: How the labelled items were chosen (`goldassay.statistics.ppi.corrected`).

    >>> graded = mean_grade([3.5, 4.0, None], [4.0, 5.0, 2.0], (1, 5))
    >>> round(graded.naive.value, 3), graded.corrected.people_only.value, graded.labels
    (3.667, 3.75, 2)
    """
    rows = [(label, verdict) for label, verdict in zip(people, verdicts, strict=True) if verdict is not None]
    both = [(label, verdict) for label, verdict in rows if label is not None]
    others = [verdict for label, verdict in rows if label is None]
    known, limits = [verdict for _, verdict in rows], bounds or UNBOUNDED
    naive = interval(known, method="t", level=level, bounds=limits) if len(rows) > 1 else None
    low, high = bounds or (None, None)
    return Graded(low, high, len(both), len(rows), naive, _corrected(both, others, level, origin, bounds),
                  len(verdicts) - len(rows))  # fmt: skip


def _graded(labels: Labels, votes: Sequence[Vote], level: float = 0.95, origin: str = "unknown") -> Graded | None:
    """The mean grade in the scale's own numbers; None for a question without grades.

    An item's label is the mean of its annotators' grades, its verdict that of a panel's known ballots, so that draws
    need no majority.
    """
    question = labels.question
    if not question.graded:
        return None
    low, high = question.unit
    people = [
        low + fmean(question.worth[label] for label in item.labels.values()) * (high - low) if item.labels else None
        for item in labels.items
    ]
    verdicts = [None if vote.mean is None else low + vote.mean * (high - low) for vote in votes]
    return mean_grade(people, verdicts, (min(low, high), max(low, high)), level, origin)


def _corrected(
    both: Sequence[tuple[float, float]],
    others: Sequence[float],
    level: float,
    origin: str,
    bounds: Bounds | None = None,
) -> Corrected | None:
    if len(both) < 2 or not others:
        return None
    people, verdicts = zip(*both, strict=True)
    return corrected(people, verdicts, others, level=level, bounds=bounds, origin=origin)


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
        corrected=_corrected(both, others, 0.95, origin),
        disagreement=fmean(vote.disagreement for _, vote in known) if known else 0.0,
        mean=_graded(labels, votes, 0.95, origin),
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
    kappa: Interval | None
    alpha: Interval | None
    people: Interval | None
    rates: Rates
    confusion: Mapping[str, Mapping[str, int]]
    fitted: Fitted | None
    corrected: Corrected | None
    divided: Sequence[Mapping[str, Any]]
    width: float
    needed: Mapping[str, int]
    next: Sequence[str]
    warnings: Sequence[str] = field(default_factory=tuple)
    mean: Graded | None = None


def align(
    labels: Labels,
    votes: Sequence[Vote],
    *,
    width: float = 0.1,
    level: float = 0.95,
    seed: int = 0,
    origin: str = "unknown",
) -> JudgeAgreement:
    """A judge's votes (`goldassay.judges.panel.poll`) beside the labels of the same items.

    Args:
        labels: the items, labelled or not.
        votes: the judge's, one for each item.
        width: of the interval for which the number of labels is computed.
        level: of the intervals.
        seed: of the halves that a threshold is learnt and tested on, and of the resamples.
        origin: how the labelled items were chosen (`goldassay.statistics.ppi.corrected`).

    Raises:
        DataError: an item lacks its verdict, or none has both a label and a known verdict.
    """
    rows, question = _pairs(labels, votes), labels.question
    both = [(item, vote) for item, vote in rows if item.label is not None and vote.label is not None]
    if not both:
        raise DataError("no item has a label and a known verdict, so there is nothing to compare", file=labels.source)
    pairs = [(item.label, vote.label) for item, vote in both]
    unlabelled = [(item, vote) for item, vote in rows if not item.labels]
    truths, positives = ([pair[side] == question.positive for pair in pairs] for side in (0, 1))
    others = [vote.label == question.positive for _, vote in unlabelled if vote.label is not None]
    rates, accuracy = Rates.of(truths, positives, level), rate([label == verdict for label, verdict in pairs], level)
    kappa = coefficient(pairs, "cohen", level)
    people = _alpha([list(item.labels.values()) for item in labels.items], question, level)
    unknown = sum(item.label is not None and vote.label is None for item, vote in rows)
    fitted = _fitted(both, question.positive, level, seed)
    needed = _needed({"accuracy": accuracy, "kappa": kappa}, rates, (truths, positives), len(unlabelled), width, level)
    return JudgeAgreement(
        question=question.name,
        positive=question.positive,
        n=len(both),
        unlabelled=len(unlabelled),
        unknown=unknown,
        no_majority=sum(bool(item.labels) and item.label is None for item in labels.items),
        annotators=len(labels.annotators),
        accuracy=accuracy,
        kappa=kappa,
        alpha=_alpha(pairs, question, level),
        people=people,
        rates=rates,
        confusion=_confusion(question.labels, rows),
        fitted=fitted,
        corrected=_corrected(list(zip(truths, positives, strict=True)), others, level, origin),
        divided=[_divided(item, vote) for item, vote in rows if item.divided],
        width=width,
        needed=needed,
        next=to_label_next(unlabelled, _chances(unlabelled, fitted, question.positive), seed=seed),
        warnings=_warnings(labels, pairs, kappa, people, unknown),
        mean=_graded(labels, votes, level, origin),
    )


def _divided(item: JudgedItem, vote: Vote) -> dict[str, Any]:
    return {"id": item.id, "labels": dict(item.labels), "verdict": vote.label}


def _alpha(units: Sequence[Sequence[str | None]], question: Question, level: float) -> Interval | None:
    """Krippendorff's α of units: ordinal where the question's labels are steps of a scale."""
    if not question.ordered:
        return coefficient(units, "nominal", level)
    steps = [[None if label is None else question.worth[label] for label in unit] for unit in units]
    return coefficient(steps, "ordinal", level)


def coefficient(units: Sequence[Sequence[Any]], kind: str, level: float) -> Interval | None:
    """A coefficient of agreement with its interval; None if nothing varies or nothing can be compared."""
    tallies = [tally for unit in units if (tally := Coefficient.of([unit], kind)).weight]
    if not tallies or sum(tallies, Coefficient(kind)).defined is None:
        return None
    return interval(tallies, Coefficient(kind), bounds=(-1.0, 1.0), level=level)


def _confusion(names: Sequence[str], rows: Sequence[tuple[JudgedItem, Vote]]) -> dict[str, dict[str, int]]:
    """For each label of people, how often the judge gave which verdict."""
    counts = Counter((item.label, vote.label or UNKNOWN) for item, vote in rows if item.label is not None)
    return {row: {column: counts[row, column] for column in (*names, UNKNOWN)} for row in names}


def to_label_next(
    rows: Sequence[tuple[JudgedItem, Vote]], chances: Sequence[float | None], *, most: int = 20, seed: int = 0
) -> list[str]:
    """The items from which a label tells most: unknown verdicts first, then where the panel is most divided, then where
    the probability is nearest to one half; by chance among equals.

    Labels chosen so are for calibration and for seeing where judge and people part. They are no random sample, which
    rates, agreement and the corrected estimate need.

    Args:
        rows: the items without a label, with their votes.
        chances: the probability that each item is positive, where a score gives one.
        most: how many are named.
        seed: of the chance.

    >>> from goldassay.judges.panel import count
    >>> votes = [count(["yes"] * 3), count(["yes", "no", "yes"]), count([None])]
    >>> to_label_next(list(zip(map(JudgedItem, "abc"), votes)), [0.9, 0.6, None])
    ['c', 'b', 'a']
    """
    rng = random.Random(seed)
    ranked = []
    for (item, vote), chance in zip(rows, chances, strict=True):
        certainty = 0.5 if chance is None else abs(chance - 0.5)
        ranked.append((vote.label is not None, -vote.entropy, certainty, rng.random(), item.id))
    return [row[-1] for row in sorted(ranked)[:most]]


def _chances(rows: Sequence[tuple[JudgedItem, Vote]], fitted: Fitted | None, positive: str) -> list[float | None]:
    """The probability that each item is positive, by its score; None without one."""
    scores = [_score(item, vote, positive) for item, vote in rows]
    return [fitted.calibration(score) if fitted and score is not None else score for score in scores]


def _score(item: JudgedItem, vote: Vote, positive: str) -> float | None:
    return item.score if item.score is not None else vote.share(positive)


def _fitted(both: Sequence[tuple[JudgedItem, Vote]], positive: str, level: float, seed: int) -> Fitted | None:
    scored = [(score, i, v) for i, v in both if (score := _score(i, v, positive)) is not None]
    scores, truths = [score for score, _, _ in scored], [item.label == positive for _, item, _ in scored]
    if min(truths.count(True), truths.count(False)) < 2 or len(set(scores)) < 2:
        return None
    return Fitted.of(scores, truths, [vote.label == positive for _, _, vote in scored], level=level, seed=seed)


def _needed(
    intervals: Mapping[str, Interval | None],
    rates: Rates,
    verdicts: tuple[Sequence[bool], Sequence[bool]],
    others: int,
    width: float,
    level: float,
) -> dict[str, int]:
    """The labels that each value needs; those of sensitivity and specificity are labels on all kinds of items."""
    truths, positives = verdicts
    n, needed = len(truths), {}
    accuracy, kappa = intervals["accuracy"], intervals["kappa"]
    if accuracy:
        needed["accuracy"] = power.for_rate(accuracy.value, width, level)
    for name, value in (("sensitivity", rates.sensitivity), ("specificity", rates.specificity)):
        if value:
            needed[name] = -(-power.for_rate(value.value, width, level) * n // value.n)
    if kappa and len(set(positives)) > 1:
        needed["kappa"] = power.for_interval(kappa, width)
    if n > 1:
        needed["rate, people only"] = power.for_corrected(truths, positives, 0, width, level)
        if others:
            needed["rate, corrected"] = power.for_corrected(truths, positives, others, width, level)
    return needed


def _warnings(
    labels: Labels,
    pairs: Sequence[tuple[str | None, str | None]],
    kappa: Interval | None,
    people: Interval | None,
    unknown: int,
) -> list[str]:
    positive, n = labels.question.positive, len(pairs)
    verdicts, annotators = {verdict for _, verdict in pairs}, len(labels.annotators)
    cases = [
        (unknown, f"{unknown} items with a label have no verdict; they are left out of every value here"),
        (
            len({label == positive for label, _ in pairs}) == 1,
            f"all labels are on one side of {positive!r}: one of sensitivity and specificity is not known, and nothing "
            "can be fitted",
        ),
        (len(verdicts) == 1, f"the judge always says {pairs[0][1]!r}: it tells nothing apart"),
        (kappa is None, "labels and verdicts are all the same, so that kappa is not defined"),
        (annotators == 1, "one annotator: how far people agree among themselves is not known"),
        (
            annotators != 1 and people is None,
            "how far people agree among themselves is not known: no item varies between two annotators",
        ),
        (n < 30, f"{n} labels are few; the intervals are wide and only approximate"),
    ]
    return [warning for holds, warning in cases if holds]
