"""A judge beside people: how far it agrees, where not, what that does to a rate, and what more labels would bring.

Compared are the items that have a label and a known verdict. Labels without a majority and verdicts that did not come
back are counted, never guessed. κ is Cohen's and α Krippendorff's (ordinal for the steps of a scale) of people's label
and the verdict, with intervals over items; ``people`` is α among the annotators. The corrected rate is the
share of positive items that people would find, from all of them (`goldassay.statistics.ppi`); ``mean`` is the mean
grade, where there are grades.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from goldassay.exceptions import DataError
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.judges.ask.panel import Vote
from goldassay.judges.ask.questions import Question
from goldassay.judges.people.grades import Graded, graded
from goldassay.judges.people.labels import JudgedItem, Labels
from goldassay.judges.people.rates import Fitted, Rates, fit, rate, rates
from goldassay.statistics import power
from goldassay.statistics.intervals import Interval, interval
from goldassay.statistics.ppi import Corrected, corrected

UNKNOWN = "unknown"


def agreement(units: Sequence[Sequence[str | None]], asked: Question, level: float, seed: int) -> Interval | None:
    """Krippendorff's α of units: ordinal where the question's labels are steps of a scale."""
    if not asked.ordered:
        return coefficient([Coefficient.of([unit]) for unit in units], Coefficient(), level, seed)
    steps = [[None if one is None else asked.worth[one] for one in unit] for unit in units]
    return coefficient([Coefficient.of([unit], "ordinal") for unit in steps], Coefficient("ordinal"), level, seed)


def coefficient(tallies: Sequence[Coefficient], zero: Coefficient, level: float, seed: int) -> Interval | None:
    """A coefficient with its interval; ``None`` where nothing varies or nothing can be compared."""
    kept = [tally for tally in tallies if tally.weight]
    if not kept or sum(kept, zero).defined is None:
        return None
    return interval(kept, zero, bounds=(-1.0, 1.0), level=level)


def confusion(names: Sequence[str], rows: Sequence[tuple[JudgedItem, Vote]]) -> dict[str, dict[str, int]]:
    """For each label of people, how often the judge gave which verdict."""
    seen = Counter((item.label, vote.label or UNKNOWN) for item, vote in rows if item.label is not None)
    columns = [*names, UNKNOWN]
    return {row: {column: seen[row, column] for column in columns} for row in names}


@dataclass(frozen=True, slots=True)
class Divided:
    """An item on which people disagree, with what the judge says."""

    id: str
    labels: Mapping[str, str]
    verdict: str | None


@dataclass(frozen=True)
class JudgeAgreement:
    """What a judge is worth beside people; `align` makes it."""

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
    divided: Sequence[Divided]
    width: float
    needed: Mapping[str, int]
    next: Sequence[str]
    warnings: Sequence[str] = field(default_factory=tuple)
    mean: Graded | None = None

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def align(
    labels: Labels, votes: Sequence[Vote], *, width: float = 0.1, level: float = 0.95, seed: int = 0, most: int = 20
) -> JudgeAgreement:
    """A judge's votes (`goldassay.judges.ask.panel`) beside the labels of the same items.

    Args:
        labels: the items, those that people labelled and others.
        votes: the judge's, one for each item.
        width: the width of interval that is wanted, for the number of labels that it needs.
        level: of the intervals.
        seed: of the halves that a threshold is learnt and tested on, and of the resamples.
        most: how many items to label next are named.

    Raises:
        DataError: an item lacks its verdict, or none has both a label and a known verdict.
    """
    if len(votes) != len(labels.items):
        raise DataError(f"{len(votes)} verdicts on {len(labels.items)} items; each item needs its verdict")
    rows = list(zip(labels.items, votes, strict=True))
    both = [(item, vote) for item, vote in rows if item.label is not None and vote.label is not None]
    if not both:
        raise DataError("no item has a label and a known verdict, so there is nothing to compare", file=labels.source)
    positive = labels.question.positive
    truths, said = [i.label == positive for i, _ in both], [v.label == positive for _, v in both]
    pairs = [(item.label, vote.label) for item, vote in both]
    open_ = [(item, vote) for item, vote in rows if not item.labels]
    unknown = sum(item.label is not None and vote.label is None for item, vote in rows)
    found = _fitted(both, positive, level, seed)
    mended = _corrected(truths, said, [v.label == positive for _, v in open_ if v.label is not None], level)
    kappa = coefficient([Coefficient.of([pair], "cohen") for pair in pairs], Coefficient("cohen"), level, seed)
    alpha = agreement(pairs, labels.question, level, seed)
    people = agreement([list(item.labels.values()) for item in labels.items], labels.question, level, seed)
    made = rates(truths, said, level)
    right = rate([label == verdict for label, verdict in pairs], level)
    share = found.calibration if found else None
    scores = [_score(item, vote, positive) for item, vote in open_]
    chances = [share(score) if share and score is not None else score for score in scores]
    return JudgeAgreement(
        question=labels.question.name,
        positive=positive,
        n=len(both),
        unlabelled=len(open_),
        unknown=unknown,
        no_majority=sum(bool(item.labels) and item.label is None for item in labels.items),
        annotators=len(labels.annotators),
        accuracy=right,
        kappa=kappa,
        alpha=alpha,
        people=people,
        rates=made,
        confusion=confusion(labels.question.labels, rows),
        fitted=found,
        corrected=mended,
        divided=[Divided(item.id, item.labels, vote.label) for item, vote in rows if item.divided],
        width=width,
        needed=_needed(right, kappa, made, truths, said, len(open_), width, level),
        next=to_label_next([i.id for i, _ in open_], [v for _, v in open_], chances, most=most, seed=seed),
        warnings=tuple(_warnings(labels, pairs, kappa, people, unknown)),
        mean=graded(labels, votes, level),
    )


def to_label_next(
    ids: Sequence[str], votes: Sequence[Vote], probabilities: Sequence[float | None], *, most: int = 20, seed: int = 0
) -> list[str]:
    """The items from which a label tells most: verdicts that are unknown, then where the panel is most divided, then
    where the probability is nearest to one half; by chance among equals.

    Args:
        ids: of the items that have no label.
        votes: of the judge or the panel, one an item.
        probabilities: that an item is positive, where a score says so.
        most: how many are named.
        seed: of the chance.

    Labels chosen so are for calibration and for seeing where judge and people part. They are no random sample, which
    rates, agreement and the corrected estimate need.

    >>> from goldassay.judges.ask.panel import count
    >>> ballots = [count(["yes"] * 3), count(["yes", "no", "yes"]), count([None])]
    >>> to_label_next(["a", "b", "c"], ballots, [0.9, 0.6, None])
    ['c', 'b', 'a']
    """
    rng = random.Random(seed)
    ranked = []
    for item, vote, probability in zip(ids, votes, probabilities, strict=True):
        sure = 0.5 if probability is None else abs(probability - 0.5)
        ranked.append((vote.label is not None, -vote.entropy, sure, rng.random(), item))
    return [row[-1] for row in sorted(ranked)[:most]]


def _score(item: JudgedItem, vote: Vote, positive: str) -> float | None:
    return item.score if item.score is not None else vote.share(positive)


def _fitted(both: Sequence[tuple[JudgedItem, Vote]], positive: str, level: float, seed: int) -> Fitted | None:
    kept = [(score, i, v) for i, v in both if (score := _score(i, v, positive)) is not None]
    truths = [item.label == positive for _, item, _ in kept]
    if min(truths.count(True), truths.count(False)) < 2 or len({score for score, _, _ in kept}) < 2:
        return None
    said = [vote.label == positive for _, _, vote in kept]
    return fit([score for score, _, _ in kept], truths, said, level=level, seed=seed)


def _corrected(truths: Sequence[bool], said: Sequence[bool], others: Sequence[bool], level: float) -> Corrected | None:
    return corrected(truths, said, others, level=level) if len(truths) > 1 and others else None


def _needed(
    accuracy: Interval | None,
    kappa: Interval | None,
    found: Rates,
    truths: Sequence[bool],
    said: Sequence[bool],
    others: int,
    width: float,
    level: float,
) -> dict[str, int]:
    """The labels that each value needs; those of sensitivity and specificity are labels on all kinds of items."""
    n, out = len(truths), {}
    if accuracy:
        out["accuracy"] = power.for_rate(accuracy.value, width, level)
    for name, one in (("sensitivity", found.sensitivity), ("specificity", found.specificity)):
        if one:
            out[name] = -(-power.for_rate(one.value, width, level) * n // one.n)
    if kappa and len(set(said)) > 1:
        out["kappa"] = power.for_interval(kappa, width)
    if n > 1:
        out["rate, people only"] = power.for_corrected(truths, said, 0, width, level)
        if others:
            out["rate, corrected"] = power.for_corrected(truths, said, others, width, level)
    return out


def _warnings(
    labels: Labels,
    pairs: Sequence[tuple[str | None, str | None]],
    kappa: Interval | None,
    people: Interval | None,
    unknown: int,
) -> list[str]:
    out, truths = [], [label == labels.question.positive for label, _ in pairs]
    if unknown:
        out.append(f"{unknown} items with a label have no verdict; they are left out of every value here")
    if all(truths) or not any(truths):
        out.append(f"all labels are on one side of {labels.question.positive!r}: one of sensitivity and specificity is")
        out[-1] += " not known, and nothing can be fitted"
    if len({verdict for _, verdict in pairs}) == 1:
        out.append(f"the judge always says {pairs[0][1]!r}: it tells nothing apart")
    if kappa is None:
        out.append("labels and verdicts are all the same, so that kappa is not defined")
    if len(labels.annotators) == 1:
        out.append("one annotator: how far people agree among themselves is not known")
    elif people is None:
        out.append("how far people agree among themselves is not known: no item varies between two annotators")
    if len(truths) < 30:
        out.append(f"{len(truths)} labels are few; the intervals are wide and only approximate")
    return out
