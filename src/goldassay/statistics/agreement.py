"""Agreement beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha; tallies, so that they can be resampled.

Each is 1 - D / E, where D is the mean squared difference of two values of one unit and E that of two values by chance;
for nominal values the difference of two that differ is 1. They differ in what is paired by chance:

============  ==========================================================
Cohen         a value of the first annotator, and one of the second
Fleiss        any two values, with replacement
Krippendorff  any two values, without replacement
============  ==========================================================

If all values are the same, chance agrees always and the coefficient is not defined: the functions return ``None``, a
resample of a tally gives 1.0 (nobody disagreed in it).

Sources: Cohen 1960; Fleiss 1971; Krippendorff, *Computing Krippendorff's Alpha-Reliability*, 2011 (any number of
annotators, missing values, and the differences of the four levels). `disagreement` also weighs how far two values are
apart (Cohen 1968).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, Self, TypeVar

import numpy as np

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.tally import Keyed, Number, divide

Rating = TypeVar("Rating", bound=Hashable)
Unit = Sequence[Any]  # one value an annotator, None if one gave none
LEVELS = ("nominal", "ordinal", "interval", "ratio")
COEFFICIENTS = ("cohen", "fleiss", *LEVELS)
ZERO = 1e-12  # rounding leaves 1e-17 where there is no variation


def disagreement(
    pairs: Mapping[tuple[Rating, Rating], Number], distance: Callable[[Rating, Rating], float] | None = None
) -> tuple[Number, Number]:
    """The disagreement that was observed, and that by chance, both times n² for n units: whole counts stay exact.

    Args:
        pairs: How often each pair of values occurs; numbers, or arrays of one shape.
        distance: How far apart two values are; without it, 1 if they differ.

    >>> observed, expected = disagreement({("M", "M"): 1, ("M", "A"): 1, ("A", "A"): 2})
    >>> 1 - observed / expected
    0.5
    """
    first: defaultdict[Rating, Number] = defaultdict(float)
    second: defaultdict[Rating, Number] = defaultdict(float)
    for (a, b), count in pairs.items():
        first[a] = first[a] + count
        second[b] = second[b] + count
    n = sum(pairs.values())
    if distance is None:  # what is not equal: linear in the number of values
        equal = sum(count for (a, b), count in pairs.items() if a == b)
        by_chance = sum(first[value] * second[value] for value in first.keys() & second.keys())
        return n * (n - equal), n * n - by_chance
    observed = sum(distance(*pair) * count for pair, count in pairs.items())
    expected = sum(distance(a, b) * first[a] * second[b] for a, b in product(first, second))
    return n * observed, expected


@dataclass(eq=False, repr=False)
class Coefficient(Keyed[Any, Number]):
    """How often two values were given to the same unit, and the coefficient that these pairs give.

    ``kind`` is ``cohen``, ``fleiss``, or the level of Krippendorff's alpha: ``nominal``, ``ordinal``, ``interval`` or
    ``ratio``. A unit of m values counts m times, however many pairs it has.

    >>> Coefficient.of([("M", "M"), ("M", "A"), ("A", "A"), ("A", "A")], "cohen").value
    0.5
    """

    kind: str = "nominal"

    @classmethod
    def of(cls, units: Iterable[Unit], kind: str = "nominal") -> Self:
        """The pairs of units.

        Raises:
            GoldassayError: There is no such level.
            DataError: A unit lacks a value that Fleiss' kappa needs, or the level needs numbers and has others.
        """
        if kind not in COEFFICIENTS:
            raise GoldassayError(f"no level {kind!r}; there are {', '.join(LEVELS)}")
        pairs = cls(kind=kind)
        for unit in units:
            values = [value for value in unit if value is not None]
            for value in values if kind in LEVELS[1:] else ():
                is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
                if not is_number or not np.isfinite(value):
                    message = f"ordinal, interval and ratio values are finite numbers, not {value!r}"
                    raise DataError(f"{message}; use level='nominal'")
            values = list(map(float if kind in LEVELS[1:] else repr, values))
            if kind == "fleiss" and (len(values) < len(unit) or len(values) < 2):
                message = "Fleiss' kappa needs a value of every annotator for every unit; use Krippendorff's alpha"
                raise DataError(message)
            for pair in [tuple(values)] if kind == "cohen" else permutations(values, 2):
                pairs[pair] = pairs.get(pair, 0.0) + (1.0 if kind == "cohen" else 1 / (len(values) - 1))
        return pairs

    def state(self) -> dict[Any, Any]:
        """The pairs."""
        return dict(self)

    def from_state(self, state: Mapping[Any, Number]) -> Self:
        """The same coefficient of these pairs."""
        return self.with_items(state)

    @property
    def weight(self) -> Number:
        """How much was compared."""
        return sum(self.values(), 0.0)

    @property
    def value(self) -> Number:
        """1 - disagreement / disagreement by chance."""
        observed, expected, varies = self._disagreement()
        return 1.0 - divide(observed, expected * varies)

    @property
    def defined(self) -> float | None:
        """The value; None if nothing was compared or nothing varies."""
        return float(self.value) if self.weight and self._disagreement()[2] else None

    def _disagreement(self) -> tuple[Number, Number, Number]:
        """The disagreement that was observed, that by chance, and whether there is any by chance."""
        n = self.weight
        if self and self.kind in LEVELS[1:]:
            # Squared differences of numbers, observed and by chance, both times n²: linear but for ratios.
            counts = np.array([*self.values()], float)
            numbers, inverse = np.unique(np.array([*self]), return_inverse=True)
            first, second = inverse.reshape(-1, 2).T
            margin = np.zeros((len(numbers), *counts.shape[1:]))
            np.add.at(margin, first, counts)
            values = numbers.reshape(-1, *(1,) * (counts.ndim - 1))
            total = counts.sum(axis=0)
            if self.kind == "ordinal":
                # The ranks between two values: everything from one to the other, less half of both ends.
                values = np.cumsum(margin, axis=0) - margin / 2
            gaps = values[first] - values[second]
            if self.kind == "ratio":
                gaps = divide(gaps, values[first] + values[second])
                rows = zip(margin, values, strict=True)
                expected: Number = sum(
                    count * (margin * divide(value - values, value + values) ** 2).sum(0) for count, value in rows
                )
            else:  # the squared differences of all pairs are 2 n times those from the mean
                mean = divide((margin * values).sum(axis=0), total)
                expected = 2 * total * (margin * (values - mean) ** 2).sum(axis=0)
            observed = total * (counts * gaps**2).sum(axis=0)
        else:
            observed, expected = disagreement(self)
        if self.kind in LEVELS:  # without replacement, n (n - 1) pairs of values meet by chance
            observed = observed * divide(n - 1.0, n)
        return observed, expected, abs(expected) > ZERO * n * n


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of two annotators' values.

    Raises:
        DataError: The annotators have different numbers of values.

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
