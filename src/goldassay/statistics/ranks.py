"""Ranks with their doubt: the set of ranks that each system may have, and how an order hangs on weights.

Every pair of systems is compared on the same examples (`compare`), the p-values corrected after Holm, so that with
probability ``level`` no difference that is called sure is chance. Systems that are surely better than one stand before
it, those surely worse behind it; with all others it may change places: of n systems, its rank lies between
1 + (surely better) and n − (surely worse). After Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks",
Review of Economic Studies 2024, with permutation tests in place of their bootstrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.statistics.paired import compare, holm


@dataclass(frozen=True, slots=True)
class Rank:
    """The ranks that a system may have: ``1–3`` is any of three."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def ranks(
    systems: Sequence[Sequence[object]],
    zero: object = None,
    *,
    clusters: Sequence[object] | None = None,
    level: float = 0.95,
    lower_is_better: bool = False,
    resamples: int = 5000,
    seed: int = 0,
) -> list[Rank]:
    """The set of ranks of each system: tallies (or plain numbers) of the same examples.

    Args:
        systems: For each system its tallies or numbers.
        zero: An empty tally of the kind compared; none for plain numbers.
        clusters: The document (or another cluster) of each example; whole clusters are resampled.
        level: With which probability no difference that is called sure is chance.
        lower_is_better: Whether the lowest value is first.
        seed: Of everything that is drawn at random.

    >>> strong, weak = [1.0] * 30, [0.0] * 30
    >>> [str(one) for one in ranks([strong, weak, strong], resamples=500)]
    ['1–2', '3', '1–2']
    """
    n = len(systems)
    pairs = list(combinations(range(n), 2))
    found = [compare(systems[a], systems[b], zero, clusters=clusters, resamples=resamples, seed=seed) for a, b in pairs]
    sure = [p <= 1 - level for p in holm([one.p for one in found])]
    better, worse = [0] * n, [0] * n
    for (a, b), one, certain in zip(pairs, found, sure, strict=True):
        if certain and one.difference:
            first, second = (a, b) if (one.difference > 0) != lower_is_better else (b, a)
            worse[first] += 1
            better[second] += 1
    return [Rank(1 + better[place], n - worse[place]) for place in range(n)]


def firsts(values: Sequence[Mapping[str, float]], *, draws: int = 10_000, seed: int = 0) -> list[float]:
    """How often each system would be first if the weights were any others, all as likely (uniform on the simplex).

    Ties share a first place.

    >>> firsts([{"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.5}])
    [1.0, 0.0]
    """
    names = list(values[0]) if values else []
    if any(set(one) != set(names) for one in values):
        raise GoldassayError(f"the systems have other values: {', '.join(sorted({k for one in values for k in one}))}")
    matrix = np.array([[one[name] for name in names] for one in values], dtype=float)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(names)), size=draws)
    totals = weights @ matrix.T
    best = totals >= totals.max(axis=1, keepdims=True) - 1e-12
    shares: list[float] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return shares


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether nothing is better at both: points are (cost, value), where less cost and more value are better.

    >>> front([(1.0, 0.5), (2.0, 0.9), (3.0, 0.8)])
    [True, True, False]
    """
    return [
        not any(
            other != one and other[0] <= one[0] and other[1] >= one[1] and (other[0] < one[0] or other[1] > one[1])
            for other in points
        )
        for one in points
    ]
