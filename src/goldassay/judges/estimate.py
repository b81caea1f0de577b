"""What a judge says of many items: how often which verdict, and how often people would call them positive.

``naive`` counts the verdicts as if they were right; ``corrected`` takes them with the labels that some items have
(`goldassay.statistics.ppi`), and is there when two items have a label and one has none. ``mean`` is the mean grade of a
question that has grades.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from goldassay.exceptions import DataError
from goldassay.judges.graded import Graded, graded
from goldassay.judges.labels import Labels
from goldassay.judges.rates import rate
from goldassay.judges.votes import Vote
from goldassay.statistics.intervals import Interval
from goldassay.statistics.ppi import Corrected, corrected


@dataclass(frozen=True, slots=True)
class Estimate:
    """Counts, rates and what they cost; ``dissent`` is the mean one of a panel."""

    judge: str
    question: str
    positive: str
    n: int
    unknown: int
    verdicts: Mapping[str, int]
    naive: Interval | None
    corrected: Corrected | None
    dissent: float
    calls: int = 0
    tokens: int = 0
    mean: Graded | None = None

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def estimate(labels: Labels, votes: Sequence[Vote], judge: Any = "") -> Estimate:
    """The counts and rates of votes on items.

    >>> from goldassay.judges.labels import Item
    >>> from goldassay.judges.questions import question
    >>> from goldassay.judges.votes import count
    >>> items = [Item(str(n)) for n in range(3)]
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
        sum(vote.dissent for _, vote in known) / len(known) if known else 0.0,
        int(getattr(judge, "calls", 0)),
        int(getattr(judge, "tokens", 0)),
        graded(labels, votes),
    )
