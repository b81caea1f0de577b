"""Prediction-powered inference: a mean or a rate from a few human labels and many verdicts of a judge.

estimate = λ·mean(verdicts without label) + mean(labels − λ·verdicts with label), with the λ of least variance,
λ = cov(label, verdict) / ((1 + n/N)·var(verdict)), clipped to 0–1: a judge that knows nothing costs nothing.
Angelopoulos, Duchi, Zrnic, PPI++: efficient prediction-powered inference, 2023.

The interval of a mean is Student's. That of a rate (all values are 0 or 1) is Wilson's, of as many labels as the
estimate is worth: n · var(people only) / var(estimate), both variances with one more item of each of the four kinds,
since a few labels that are all alike say neither that the rate is certain nor that the judge never errs. Near 0 and 1
the normal interval covers far too little (rate 0.97, 40 labels: 70 % of the intervals that claim 95 %).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from goldassay.exceptions import GoldassayError
from goldassay.statistics.intervals import Interval, wilson

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


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
    bounds: tuple[float, float] | None = None,
) -> Corrected:
    """The mean of what people would say, from ``labels`` with their ``verdicts`` and ``unlabelled`` verdicts.

    ``bounds`` are the ends of the scale: no value and no interval leaves it.

    Args:
        level: The level of the interval, such as 0.95.

    >>> found = corrected([1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0])
    >>> round(found.naive.value, 3), round(found.corrected.value, 3), round(found.trust, 3)
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
    if set(y.tolist()) | set(everything.tolist()) <= {0.0, 1.0}:
        value = min(1.0, max(0.0, value))
        worth = _worth(y, f, g)
        bounds = wilson(value * worth, worth, level)
        found = Interval(value, *bounds, level, n + len(g), "ppi++, wilson")
        return Corrected(found, _rate(everything, level), _rate(y, level), trust)
    found = _student(value, float(np.sqrt(variance)), n, level, "ppi++", bounds)
    found = replace(found, n=n + len(g))
    return Corrected(found, mean(everything, level=level, bounds=bounds), mean(y, level=level, bounds=bounds), trust)


def _trust(y: Vector, f: Vector, g: Vector) -> tuple[float, float]:
    """λ, and the variance of the estimate with it."""
    n, big = len(y), len(g)
    spread = float(np.concatenate([f, g]).var(ddof=1))
    trust = float(np.clip(np.cov(y, f)[0, 1] / ((1 + n / big) * spread), 0, 1)) if spread else 0.0
    return trust, trust**2 * spread / big + float((y - trust * f).var(ddof=1)) / n


def _worth(y: Vector, f: Vector, g: Vector) -> float:
    """How many labels alone would say as much of a rate as these with the verdicts do."""
    more, said = np.append(y, [1, 1, 0, 0]), np.append(f, [1, 0, 1, 0])
    _, variance = _trust(more, said, g)
    return len(y) * max(1.0, float(more.var(ddof=1)) / len(more) / variance)


def _rate(values: Vector, level: float) -> Interval:
    n, hits = len(values), float(values.sum())
    return Interval(hits / n, *wilson(hits, n, level), level, n, "wilson")


def mean(
    values: Sequence[float] | Vector, *, level: float = 0.95, bounds: tuple[float, float] | None = None
) -> Interval:
    """A mean with Student's interval, within the ends of its scale.

    >>> from dataclasses import astuple
    >>> mean([4, 5, 5], bounds=(1, 5)).high, [round(end, 2) for end in astuple(mean([5] * 20, bounds=(1, 5)))[1:3]]
    (5.0, [4.36, 5.0])
    """
    given = np.asarray(values, float)
    n = len(given)
    return _student(float(given.mean()), float(given.std(ddof=1) / np.sqrt(n)), n, level, "t", bounds)


def _student(
    value: float, error: float, n: int, level: float, method: str, bounds: tuple[float, float] | None
) -> Interval:
    """Student's interval. Grades that are all alike would be certain: within bounds, theirs is that of a rate."""
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    low, high = value - half, value + half
    if bounds is not None:
        least, most = (float(end) for end in bounds)
        value = min(most, max(least, value))
        if error < 1e-12 * (most - least):
            share = (value - least) / (most - least)
            low, high = (least + end * (most - least) for end in wilson(share * n, n, level))
            method = f"{method}, wilson" if method != "t" else "wilson"
        low, high = max(least, min(low, value)), min(most, max(high, value))
    return Interval(value, low, high, level, n, method)
