"""How often a judge is right, and what it says of many items: rates with Wilson's intervals.

Beside people: sensitivity = verdicts that are positive / items that people call positive; specificity = verdicts that
are not positive / items that people do not call positive. Both are ``None`` where there is no such item.

Of many items: how often which verdict, and how often people would call them positive. ``naive`` counts the verdicts as
if they were right; ``corrected`` takes them with the labels that some items have (`goldassay.statistics.ppi`), and is
there when two items have a label and one has none. ``mean`` is the mean grade of a question that has grades.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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

    def state(self) -> dict[str, Any]:
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
    """Counts, rates and what they cost; ``disagreement`` is the mean one of a panel."""

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
    tokens: int = 0
    mean: Graded | None = None

    def state(self) -> dict[str, Any]:
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
        int(getattr(judge, "tokens", 0)),
        graded(labels, votes),
    )
