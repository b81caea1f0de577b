"""Intervals: Wilson's for values between bounds, Student's for values without; percentile bootstrap.

Near 0 and 1 and for few examples a bootstrap is too narrow, and where all examples are alike it has no width at all.
So the default is Wilson's score interval at the *effective sample size*: with v the value's share of the way between
its bounds, n* = v (1 − v) / variance of v. For a rate of independent examples n* is their number and the interval is
Wilson's own. For every other value Student's quantile takes the place of the normal one; the variance is that of the
mean for means of independent examples (MRR), and the jackknife's for the rest (F1, macro averages, κ, anything over
documents). Where nothing varies, n* is the number of examples. A mean over classes, some of which are rare, is widened
to what is known of each (`macro_ends`). What each covers, by simulation: docs/coverage.md.

Source: Wilson 1927; the effective sample size as in survey sampling, Korn and Graubard 1998, Dean and Pagano 2015;
Wilson's interval for F1, Lam, Gopal and Qian 2023; the jackknife, Efron and Stein 1981.

The jackknife cannot see what a class of two examples could have been, nor that a label of a given list does not occur.
So a mean over classes is combined from an interval of each class. Among the examples that have a class in gold or
predicted, the share that have it in both, J, is a rate with Wilson's interval (of documents: at the effective sample
size, with Student's quantile), and F1 = 2 J / (1 + J); precision and recall are rates themselves. The classes' ends are
combined by the correlation of their errors (MOVER: Zou and Donner 2008). F1 is concave in J, so few examples put it too
low, by at most .19 of one example: the upper end allows for that. A class without evidence may have any rate.

Source: Wilson 1927; Newcombe 1998; Zou and Donner 2008. What it covers, by simulation: docs/coverage.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import scipy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences, Floats, Values, slope
from goldassay.core.fields import JsonObject
from goldassay.core.tally import Confusion, Counts, Mean, Tally
from goldassay.statistics.resampling import bootstrap, check_settings

METHODS = ("auto", "effective", "t", "bootstrap")
Bounds = tuple[float, float]
JACKKNIFED = 2000  # above this many rows the infinitesimal jackknife, which is as good then, does less work
BLOCK = 512  # rows at a time


@dataclass(frozen=True, slots=True)
class Interval:
    """A value between its ends: ``level`` of such intervals hold the true value. ``method`` is how it was made.

    ``effective`` is how many labels without a judge its labels are worth with the judge's verdicts, if there are any.
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    n: int = 0
    method: str = "wilson"
    effective: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The low and the high end."""
        return self.low, self.high

    @property
    def reversed(self) -> Interval:
        """The interval of the difference taken the other way round."""
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    @property
    def reaching_zero(self) -> Interval:
        """The interval, widened to hold 0."""
        return replace(self, low=min(self.low, 0.0), high=max(self.high, 0.0))

    def state(self) -> JsonObject:
        """As JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def effective_labels(intervals: Mapping[str, Interval]) -> list[str]:
    """A line on how many labels without a judge's verdicts these are worth with them, if there are any.

    Args:
        intervals: The intervals by the names of values.

    >>> judged = Interval(0.7, 0.6, 0.8, n=40, effective=63.2)
    >>> effective_labels({"accuracy": judged, "f1": Interval(0.7, 0.6, 0.8, n=40)})
    ["the judge's verdicts make 40 labels worth 63 for accuracy"]
    """
    parts = [f"{estimate.effective:.0f} for {name}" for name, estimate in intervals.items() if estimate.effective]
    labels = max((estimate.n for estimate in intervals.values()), default=0)
    return [f"the judge's verdicts make {labels} labels worth {', '.join(parts[:3])}"] if parts else []


