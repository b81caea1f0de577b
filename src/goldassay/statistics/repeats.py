"""Repeats: how much of an interval comes from the examples and how much from the program's own noise, and pass@k.

With n examples and m answers to each, the variance of a mean is σ²(between examples)/n + σ²(between repeats)/(n m).
The whole comes from the examples' mean answers; the second part from the answers to one example among themselves (the
one-way random effects model, Searle, Casella and McCulloch 1992). A corpus value that is not a mean, such as F1, is
taken as linear near its sums: its derivative there makes a number of each answer (`goldassay.core.evidence.slope`).

Of m answers to an example, c of which pass, pass@k = 1 − C(m − c, k) / C(m, k) is the unbiased estimate of the chance
that one of k answers passes (Chen et al. 2021), and pass^k = C(c, k) / C(m, k) that all k do (Yao et al. 2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Evidences, Values, clustered, slope
from goldassay.core.tally import Tally
from goldassay.statistics.intervals import jackknife_parts


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The variance of a corpus value: the part that more ``examples`` alone lower, and that of the ``repeats``.

    >>> parts = VarianceParts(0.0016, 0.0009)
    >>> round(parts.error, 3), round(parts.narrower(examples=4), 3), round(parts.narrower(repeats=4), 3)
    (0.05, 0.5, 0.146)
    """

    examples: float
    repeats: float

    @property
    def error(self) -> float:
        """The standard error of the value."""
        return math.sqrt(self.examples + self.repeats)

    @property
    def share(self) -> float:
        """The share of the variance that is between repeats; 0 where nothing varies."""
        total = self.examples + self.repeats
        return self.repeats / total if total > 0 else 0.0

    def narrower(self, examples: float = 1.0, repeats: float = 1.0) -> float:
        """The share by which so many times as many examples, or repeats, make the interval narrower."""
        return 1 - math.sqrt((1 - self.share + self.share / repeats) / examples)


def variance_parts(
    answers: Values, zero: Tally | None = None, *, examples: Sequence[object], clusters: Sequence[object] | None = None
) -> VarianceParts:
    """The variance of the corpus value of answers, each example counting once, in its two parts.

    Args:
        answers: A tally (or a number) an answer.
        zero: The tallies' zero; None for plain numbers.
        examples: The example of each answer.
        clusters: The document of each answer, if documents hold several examples.

    Raises:
        GoldassayError: No example has two answers.

    >>> parts = variance_parts([1, 1, 0, 0, 1, 0, 1, 1], examples=[0, 0, 1, 1, 2, 2, 3, 3])
    >>> round(parts.repeats, 6)     # one of 4 examples has the variance 1/2 among its 2 answers: 1/2 / 4 / (2 · 4)
    0.015625
    >>> round(parts.examples, 6)    # the means 1, 0, 1/2, 1 have the variance 11/48; over 4, less what is above
    0.041667
    """
    evidences = Evidences(answers, zero)
    names: dict[object, int] = {}
    index = np.array([names.setdefault(name, len(names)) for name in examples])
    sizes = np.bincount(index)
    weighted = evidences.matrix / sizes[index][:, None]
    rows = clustered(weighted, examples if clusters is None else clusters)
    numbers = evidences.matrix @ slope(evidences, rows.sum(axis=0))
    means = np.bincount(index, numbers) / sizes
    squares = np.bincount(index, (numbers - means[index]) ** 2)
    repeated = sizes > 1
    if not repeated.any():
        raise GoldassayError("no example has two answers; the noise between repeats cannot be estimated")
    within = float(squares.sum() / (sizes[repeated] - 1).sum())  # pooled over the examples
    between = float((within / sizes).sum())
    total = float((jackknife_parts(evidences, rows) ** 2).sum())
    return VarianceParts(max(0.0, total - between), between)


def pass_at(k: int, answers: int, passed: int) -> float:
    """The chance that at least one of ``k`` answers passes, if ``passed`` of so many ``answers`` do.

    >>> round(pass_at(2, 5, 1), 12), pass_at(5, 5, 1)       # 1 − C(4, 2) / C(5, 2)
    (0.4, 1.0)
    """
    return 1 - pass_all(k, answers, answers - passed)


def pass_all(k: int, answers: int, passed: int) -> float:
    """The chance that all of ``k`` answers pass (pass^k).

    >>> pass_all(2, 5, 4)       # C(4, 2) / C(5, 2)
    0.6
    """
    return math.comb(passed, k) / math.comb(answers, k)
