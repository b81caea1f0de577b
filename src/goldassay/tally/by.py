"""Tallies by type, stratum or measure name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Self, TypeVar

from goldassay.tally.base import Number, State, T, Tally, mean
from goldassay.tally.counts import Counts

K = TypeVar("K", bound=Hashable)


class By(dict[K, T]):
    """Tallies by type, stratum or measure name; itself a tally.

    ``value`` and ``micro`` pool the evidence, ``macro`` is the unweighted mean over the keys that have evidence,
    ``weighted`` is the mean weighted by support (tp + fn, or the tally's weight).

    >>> by = By({"MUS": Counts(1, 0, 0)}) + By({"MUS": Counts(0, 0, 1), "TOP": Counts(2, 0, 0)})
    >>> by["MUS"], round(by.micro, 3), round(by.macro, 3)
    (Counts(tp=1, fp=0, fn=1), 0.857, 0.833)
    """

    inner: ClassVar[Any] = Counts()

    def __add__(self, other: Mapping[K, T], /) -> Self:
        if not isinstance(other, Mapping):
            return NotImplemented
        out = type(self)(self)
        for key, tally in other.items():
            mine = out.get(key)
            out[key] = tally if mine is None else mine + tally
        return out

    @property
    def pooled(self) -> T:
        """The evidence of all keys together."""
        tallies = iter(self.values())
        first = next(tallies, None)
        if first is None:
            return self.inner  # type: ignore[no-any-return]
        return sum(tallies, first)

    @property
    def weight(self) -> Number:
        return sum(tally.weight for tally in self.values())

    @property
    def value(self) -> Number:
        return self.pooled.value

    @property
    def micro(self) -> Number:
        return self.pooled.value

    @property
    def macro(self) -> Number:
        return mean([(tally.value, _indicator(tally.weight)) for tally in self.values()])

    @property
    def weighted(self) -> Number:
        return mean([(tally.value, _support(tally)) for tally in self.values()])

    def state(self) -> dict[str, Any]:
        return {str(key): tally.state() for key, tally in self.items()}

    def from_state(self, state: State) -> Self:
        kinds: dict[Any, Any] = dict(self)
        made: Any = {key: kinds.get(key, self.inner).from_state(inner) for key, inner in state.items()}
        return type(self)(made)


def _support(tally: Tally) -> Number:
    return tally.tp + tally.fn if isinstance(tally, Counts) else tally.weight


def _indicator(weight: Number) -> Number:
    """1.0 where there is evidence, 0.0 where there is none."""
    if isinstance(weight, (int, float)):
        return float(weight > 0)
    import numpy as np

    return (np.asarray(weight) > 0).astype(float)
