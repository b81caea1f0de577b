"""Prediction-powered inference: a mean or a rate from a few human labels and many verdicts of a judge.

estimate = λ·mean(verdicts without label) + mean(labels − λ·verdicts with label), with the λ of least variance,
λ = cov(label, verdict) / ((1 + n/N)·var(verdict)), clipped to 0–1: a judge that knows nothing does no harm.
Angelopoulos, Duchi, Zrnic, PPI++: efficient prediction-powered inference, 2023.

The interval of a mean is Student's. That of a rate (all values are 0 or 1) is Wilson's, at the effective number of
labels: n · var(people only) / var(estimate), both variances with one more item of each of the four kinds, since a few
labels that are all alike say neither that the rate is certain nor that the judge never errs. Near 0 and 1 the normal
interval covers far too little (rate 0.97, 40 labels: 70 % of the intervals that claim 95 %).

All of this needs labels on a random sample of the items. Two other ways to come by labels have estimators of their own:

* Labels from elsewhere, where positive items may be rarer or more frequent, but the judge errs as often on each kind:
  the rate is (q + specificity − 1) / (sensitivity + specificity − 1), with the share q of positive verdicts on them
  (Rogan and Gladen 1978). Its interval holds each rate that the verdicts do not contradict: a score test, so that a
  judge near chance has a wide interval and not a wrong one (Fieller 1954; proportions as Agresti and Coull 1998).
* Labels chosen by the verdict (`judge eval --labels`): those of each verdict, weighted by how many items have it.

`exchangeable` tests whether the verdicts with a label are distributed as those without. No test can show that they are,
so labels whose origin is unknown have an interval that holds both estimates (`Corrected.chosen`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from goldassay._support.exceptions import GoldassayError
from goldassay.statistics.intervals import Bounds, Interval, interval, student, wilson

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
UNBOUNDED = -math.inf, math.inf
ORIGINS = ("unknown", "random", "verdict", "elsewhere")


@dataclass(frozen=True, slots=True)
class Corrected:
    """The corrected estimate; with what the verdicts alone and the labels alone would say."""

    corrected: Interval
    naive: Interval
    people_only: Interval
    trust: float  # λ: 0 leaves the judge aside, 1 takes it fully
    exchangeable_p: float = 1.0  # below 0.05 the labelled items are not like the others
    rogan_gladen: Interval | None = None  # for verdicts that are 0 or 1, of a judge better than chance
    by_verdict: Interval | None = None
    chosen: Interval | None = None  # the one that is valid for labels of this origin
    why: str = ""


def corrected(
    labels: Sequence[float],
    verdicts: Sequence[float],
    unlabelled: Sequence[float],
    *,
    bounds: Bounds | None = None,
    origin: str = "unknown",
) -> Corrected:
    """The mean that people's labels would have, from ``labels`` with their ``verdicts`` and ``unlabelled`` verdicts.

    Raises:
        GoldassayError: There are too few labels, or something is not a number.

    Args:
        bounds: The ends of the scale: no value and no interval leaves it.
        origin: How the labelled items were chosen: at ``random`` among these, by the ``verdict``, ``elsewhere``, or
            ``unknown``.

    >>> estimate = corrected([1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0])
    >>> round(estimate.naive.value, 3), round(estimate.corrected.value, 3), round(estimate.trust, 3)
    (0.667, 0.5, 0.567)
    """
    y = np.asarray(labels, float)
    f = np.asarray(verdicts, float)
    g = np.asarray(unlabelled, float)
    if len(y) != len(f):
        raise GoldassayError(f"{len(y)} labels but {len(f)} verdicts on the same items; each label needs its verdict")
    if len(y) < 2 or len(g) < 1:
        raise GoldassayError(
            f"a correction needs 2 labels and 1 verdict without label; there are {len(y)} and {len(g)}"
        )
    everything = np.concatenate([f, g])
    if not np.isfinite([*y, *everything]).all():
        raise GoldassayError("a label or verdict is not a number; leave unknown verdicts out and count them")
    if origin not in ORIGINS:
        raise GoldassayError(f"labels are {', '.join(ORIGINS)}, not {origin!r}")
    trust, variance = _trust(y, f, g)
    value = trust * float(g.mean()) + float((y - trust * f).mean())
    n = len(y)
    limits = bounds or UNBOUNDED
    if set(y.tolist()) | set(everything.tolist()) <= {0.0, 1.0}:
        value = min(1.0, max(0.0, value))
        # the labels that alone would say as much: both variances with one more item of each of the four kinds
        more = np.append(y, [1, 1, 0, 0])
        _, variance = _trust(more, np.append(f, [1, 0, 1, 0]), g)
        size = n * max(1.0, float(more.var(ddof=1)) / len(more) / variance)
        estimate = Interval(value, *wilson(value * size, size), n=n + len(g), method="ppi++, wilson")
        method = "auto"
        limits = (0.0, 1.0)
    else:
        estimate = replace(student(value, float(np.sqrt(variance)), n, limits, method="ppi++"), n=n + len(g))
        method = "t"
    naive = interval(everything, method=method, bounds=limits)
    people = interval(y, method=method, bounds=limits)
    p = exchangeable(f, g)
    if method == "t":  # numbers, for which there is no other estimator
        why = "the labelled items are not like the others, and nothing corrects that" if p < 1 - estimate.level else ""
        return Corrected(estimate, naive, people, trust, p, chosen=estimate, why=why)
    rogan = rogan_gladen(y, f, g)
    strata = by_verdict(y, f, g)
    return Corrected(estimate, naive, people, trust, p, rogan, strata, *_choose(origin, p, estimate, rogan, strata))


def _choose(
    origin: str, p: float, ppi: Interval, rogan: Interval | None, strata: Interval | None
) -> tuple[Interval, str]:
    """The interval that is valid for labels of this origin, and why."""
    differ = p < 1 - ppi.level
    if origin == "verdict" and strata is not None:
        return strata, "the labels were chosen by the verdict"
    if origin == "random" and not differ:
        return ppi, "the labels are a random sample"
    if rogan is None:
        return replace(ppi, low=0.0, high=1.0, method="none"), "these labels do not show that the judge separates them"
    if differ or origin == "elsewhere":
        return rogan, "the labelled items are not like the others" if differ else "the labels are from elsewhere"
    low = min(ppi.low, rogan.low)
    high = max(ppi.high, rogan.high)
    return replace(ppi, low=low, high=high, method="both"), "whether the labels are a random sample is not known"


def exchangeable(labelled: Vector, unlabelled: Vector) -> float:
    """The p-value of verdicts with a label being like those without: Fisher's exact test, or Mann and Whitney's.

    >>> round(exchangeable(np.array([1.0] * 9 + [0.0]), np.array([1.0] * 20 + [0.0] * 80)), 6)
    1.8e-05
    """
    if not set(labelled.tolist()) | set(unlabelled.tolist()) <= {0.0, 1.0}:
        return float(scipy.stats.mannwhitneyu(labelled, unlabelled).pvalue)
    table = [[int(side.sum()), int(len(side) - side.sum())] for side in (labelled, unlabelled)]
    result = scipy.stats.fisher_exact(table)
    return float(result.pvalue)


def rogan_gladen(y: Vector, f: Vector, g: Vector) -> Interval | None:
    """The rate among other items, by the judge's sensitivity and specificity; None if it is no better than chance.

    Args:
        y: Labels, 0 or 1.
        f: The verdicts on the same items.
        g: The verdicts on the others.

    >>> labels, verdicts = np.array([1] * 40 + [0] * 40), np.array([1] * 36 + [0] * 4 + [1] * 8 + [0] * 32)
    >>> rate = rogan_gladen(labels, verdicts, np.array([1] * 340 + [0] * 660))      # (.34 + .8 - 1) / (.9 + .8 - 1)
    >>> round(rate.value, 3), round(rate.low, 3), round(rate.high, 3)
    (0.2, 0.0, 0.33)
    """
    samples = (g, f[y == 1], 1 - f[y == 0])
    if not all(map(len, samples)) or (span := float(samples[1].mean() + samples[2].mean()) - 1) <= 0:
        return None
    value = min(1.0, max(0.0, (float(g.mean()) + float(samples[2].mean()) - 1) / span))
    q, spread = _plus_one(samples[0])
    right, of_right = _plus_one(samples[1])
    left, of_left = _plus_one(samples[2])
    rates = np.linspace(0, 1, 2001)
    gaps = q - (rates * right + (1 - rates) * (1 - left))
    errors = np.sqrt(spread + rates**2 * of_right + (1 - rates) ** 2 * of_left)
    fit = rates[np.abs(gaps) <= scipy.special.ndtri(0.975) * errors]
    low, high = (float(fit[0]), float(fit[-1])) if len(fit) else (0.0, 1.0)
    return Interval(value, min(low, value), max(high, value), n=len(y) + len(g), method="rogan-gladen")


def by_verdict(y: Vector, f: Vector, g: Vector) -> Interval | None:
    """The rate from the labels of each verdict; None if a verdict that is given has no label."""
    everything = np.concatenate([f, g])
    share = float(everything.mean())
    n = len(everything)
    parts = [(weight, y[f == verdict]) for verdict, weight in ((1.0, share), (0.0, 1 - share)) if weight]
    if not all(len(labels) for _, labels in parts):
        return None
    value = sum(weight * float(labels.mean()) for weight, labels in parts)
    rates = [_plus_one(labels) for _, labels in parts]
    middle = sum(weight * rate for (weight, _), (rate, _) in zip(parts, rates, strict=True))
    variance = sum(weight**2 * spread for (weight, _), (_, spread) in zip(parts, rates, strict=True))
    variance += (rates[0][0] - rates[-1][0]) ** 2 * share * (1 - share) / n
    size = middle * (1 - middle) / variance
    return Interval(value, *wilson(value * size, size), n=n, method="by verdict")


def _plus_one(values: Vector) -> tuple[float, float]:
    """A rate with one more item of each kind, and its variance."""
    n = len(values) + 2
    rate = (float(values.sum()) + 1) / n
    return rate, rate * (1 - rate) / n


def _trust(y: Vector, f: Vector, g: Vector) -> tuple[float, float]:
    """λ, and the variance of the estimate with it."""
    n = len(y)
    unlabelled = len(g)
    spread = float(np.concatenate([f, g]).var(ddof=1))
    trust = float(np.clip(np.cov(y, f)[0, 1] / ((1 + n / unlabelled) * spread), 0, 1)) if spread else 0.0
    return trust, trust**2 * spread / unlabelled + float((y - trust * f).var(ddof=1)) / n
