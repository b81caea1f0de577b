"""What every tally is, and the arithmetic that all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

Number = Any  # a float, or an array of floats: one formula serves both
State = Mapping[str, Any]


@runtime_checkable
class Tally(Protocol):
    """Evidence that adds up. ``T()`` is zero; ``+`` is associative and commutative."""

    def __add__(self, other: Self, /) -> Self: ...

    @property
    def value(self) -> Number:
        """The rate that this evidence gives."""

    @property
    def weight(self) -> Number:
        """How much evidence there is; 0 is not applicable."""

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

    return np.divide(above, below, out=np.full(np.shape(below), empty), where=np.asarray(below) != 0)


def mean(pairs: Iterable[tuple[Number, Number]]) -> Number:
    """The mean of (value, weight) pairs; 1.0 where nothing weighs, as for any empty tally."""
    total = weight = 0.0
    for value, share in pairs:
        total, weight = total + value * share, weight + share
    return divide(total, weight, empty=1.0)


class Sums:
    """Adds field by field; the fields of the dataclass are the evidence."""

    __slots__ = ()

    def __add__(self, other: Self, /) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        cls = type(self)
        return cls(*[getattr(self, name) + getattr(other, name) for name in cls.__dataclass_fields__])  # type: ignore[attr-defined]

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}  # type: ignore[attr-defined]

    def from_state(self, state: State) -> Self:
        return type(self)(**state)
