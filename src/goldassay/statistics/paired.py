"""Programs on the same examples: the paired difference of two, its interval and its p-value; several, and their ranks.

The interval of a difference is made from those of both values (Newcombe 1998, method 10; MOVER, Zou and Donner 2008).
With the ends l and u of A's and B's Wilson interval, each at its effective sample size, and ρ the correlation of what
each example adds to the two values, its lower end lies √((a − l)² − 2ρ (a − l)(u − b) + (u − b)²) under a − b.
Newcombe's correction takes 1 / (2n √(a (1 − a) b (1 − b))) off ρ where it is positive, so that two systems that agree
on every example seen are not held to agree on all. It is never of width zero; docs/coverage.md has its coverage.

Ranks: every pair of systems is compared (`compare`), the p-values corrected after Holm, so that with probability
``level`` no difference that is called sure is chance. Systems that are surely better than one stand before it, those
surely worse behind it; with all others it may change places: of n systems, its rank lies between 1 + (surely better)
and n − (surely worse). After Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks", Review of Economic Studies
2024, with permutation tests in place of their bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences, Floats, Values
from goldassay.core.fields import JsonObject
from goldassay.core.tally import Tally
from goldassay.statistics.intervals import (
    Bounds,
    Interval,
    effective_number,
    jackknife_parts,
    macro_ends,
    unit_bounds,
    wilson_ends,
)
from goldassay.statistics.resampling import check_settings, resampled, swapped

PAIRED_TESTS = ("permutation", "bootstrap", "paired_t", "wilcoxon", "mcnemar")


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A − B on the same examples.

    ``difference`` is the difference of the corpus values, ``interval`` its interval, ``p`` what verdicts go by,
    ``test_p`` the two-sided p-value of ``test``, ``n`` the number of pairs, ``unit`` examples or documents,
    ``smallest_detectable`` the difference that this many examples show with 80 % power; it is 0 where the pairs do not
    vary, and then says nothing. ``effect`` is Cohen's dz of the paired per-example differences; for Wilcoxon's test
    Cliff's delta and for McNemar's the odds ratio, as ``effect_name`` says.
    """

    difference: float
    interval: Interval
    test_p: float
    n: int
    effect: float
    smallest_detectable: float
    test: str
    effect_name: str = "cohens_dz"

    standard_error: float = 0.0
    unit: str = "examples"

    @property
    def p(self) -> float:
        """The test's p; of the permutation test the larger of it and that of the difference over its standard error.

        The permutation test asks whether A and B are the same in everything. Two programs of which one says far less
        are not, even where their corpus values can hardly be told apart (t, linearised). Where this p is small
        although the interval holds 0, p is that of an interval which ends at 0, so the two never contradict each other.

        >>> from goldassay.core.tally import Counts
        >>> few, many = [Counts(1, 0, 1)] + [Counts(0, 1, 1)] * 47, [Counts(0, 6, 2)] + [Counts(0, 6, 1)] * 47
        >>> found = compare(few, many, Counts(0, 0, 0), resamples=2000)
        >>> round(found.difference, 3), found.test_p < 0.01, round(found.p, 2)
        (0.021, True, 0.32)
        """
        if self.test != "permutation" or not self.standard_error > 0 or self.n < 2:
            return self.test_p
        apart = abs(self.difference) / self.standard_error
        p = max(self.test_p, 2 * float(scipy.special.stdtr(self.n - 1, -apart)))
        ends = self.interval
        if p > 1 - ends.level or not ends.low <= 0 <= ends.high:
            return p
        # Half of the interval is the quantile times a standard error, so 0 lies this many of them away.
        half = self.difference - ends.low if self.difference > 0 else ends.high - self.difference
        quantile = float(scipy.special.stdtrit(self.n - 1, (1 + ends.level) / 2))
        return 2 * float(scipy.special.stdtr(self.n - 1, -quantile * abs(self.difference) / half))

    def __neg__(self) -> PairedTest:
        """B − A, by a permutation test."""
        return replace(self, difference=-self.difference, interval=self.interval.reversed, effect=-self.effect)

    def state(self) -> JsonObject:
        """As JSON; an effect without bound, and what cannot be estimated, is null."""
        effect = self.effect if math.isfinite(self.effect) else None
        fields = {key: value for key, value in asdict(self).items() if key != "standard_error"}
        return {**fields, "p": self.p, "effect": effect, "smallest_detectable": self.smallest_detectable or None}


