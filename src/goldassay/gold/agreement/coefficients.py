"""Agreement beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha; tallies, so that they can be resampled.

============  ==================================================  ==============================================
coefficient   agreement that was observed                         agreement that chance would give
============  ==================================================  ==============================================
Cohen         share of units with the same value                  product of both annotators' own shares
Fleiss        mean share of agreeing pairs a unit                 squared shares of all annotators together
Krippendorff  1 - mean squared difference within units            1 - mean squared difference of any two values
============  ==================================================  ==============================================

A coefficient is (observed - chance) / (1 - chance). Where all values are the same, chance agrees always and the
coefficient is not defined: the functions give ``None``, a resample of a tally gives 1.0 (nobody disagreed in it).

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

Category = Hashable
Unit = Sequence[Any]  # one value an annotator, None where one gave none
N, SAME = ("n",), ("same",)


@dataclass(frozen=True)
class Coefficient:
    """Named sums, and the coefficient that they give."""

    sums: Mapping[Any, Number] = field(default_factory=dict)

    def __add__(self, other: Self, /) -> Self:
        if type(other) is not type(self):
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
    def expected(self) -> Number:
        """The disagreement (or what is left for agreement) that chance would give; 0 is no variation."""
        return self._parts()[1]

    @property
    def value(self) -> Number:
        """1 - disagreement / disagreement by chance."""
        observed, expected = self._parts()
        return 1.0 - divide(observed, _clean(expected))

    def _parts(self) -> tuple[Number, Number]:
        raise NotImplementedError

    def _group(self, name: str) -> list[Number]:
        return [count for key, count in self.sums.items() if key[0] == name]


def defined(tally: Coefficient) -> float | None:
    """The coefficient; None where nothing was compared or nothing varies."""
    return float(tally.value) if tally.weight and abs(float(tally.expected)) > 1e-12 else None


def _clean(expected: Number) -> Number:
    """Rounding leaves 1e-17 where there is no variation."""
    if isinstance(expected, (int, float)):
        return expected if abs(expected) > 1e-12 else 0.0
    return np.where(np.abs(expected) < 1e-12, 0.0, expected)


@dataclass(frozen=True)
class Cohen(Coefficient):
    """Two annotators: ``n`` units, ``same`` of them alike, and how often each used each value."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[Category, Category]]) -> Cohen:
        """The evidence of pairs of values."""
        found = list(pairs)
        sums: Counter[Any] = Counter({N: len(found), SAME: sum(a == b for a, b in found)})
        sums.update(("a", repr(a)) for a, _ in found)
        sums.update(("b", repr(b)) for _, b in found)
        return cls(dict(sums))

    def _parts(self) -> tuple[Number, Number]:
        n = self.sums.get(N, 0.0)
        both = [count * self.sums.get(("b", key[1]), 0.0) for key, count in self.sums.items() if key[0] == "a"]
        return 1.0 - divide(self.sums.get(SAME, 0.0), n, 1.0), 1.0 - divide(sum(both), n * n, 1.0)


@dataclass(frozen=True)
class Fleiss(Coefficient):
    """As many values for each unit: the summed share of agreeing pairs, and the summed shares of each value."""

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Fleiss:
        """The evidence of units with as many values each."""
        sums: Counter[Any] = Counter()
        for unit in units:
            m, counted = len(unit), Counter(unit)
            if None in counted or m < 2:
                raise DataError(
                    "Fleiss' kappa needs a value of every annotator for every unit; use Krippendorff's alpha"
                )
            sums[N] += 1
            sums[SAME] += sum(c * (c - 1) for c in counted.values()) / (m * (m - 1))  # type: ignore[assignment]
            for value, count in counted.items():
                sums[("p", repr(value))] += count / m  # type: ignore[assignment]
        return cls(dict(sums))

    def _parts(self) -> tuple[Number, Number]:
        n = self.sums.get(N, 0.0)
        squares = sum(share * share for share in self._group("p"))
        return 1.0 - divide(self.sums.get(SAME, 0.0), n, 1.0), 1.0 - divide(squares, n * n, 1.0)


def cohen_kappa(a: Sequence[Category], b: Sequence[Category]) -> float | None:
    """Cohen's kappa of two annotators' values.

    >>> cohen_kappa(["M", "M", "A", "A"], ["M", "A", "A", "A"])
    0.5
    """
    if len(a) != len(b):
        raise DataError(f"{len(a)} values and {len(b)} values; both annotators need one for every unit")
    return defined(Cohen.of(zip(a, b, strict=True)))


def fleiss_kappa(units: Iterable[Unit]) -> float | None:
    """Fleiss' kappa; every unit has a value of every annotator.

    >>> round(fleiss_kappa([("M", "M", "M"), ("A", "A", "M")]), 3)
    0.25
    """
    return defined(Fleiss.of(units))


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


def differences(values: NDArray[np.float64], margin: NDArray[np.float64], level: str) -> NDArray[np.float64]:
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


def number(value: object) -> float:
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
