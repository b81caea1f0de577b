"""Cohen's kappa of two annotators, Fleiss' kappa of several (see `coefficient` for both)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import DataError
from goldassay.gold.agreement.coefficient import SAME, Coefficient, N, Unit, Value, defined
from goldassay.tally import Number, divide


@dataclass(frozen=True)
class Cohen(Coefficient):
    """Two annotators: ``n`` units, ``same`` of them alike, and how often each used each value."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[Value, Value]]) -> Cohen:
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


def cohen_kappa(a: Sequence[Value], b: Sequence[Value]) -> float | None:
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
