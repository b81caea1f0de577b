"""Estimates from labels that a design chose: a population in strata, and some examples of each stratum labelled.

The outputs of two systems are known for all N inputs, gold for a few. Where both systems give the same output, an input
adds nothing to the difference of a per-example score, whatever its gold is; so labels go to disagreements, and an
estimate has to know it. With N_h inputs in stratum h, n_h of them labelled, and the evidence e of an example:

    total of h = Σ e · Q_h / Σ q        (a ratio estimate: Q_h and q count what is predicted; else N_h / n_h)
    value      = V(Σ_h totals)          (the tally's own ``value``; for two systems V_b − V_a)
    variance   = Σ_h N_h² (1 − n_h / N_h) s_h² / n_h  +  Σ_h N_h · mean of u²

u is what an example adds to the value, by the derivative of V at the totals (linearisation), and s_h² the variance of
its residual from the ratio. The first sum is the doubt which inputs of a stratum were labelled; the second comes from
the N inputs being a sample themselves, and inputs of one document add the products of their u to it. Two examples of
the size seen are added to both, so labels that are all alike leave a doubt. The quantile is Student's, with
Satterthwaite's degrees of freedom.

A judge's verdicts, known for a whole stratum, are a covariate there: the estimate moves by λ (mean verdict of the
stratum − that of the labelled ones), with λ the regression of u on the verdicts. That is narrower if the judge is any
good, and not wrong if it is not.

The mean of values between bounds, such as the share of a failure, has Wilson's ends of each stratum, combined as MOVER
combines them, if a stratum has few labels for its size (`_mover`): thirteen labels without the failure do not show
that 350 inputs have none. With one variance for both ends such intervals held the truth in .74 to .92 of drafts for
errors; with labels in about the right shares they are as good, and narrower.

Sources: Cochran, Sampling Techniques, 1977 (ratio estimates in strata, two phases); Satterthwaite 1946; Fisch et al.,
Stratified prediction-powered inference, 2024; Zou and Donner 2008 (MOVER). Coverage, power, and what fails (expansion
by the number of texts for F1: .79 to .90): docs/labels.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import STEP, Evidences, Floats, slope
from goldassay.core.tally import Mean, Path
from goldassay.statistics.intervals import Bounds, Interval, bounded_ends, effective_number, wilson_ends
from goldassay.statistics.sequential import STAKES, Bets

PREDICTED_COUNTS = {"tp", "fp", "correct", "incorrect", "partial", "spurious"}  # counts whose sum is what is predicted
EXTRA = 2  # examples that differ as much as those seen, one up and one down (as Bonett and Price 2012, for pairs)
SIDE = 0.025  # the level of each direction of a race
SPARSE = 1.5  # times as many inputs as labels, of all: from here on such a stratum needs its own ends


@dataclass(frozen=True)
class Stratum:
    """A part of a population, and what is known of it.

    Args:
        size: How many examples it has, N_h.
        evidence: The evidence of the labelled ones, a row each: (n_h, k), or (n_h, 2 k) with A's columns before B's.
        predicted: How much each system predicts in all N_h examples, (systems,), counted as the measure counts it;
            None if the measure does not count predictions.
        verdicts: A judge's verdict of each labelled example, (n_h,); of two systems, its difference. None: no judge.
        verdict_mean: The mean of the judge's verdicts of all N_h examples.
        clusters: The document of each labelled example; empty if examples are independent.
        needs_labels: False if the evidence is known without gold (see `agreeing`).
    """

    size: int
    evidence: Floats
    predicted: Floats | None = None
    verdicts: Floats | None = None
    verdict_mean: float = 0.0
    clusters: Sequence[Hashable] = ()
    needs_labels: bool = True

    @classmethod
    def agreeing(cls, size: int) -> Stratum:
        """Examples on which two systems have the same output: a mean of per-example values differs by 0 there.

        >>> Stratum.agreeing(460).labels
        0
        """
        return cls(size, np.broadcast_to((0.0, 1.0, 0.0, 1.0), (size, 4)), needs_labels=False)

    @property
    def labels(self) -> int:
        """How many examples are labelled, n_h."""
        return len(self.evidence) if self.needs_labels else 0


@dataclass(frozen=True)
class _Part:
    """A stratum's estimated totals, (k,), and the residuals of its labelled examples from their ratio, (n_h, k).

    ``moved`` is how many of them differ between two systems; all of them if none does, or for one system.
    """

    stratum: Stratum
    totals: Floats
    residuals: Floats
    moved: int

    @classmethod
    def of(cls, stratum: Stratum, paths: Sequence[Path], systems: int) -> _Part:
        width = len(paths)
        counted = [column for column, path in enumerate(paths) if path[-1] in PREDICTED_COUNTS]
        columns = [side * width + column for side in range(systems) for column in counted]
        sizes = stratum.evidence[:, columns].sum(axis=1)
        total = float(stratum.size)
        if stratum.predicted is None or not sizes.any():
            sizes = np.ones(len(stratum.evidence))
        else:
            total = float(stratum.predicted.sum())
        ratios = stratum.evidence.sum(axis=0) / sizes.sum()
        totals: Floats = total * ratios
        residuals: Floats = stratum.evidence - sizes[:, None] * ratios
        if stratum.predicted is not None and {("tp",), ("fp",)} <= set(paths):
            # What each system predicts is known exactly, so fp is that number less tp, in the estimate and its error.
            for side, number in enumerate(stratum.predicted):
                tp = side * width + paths.index(("tp",))
                fp = side * width + paths.index(("fp",))
                totals[tp] = min(totals[tp], number)
                totals[fp] = number - totals[tp]
                residuals[:, fp] = -residuals[:, tp]
        by_system = np.split(stratum.evidence, systems, axis=1)
        moved = int((by_system[0] != by_system[-1]).any(axis=1).sum())
        return cls(stratum, totals, residuals, moved or len(stratum.evidence))


def estimate(
    strata: Sequence[Stratum],
    evidences: Evidences,
    *,
    level: float = 0.95,
    systems: int = 1,
    bounds: Bounds | None = None,
) -> Interval:
    """The value of one system over a population, or the difference B − A of two, from labels in strata.

    Its ``n`` is the number of labels; with a judge's verdicts, ``effective`` is how many labels at random (of several
    strata that are not a plain mean, labels of the same strata) would give so narrow an interval without them.

    Args:
        strata: The parts of the population.
        evidences: Says which columns evidence has, and how they become a value.
        level: The share of such intervals that hold the true value.
        systems: 1 for the value of one system, 2 for the difference of two.
        bounds: The ends of the scale of one value, whose interval is then Wilson's at the effective size.

    Raises:
        GoldassayError: A stratum of the population has no label, or there is no population.

    >>> one = Evidences([1.0])
    >>> labelled = np.array([[0.0, 1, 1, 1]] * 18 + [[1, 1, 0, 1]] * 6 + [[0, 1, 0, 1]] * 16)      # A, B: sum, number
    >>> gain = estimate([Stratum(100, labelled), Stratum.agreeing(400)], one, systems=2)
    >>> round(gain.value, 3), round(gain.low, 3), round(gain.high, 3), gain.n
    (0.06, 0.013, 0.107, 40)
    """
    strata = [stratum for stratum in strata if stratum.size]
    if not strata:
        raise GoldassayError("a population without examples has no value")
    for stratum in strata:
        if not len(stratum.evidence):
            raise GoldassayError(f"a stratum of {stratum.size} examples has no label, so nothing is known of it")
    is_rate = isinstance(evidences.zero, Mean) and systems == 1
    is_rate = is_rate and all((stratum.evidence[:, 1] == 1).all() for stratum in strata)
    inputs = sum(stratum.size for stratum in strata)
    rows = sum(len(stratum.evidence) for stratum in strata)
    sparse = any(stratum.size * rows > SPARSE * inputs * len(stratum.evidence) for stratum in strata)
    if is_rate and bounds and sparse:
        value, low, high = _mover(strata, bounds, level)
    else:
        value, low, high = _linearised(strata, evidences, level, systems, bounds)
    labels = sum(stratum.labels for stratum in strata)
    result = Interval(value, low, high, level, labels, "design, wilson" if bounds else "design, t")
    if high <= low or all(stratum.verdicts is None for stratum in strata):
        return result
    if is_rate and bounds and len(strata) > 1:
        width = _width_at_random(strata, value, bounds, level)
    else:
        unjudged = [replace(stratum, verdicts=None) for stratum in strata]
        alone = estimate(unjudged, evidences, level=level, systems=systems, bounds=bounds)
        width = alone.high - alone.low
    # as many labels as give such an interval, where these alone give one of that width
    return replace(result, effective=labels * (width / (high - low)) ** 2)


def _linearised(
    strata: Sequence[Stratum], evidences: Evidences, level: float, systems: int, bounds: Bounds | None
) -> tuple[float, float, float]:
    """The value and the ends of its interval, by the derivative at the totals."""
    parts = [_Part.of(stratum, evidences.paths, systems) for stratum in strata]
    totals = np.sum([estimated.totals for estimated in parts], axis=0)
    if systems == 1:
        value = evidences.of(totals[None])
        gradient = slope(evidences, totals)
    else:
        a, b = np.split(totals, 2)
        value = evidences.of(b[None]) - evidences.of(a[None])
        gradient = np.concatenate([-slope(evidences, a), slope(evidences, b)])
    # λ: the regression, within strata, of what examples add to the value on a judge's verdicts
    trust = _regression(
        (part.stratum.size, part.stratum.labels, *_moments(part.residuals @ gradient, part.stratum.verdicts)[:2])
        for part in parts
        if part.stratum.labels > 1 and part.stratum.verdicts is not None
    )
    phases: list[tuple[float, float]] = []  # a variance and its degrees of freedom
    sample = 0.0
    judged = 0.0  # what verdicts on all examples add to the value of the labelled ones
    for estimated in parts:
        stratum = estimated.stratum
        n = len(stratum.evidence)
        amount = float(((stratum.evidence @ gradient) ** 2).mean()) or 1 / max(1.0, float(totals.max())) ** 2
        sample += stratum.size * amount * (1 + EXTRA / estimated.moved if stratum.needs_labels else 1)
        if n < stratum.size:
            spread = _spread(estimated, gradient, trust, amount)
            phases.append((stratum.size**2 * (1 - n / stratum.size) * spread / n, max(n - 1, 1)))
        if stratum.verdicts is not None:
            judged += stratum.size * trust * (stratum.verdict_mean - float(stratum.verdicts.mean()))
    products, documents = _within_documents(strata, gradient)
    phases.append((sample + products, (documents or sum(stratum.size for stratum in strata)) - 1))
    variance = sum(phase for phase, _ in phases)
    doubt = sum(phase**2 / max(degrees, 1) for phase, degrees in phases)  # Satterthwaite
    degrees = max(2.0, variance**2 / doubt) if doubt > 0 else 2.0
    quantile = float(scipy.special.stdtrit(degrees, (1 + level) / 2))
    value += judged
    if bounds is not None:
        return value, *bounded_ends(value, variance, sum(stratum.labels for stratum in strata), quantile, bounds)
    half = quantile * math.sqrt(variance)
    return value, value - half, value + half


def _mover(strata: Sequence[Stratum], bounds: Bounds, level: float) -> tuple[float, float, float]:
    """The mean over strata of values between bounds, whose evidence is (value, 1), and the ends of its interval.

    The lower end is the value less the root of the sum of squares of W_h (mean_h − low_h), the upper end likewise, with
    Wilson's ends of each stratum at the number of labels that its labels are worth, and of all inputs at theirs.
    """
    least, most = bounds
    z = float(scipy.special.ndtri((1 + level) / 2))
    total = sum(stratum.size for stratum in strata)
    values = [(stratum.evidence[:, 0] - least) / (most - least) for stratum in strata]
    weights = [stratum.size / total for stratum in strata]
    # λ, from 0 up: the regression of values on a judge's verdicts over all strata; 0 if one has no verdicts
    sums = [
        (stratum.size, len(scaled), *_moments_of(scaled, stratum.verdicts, stratum.verdict_mean)[:2])
        for stratum, scaled in zip(strata, values, strict=True)
        if stratum.verdicts is not None
    ]
    trust = max(0.0, _regression(sums)) if len(sums) == len(strata) else 0.0
    mean = sum(weight * float(scaled.mean()) for weight, scaled in zip(weights, values, strict=True))
    squares = np.zeros(2)
    for stratum, weight, scaled in zip(strata, weights, values, strict=True):
        n = len(scaled)
        share = float(scaled.mean())
        size = effective_number(share, float(scaled.var()) / n, n)
        noise = 0.0
        if trust and stratum.verdicts is not None:
            mean += weight * trust * (stratum.verdict_mean - float(stratum.verdicts.mean()))
            products, verdicts, labels = _moments_of(scaled, stratum.verdicts, stratum.verdict_mean)
            explained = 2 * trust * products - trust**2 * verdicts
            if explained > 0:
                size *= labels / (labels - explained)
            else:
                noise = -explained / n / max(n - 1, 1)  # more than the verdicts explain: both ends move out
        gaps = np.abs(share - np.array(wilson_ends(share, size, z)))
        squares += weight**2 * (1 - n / stratum.size) * (gaps**2 + z**2 * noise)
    mean = min(1.0, max(0.0, mean))
    products, _ = _within_documents(strata, np.array([1.0, -least - mean * (most - least)]) / (most - least) / total)
    squares += (mean - np.array(wilson_ends(mean, total, z))) ** 2 + z**2 * products
    below, above = np.sqrt(squares).tolist()
    width = most - least
    return least + width * mean, least + width * max(0.0, mean - below), least + width * min(1.0, mean + above)


def _width_at_random(strata: Sequence[Stratum], value: float, bounds: Bounds, level: float) -> float:
    """How wide the interval of a mean is if as many labels are drawn at random, without strata and a judge."""
    least, most = bounds
    mean = min(1.0, max(0.0, (value - least) / (most - least)))
    total = sum(stratum.size for stratum in strata)
    number = sum(stratum.labels for stratum in strata)
    around = sum(float(((stratum.evidence[:, 0] - value) ** 2).mean()) * stratum.size for stratum in strata) / total
    around /= (most - least) ** 2
    z = float(scipy.special.ndtri((1 + level) / 2))
    low, high = wilson_ends(mean, effective_number(mean, around / number, number), z)
    return float(high - low) * (most - least)


def _moments_of(values: Floats, verdicts: Floats, mean: float) -> tuple[float, float, float]:
    """`_moments` of values, whose ends are Wilson's anyway, and verdicts.

    The spread of verdicts that are 0 or 1 is known from the mean of all: a stratum's few labelled ones may all be 0
    where many others are not.
    """
    added = values - values.mean()
    products, squares, _ = _moments(added, verdicts)
    if np.isin(verdicts, (0, 1)).mean() > 0.5:  # those of traces that a judge was shown are means
        squares = max(squares, len(values) * mean * (1 - mean) + 1)
    return products, squares, float(added @ added)


def _spread(estimated: _Part, gradient: Floats, trust: float, amount: float) -> float:
    """The variance of what a stratum's examples add, between its labels; less of it by what a judge explains.

    Labels that are all alike count as if two more differed by ``amount``, and judged ones as if one of each kind of
    agreement and error had been there too: a few labels show neither that nothing varies nor that a judge never errs.
    """
    added = estimated.residuals @ gradient
    squares = float((added**2).sum())
    n = len(added)
    spread = (squares + EXTRA * (squares / estimated.moved or amount)) / (n - 1 + EXTRA)
    if estimated.stratum.verdicts is None or n < 2:
        return spread
    products, verdicts, labels = _moments(added, estimated.stratum.verdicts)
    explained = 2 * trust * products - trust**2 * verdicts
    return spread * (1 - max(0.0, explained) / labels) if labels > 0 else spread


def _moments(added: Floats, verdicts: Floats) -> tuple[float, float, float]:
    """Sums of products and of squares of verdicts and of what examples add, with one more of each of four kinds.

    The four have both values at half of their range up or down, so they add to the squares alone.
    """
    around = verdicts - verdicts.mean()
    squares = float(around @ around + np.ptp(verdicts) ** 2)
    return float(around @ added), squares, float(added @ added + np.ptp(added) ** 2)


def _regression(sums: Iterable[tuple[int, int, float, float]]) -> float:
    """λ, from each stratum's size and labels, and its sums of products and of squares of verdicts; 0 without any."""
    above = 0.0
    below = 0.0
    for size, labels, products, verdicts in sums:
        share = size**2 / labels / max(labels - 1, 1)
        above += share * products
        below += share * verdicts
    return above / below if below > 0 else 0.0