def interval(
    tallies: Values,
    zero: Tally | None = None,
    *,
    clusters: Sequence[object] | None = None,
    method: str = "auto",
    bounds: Bounds | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The corpus value of tallies (or the mean of plain numbers) with its interval.

    Raises:
        GoldassayError: The method, the level or the number of resamples is wrong, or there is not enough evidence.

    Args:
        tallies: one an example, or one whose fields are arrays; or plain numbers.
        zero: the tallies' zero; None for plain numbers.
        clusters: examples of one cluster (document) count as one.
        method: ``auto`` is Wilson's for rates of independent examples, ``t`` for values without bounds, and for the
            others ``effective``: Wilson's at the effective sample size, widened for a mean over classes (``macro``).
            ``t``: Student's, with the jackknife's variance. ``bootstrap``: percentiles.
        bounds: between which the value lies, as `Measure.limits`; None: 0 and 1, if every example's own value does.
        resamples: how many, for the bootstrap.
        level: the share of such intervals that hold the true value.
        seed: of the bootstrap.

    >>> rate = interval([1.0, 0.0, 1.0, 1.0])
    >>> round(rate.low, 3), rate.value, round(rate.high, 3), rate.method
    (0.301, 0.75, 0.954, 'wilson')
    """
    check_settings(level, resamples, seed)
    if method not in METHODS:
        raise GoldassayError(f"no interval {method!r}; there are {', '.join(METHODS)}")
    evidences = Evidences(tallies, zero, clusters)
    value = evidences.value
    n = len(evidences.matrix)
    if not evidences.matrix.any():
        if method == "t":
            raise GoldassayError("no evidence: the measure applies to none of the examples")
        return Interval(value, *(bounds or (0.0, 1.0)), level, 0, "effective")  # anything may be true
    if method == "bootstrap":
        ends = np.quantile(bootstrap(evidences, resamples, seed), ((1 - level) / 2, (1 + level) / 2))
        return Interval(value, float(ends[0]), float(ends[1]), level, n, method)
    values = _own_values(evidences, value) if clusters is None or n == len(clusters) else None  # each its own cluster
    limits = bounds or unit_bounds(evidences, value, evidences.matrix)
    if values is not None and method != "t" and limits == (0.0, 1.0) and set(values.tolist()) <= {0.0, 1.0}:
        return Interval(value, *wilson(float(values.sum()), len(values), level), level, len(values), "wilson")
    by_t = method == "t" or (method == "auto" and not all(map(math.isfinite, limits)))
    variance, n = _variance(evidences, values, unbiased=by_t)
    if method == "t" and n < 2:
        raise GoldassayError("a t interval needs at least two examples")
    if by_t:
        return student(value, math.sqrt(variance), n, limits, level)
    if n < 2:
        return Interval(value, *limits, level, n, "effective")  # one document says nothing of others
    low, high = bounded_ends(value, variance, n, float(scipy.special.stdtrit(n - 1, (1 + level) / 2)), limits)
    low = min(value, low)
    high = max(value, high)
    classes, rate = evidences.tally(evidences.matrix).classes
    if method == "effective" or not classes:
        return Interval(value, low, high, level, n, "effective")
    low, high = macro_ends(classes, rate, (value, low, high), len(evidences.matrix), level)
    return Interval(value, low, high, level, n, "macro")


def student(value: float, error: float, n: int, bounds: Bounds, level: float = 0.95, method: str = "t") -> Interval:
    """Student's interval of a value with this standard error, cut at its bounds.

    Values that are all alike would be certain: between finite bounds their interval is that of a rate.

    Args:
        value: The value.
        error: Its standard error.
        n: Of how many examples.
        bounds: The ends of the scale.
        level: The level of the interval.
        method: What the interval is called.
    """
    if n < 2:
        return Interval(value, value, value, level, n, method)
    half = float(scipy.special.stdtrit(n - 1, (1 + level) / 2)) * error
    low = value - half
    high = value + half
    least = float(bounds[0])
    most = float(bounds[1])
    value = min(most, max(least, value))
    if math.isfinite(most - least) and error < 1e-12 * (most - least):
        share = (value - least) / (most - least)
        share_low, share_high = wilson(share * n, n, level)
        low = least + share_low * (most - least)
        high = least + share_high * (most - least)
        method = "wilson" if method == "t" else f"{method}, wilson"
    return Interval(value, max(least, min(low, value)), min(most, max(high, value)), level, n, method)


def _own_values(evidences: Evidences, value: float) -> Floats | None:
    """The examples' own values, where the corpus value is their plain mean; None where it is not.

    It is if leaving one out leaves the mean of the others. Examples without evidence are left out. F1 of examples that
    are all alike would pass for a mean too, so only means and accuracies qualify.
    """
    if not isinstance(evidences.zero, (Mean, Confusion)):
        return None
    rows = _rows(evidences)
    n = len(rows)
    sums = rows.sum(axis=0)
    some = rows[:BLOCK]
    values = evidences.values(rows)
    if abs(float(values.mean()) - value) > 1e-9:
        return None
    if n > 1 and np.abs(evidences.values(sums - some) - (n * value - values[:BLOCK]) / (n - 1)).max() > 1e-9:
        return None
    return values


def _rows(evidences: Evidences) -> Floats:
    """The rows that hold any evidence."""
    rows: Floats = evidences.matrix[(evidences.matrix != 0).any(axis=1)]
    return rows


def unit_bounds(evidences: Evidences, value: float, rows: Floats) -> Bounds:
    """0 and 1 where every row's own value lies between them; else none."""
    values = evidences.values(rows)
    inside = min(value, float(values.min())) >= 0.0 and max(value, float(values.max())) <= 1.0
    return (0.0, 1.0) if inside else (-math.inf, math.inf)


def effective_sample_size(
    tallies: Values, zero: Tally | None = None, *, clusters: Sequence[object] | None = None, bounds: Bounds = (0.0, 1.0)
) -> tuple[int, float]:
    """How many examples have any evidence, and how many examples of a rate their value is worth.

    >>> effective_sample_size([1.0, 0.0, 1.0, 1.0]), effective_sample_size([0.5, 0.75, 1.0, 0.75])
    ((4, 4.0), (4, 24.0))
    """
    evidences = Evidences(tallies, zero, clusters)
    if not evidences.matrix.any():
        return 0, 0.0
    value = evidences.value
    variance, n = _variance(evidences, None if clusters is not None else _own_values(evidences, value))
    return n, _effective(value, variance, n, bounds)[1]


def _variance(evidences: Evidences, own: Floats | None, unbiased: bool = False) -> tuple[float, int]:
    """The variance of the corpus value, of the examples' own values or else by the jackknife, and the rows it is of."""
    if own is not None:
        n = len(own)
        return float(own.var(ddof=unbiased)) / n if n > 1 or not unbiased else 0.0, n
    rows = _rows(evidences)
    return float((jackknife_parts(evidences, rows) ** 2).sum()), len(rows)


def _effective(value: float, variance: float, n: int, bounds: Bounds) -> tuple[float, float]:
    """The value's share of the way between its bounds, and its effective sample size."""
    least, most = bounds
    share = min(1.0, max(0.0, (value - least) / (most - least)))
    return share, effective_number(share, variance / (most - least) ** 2, n)


def bounded_ends(value: float, variance: float, n: int, quantile: float, bounds: Bounds) -> tuple[float, float]:
    """The ends of Wilson's interval of a value between bounds, at its effective sample size.

    ``variance`` is that of the value, estimated from ``n`` clusters, and ``quantile`` that of the normal distribution.
    """
    least, most = bounds
    low, high = wilson_ends(*_effective(value, variance, n, bounds), quantile)
    return least + low * (most - least), least + high * (most - least)


def jackknife_parts(evidences: Evidences, rows: Floats) -> Floats:
    """The share of each row in the uncertainty of the value: the sum of the squares is the jackknife's variance.

    Returns an array of shape (rows,). Of two systems on the same examples, the sum of the products is the covariance.
    """
    n = len(rows)
    sums = rows.sum(axis=0)
    if n < 2:
        return np.zeros(n)
    if n > JACKKNIFED:
        parts: Floats = rows @ slope(evidences, sums)
        return parts * math.sqrt(n / (n - 1))
    left_out = np.concatenate([evidences.values(sums - rows[at : at + BLOCK]) for at in range(0, n, BLOCK)])
    around: Floats = left_out.mean() - left_out
    return around * math.sqrt((n - 1) / n)


BIAS = 0.19  # the maximum over J of 2 J (1 − J) / (1 + J)³


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate (Wilson 1927).

    Raises:
        GoldassayError: There are more successes than examples, or the level is not between 0 and 1.

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.49, 0.943]
    """
    if not 0 <= successes <= n or not 0 < level < 1:
        raise GoldassayError(f"{successes:g} of {n:g} at level {level:g} is not a rate with an interval")
    if n == 0:
        return 0.0, 1.0
    return wilson_ends(successes / n, n, float(scipy.special.ndtri((1 + level) / 2)))


def share_difference(a: tuple[int, int], b: tuple[int, int]) -> Interval:
    """The difference of two independent shares, each as (successes, n), with Newcombe's interval (1998, method 10).

    >>> gain = share_difference((56, 70), (48, 80))
    >>> round(gain.value, 4), round(gain.low, 4), round(gain.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    first = a[0] / a[1]
    second = b[0] / b[1]
    first_low, first_high = wilson(*a)
    second_low, second_high = wilson(*b)
    value = first - second
    below = math.hypot(first - first_low, second_high - second)
    above = math.hypot(first_high - first, second - second_low)
    return Interval(value, value - below, value + above, n=a[1] + b[1], method="newcombe")


def wilson_ends(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's ends for a rate ``p`` of ``n`` examples, ``z`` standard errors away."""
    z2 = z * z / n
    centre = (p + z2 / 2) / (1 + z2)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n)) / (1 + z2)
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))  # rounding leaves p outside at 0 and 1


