"""Krippendorff's alpha: any number of annotators, missing values, four levels of measurement (see `coefficient`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.agreement.coefficient import SAME, Coefficient, N, Unit, defined
from goldassay.tally import Number, divide

LEVELS = ("nominal", "ordinal", "interval", "ratio")


@dataclass(frozen=True)
class Alpha(Coefficient):
    """Krippendorff's nominal alpha: how often each value was used in pairable units, and how much of that agrees."""

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Alpha:
        """The evidence of units; values that stand alone cannot be paired and are left out."""
        sums: Counter[Any] = Counter()
        for unit in units:
            counted = Counter(value for value in unit if value is not None)
            m = counted.total()
            if m < 2:
                continue
            sums[N] += m
            sums[SAME] += sum(c * (c - 1) for c in counted.values()) / (m - 1)  # type: ignore[assignment]
            sums.update({("v", repr(value)): count for value, count in counted.items()})
        return cls(dict(sums))

    def _parts(self) -> tuple[Number, Number]:
        n = self.sums.get(N, 0.0)
        pairs = sum(count * (count - 1) for count in self._group("v"))
        return 1.0 - divide(self.sums.get(SAME, 0.0), n, 1.0), 1.0 - divide(pairs, n * (n - 1), 1.0)


@dataclass(frozen=True)
class ScaledAlpha(Coefficient):
    """Krippendorff's alpha of numbers: the coincidence matrix, entry by entry."""

    level: str = "interval"

    @classmethod
    def of(cls, units: Iterable[Unit], level: str) -> ScaledAlpha:
        """The evidence of units whose values are numbers."""
        sums: dict[Any, float] = {}
        for unit in units:
            counted = Counter(number(value) for value in unit if value is not None)
            m = counted.total()
            if m < 2:
                continue
            sums[N] = sums.get(N, 0.0) + m
            for c, count in counted.items():
                for k, other in counted.items():
                    pairs = count * (other - (c == k)) / (m - 1)
                    if pairs:
                        sums[("o", c, k)] = sums.get(("o", c, k), 0.0) + pairs
        return cls(sums, level)

    def _parts(self) -> tuple[Number, Number]:
        seen = sorted({key[1] for key in self.sums if key != N})
        place = {value: index for index, value in enumerate(seen)}
        shape = np.shape(self.sums.get(N, 0.0))
        matrix = np.zeros((len(seen), len(seen), *shape))
        for key, count in self.sums.items():
            if key != N:
                matrix[place[key[1]], place[key[2]]] = count
        margin = matrix.sum(axis=1)
        n = margin.sum(axis=0)
        gaps = differences(np.array(seen), margin, self.level)
        observed = (matrix * gaps).sum(axis=(0, 1))
        expected = (margin[:, None] * margin[None, :] * gaps).sum(axis=(0, 1))
        return divide(observed, n), divide(expected, n * (n - 1))


def differences(values: Any, margin: Any, level: str) -> Any:
    """The squared difference of every two values, for the level of measurement."""
    extra = (1,) * (margin.ndim - 1)
    if level == "ordinal":
        # Everything from c to k, less half of both ends: the ranks between them.
        below = np.cumsum(margin, axis=0) - margin / 2
        return (below[:, None] - below[None, :]) ** 2
    gap = values[:, None] - values[None, :]
    if level == "ratio":
        total = values[:, None] + values[None, :]
        gap = np.divide(gap, total, out=np.zeros_like(gap, dtype=float), where=total != 0)
    return (gap**2).reshape(*gap.shape, *extra)


def number(value: Any) -> float:
    """A value of a scale."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise DataError(f"ordinal, interval and ratio values are finite numbers, not {value!r}; use level='nominal'")
    return float(value)


def evidence(units: Iterable[Unit], level: str = "nominal") -> Coefficient:
    """The tally of Krippendorff's alpha at a level."""
    if level not in LEVELS:
        raise GoldassayError(f"no level {level!r}; there are {', '.join(LEVELS)}")
    return Alpha.of(units) if level == "nominal" else ScaledAlpha.of(units, level)


def alpha(units: Iterable[Unit], level: str = "nominal") -> float | None:
    """Krippendorff's alpha; a unit has one value an annotator, ``None`` where one gave none.

    >>> round(alpha([(1, 1), (2, 2), (1, 2), (3, None)]), 3)
    0.444
    """
    return defined(evidence(units, level))