def _within_documents(strata: Sequence[Stratum], gradient: Floats) -> tuple[float, int]:
    """The products of what inputs of one document add, over all pairs of the population; and the number of documents.

    A labelled pair speaks for as many as its weights say. Below 0 it is taken as 0.
    """
    sums: dict[Hashable, float] = {}
    squares = 0.0
    for stratum in strata:
        if stratum.clusters:
            weighted = stratum.evidence @ gradient * (stratum.size / stratum.labels)
            squares += float((weighted**2).sum())
            for document, amount in zip(stratum.clusters, weighted.tolist(), strict=True):
                sums[document] = sums.get(document, 0.0) + amount
    return max(0.0, sum(total**2 for total in sums.values()) - squares), len(sums)


def sign_test(differences: Floats) -> float:
    """The exact two-sided p-value of "as many are better as worse" (McNemar's test); differences of 0 do not count.

    >>> round(sign_test(np.array([1.0] * 9 + [-1.0] + [0.0] * 5)), 3)
    0.021
    """
    wins = int((differences > 0).sum())
    losses = int((differences < 0).sum())
    return float(scipy.stats.binomtest(wins, wins + losses, 0.5).pvalue) if wins + losses else 1.0


def swap_test(differences: Floats, resamples: int = 10_000) -> float:
    """The two-sided p-value of their sum if each sign is a fair coin; of differences of one size the exact sign test.

    Otherwise (b + 1) / (resamples + 1), where b random choices of signs give a sum at least as far from 0.

    >>> round(swap_test(np.array([0.5] * 10)), 3), swap_test(np.zeros(3))
    (0.002, 1.0)
    """
    moved = differences[differences != 0]
    if not len(moved) or np.ptp(np.abs(moved)) < 1e-9 * np.abs(moved).max():
        return sign_test(moved)
    signs = np.random.default_rng(0).integers(0, 2, (resamples, len(moved)), dtype=np.int8) * 2 - 1
    as_far = int((np.abs(signs @ moved) >= abs(float(moved.sum())) * (1 - 1e-9)).sum())
    return (as_far + 1) / (resamples + 1)


