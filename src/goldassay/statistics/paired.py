"""Two programs on the same examples: the paired difference, its interval and its p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from goldassay.exceptions import GoldassayError
from goldassay.statistics.effect import cohens_dz
from goldassay.statistics.intervals import Interval, as_tallies
from goldassay.statistics.power import smallest_detectable
from goldassay.statistics.resampling import BLOCK, Evidences, Floats, clustered, swaps

TESTS = ("permutation", "bootstrap", "paired_t", "wilcoxon", "mcnemar")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A − B on the same examples.

    ``difference`` is the difference of the corpus values, ``interval`` its bootstrap interval, ``p`` the two-sided
    p-value of ``test``, ``effect`` Cohen's d of the paired per-example differences, ``smallest_detectable`` the
    difference that this many examples show with 80 % power.
    """

    difference: float
    interval: Interval
    p: float
    n: int
    effect: float
    smallest_detectable: float
    test: str

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def compare(
    a: Sequence[Any],
    b: Sequence[Any],
    zero: Any = None,
    *,
    clusters: Sequence[Any] | None = None,
    test: str = "permutation",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """A against B, aligned sequences of tallies (or plain numbers).

    The permutation test swaps A's and B's evidence of each example at random and recomputes both corpus values:
    p = (b + 1) / (n + 1), with b permutations at least as far apart. Identical inputs: difference 0, p = 1.

    >>> found = compare([1.0] * 12, [0.0] * 12, resamples=2000)
    >>> found.difference, found.p < 0.01, found.interval.low
    (1.0, True, 1.0)
    """
    if len(a) != len(b):
        raise GoldassayError(f"a paired comparison needs the same examples: {len(a)} against {len(b)}")
    if test not in TESTS:
        raise GoldassayError(f"no test {test!r}; there are {', '.join(TESTS)}")
    (plain_a, zero), (plain_b, _) = as_tallies(a, zero), as_tallies(b, zero)
    both = Evidences([*plain_a, *plain_b], zero)
    rows_a, rows_b = both.matrix[: len(a)], both.matrix[len(a) :]
    if clusters is not None:
        rows_a, rows_b = clustered(rows_a, clusters), clustered(rows_b, clusters)
    difference = _value(both, rows_a) - _value(both, rows_b)
    resampled = _bootstrap(both, rows_a, rows_b, resamples, seed)
    tail = (1 - level) / 2
    low, high = (float(bound) for bound in np.quantile(resampled, (tail, 1 - tail)))
    scores = both.values(rows_a) - both.values(rows_b)
    n = len(rows_a)
    if np.array_equal(rows_a, rows_b):
        p = 1.0
    elif test == "permutation":
        p = _permutation(both, rows_a, rows_b, abs(difference), resamples, seed)
    elif test == "bootstrap":
        p = _bootstrap_p(resampled)
    else:
        p = _classical(test, scores)
    spread = float(np.std(resampled, ddof=1))
    return Comparison(
        difference,
        Interval(difference, low, high, level, n, "bootstrap"),
        p,
        n,
        cohens_dz(scores.tolist()),
        smallest_detectable(spread),
        test,
    )


def _value(both: Evidences, rows: Floats) -> float:
    return float(both.values(rows.sum(axis=0, keepdims=True))[0])


def _bootstrap(both: Evidences, a: Floats, b: Floats, resamples: int, seed: int) -> Floats:
    pairs, counts = np.unique(np.hstack([a, b]), axis=0, return_counts=True)
    n, width = int(counts.sum()), a.shape[1]
    rng = np.random.default_rng(seed)
    out = np.empty(resamples)
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        sums = rng.multinomial(n, counts / n, size=size).astype(float) @ pairs
        out[start : start + size] = both.values(sums[:, :width]) - both.values(sums[:, width:])
    return out


def _permutation(both: Evidences, a: Floats, b: Floats, seen: float, resamples: int, seed: int) -> float:
    differ = np.flatnonzero((a != b).any(axis=1))
    gap, sum_a, sum_b = (b - a)[differ], a.sum(axis=0), b.sum(axis=0)
    as_far = 0
    for block in swaps(len(differ), resamples, seed):
        moved = block @ gap
        apart = np.abs(both.values(sum_a + moved) - both.values(sum_b - moved))
        as_far += int((apart >= seen - 1e-12).sum())
    return (as_far + 1) / (resamples + 1)


def _bootstrap_p(resampled: Floats) -> float:
    """Twice the smaller share of resamples on one side of 0."""
    n = len(resampled)
    return float(min(1.0, 2 * min((resampled <= 0).sum() + 1, (resampled >= 0).sum() + 1) / (n + 1)))


def _classical(test: str, differences: Floats) -> float:
    if not differences.any():
        return 1.0
    if test == "paired_t":
        if np.ptp(differences) == 0:
            return 0.0
        return float(stats.ttest_1samp(differences, 0.0).pvalue)
    if test == "wilcoxon":
        return float(stats.wilcoxon(differences).pvalue)
    if not set(np.abs(differences).tolist()) <= {0.0, 1.0}:
        raise GoldassayError("McNemar's test is for examples that are right or wrong: every value must be 0 or 1")
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return float(stats.binomtest(wins, wins + losses, 0.5).pvalue)