def compare(
    a: Values,
    b: Values,
    zero: Tally | None = None,
    *,
    clusters: Sequence[object] | None = None,
    test: str = "permutation",
    bounds: Bounds | None = None,
    level: float = 0.95,
    **draws: int,
) -> PairedTest:
    """A against B, aligned sequences of tallies (or plain numbers).

    Raises:
        GoldassayError: The sides are of different lengths, the test is unknown, or a setting is wrong.

    Args:
        a: one side, a tally or a number an example.
        b: the other side, of the same examples in the same order.
        zero: the tallies' zero; None for plain numbers.
        clusters: examples of one cluster (document) count as one.
        test: ``permutation``, ``bootstrap``, or of the examples' own values ``paired_t``, ``wilcoxon`` or ``mcnemar``.
        bounds: between which each value lies, as `Measure.limits`; None: 0 and 1, if every example's own value does.
            A value without bounds has Student's interval of the difference, the test ``bootstrap`` its percentiles.
        level: the share of such intervals that hold the true difference.
        draws: ``resamples`` (10,000) and ``seed`` (0) of the tests that draw.

    The permutation test swaps A's and B's evidence of each example at random and recomputes both corpus values:
    p = (b + 1) / (n + 1), with b of n permutations at least as far apart. Identical inputs: difference 0, p = 1.

    >>> result = compare([1.0] * 12, [0.0] * 12, resamples=2000)
    >>> result.difference, result.p < 0.01, round(result.interval.low, 3), result.interval.high
    (1.0, True, 0.593, 1.0)
    """
    joint, rows_a, rows_b = Evidences.paired(a, b, zero, clusters)
    if test not in PAIRED_TESTS:
        raise GoldassayError(f"no test {test!r}; there are {', '.join(PAIRED_TESTS)}")
    draws = {"resamples": 10_000, "seed": 0, **draws}
    check_settings(level, **draws)
    n = len(rows_a)
    (interval, error) = difference_interval(joint, rows_a, rows_b, level, bounds)
    scores_a = joint.values(rows_a)
    scores_b = joint.values(rows_b)
    p = 1.0
    if test == "bootstrap":
        drawn = resampled_differences(joint, rows_a, rows_b, **draws)
        low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2)).tolist()
        interval = Interval(interval.value, low, high, level, n, "bootstrap")
        if n > 1:  # resamples of one pair are all that pair: they say nothing of chance
            p = 2 * (1 + min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))) / (draws["resamples"] + 1)
    elif test != "permutation":
        p = classical(test, scores_a - scores_b)[1]
    elif not np.array_equal(rows_a, rows_b):
        if interval.value < 0:  # B against A has the same p: the draws are of the same numbers
            rows_a, rows_b = rows_b, rows_a
        gaps = rows_b - rows_a
        columns = np.flatnonzero((gaps != 0).any(axis=0))
        moved = np.zeros((draws["resamples"], gaps.shape[1]))
        moved[:, columns] = swapped(gaps[(gaps != 0).any(axis=1)][:, columns], **draws)
        apart = np.abs(joint.values(rows_a.sum(axis=0) + moved) - joint.values(rows_b.sum(axis=0) - moved))
        seen = abs(interval.value)
        as_far = int((apart >= seen * (1 - 1e-9) - 1e-12).sum())  # equal but for rounding is as far
        p = (as_far + 1) / (draws["resamples"] + 1)
    effect_name = {"wilcoxon": "cliffs_delta", "mcnemar": "odds_ratio"}.get(test, "cohens_dz")
    if effect_name == "cliffs_delta":
        effect = cliffs_delta(scores_a, scores_b)
    elif effect_name == "odds_ratio":
        effect = odds_ratio(scores_a, scores_b)
    else:
        effect = cohens_dz(scores_a - scores_b)
    detectable = smallest_detectable(error)
    test_p = min(1.0, p)
    paired = PairedTest(interval.value, interval, test_p, n, effect, detectable, test, effect_name, error, joint.unit)
    if test != "permutation" or paired.p <= 1 - level:
        return paired
    return replace(paired, interval=interval.reaching_zero)


