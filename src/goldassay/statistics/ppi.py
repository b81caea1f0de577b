"""Prediction-powered inference: a mean or a rate from a few human labels and many verdicts of a judge.

estimate = λ·mean(verdicts without label) + mean(labels − λ·verdicts with label), with the λ of least variance,
λ = cov(label, verdict) / ((1 + n/N)·var(verdict)), clipped to 0–1: a judge that knows nothing does no harm.
Angelopoulos, Duchi, Zrnic, PPI++: efficient prediction-powered inference, 2023.

The interval of a mean is Student's. That of a rate (all values are 0 or 1) is Wilson's, at the effective number of
labels: n · var(people only) / var(estimate), both variances with one more item of each of the four kinds, since a few
labels that are all alike say neither that the rate is certain nor that the judge never errs. Near 0 and 1 the normal
interval covers far too little (rate 0.97, 40 labels: 70 % of the intervals that claim 95 %).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.statistics.intervals import Bounds, Interval, interval, student, wilson

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
UNBOUNDED = -math.inf, math.inf


@dataclass(frozen=True, slots=True)
class Corrected:
    """The corrected estimate; beside it what the verdicts alone and the labels alone would say."""

    corrected: Interval
    naive: Interval
    people_only: Interval
    trust: float  # λ: 0 leaves the judge aside, 1 takes it fully


def corrected(
    labels: Sequence[float],
    verdicts: Sequence[float],
    unlabelled: Sequence[float],
    *,
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> Corrected:
    """The mean of what people would say, from ``labels`` with their ``verdicts`` and ``unlabelled`` verdicts.

    ``bounds`` are the ends of the scale: no value and no interval leaves it.

    Args:
        level: The level of the interval, such as 0.95.

    >>> estimate = corrected([1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0])
    >>> round(estimate.naive.value, 3), round(estimate.corrected.value, 3), round(estimate.trust, 3)
    (0.667, 0.5, 0.567)
    """
    y, f, g = (np.asarray(values, float) for values in (labels, verdicts, unlabelled))
    if len(y) != len(f):
        raise GoldassayError(f"{len(y)} labels but {len(f)} verdicts on the same items; each label needs its verdict")
    if len(y) < 2 or len(g) < 1:
        raise GoldassayError(
            f"a correction needs 2 labels and 1 verdict without label; there are {len(y)} and {len(g)}"
        )
    if not all(np.isfinite(values).all() for values in (y, f, g)):
        raise GoldassayError("a label or verdict is not a number; leave unknown verdicts out and count them")
    trust, variance = _trust(y, f, g)
    value = trust * float(g.mean()) + float((y - trust * f).mean())
    everything, n = np.concatenate([f, g]), len(y)
    limits = bounds or UNBOUNDED
    if set(y.tolist()) | set(everything.tolist()) <= {0.0, 1.0}:
        value = min(1.0, max(0.0, value))
        size = _effective_labels(y, f, g)
        estimate = Interval(value, *wilson(value * size, size, level), level, n + len(g), "ppi++, wilson")
        method = "wilson"
    else:
        estimate = replace(student(value, float(np.sqrt(variance)), n, level, limits, "ppi++"), n=n + len(g))
        method = "t"
    naive, people = (interval(values, method=method, bounds=limits, level=level) for values in (everything, y))
    return Corrected(estimate, naive, people, trust)


def _trust(y: Vector, f: Vector, g: Vector) -> tuple[float, float]:
    """λ, and the variance of the estimate with it."""
    n, others = len(y), len(g)
    spread = float(np.concatenate([f, g]).var(ddof=1))
    trust = float(np.clip(np.cov(y, f)[0, 1] / ((1 + n / others) * spread), 0, 1)) if spread else 0.0
    return trust, trust**2 * spread / others + float((y - trust * f).var(ddof=1)) / n


def _effective_labels(y: Vector, f: Vector, g: Vector) -> float:
    """How many labels alone would say as much of a rate as these with the verdicts do."""
    labels, verdicts = np.append(y, [1, 1, 0, 0]), np.append(f, [1, 0, 1, 0])
    _, variance = _trust(labels, verdicts, g)
    return len(y) * max(1.0, float(labels.var(ddof=1)) / len(labels) / variance)
