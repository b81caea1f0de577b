"""What every tally is, the arithmetic that all of them share, means, and the bins that calibration is computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, overload, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Number = float | NDArray[Any]
else:
    Number = Any  # importing a tally does not import numpy
"""A number, or an array of numbers, one an example or a resample: one formula serves both."""

State = Mapping[str, Any]


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


@overload
def divide(above: float, below: float, empty: float = 0.0) -> float: ...


@overload
def divide(above: NDArray[Any], below: NDArray[Any], empty: float = 0.0) -> NDArray[np.float64]: ...


@overload
def divide(above: Number, below: Number, empty: float = 0.0) -> Number: ...


def divide(above: Number, below: Number, empty: float = 0.0) -> Number:
    """``above / below``, and ``empty`` where ``below`` is 0; for numbers and arrays.

    >>> divide(1, 4), divide(1, 0), divide(0, 0, empty=1.0)
    (0.25, 0.0, 1.0)
    """
    if isinstance(below, (int, float)):
        return above / below if below else empty
    import numpy as np

    out: NDArray[np.float64] = np.full(np.shape(below), empty)
    return np.divide(above, below, out=out, where=np.asarray(below) != 0)


def mean(pairs: Iterable[tuple[Number, Number]]) -> Number:
    """The mean of (value, weight) pairs; 1.0 where nothing weighs, as for any empty tally."""
    total: Number = 0.0
    weight: Number = 0.0
    for value, share in pairs:
        total, weight = total + value * share, weight + share
    return divide(total, weight, empty=1.0)


def positive(amount: Number) -> Number:
    """1.0 where there is any, 0.0 where there is none; for numbers and arrays.

    >>> positive(0.2), positive(0)
    (1.0, 0.0)
    """
    return float(amount > 0) if isinstance(amount, (int, float)) else (amount > 0).astype(float)


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


def brier_evidence(confidence: Number, correct: Number, weight: Number = 1.0) -> Mean:
    """The evidence of the Brier score: the squared distance of a confidence from what came out, 0 or 1.

    Source: Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 1950.

    >>> (brier_evidence(0.5, 0.0) + brier_evidence(1.0, 1.0)).value
    0.125
    """
    return Mean((confidence - correct) ** 2 * weight, weight)


class Bins(dict[int, tuple[Number, Number, Number]]):
    """Per bin: how many, the sum of confidences, how many were correct; ``value`` is 1 − ECE.

    ECE = Σ_b (n_b / n) · |accuracy_b − mean confidence_b| over ``edges`` equal bins of [0, 1] (the last one closed).

    >>> bins = Bins.of(0.9, correct=True) + Bins.of(0.8, correct=False)
    >>> round(bins.ece, 3), round(bins.value, 3), Bins().value
    (0.35, 0.65, 1.0)
    """

    edges: ClassVar[int] = 4

    @classmethod
    def of(cls, confidence: float, correct: float) -> Self:
        """The evidence of one prediction with a confidence in [0, 1]."""
        if not 0.0 <= confidence <= 1.0:
            raise ValueError(f"a confidence lies between 0 and 1, not {confidence!r}")
        return cls({min(int(confidence * cls.edges), cls.edges - 1): (1.0, float(confidence), float(correct))})

    def __add__(self, other: Bins, /) -> Self:
        if not isinstance(other, Bins):
            return NotImplemented
        out = type(self)(self)
        for index, evidence in other.items():
            mine = out.get(index, (0.0, 0.0, 0.0))
            out[index] = (mine[0] + evidence[0], mine[1] + evidence[1], mine[2] + evidence[2])
        return out

    @property
    def count(self) -> Number:
        """How many predictions there are."""
        return sum(n for n, _, _ in self.values())

    @property
    def weight(self) -> Number:
        return self.count

    @property
    def ece(self) -> Number:
        """Expected calibration error; 0 where there is no evidence."""
        gaps: Iterable[Any] = (abs(correct - confidence) for _, confidence, correct in self.values())
        return divide(sum(gaps), self.count)

    @property
    def value(self) -> Number:
        return 1.0 - self.ece

    def state(self) -> dict[str, dict[str, Number]]:
        return {str(i): {"n": n, "confidence": c, "correct": k} for i, (n, c, k) in sorted(self.items())}

    def from_state(self, state: State) -> Self:
        return type(self)({int(i): (s["n"], s["confidence"], s["correct"]) for i, s in state.items()})