def difference_interval(
    joint: Evidences, a: Floats, b: Floats, level: float, bounds: Bounds | None
) -> tuple[Interval, float]:
    """The interval of the difference of two values over the same rows, and the standard error of the difference.

    Args:
        joint: The evidence of both, joined, a row an example or cluster.
        a: The rows of one.
        b: The rows of the other.
        level: The level of the interval.
        bounds: The ends of the scale of the value.
    """
    values = joint.of(a), joint.of(b)
    if bounds is None:  # the wider of both
        bounds = min(unit_bounds(joint, value, rows) for value, rows in zip(values, (a, b), strict=True))
    seen = ((a != 0) | (b != 0)).any(axis=1)
    a = a[seen]
    b = b[seen]
    n = int(seen.sum())
    difference = values[0] - values[1]
    (least, most) = bounds
    widest = most - least
    if n < 2:
        ends = (-widest, widest) if math.isfinite(widest) else (difference, difference)
        return Interval(difference, *ends, level, n, "newcombe"), 0.0
    parts_of_system = jackknife_parts(joint, a), jackknife_parts(joint, b)
    variances = [float((parts**2).sum()) for parts in parts_of_system]
    error = math.sqrt(float(((parts_of_system[0] - parts_of_system[1]) ** 2).sum()))
    quantile = float(scipy.special.stdtrit(n - 1, (1 + level) / 2))
    if not math.isfinite(widest):
        half = quantile * error
        return Interval(difference, difference - half, difference + half, level, n, "t"), error
    shares = [min(1.0, max(0.0, (value - least) / widest)) for value in values]
    pairs: list[tuple[float, float]] = []
    for rows, share, variance in zip((a, b), shares, variances, strict=True):
        pair = wilson_ends(share, effective_number(share, variance / widest**2, n), quantile)
        classes, rate = joint.tally(rows).classes
        pairs.append(macro_ends(classes, rate, (share, *pair), n, level) if classes else pair)
    (low_a, high_a), (low_b, high_b) = pairs
    deviations = math.sqrt(variances[0] * variances[1])
    rho = float((parts_of_system[0] * parts_of_system[1]).sum()) / deviations if deviations > 0 else 0.0
    if rho > 0:
        spread = math.sqrt(shares[0] * (1 - shares[0]) * shares[1] * (1 - shares[1]))
        rho = max(0.0, rho - 1 / (2 * n * spread)) if spread > 0 else 0.0

    def apart(side: float, other: float) -> float:
        """The third side of a triangle, by two of its sides and the cosine between them."""
        return math.sqrt(max(0.0, side**2 - 2 * rho * side * other + other**2))

    low = difference - widest * apart(shares[0] - low_a, high_b - shares[1])
    high = difference + widest * apart(high_a - shares[0], shares[1] - low_b)
    return Interval(difference, max(-widest, low), min(widest, high), level, n, "newcombe"), error


def resampled_differences(joint: Evidences, a: Floats, b: Floats, resamples: int, seed: int) -> Floats:
    """The differences of the corpus values, in resamples of the pairs.

    Args:
        joint: The evidence of both, joined.
        a: The rows of one.
        b: The rows of the other.
        resamples: How many are drawn.
        seed: Of what is drawn.
    """
    width = a.shape[1]
    blocks = resampled(np.hstack([a, b]), resamples, seed)
    return np.concatenate([joint.values(sums[:, :width]) - joint.values(sums[:, width:]) for sums in blocks])


def classical(test: str, differences: Floats) -> tuple[float, float]:
    """Statistic and two-sided p-value of ``paired_t``, ``wilcoxon`` or ``mcnemar`` (exact) on paired differences.

    No difference anywhere is p = 1; the same difference everywhere leaves nothing to chance, so the t test's p is 0.
    Wilcoxon's test is scipy's, which ranks .3 − .2 above .2 − .1; round the values' differences where such ties matter.

    Raises:
        GoldassayError: There are too few examples for a t test, or values that McNemar's test does not know.
    """
    if not differences.any():
        return 0.0, 1.0
    if test == "mcnemar":
        wins = int((differences > 0).sum())
        losses = int((differences < 0).sum())
        if wins + losses != np.abs(differences).sum():
            raise GoldassayError("McNemar's test is for examples that are right or wrong: every value must be 0 or 1")
        return float(min(wins, losses)), float(scipy.stats.binomtest(wins, wins + losses, 0.5).pvalue)
    if test == "paired_t" and len(differences) < 2:
        raise GoldassayError("a t test needs at least two examples")
    if test == "paired_t" and constant(differences):
        return float(np.copysign(np.inf, differences[0])), 0.0
    result = scipy.stats.wilcoxon(differences) if test == "wilcoxon" else scipy.stats.ttest_1samp(differences, 0.0)
    return float(result.statistic), float(result.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order of ``p_values`` (Holm 1979).

    Raises:
        GoldassayError: A number is not a p-value.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, float)
    if not ((values >= 0) & (values <= 1)).all():
        raise GoldassayError("a p-value lies between 0 and 1; leave out the tests that were not made")
    order = values.argsort(kind="stable")
    adjusted = np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(np.minimum(1, np.arange(len(values), 0, -1) * values[order]))
    return adjusted.tolist()