def additions(
    a: Floats, b: Floats, evidences: Evidences, *, weights: Floats | None = None, running: bool = False
) -> Floats:
    """The part of each label in B's value less A's, by the derivative at the evidence of both systems together.

    For F1 that is proportional to (tp_b − tp_a) − F / 2 · (P_b − P_a), with F of both together and P what is predicted.
    With A and B exchanged only its sign changes, so if the two could be exchanged each sign is a fair coin.

    Args:
        a: A's evidence of each label, (n, k), in the order of labelling; with the agreements, which add 0.
        b: B's.
        evidences: The columns and the value.
        weights: For how many inputs each label stands, (n,); None: for as many.
        running: Take the derivative for each label at the evidence up to it, as a `BettingTest` has to; else at all.

    >>> from goldassay.core.tally import Counts
    >>> both = Evidences([Counts(2, 1, 2), Counts(1, 1, 1), Counts(3, 0, 1), Counts(1, 1, 1)], Counts())
    >>> additions(both.matrix[:2], both.matrix[2:], both).round(4).tolist()
    [0.0909, 0.0]
    """
    gaps = b - a
    inputs = np.ones(len(gaps)) if weights is None else weights
    together = inputs[:, None] * (a + b)
    amounts: Floats = gaps @ slope(evidences, together.sum(axis=0))
    if running:
        # each row of gaps times the derivative at the sums up to it
        sums = together.cumsum(axis=0)
        amounts = np.zeros(len(gaps))
        for column, amount in enumerate(sums.T):
            step = np.zeros_like(sums)
            step[:, column] = STEP * amount
            change = evidences.values(sums + step) - evidences.values(sums - step)
            derivative = np.divide(change, 2 * STEP * amount, out=np.zeros(len(gaps)), where=amount != 0)
            amounts += gaps[:, column] * derivative
        amounts *= inputs.cumsum()
    amounts[np.abs(amounts) < 1e-9 * np.abs(amounts).max(initial=0.0)] = 0.0  # the rounding of the derivative
    return amounts


