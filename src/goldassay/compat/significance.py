"""``significance_test`` with the founding document's arguments and keys, repaired.

Repaired: lengths must agree, and values be finite; identical scores give p = 1 and not NaN; an unknown test is an error
that names those there are; the bootstrap is seeded and heeds ``alpha``; results are plain numbers, ready for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.statistics.evidence import Evidences
from goldassay.statistics.paired import TESTS, classical, compare
from goldassay.statistics.power import cohens_dz


def significance_test(
    scores_a: Sequence[float],
    scores_b: Sequence[float],
    test_type: str = "paired_t",
    alpha: float = 0.05,
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Whether the per-example scores of two models differ by more than chance.

    ``test_type``: ``paired_t``, ``wilcoxon``, ``mcnemar``, ``permutation`` or ``bootstrap``. For values that are
    not means (micro-F1), give tallies to `compare`. A statistic without bound is null.

    Args:
        scores_a: The scores of one model, a number an example.
        scores_b: The other's, aligned with them.
        alpha: The level of the test, such as 0.05.
        seed: Of everything that is drawn at random.

    >>> found = significance_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.7])
    >>> found["test"], round(found["statistic"], 3), round(found["p_value"], 4), found["significant"]
    ('paired_t', 5.745, 0.0105, True)
    """
    if test_type not in TESTS:
        raise GoldassayError(f"no test {test_type!r}; there are {', '.join(TESTS)}")
    if not 0 < alpha < 1:
        raise GoldassayError(f"alpha is between 0 and 1, not {alpha}")
    if len(scores_a) != len(scores_b):
        raise GoldassayError(f"a paired comparison needs the same examples: {len(scores_a)} against {len(scores_b)}")
    gaps = Evidences(scores_a).matrix[:, 0] - Evidences(scores_b).matrix[:, 0]
    common = {"n": len(gaps), "mean_difference": float(gaps.mean()), "effect_size": _finite(cohens_dz(gaps))}
    if test_type in ("bootstrap", "permutation"):
        found = compare(scores_a, scores_b, test=test_type, seed=seed)
        p, statistic = found.test_p, found.difference
        significant = p < alpha
        if test_type == "bootstrap":
            wide = compare(scores_a, scores_b, test=test_type, level=1 - alpha, seed=seed).interval
            common |= {"ci_95_lower": found.interval.low, "ci_95_upper": found.interval.high}
            significant = len(gaps) > 1 and not wide.low <= 0 <= wide.high
    else:
        statistic, p = classical(test_type, np.asarray(gaps))
        significant = p < alpha
    return {
        "test": test_type,
        "statistic": _finite(statistic),
        "p_value": p,
        "significant": bool(significant),
        "alpha": alpha,
        **common,
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
