"""Intervals: percentile bootstrap, BCa, Wilson, t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from goldassay.exceptions import GoldassayError
from goldassay.statistics.resampling import Evidences, Floats, bootstrap
from goldassay.tally import Mean


@dataclass(frozen=True, slots=True)
class Interval:
    """A value between its bounds: ``level`` of such intervals hold the true value."""

    value: float
    low: float
    high: float
    level: float = 0.95
    n: int = 0
    method: str = "bootstrap"

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def interval(
    tallies: Sequence[Any],
    zero: Any = None,
    *,
    clusters: Sequence[Any] | None = None,
    method: str = "bootstrap",
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The corpus value of tallies (or the mean of plain numbers) with its interval.

    ``method``: ``bootstrap`` (percentile, over examples, or over ``clusters``), ``bca`` (bias-corrected and
    accelerated), ``t`` (means), ``wilson`` (rates of 0/1 values).

    >>> found = interval([1.0, 0.0, 1.0, 1.0], method="wilson")
    >>> round(found.low, 3), found.value, round(found.high, 3)
    (0.301, 0.75, 0.954)
    """
    plain, zero = as_tallies(tallies, zero)
    evidences = Evidences(plain, zero, clusters)
    value, n = evidences.value, len(evidences.matrix)
    if method in ("t", "wilson"):
        values = np.array([float(tally.value) for tally in plain])
        low, high = (_t if method == "t" else _wilson)(values, level)
    elif method in ("bootstrap", "bca"):
        resampled = bootstrap(evidences, resamples, seed)
        tail = (1 - level) / 2
        ends = (tail, 1 - tail) if method == "bootstrap" else _bca(evidences, resampled, value, tail)
        low, high = (float(bound) for bound in np.quantile(resampled, ends))
    else:
        raise GoldassayError(f"no interval {method!r}; there are bootstrap, bca, t, wilson")
    return Interval(value, low, high, level, n, method)


def as_tallies(values: Sequence[Any], zero: Any) -> tuple[list[Any], Any]:
    """Plain numbers as means; tallies as they are."""
    if zero is not None:
        return list(values), zero
    numbers = [float(value) for value in values]
    if not all(np.isfinite(numbers)):
        raise GoldassayError("a value is not a finite number; leave such examples out and say so")
    return [Mean.of(number) for number in numbers], Mean()


def _t(values: Floats, level: float) -> tuple[float, float]:
    mean, half = float(values.mean()), 0.0
    if len(values) > 1 and values.std() > 0:
        half = float(stats.t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return mean - half, mean + half


def _wilson(values: Floats, level: float) -> tuple[float, float]:
    if not set(values.tolist()) <= {0.0, 1.0}:
        raise GoldassayError("Wilson's interval is for rates: every value must be 0 or 1")
    return wilson(float(values.sum()), len(values), level)


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate (Wilson 1927).

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.49, 0.943]
    """
    if n == 0:
        return 0.0, 1.0
    z = float(stats.norm.ppf((1 + level) / 2))
    p, z2 = successes / n, z * z / n
    centre, half = (p + z2 / 2) / (1 + z2), z * float(np.sqrt(p * (1 - p) / n + z2 / (4 * n))) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def _bca(evidences: Evidences, resampled: Floats, value: float, tail: float) -> tuple[float, float]:
    """The quantiles of the bias-corrected and accelerated bootstrap (Efron 1987)."""
    below = float((resampled < value).mean() + (resampled == value).mean() / 2)
    if not 0.0 < below < 1.0:
        return tail, 1 - tail
    bias = float(stats.norm.ppf(below))
    left_out = evidences.values(evidences.matrix.sum(axis=0) - evidences.matrix)
    gaps = left_out.mean() - left_out
    spread = float((gaps**2).sum()) ** 1.5
    acceleration = float((gaps**3).sum()) / (6 * spread) if spread else 0.0
    ends = []
    for z in stats.norm.ppf([tail, 1 - tail]):
        ends.append(float(stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))))
    return ends[0], ends[1]
