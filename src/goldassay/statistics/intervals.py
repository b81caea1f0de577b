"""Intervals: percentile bootstrap, BCa, Wilson, t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from goldassay.exceptions import GoldassayError
from goldassay.statistics.evidence import Evidences, Floats, Values
from goldassay.statistics.resampling import bootstrap, check
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
    tallies: Values,
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
    accelerated, the same way), ``t`` (for means), ``wilson`` (for rates: means of 0 and 1). The last two are for plain
    numbers and `Mean` tallies whose examples weigh 1, or 0 where the measure does not apply.

    >>> found = interval([1.0, 0.0, 1.0, 1.0], method="wilson")
    >>> round(found.low, 3), found.value, round(found.high, 3)
    (0.301, 0.75, 0.954)
    """
    check(level, resamples, seed)
    evidences = Evidences(tallies, zero, clusters)
    value, n = evidences.value, len(evidences.matrix)
    if method in ("t", "wilson"):
        values = _means(evidences, method, clusters is not None)
        low, high = (_t if method == "t" else _wilson)(values, level)
        n = len(values)
    elif method in ("bootstrap", "bca"):
        low, high = quantiles(evidences, bootstrap(evidences, resamples, seed), level, method)
    else:
        raise GoldassayError(f"no interval {method!r}; there are bootstrap, bca, t, wilson")
    return Interval(value, low, high, level, n, method)


def quantiles(evidences: Evidences, resampled: Floats, level: float, method: str) -> tuple[float, float]:
    """The ends of the percentile or the BCa interval, from the resampled values."""
    tail = (1 - level) / 2
    ends = (tail, 1 - tail) if method == "bootstrap" else _bca(evidences, resampled, evidences.value, tail)
    low, high = (float(bound) for bound in np.quantile(resampled, ends))
    return low, high


def _means(evidences: Evidences, method: str, clusters: bool) -> Floats:
    """The values of examples whose mean is the corpus value; those that weigh nothing are left out."""
    if type(evidences.zero) is not Mean or clusters:
        raise GoldassayError(f"{method!r} is for means over examples; use the bootstrap for clusters and other tallies")
    total, weight = evidences.matrix.T
    if not set(weight.tolist()) <= {0.0, 1.0}:
        raise GoldassayError(f"{method!r} is for means whose examples weigh the same; use the bootstrap")
    found: Floats = total[weight > 0]
    if not len(found):
        raise GoldassayError("no evidence: the measure applies to none of the examples")
    return found


def _t(values: Floats, level: float) -> tuple[float, float]:
    if len(values) < 2:
        raise GoldassayError("a t interval needs at least two examples")
    mean, half = float(values.mean()), 0.0
    if values.std() > 0:
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
    if not 0 <= successes <= n or not 0 < level < 1:
        raise GoldassayError(f"{successes:g} of {n:g} at level {level:g} is no rate with an interval")
    if n == 0:
        return 0.0, 1.0
    z = float(stats.norm.ppf((1 + level) / 2))
    p, z2 = successes / n, z * z / n
    centre, half = (p + z2 / 2) / (1 + z2), z * float(np.sqrt(p * (1 - p) / n + z2 / (4 * n))) / (1 + z2)
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))  # rounding leaves p outside at 0 and 1


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
