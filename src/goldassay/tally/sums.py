"""What every tally is, the arithmetic that all of them share, means, and the bins that calibration is computed from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import add, attrgetter
from typing import Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

Number: TypeAlias = Any
"""A number, or an array of numbers, one an example or a resample: one formula serves both."""
State = Mapping[str, Any]
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@runtime_checkable
class Tally(Protocol):
    """Evidence that adds up. ``T()`` is zero; ``+`` is associative and commutative."""

    def __add__(self, other: Self, /) -> Self: ...

    @property
    def value(self) -> Number:
        """The rate that this evidence gives."""
        ...

    @property
    def weight(self) -> Number:
        """How much evidence there is; 0 is not applicable."""
        ...

    def state(self) -> dict[str, Any]:
        """The evidence as nested dicts of numbers, for JSON and for resampling."""
        ...

    def from_state(self, state: State) -> Self:
        """A tally of the same kind with this evidence (numbers or arrays)."""
        ...


T = TypeVar("T", bound=Tally)


def divide(above: Number, below: Number, empty: float = 0.0) -> Number:
    """``above / below``, and ``empty`` where ``below`` is 0; for numbers and arrays.

    >>> divide(1, 4), divide(1, 0), divide(0, 0, empty=1.0)
    (0.25, 0.0, 1.0)
    """
    if isinstance(below, (int, float)):
        return above / below if below else empty
    import numpy as np

    out = np.full(np.shape(below), empty)
    return np.divide(above, below, out=out, where=np.asarray(below) != 0)


def mean(pairs: Iterable[tuple[Number, Number]]) -> Number:
    """The mean of (value, weight) pairs; 1.0 where nothing weighs, as for any empty tally."""
    total, weight = 0.0, 0.0
    for value, share in pairs:
        total, weight = total + value * share, weight + share
    return divide(total, weight, empty=1.0)


def positive(amount: Number) -> Number:
    """1.0 where there is any, 0.0 where there is none; for numbers and arrays.

    >>> positive(0.2), positive(0)
    (1.0, 0.0)
    """
    return float(amount > 0) if isinstance(amount, (int, float)) else (amount > 0).astype(float)


def occurs(amount: Number) -> bool:
    """Whether there is any of it, in a number or anywhere in an array."""
    return bool(amount) if isinstance(amount, (int, float)) else bool(amount.any())


@cache
def _values(kind: Any) -> Callable[[object], tuple[Number, ...]]:
    """What reads the fields of a tally of this kind, in their order."""
    return attrgetter(*kind.__dataclass_fields__)


class Sums:
    """Adds field by field; the fields of the dataclass are the evidence."""

    __slots__ = ()

    def __add__(self, other: Self, /) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        kind: Any = type(self)
        values = _values(kind)
        total: Self = kind(*map(add, values(self), values(other)))
        return total

    def state(self) -> dict[str, Any]:
        kind: Any = type(self)
        return dict(zip(kind.__dataclass_fields__, _values(kind)(self), strict=True))

    def from_state(self, state: State) -> Self:
        return type(self)(**state)


@dataclass(frozen=True, slots=True)
class Mean(Sums):
    """A weighted mean: the sum of weight × value, and the sum of weights.

    >>> (Mean.of(1.0) + Mean.of(0.0) + Mean.of(0.5, weight=2)).value
    0.5
    >>> (Mean.of(0.25) + Mean()).value      # not applicable weighs nothing
    0.25
    """

    total: Number = 0.0
    weight: Number = 0.0

    @classmethod
    def of(cls, value: float, weight: float = 1.0) -> Self:
        """The evidence of one value."""
        return cls(value * weight, weight)

    @property
    def value(self) -> Number:
        return divide(self.total, self.weight, empty=1.0)


class Keyed(dict[K, V]):
    """Evidence by key, which adds up key by key. What else a tally holds are its settings."""

    add: Callable[[Any, Any], Any] = staticmethod(add)

    def with_items(self, items: Mapping[K, V]) -> Self:
        """A tally of the same kind and settings that holds these items."""
        other = type(self)(items)
        vars(other).update(vars(self))
        return other

    def __add__(self, other: Mapping[K, V], /) -> Self:
        if not isinstance(other, dict):
            return NotImplemented
        total = self.with_items(self)
        for key, more in other.items():
            total[key] = self.add(total[key], more) if key in total else more
        return total


class Bins(Keyed[int, tuple[Number, Number, Number]]):
    """Confidence against correctness in equal bins of [0, 1]: per bin the count, the sum of confidences, the correct
    ones.

    ECE = Σ_b (n_b / n) · |accuracy_b − mean confidence_b|, with the last bin closed. Pearson's ρ is that of the filled
    bins' midpoints and their accuracy; it is not defined (no evidence) for fewer than two filled bins or a constant
    accuracy, and 0 in a resample of that kind.

    Args:
        items: The evidence by bin.
        statistic: What ``value`` is: ``ece``, ``calibration`` (1 − ECE) or ``pearson``.
        edges: How many bins there are.

    >>> bins = Bins.of(0.9, correct=True) + Bins.of(0.8, correct=False)
    >>> round(bins.ece, 3), round(bins.value, 3), Bins().value
    (0.35, 0.65, 1.0)
    >>> Bins({0: (1, 0.1, 0), 3: (2, 1.7, 1)}, "pearson").value
    1.0
    """

    add = staticmethod(lambda mine, more: tuple(map(add, mine, more)))

    def __init__(
        self, items: Mapping[int, tuple[Number, Number, Number]] = {}, statistic: str = "calibration", edges: int = 4
    ) -> None:
        super().__init__(items)
        self.statistic, self.edges = statistic, edges

    @classmethod
    def of(cls, confidence: float, correct: float) -> Self:
        """The evidence of one prediction with a confidence in [0, 1]."""
        if not 0.0 <= confidence <= 1.0:
            raise ValueError(f"a confidence lies between 0 and 1, not {confidence!r}")
        bins = cls()
        bins[min(int(confidence * bins.edges), bins.edges - 1)] = (1.0, float(confidence), float(correct))
        return bins

    @property
    def count(self) -> Number:
        """How many predictions there are."""
        return sum(n for n, _, _ in self.values())

    @property
    def ece(self) -> Number:
        """Expected calibration error; 0 without evidence."""
        return divide(sum(abs(correct - confidence) for _, confidence, correct in self.values()), self.count)

    @property
    def correlation(self) -> float | None:
        """Pearson's ρ of midpoints and accuracy; None where it is not defined."""
        import numpy as np

        filled = sorted(index for index, (n, _, _) in self.items() if n)
        accuracy = np.array([self[index][2] / self[index][0] for index in filled], float)
        if len(filled) < 2 or np.ptp(accuracy) < 1e-12:
            return None
        return float(np.corrcoef([(index + 0.5) / self.edges for index in filled], accuracy)[0, 1])

    @property
    def weight(self) -> Number:
        if self.statistic != "pearson":
            return self.count
        return self._each(lambda bins: float(bins.correlation is not None))

    @property
    def value(self) -> Number:
        if self.statistic == "pearson":
            return self._each(lambda bins: (bins.correlation or 0.0) if bins.count else 1.0)
        return self.ece if self.statistic == "ece" else 1.0 - self.ece

    def _each(self, value: Callable[[Self], float]) -> Number:
        """A value of these bins, or of each row where they hold arrays."""
        if all(isinstance(n, (int, float)) for n, _, _ in self.values()):
            return value(self)
        import numpy as np

        columns = [np.stack(np.broadcast_arrays(*evidence), axis=-1).tolist() for evidence in self.values()]
        return np.array(
            [value(self.with_items(dict(zip(self, row, strict=True)))) for row in zip(*columns, strict=True)]
        )

    def state(self) -> dict[str, dict[str, Number]]:
        return {str(i): {"n": n, "confidence": c, "correct": k} for i, (n, c, k) in sorted(self.items())}

    def from_state(self, state: State) -> Self:
        return self.with_items({int(i): (s["n"], s["confidence"], s["correct"]) for i, s in state.items()})
