"""Ranks with their doubt: of several systems on the same examples, the set of ranks that each may have.

Every pair of systems is tested, all pairs together at one level (Holm). A system stands behind those that are better
than it beyond doubt, and before those that are worse; between lies its set of ranks. With a chance of 1 − alpha at
least all sets hold the true ranks at once (Mogstad, Romano, Shaikh, Wilhelm, Inference for ranks, 2024).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from goldassay.exceptions import GoldassayError
from goldassay.statistics.evidence import Evidences, Values
from goldassay.statistics.paired import compare, holm

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Rank:
    """The ranks that a system may have, the best being 1, and its corpus value."""

    low: int
    high: int
    value: float

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


def ranks(
    systems: Mapping[K, Values],
    zero: Any = None,
    *,
    clusters: Sequence[Any] | None = None,
    lower_is_better: bool = False,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[K, Rank]:
    """The set of ranks of each system, in the order given.

    Args:
        systems: the tallies (or numbers) of each system, on the same examples.
        zero: the tallies' zero; None for plain numbers.
        clusters: examples of one cluster (document) count as one.
        lower_is_better: whether the least value is the best.
        alpha: the chance that any set misses its system's true rank.
        resamples: of each permutation test.
        seed: of the tests.

    >>> right = {"a": [1.0] * 30, "b": [1.0] * 27 + [0.0] * 3, "c": [0.0] * 20 + [1.0] * 10}
    >>> {name: str(rank) for name, rank in ranks(right, resamples=2000).items()}
    {'a': '1–2', 'b': '1–2', 'c': '3'}
    """
    if not systems:
        raise GoldassayError("there are no systems to rank")
    if not 0 < alpha < 1:
        raise GoldassayError(f"alpha lies between 0 and 1, not {alpha:g}")
    pairs = list(combinations(systems, 2))
    tests = [compare(systems[a], systems[b], zero, clusters=clusters, resamples=resamples, seed=seed) for a, b in pairs]
    better = dict.fromkeys(systems, 0)
    worse = dict.fromkeys(systems, 0)
    for (a, b), found, p in zip(pairs, tests, holm([found.p for found in tests]), strict=True):
        if p > alpha or found.difference == 0:
            continue
        first, second = (a, b) if (found.difference > 0) != lower_is_better else (b, a)
        better[second] += 1  # one more stands before it
        worse[first] += 1
    return {
        name: Rank(1 + better[name], len(systems) - worse[name], Evidences(values, zero, clusters).value)
        for name, values in systems.items()
    }
