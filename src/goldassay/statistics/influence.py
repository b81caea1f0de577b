"""What each example adds to a corpus value, or to the difference of two: the value made linear in the examples.

A corpus value such as micro-F1 is a function V of the summed evidence, not a mean over examples. Tests that look at one
example after the other want a mean. The derivative of V at the summed evidence, times an example's own evidence, is
what the example adds: the influence function of the statistic (Hampel 1974; the infinitesimal jackknife of Jaeckel
1972), and for a difference the Aumann–Shapley value of the example (the derivative averaged on the way from B to A), so
that the parts add up to the whole. The derivative is taken by central differences of the tally's own ``value``: there
is no second definition of any measure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.statistics.evidence import Evidences, Floats, Values, clustered

STEP = 1e-5  # of a sum: what the derivative is taken over
NODES = np.polynomial.legendre.leggauss(5)  # points and weights of the mean on the way from B to A


def influences(tallies: Values, zero: object = None, *, clusters: Sequence[object] | None = None) -> Floats:
    """The empirical influence of each example (or cluster): how far it draws the corpus value, per share of the whole.

    With n examples, V(all) + influence is each example's own value in a mean (for plain numbers and equal weights it is
    the number itself); the mean of the influences is 0, and their variance over n is the squared standard error.

    >>> influences([1.0, 0.0, 1.0, 1.0]).round(6).tolist()
    [0.25, -0.75, 0.25, 0.25]
    """
    evidences = Evidences(tallies, zero, clusters)
    rows = evidences.matrix
    return len(rows) * (rows @ slope(evidences, rows.sum(axis=0)))


def contributions(a: Values, b: Values, zero: object = None, *, clusters: Sequence[object] | None = None) -> Floats:
    """What each example (or cluster) adds to the corpus value of A minus that of B.

    The parts add up to the difference, but for the rounding of the derivative; an example with the same evidence on
    both sides adds 0.

    >>> from goldassay.tally import Counts
    >>> a, b = [Counts(3, 0, 1), Counts(1, 1, 1)], [Counts(2, 1, 2), Counts(1, 1, 1)]
    >>> contributions(a, b, Counts()).round(6).tolist(), round(sum(a, Counts()).f1 - sum(b, Counts()).f1, 6)
    ([0.181818, 0.0], 0.181818)
    """
    if len(a) != len(b):
        raise GoldassayError(f"a paired comparison needs the same examples: {len(a)} against {len(b)}")
    both = Evidences([*a, *b], zero)
    rows_a, rows_b = both.matrix[: len(a)], both.matrix[len(a) :]
    if clusters is not None:
        rows_a, rows_b = clustered(rows_a, clusters), clustered(rows_b, clusters)
    return (rows_a - rows_b) @ slope_between(both, rows_a.sum(axis=0), rows_b.sum(axis=0))


def slope_between(both: Evidences, a: Floats, b: Floats) -> Floats:
    """The derivative of the corpus value, averaged on the straight way from the sums ``b`` to the sums ``a``.

    It is the same with A and B exchanged.
    """
    points, weights = NODES
    out: Floats = np.zeros(len(a))
    for point, weight in zip(points, weights, strict=True):
        out += weight / 2 * slope(both, b + (1 + point) / 2 * (a - b))
    return out


def slope(evidences: Evidences, sums: Floats) -> Floats:
    """The derivative of the corpus value by each number of the summed evidence.

    A number that is 0 in the sum is 0 in every example, and its derivative is not asked for: 0.
    """
    moved = np.flatnonzero(sums)
    steps = STEP * sums[moved]
    up, down = np.tile(sums, (len(moved), 1)), np.tile(sums, (len(moved), 1))
    index = np.arange(len(moved))
    up[index, moved] += steps
    down[index, moved] -= steps
    out: Floats = np.zeros(len(sums))
    out[moved] = (evidences.values(up) - evidences.values(down)) / (2 * steps)
    return out