def first_of_documents(differences: Floats, documents: Sequence[Hashable]) -> Floats:
    """The differences for a `BettingTest`, of each document only the first that is not 0; the others are 0.

    Inputs of one document go wrong together, so after its first difference the sign of the next is not a fair coin. The
    first one's is, whatever the documents before it showed.

    Args:
        differences: Those of the labels, in the order of labelling.
        documents: The document of each.

    >>> first_of_documents(np.array([0.0, 1.0, 1.0, -1.0]), ["a", "a", "a", "b"]).tolist()
    [0.0, 1.0, 0.0, -1.0]
    """
    seen: set[Hashable] = set()
    firsts = np.zeros(len(differences))
    for index, document in enumerate(documents):
        if differences[index] and document not in seen:
            seen.add(document)
            firsts[index] = differences[index]
    return firsts


@dataclass
class BettingTest:
    """A betting test in both directions that may be read after every label (`goldassay.statistics.sequential`).

    ``direction`` is 1 once B is better, −1 once it is worse, 0 while that is open; ``labels`` is how many it took.

    The sign of a difference is a fair coin if the two systems could be exchanged, whatever its size.

    >>> race = BettingTest()
    >>> race.extend([1.0] * 10), race.labels, round(race.p, 3)
    (1, 8, 0.014)
    """

    labels: int = 0
    direction: int = 0

    def __post_init__(self) -> None:
        self.better = Bets()
        self.worse = Bets()

    def extend(self, differences: Sequence[float] | Floats) -> int:
        """Bet on these differences, in the order in which they were labelled; the direction after them."""
        for difference in differences:
            self.better.extend([float(difference)])
            self.worse.extend([-float(difference)])
            self.labels += self.direction == 0
            if self.direction == 0 and self.p <= 2 * SIDE:
                self.direction = 1 if self.better.p < self.worse.p else -1
        return self.direction

    @property
    def p(self) -> float:
        """The two-sided p-value, valid whenever one stops."""
        return min(1.0, 2 * min(self.better.p, self.worse.p))


