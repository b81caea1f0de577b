"""Several comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.exceptions import GoldassayError


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise GoldassayError("a p-value lies between 0 and 1; leave out the tests that were not made")
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    out = [0.0] * len(p_values)
    worst = 0.0
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        out[index] = worst
    return out
