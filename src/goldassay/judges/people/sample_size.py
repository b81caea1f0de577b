"""How many labels a wanted width needs, and which items to label next.

A rate p needs the smallest n at which Wilson's interval of p is no wider. With N verdicts on other items, n labels are
worth n / (1 − ρ² / (1 + n / N)) labels alone at the best λ, ρ being the correlation of label and verdict; that many go
into Wilson's interval, as in `goldassay.statistics.ppi`. Like there, ρ and p are those of the labels that are there and
one more item of each of the four kinds: a few that are all alike do not say that no more are needed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.judges.ask.panel import Vote
from goldassay.statistics.intervals import Interval, wilson

MOST = 10_000_000


def for_rate(rate: float, width: float, level: float = 0.95) -> int:
    """The labels that a rate needs.

    >>> for_rate(0.5, 0.1), for_rate(1.0, 0.1)      # at 0.5: 1.96² / 0.1² − 1.96² = 380.3
    (381, 35)
    """
    wanted = _positive(width)

    def wide(n: int) -> bool:
        low, high = wilson(rate * n, n, level)
        return high - low > wanted

    return _smallest(wide)


def for_interval(found: Interval, width: float) -> int:
    """The labels that any interval needs: its width falls with the square root of n.

    >>> for_interval(Interval(0.6, 0.5, 0.7, n=50), 0.1)
    200
    """
    return max(1, math.ceil(round(found.n * ((found.high - found.low) / _positive(width)) ** 2, 9)))


def for_corrected(
    labels: Sequence[float], verdicts: Sequence[float], others: int, width: float, level: float = 0.95
) -> int:
    """The labels that the corrected rate needs with verdicts on other items; never more than people alone.

    Args:
        labels: 1 for each item that people call positive, 0 for the others.
        verdicts: the judge's, on the same items.
        others: how many more items have a verdict.
        width: the width of interval that is wanted.
        level: of the interval.

    Raises:
        GoldassayError: the width is not between 0 and 1.

    >>> people, judge = [1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1]
    >>> for_corrected(people, judge, 10_000, 0.1) < for_corrected(people, judge, 1, 0.1)
    True
    """
    y, f = np.append(np.asarray(labels, float), [1, 1, 0, 0]), np.append(np.asarray(verdicts, float), [1, 0, 1, 0])
    wanted, rate = _positive(width), float(y.mean())
    shared = float(np.corrcoef(y, f)[0, 1]) ** 2 if others else 0.0

    def wide(n: int) -> bool:
        worth = n / (1 - (shared / (1 + n / others) if others else 0.0))
        low, high = wilson(rate * worth, worth, level)
        return high - low > wanted

    return _smallest(wide)


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


def _smallest(too_few: Callable[[int], bool]) -> int:
    low, high = 0, 1
    while too_few(high) and high < MOST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if too_few(middle) else (low, middle)
    return high


def _positive(width: float) -> float:
    if not 0 < width < 1:
        raise GoldassayError(f"a wanted width is between 0 and 1, not {width}")
    return width