@dataclass(frozen=True, slots=True)
class Rank:
    """The ranks that a system may have: ``1–3`` is any of three."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def ranks(
    systems: Sequence[Sequence[object]],
    zero: Tally | None = None,
    *,
    clusters: Sequence[object] | None = None,
    lower_is_better: bool = False,
    resamples: int = 5000,
    seed: int = 0,
) -> list[Rank]:
    """The set of ranks of each system: tallies (or plain numbers) of the same examples.

    Args:
        systems: For each system its tallies or numbers.
        zero: An empty tally of the kind compared; none for plain numbers.
        clusters: The document (or another cluster) of each example; whole clusters are resampled.
        lower_is_better: Whether the lowest value is first.
        seed: Of everything that is drawn at random.

    >>> strong, weak = [1.0] * 30, [0.0] * 30
    >>> [str(rank) for rank in ranks([strong, weak, strong], resamples=500)]
    ['1–2', '3', '1–2']
    """
    results = [
        compare(a, b, zero, clusters=clusters, resamples=resamples, seed=seed) for a, b in combinations(systems, 2)
    ]
    return places(results, len(systems), lower_is_better=lower_is_better)


def places(results: Sequence[PairedTest], n: int, *, lower_is_better: bool = False) -> list[Rank]:
    """The ranks of n systems that the comparisons of their pairs leave open, corrected for their number.

    With probability .95 no difference that is called sure is chance.

    Args:
        results: The comparison of each pair, in the order of `itertools.combinations`, the first less the second.
        n: How many systems there are.
        lower_is_better: Whether the lowest value is first.
    """
    better = [0] * n
    worse = [0] * n
    pairs = combinations(range(n), 2)
    for (a, b), result, p in zip(pairs, results, holm([result.p for result in results]), strict=True):
        if p <= 1 - 0.95 and result.difference:
            first, second = (a, b) if (result.difference > 0) != lower_is_better else (b, a)
            worse[first] += 1
            better[second] += 1
    return [Rank(1 + better[system], n - worse[system]) for system in range(n)]


def smallest_detectable(standard_error: float, power: float = 0.80, alpha: float = 0.05) -> float:
    """The smallest true difference that a two-sided test at ``alpha`` finds with ``power``.

    (z_{1−α/2} + z_power) · standard error of the difference (Cohen 1988); the far tail is left out, as is usual.

    >>> round(smallest_detectable(0.05), 4)
    0.1401
    """
    return float((scipy.special.ndtri(1 - alpha / 2) + scipy.special.ndtri(power)) * standard_error)


def examples_needed(difference: float, standard_error: float, n: int, power: float = 0.80, alpha: float = 0.05) -> int:
    """How many examples show ``difference`` with ``power``, where ``n`` examples have this standard error.

    The standard error falls with the square root of n.

    Args:
        alpha: The level of the test, such as 0.05.

    Raises:
        GoldassayError: The difference is 0.

    >>> examples_needed(0.05, standard_error=0.05, n=100)
    785
    """
    if difference == 0:
        raise GoldassayError("no number of examples shows a difference of 0")
    return math.ceil(n * (smallest_detectable(standard_error, power, alpha) / difference) ** 2)


def cohens_dz(differences: Sequence[float] | Floats) -> float:
    """The mean of the paired differences in units of their standard deviation.

    0 where all differences are 0, or there is only one; infinite where all are the same.

    >>> cohens_dz([1.0, 2.0, 3.0])
    2.0
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2 or not values.any():
        return 0.0
    if constant(values):
        return float(np.copysign(np.inf, values[0]))
    return float(values.mean()) / float(values.std(ddof=1))


def constant(values: Sequence[float] | Floats) -> bool:
    """Whether all values are the same, but for the rounding of floats.

    >>> constant([0.3 - 0.2, 0.4 - 0.3, 0.5 - 0.4]), constant([0.1, 0.1001])
    (True, False)
    """
    return float(np.ptp(values)) <= 1e-12 * float(np.abs(values).max())


def cliffs_delta(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> float:
    """P(a > b) − P(a < b) over all pairs of values (Cliff 1993).

    >>> cliffs_delta([3, 4], [1, 4])
    0.25
    """
    left = np.sort(np.asarray(a, dtype=float))
    right = np.sort(np.asarray(b, dtype=float))
    smaller = right.searchsorted(left, "left").mean()
    not_larger = right.searchsorted(left, "right").mean()
    return float((smaller + not_larger) / len(right) - 1)


def odds_ratio(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> float:
    """The odds among examples that only one of the two has right: those of A to one of B (McNemar's b / c).

    1 where neither has any; infinite where B has none.

    >>> odds_ratio([1, 1, 1, 0, 1], [0, 0, 0, 1, 1])
    3.0
    """
    gaps = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    wins = int((gaps > 0).sum())
    losses = int((gaps < 0).sum())
    if losses:
        return wins / losses
    return math.inf if wins else 1.0
