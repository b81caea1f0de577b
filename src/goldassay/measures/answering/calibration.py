"""Calibration: is a program as right as it is sure?

Brier = mean (confidence − correct)². ECE = Σ_b (n_b / n) |accuracy_b − mean confidence_b| over equal bins of [0, 1].
AURC = the mean, over all numbers k of answers kept, of the error rate among the k most confident ones: 0 is best, and a
confidence that says nothing has the error rate itself. Answers of one confidence are kept in every order at once: each
counts the expected error of its group.

Brier 1950; Naeini et al., AAAI 2015; Geifman, Uziel and El-Yaniv, ICLR 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError

Array = Any  # numpy arrays


def _checked(confidence: Sequence[float], correct: Sequence[float]) -> tuple[Array, Array]:
    sure, right = np.asarray(confidence, float), np.asarray(correct, float)
    if sure.shape != right.shape or sure.ndim != 1 or not len(sure):
        raise GoldassayError(
            f"{len(sure)} confidences against {len(right)} outcomes; calibration needs as many, one at least"
        )
    for name, values in (("confidence", sure), ("outcome", right)):
        bad = ~((values >= 0) & (values <= 1))
        if bad.any():
            raise GoldassayError(
                f"a {name} lies between 0 and 1, not {values[bad.argmax()]:g} (item {int(bad.argmax())})"
            )
    return sure, right


def brier(confidence: Sequence[float], correct: Sequence[float]) -> float:
    """The mean squared distance of confidence and outcome.

    >>> brier([1.0, 0.5], [0, 1])      # (1 + 0.25) / 2
    0.625
    """
    sure, right = _checked(confidence, correct)
    return float(np.mean((sure - right) ** 2))


def ece(confidence: Sequence[float], correct: Sequence[float], bins: int = 10) -> float:
    """The expected calibration error over equal bins (the last one closed).

    >>> round(ece([0.95, 0.91, 0.1], [1, 0, 0]), 4)     # 2/3·|0.5 − 0.93| + 1/3·|0 − 0.1|
    0.32
    """
    sure, right = _checked(confidence, correct)
    if bins < 1:
        raise GoldassayError(f"calibration needs at least one bin, not {bins}")
    which = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = np.abs(np.bincount(which, right - sure, bins))
    return float(gaps.sum() / len(sure))


def risk_coverage(confidence: Sequence[float], correct: Sequence[float]) -> tuple[Array, Array]:
    """Coverage (k / n) and risk (error rate among the k most confident) for k from 1 to n.

    >>> [found.round(3).tolist() for found in risk_coverage([0.9, 0.1, 0.5], [1, 0, 0])]
    [[0.333, 0.667, 1.0], [0.0, 0.5, 0.667]]
    """
    sure, right = _checked(confidence, correct)
    _, group, sizes = np.unique(-sure, return_inverse=True, return_counts=True)
    expected = np.bincount(group, 1 - right) / sizes
    wrong = np.repeat(expected, sizes).cumsum()
    kept = np.arange(1, len(sure) + 1)
    return kept / len(sure), wrong / kept


def aurc(confidence: Sequence[float], correct: Sequence[float]) -> float:
    """The area under the risk–coverage curve.

    >>> round(aurc([0.9, 0.1, 0.5], [1, 0, 0]), 4), aurc([1.0, 1.0], [1, 0])      # (0 + 1/2 + 2/3) / 3
    (0.3889, 0.5)
    """
    return float(risk_coverage(confidence, correct)[1].mean())
