"""Prediction-powered inference: a mean or a rate from a few human labels and many verdicts of a judge.

estimate = λ·mean(verdicts without label) + mean(labels − λ·verdicts with label), with the λ of least variance,
λ = cov(label, verdict) / ((1 + n/N)·var(verdict)), clipped to 0–1: a judge that knows nothing costs nothing.
Angelopoulos, Duchi, Zrnic, PPI++: efficient prediction-powered inference, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from goldassay.exceptions import GoldassayError
from goldassay.statistics.intervals import Interval


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
) -> Corrected:
    """The mean of what people would say, from ``labels`` with their ``verdicts`` and ``unlabelled`` verdicts.

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
    n, big = len(y), len(g)
    spread = float(np.concatenate([f, g]).var(ddof=1))
    trust = float(np.clip(np.cov(y, f)[0, 1] / ((1 + n / big) * spread), 0, 1)) if spread else 0.0
    value = trust * float(g.mean()) + float((y - trust * f).mean())
    error = float(np.sqrt(trust**2 * spread / big + (y - trust * f).var(ddof=1) / n))
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    rates = set(y.tolist()) <= {0.0, 1.0} and set(f.tolist()) | set(g.tolist()) <= {0.0, 1.0}
    low, high = (max(0.0, value - half), min(1.0, value + half)) if rates else (value - half, value + half)
    everything = np.concatenate([f, g])
    return Corrected(
        Interval(value, low, high, level, n + big, "ppi++"),
        _mean(everything, level),
        _mean(y, level),
        trust,
    )


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]], level: float) -> Interval:
    n, value = len(values), float(values.mean())
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return Interval(value, value - half, value + half, level, n, "t")
