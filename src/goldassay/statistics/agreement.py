"""Agreement of two raters beyond chance: Cohen's κ = 1 − D / E, plain or weighted.

D is the mean distance of the two values of a unit, E that of a value of the first rater and one of the second, drawn
independently of each other. Without weights the distance of two values is 1 if they differ.

Sources: Cohen 1960, 1968
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from itertools import product
from typing import TypeVar

from goldassay.core.tally import Number

Rating = TypeVar("Rating", bound=Hashable)


def disagreement(
    pairs: Mapping[tuple[Rating, Rating], Number], distance: Callable[[Rating, Rating], float] | None = None
) -> tuple[Number, Number]:
    """The disagreement that was observed, and that by chance, both times n² for n units: whole counts stay exact.

    Args:
        pairs: How often each pair of values occurs; numbers, or arrays of one shape.
        distance: How far apart two values are; without it, 1 if they differ.

    >>> observed, expected = disagreement({("M", "M"): 1, ("M", "A"): 1, ("A", "A"): 2})
    >>> 1 - observed / expected
    0.5
    """
    first: defaultdict[Rating, Number] = defaultdict(float)
    second: defaultdict[Rating, Number] = defaultdict(float)
    for (a, b), count in pairs.items():
        first[a] = first[a] + count
        second[b] = second[b] + count
    n = sum(pairs.values())
    if distance is None:  # what is not equal: linear in the number of values
        equal = sum(count for (a, b), count in pairs.items() if a == b)
        by_chance = sum(first[value] * second[value] for value in first.keys() & second.keys())
        return n * (n - equal), n * n - by_chance
    observed = sum(distance(*pair) * count for pair, count in pairs.items())
    expected = sum(distance(a, b) * first[a] * second[b] for a, b in product(first, second))
    return n * observed, expected
