"""How often a judge is right: accuracy, sensitivity, specificity, each with Wilson's interval.

sensitivity = verdicts that are positive / items that people call positive; specificity = verdicts that are not
positive / items that people do not call positive. Both are ``None`` where there is no such item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from goldassay.statistics.intervals import Interval, wilson


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
