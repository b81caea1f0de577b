"""How small a difference so many examples can show."""

from __future__ import annotations

from scipy import stats


def smallest_detectable(standard_error: float, power: float = 0.80, alpha: float = 0.05) -> float:
    """The smallest true difference that a two-sided test at ``alpha`` finds with ``power``.

    (z_{1−α/2} + z_power) · standard error of the difference (Cohen 1988).

    >>> round(smallest_detectable(0.05), 4)
    0.1401
    """
    return float((stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)) * standard_error)
