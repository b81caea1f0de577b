"""Calibration: is a program as right as it is sure?

Brier = mean (confidence − correct)². ECE = Σ_b (n_b / n) |accuracy_b − mean confidence_b| over equal bins of [0, 1].
AURC = the mean, over all numbers k of answers kept, of the error rate among the k most confident ones: 0 is best, and a
confidence that says nothing has the error rate itself. Answers of one confidence are kept in every order at once: each
counts the expected error of its group.

Brier 1950; Naeini et al., AAAI 2015; Geifman, Uziel and El-Yaniv, ICLR 2019.

SQuAD 2.0's best thresholds: what a program could reach if it said nothing wherever it is unsure enough.

With a probability of no answer for each question, the score under a threshold t is the mean over questions where an
answer counts if its probability is t or less, and an empty one stands in its place otherwise. ``best_exact`` and
``best_f1`` are the highest of these means, ``best_exact_thresh`` and ``best_f1_thresh`` the thresholds that reach them
(the lowest; 0 where answering nothing is best). Chosen on the questions that they are measured on, these values are an
upper bound and no result. Questions of one probability stand or fall together: the official script counts a part of
them too, which no threshold reaches.

Rajpurkar, Jia and Liang, ACL 2018. https://rajpurkar.github.io/SQuAD-explorer/ (evaluation script 2.0)
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


DEFINITION = "mean over questions at the best threshold on the probability of no answer; an upper bound"
SOURCE = "Rajpurkar, Jia and Liang, ACL 2018 (evaluation script 2.0)"


def best_threshold(
    scores: Sequence[float], no_answer: Sequence[float], answerable: Sequence[bool]
) -> tuple[float, float]:
    """The highest mean of the scores, and the threshold on the probability of no answer that reaches it.

    ``scores`` are those of the answers as given; a question with its answer taken away has 1 where it is unanswerable.

    >>> best_threshold([1.0, 0.0, 0.0], [0.1, 0.6, 0.9], [True, True, False])     # (1 + 0 + 1) / 3
    (0.6666666666666666, 0.1)
    >>> best_threshold([0.0, 0.0], [0.1, 0.2], [False, True])     # nothing is better than any answer
    (0.5, 0.0)
    """
    if not len(scores) == len(no_answer) == len(answerable) or not len(scores):
        raise GoldassayError(
            f"{len(scores)} scores, {len(no_answer)} probabilities and {len(answerable)} questions; "
            "a threshold needs as many of each, one at least"
        )
    empty = ~np.asarray(answerable, bool)
    unsure = np.asarray(no_answer, float)
    if not ((unsure >= 0) & (unsure <= 1)).all():
        raise GoldassayError("a probability of no answer lies between 0 and 1")
    steps, group = np.unique(unsure, return_inverse=True)
    gains = np.bincount(group, np.asarray(scores, float) - empty)
    sums = np.concatenate(([0.0], np.cumsum(gains))) + empty.sum()
    best = int(np.flatnonzero(sums >= sums.max() - 1e-9)[0])
    return float(sums[best] / len(unsure)), float(steps[best - 1]) if best else 0.0