def labels_needed(differences: Floats, left: int, side: float = SIDE) -> int | None:
    """How many more labels decide a `BettingTest` if they go on as these do; None if more than the ``left`` ones.

    Args:
        differences: Those of the labels so far.
        left: How many disagreements have no label yet.
        side: The level of each direction.

    >>> labels_needed(np.array([1.0, 1.0, -1.0, 0.0] * 5), left=200)
    100
    """
    if not differences.any():
        return None
    size = math.sqrt(float((differences[differences != 0] ** 2).mean()))
    forward = math.copysign(1.0, float(differences.sum()))
    growth = np.log1p(np.outer(STAKES, np.clip(forward * differences / size, -1, 1))).mean(axis=1)
    labels = len(differences) + np.arange(left + 1)
    largest = 50.0  # of a logarithm of wealth: far beyond any decision, and no overflow
    wealth = np.exp(np.minimum(np.outer(growth, labels), largest)).mean(axis=0)
    decided = np.flatnonzero(wealth >= 1 / side)
    return int(decided[0]) if len(decided) else None


def give_up(interval: Interval, left: int, gain: float = 0.02) -> tuple[int, float]:
    """After how many more labels, if they show no difference, none above ``gain`` remains possible; and that gain.

    If even the ``left`` ones do not suffice, it is their number, and the larger gain that remains possible after them.

    >>> half_done = Interval(0.01, -0.03, 0.05, n=40)
    >>> give_up(half_done, left=400), give_up(half_done, left=60)
    ((120, 0.02), (60, 0.025298221281347035))
    """
    half = (interval.high - interval.low) / 2
    more = math.ceil(interval.n * ((half / gain) ** 2 - 1) - 1e-9)
    if more <= left:
        return max(0, more), gain
    return left, half * math.sqrt(interval.n / (interval.n + left))


def allocate_labels(
    shares: Mapping[str, float], sizes: Mapping[str, int], taken: Mapping[str, int], n: int
) -> list[str]:
    """The strata of the next ``n`` labels: always the one that lacks most of its share, as long as it has inputs.

    Args:
        shares: The share of the labels that each stratum gets.
        sizes: How many inputs it has.
        taken: How many of them are drafted or labelled already.
        n: How many labels.

    >>> allocate_labels({"a": 0.75, "b": 0.25}, {"a": 3, "b": 9}, {"a": 1}, 4)
    ['a', 'b', 'a', 'b']
    """
    counts = Counter(taken)
    chosen: list[str] = []
    while len(chosen) < n and (left := [name for name in shares if counts[name] < sizes[name]]):
        total = counts.total() + 1
        stratum = max(left, key=lambda name: shares[name] * total - counts[name])
        chosen.append(stratum)
        counts[stratum] += 1
    return chosen
