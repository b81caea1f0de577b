"""Agreement beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha; tallies, so that they can be resampled.

============  ==================================================  ==============================================
coefficient   agreement that was observed                         agreement that chance would give
============  ==================================================  ==============================================
Cohen         share of units with the same value                  product of both annotators' own shares
Fleiss        mean share of agreeing pairs a unit                 squared shares of all annotators together
Krippendorff  1 - mean squared difference within units            1 - mean squared difference of any two values
============  ==================================================  ==============================================

A coefficient is (observed - chance) / (1 - chance). If all values are the same, chance agrees always and the
coefficient is not defined: the functions return ``None``, a resample of a tally gives 1.0 (nobody disagreed in it).

Sources: Cohen 1960; Fleiss 1971; Krippendorff, *Computing Krippendorff's Alpha-Reliability*, 2011 (any number of
annotators, missing values, and the differences of the four levels).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import DataError, GoldassayError
from goldassay.tally import Number, divide

Unit = Sequence[Any]  # one value an annotator, None if one gave none
LEVELS = ("nominal", "ordinal", "interval", "ratio")
KINDS = ("cohen", "fleiss", *LEVELS)
N, SAME = ("n",), ("same",)
ZERO = 1e-12  # rounding leaves 1e-17 where there is no variation


@dataclass(frozen=True)
class Coefficient:
    """Named sums over units, and the coefficient that they give.

    ``kind`` is ``cohen``, ``fleiss``, or the level of Krippendorff's alpha: ``nominal``, ``ordinal``, ``interval`` or
    ``ratio``.

    >>> Coefficient.of([("M", "M"), ("M", "A"), ("A", "A"), ("A", "A")], "cohen").value
    0.5
    """

    kind: str = "nominal"
    sums: Mapping[Any, Number] = field(default_factory=dict)

    @classmethod
    def of(cls, units: Iterable[Unit], kind: str = "nominal") -> Self:
        """The sums of units."""
        if kind not in KINDS:
            raise GoldassayError(f"no level {kind!r}; there are {', '.join(LEVELS)}")
        sums: Counter[Any] = Counter()
        for unit in units:
            sums.update(_sums(unit, kind))
        return cls(kind, dict(sums))

    def __add__(self, other: Self, /) -> Self:
        if type(other) is not type(self) or other.kind != self.kind:
            return NotImplemented
        keys = {**self.sums, **other.sums}
        return replace(self, sums={key: self.sums.get(key, 0.0) + other.sums.get(key, 0.0) for key in keys})

    def state(self) -> dict[Any, Any]:
        """The sums."""
        return dict(self.sums)

    def from_state(self, state: Mapping[Any, Number]) -> Self:
        """The same coefficient of these sums."""
        return replace(self, sums=dict(state))

    @property
    def weight(self) -> Number:
        """How much was compared."""
        return self.sums.get(N, 0.0)

    @property
    def value(self) -> Number:
        """1 - disagreement / disagreement by chance."""
        observed, expected = self._disagreement()
        if isinstance(expected, (int, float)):
            return 1.0 - divide(observed, expected if abs(expected) > ZERO else 0.0)
        return 1.0 - divide(observed, np.where(np.abs(expected) < ZERO, 0.0, expected))

    @property
    def defined(self) -> float | None:
        """The value; None if nothing was compared or nothing varies."""
        return float(self.value) if self.weight and abs(float(self._disagreement()[1])) > ZERO else None

    def _disagreement(self) -> tuple[Number, Number]:
        """The disagreement that was observed, and that by chance."""
        n, same = self.weight, self.sums.get(SAME, 0.0)
        if self.kind in LEVELS[1:]:
            return self._scaled()
        used = {key: count for key, count in self.sums.items() if key not in (N, SAME)}
        if self.kind == "cohen":
            both = sum(count * used.get(("b", key[1]), 0.0) for key, count in used.items() if key[0] == "a")
            chance = divide(both, n * n, 1.0)
        elif self.kind == "fleiss":
            chance = divide(sum(share * share for share in used.values()), n * n, 1.0)
        else:
            chance = divide(sum(count * (count - 1) for count in used.values()), n * (n - 1), 1.0)
        return 1.0 - divide(same, n, 1.0), 1.0 - chance

    def _scaled(self) -> tuple[Number, Number]:
        """Mean squared differences, from the matrix of values that were given to the same unit."""
        values = sorted({key[1] for key in self.sums if key != N})
        place = {value: index for index, value in enumerate(values)}
        matrix = np.zeros((len(values), len(values), *np.shape(self.weight)))
        for key, count in self.sums.items():
            if key != N:
                matrix[place[key[1]], place[key[2]]] = count
        margin = matrix.sum(axis=1)
        n = margin.sum(axis=0)
        gaps = _squared_differences(np.array(values), margin, self.kind)
        observed = (matrix * gaps).sum(axis=(0, 1))
        expected = (margin[:, None] * margin[None, :] * gaps).sum(axis=(0, 1))
        return divide(observed, n), divide(expected, n * (n - 1))


def _sums(unit: Unit, kind: str) -> dict[Any, float]:
    """What one unit adds to the sums."""
    if kind == "cohen":
        a, b = unit
        return {N: 1, SAME: a == b, ("a", repr(a)): 1, ("b", repr(b)): 1}
    values = [value for value in unit if value is not None]
    m, counts = len(values), Counter(values)
    agreeing = sum(count * (count - 1) for count in counts.values())
    if kind == "fleiss":
        if m < len(unit) or m < 2:
            raise DataError("Fleiss' kappa needs a value of every annotator for every unit; use Krippendorff's alpha")
        return {
            N: 1,
            SAME: agreeing / (m * (m - 1)),
            **{("v", repr(value)): count / m for value, count in counts.items()},
        }
    if kind == "nominal":  # a value that stands alone cannot be paired
        return (
            {N: m, SAME: agreeing / (m - 1), **{("v", repr(v)): count for v, count in counts.items()}} if m > 1 else {}
        )
    numbers = Counter(_number(value) for value in values)
    pairs: dict[Any, float] = {N: m} if m > 1 else {}
    for c, count in numbers.items() if m > 1 else ():
        for k, other in numbers.items():
            if count * (other - (c == k)):
                pairs["o", c, k] = count * (other - (c == k)) / (m - 1)
    return pairs


def _squared_differences(values: NDArray[np.float64], margin: NDArray[np.float64], level: str) -> NDArray[np.float64]:
    if level == "ordinal":
        # The ranks between two values: everything from c to k, less half of both ends.
        below = np.cumsum(margin, axis=0) - margin / 2
        squared: NDArray[np.float64] = (below[:, None] - below[None, :]) ** 2
        return squared
    gap = values[:, None] - values[None, :]
    if level == "ratio":
        total = values[:, None] + values[None, :]
        gap = np.divide(gap, total, out=np.zeros_like(gap, dtype=float), where=total != 0)
    return (gap**2).reshape(*gap.shape, *(1,) * (margin.ndim - 1))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise DataError(f"ordinal, interval and ratio values are finite numbers, not {value!r}; use level='nominal'")
    return float(value)


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of two annotators' values.

    >>> cohen_kappa(["M", "M", "A", "A"], ["M", "A", "A", "A"])
    0.5
    """
    if len(a) != len(b):
        raise DataError(f"{len(a)} values and {len(b)} values; both annotators need one for every unit")
    return Coefficient.of(zip(a, b, strict=True), "cohen").defined


def fleiss_kappa(units: Iterable[Unit]) -> float | None:
    """Fleiss' kappa; every unit has a value of every annotator.

    >>> round(fleiss_kappa([("M", "M", "M"), ("A", "A", "M")]), 3)
    0.25
    """
    return Coefficient.of(units, "fleiss").defined


def alpha(units: Iterable[Unit], level: str = "nominal") -> float | None:
    """Krippendorff's alpha; a unit has one value an annotator, ``None`` if one gave none.

    >>> round(alpha([(1, 1), (2, 2), (1, 2), (3, None)]), 3)
    0.444
    """
    return Coefficient.of(units, level).defined