def effective_number(share: float, variance: float, n: int) -> float:
    """How many independent examples a rate needs for this variance; ``n`` where nothing varies."""
    spread = share * (1 - share)
    return spread / variance if spread > 0 and variance > 1e-12 * spread else float(n)


def macro_ends(
    classes: Iterable[Counts], rate: str, mean: tuple[float, float, float], size: int, level: float
) -> tuple[float, float]:
    """The ends of the interval of a mean over classes: the wider of the jackknife's and of the classes' together.

    Args:
        classes: The counts of each class as arrays, a number a row (an example or a document).
        rate: ``f1``, ``precision`` or ``recall``.
        mean: The mean of that rate over the classes, and the ends of its interval by the jackknife.
        size: How many rows there are.
        level: The level of the interval.

    >>> both = [Counts(np.array([1.0, 0.0]), 0, 0), Counts(np.array([0.0, 1.0]), 0, 0)]      # one right example each
    >>> [round(end, 2) for end in macro_ends([*both, Counts()], "f1", (2 / 3, 0.5, 0.8), 2, 0.95)]
    [0.36, 1.0]
    """
    # Each class has an interval of its own: Wilson's, of as many independent examples as its rate is worth. F1 is the
    # share J = tp / (tp + fp + fn) seen through 2 J / (1 + J), which rises with J, so its ends are those of J. A class
    # that occurs nowhere counts 0 in the mean and may be worth 1: it leaves the upper end open by 1 / number. F1 of few
    # examples is too low by at most BIAS / examples on average, as the curve bends; the upper end is wider by that.
    half_widths: list[tuple[float, float]] = []
    influences: list[Floats] = []
    open_ended = 0.0
    number = 0
    for counts in classes:
        number += 1
        right = np.broadcast_to(counts.tp, size)
        mentions = counts.tp + (rate != "recall") * counts.fp + (rate != "precision") * counts.fn
        every = np.broadcast_to(np.asarray(mentions, float), size)
        if not every.any():
            open_ended += 1  # it counts 0, and may be worth 1
            continue
        share = float(right.sum() / every.sum())
        influences.append((right - share * every) / every.sum())
        # how many examples of a rate the class is worth: rows that mention it once count as themselves
        rows = int(np.count_nonzero(every))
        if every.max() <= 1:
            examples = float(every.sum())
            quantile = float(scipy.special.ndtri((1 + level) / 2))
        elif rows < 2:  # anything may be true
            examples = 1.0
            quantile = 1e6
        else:
            variance = float(influences[-1] @ influences[-1]) * rows / (rows - 1)
            examples = effective_number(share, variance, rows)
            quantile = float(scipy.special.stdtrit(rows - 1, (1 + level) / 2))
        low, high = wilson_ends(share, examples, quantile)
        if rate == "f1":
            low = 2 * low / (1 + low)
            share = 2 * share / (1 + share)
            high = 2 * high / (1 + high)
            open_ended += BIAS / examples
        half_widths.append((share - low, high - share))
    if not half_widths:
        return 0.0, 1.0
    # The half-widths of the classes are put together like standard deviations, with the correlations of the classes'
    # influences: rho[i, j] is 1 for classes that are right in the same rows, and the variance of the sum is
    # Σ_ij side_i side_j rho_ij (MOVER; Zou and Donner 2008). Rows that mention several classes correlate them.
    value, low, high = mean
    under, over = np.array(half_widths).T
    parts = np.array(influences)  # of shape (classes, rows)
    covariance = parts @ parts.T
    scale = np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
    rho = np.divide(covariance, scale, out=np.eye(len(half_widths)), where=scale > 0)
    below = math.sqrt(max(0.0, float(under @ rho @ under)))
    above = math.sqrt(max(0.0, float(over @ rho @ over)))
    return min(low, max(0.0, value - below / number)), max(high, min(1.0, value + (above + open_ended) / number))
