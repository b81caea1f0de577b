"""How small a difference so many examples can show, and how surely."""

from __future__ import annotations

import math

from scipy import stats

from goldassay.exceptions import GoldassayError


def power_of(difference: float, standard_error: float, alpha: float = 0.05) -> float:
    """The chance that a two-sided z test at ``alpha`` finds a true ``difference`` (Cohen 1988).

    Φ(d − z) + Φ(−d − z), with d = difference / standard error and z = z_{1−α/2}.

    >>> round(power_of(0.14, 0.05), 3), round(power_of(0.0, 0.05), 3)
    (0.8, 0.05)
    """
    _check(standard_error, alpha)
    if standard_error == 0:
        return 1.0 if difference else alpha
    z, d = stats.norm.ppf(1 - alpha / 2), difference / standard_error
    return float(stats.norm.cdf(d - z) + stats.norm.cdf(-d - z))


def smallest_detectable(standard_error: float, power: float = 0.80, alpha: float = 0.05) -> float:
    """The smallest true difference that a two-sided test at ``alpha`` finds with ``power``.

    (z_{1−α/2} + z_power) · standard error of the difference (Cohen 1988); the far tail is left out, as is usual.

    >>> round(smallest_detectable(0.05), 4)
    0.1401
    """
    _check(standard_error, alpha, power)
    return float((stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)) * standard_error)


def examples_needed(difference: float, standard_error: float, n: int, power: float = 0.80, alpha: float = 0.05) -> int:
    """How many examples show ``difference`` with ``power``, where ``n`` examples have this standard error.

    The standard error falls with the square root of n.

    >>> examples_needed(0.05, standard_error=0.05, n=100)
    785
    """
    if difference == 0:
        raise GoldassayError("no number of examples shows a difference of 0")
    if n < 1:
        raise GoldassayError(f"the standard error is that of at least one example, not of {n}")
    return math.ceil(n * (smallest_detectable(standard_error, power, alpha) / difference) ** 2)


def _check(standard_error: float, *chances: float) -> None:
    if not standard_error >= 0:
        raise GoldassayError(f"a standard error is not negative: {standard_error}")
    if not all(0 < chance < 1 for chance in chances):
        raise GoldassayError(f"alpha and power lie between 0 and 1, not {', '.join(map(str, chances))}")
