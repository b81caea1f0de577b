"""SQuAD 2.0's best thresholds: what a program could reach if it said nothing wherever it is unsure enough.

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

import numpy as np

from goldassay.exceptions import GoldassayError

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
