"""The evidence of examples that come in chunks, kept small until somebody asks for it.

A chunk's tallies have arrays for fields, one number an example. Most of these are counts, few different ones, mostly 0:
they are kept in the narrowest type that holds them exactly, and where few are not 0 those alone. Rates keep their 64
bits. What is given back, whole, are the arrays that measuring all examples at once would have made, and their sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldassay.statistics.evidence import Path, flat, nested
from goldassay.tally import Tally

NARROW = (np.int8, np.uint8, np.int16, np.int32)
PLACE = 4  # bytes of the place of a number that is not 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk's part of a column: its numbers, and their places where the others are 0."""

    size: int
    kind: Any
    numbers: Any
    places: Any = None

    @classmethod
    def of(cls, column: ArrayLike, size: int) -> Piece:
        """The same numbers in less room; one number stands for as many.

        >>> piece = Piece.of(np.array([0, 3, 0, 0, 0, 0, 0, 0, 0, 0]), 10)
        >>> piece.numbers.dtype, piece.places.tolist(), piece.whole().dtype, piece.whole()[1]
        (dtype('int8'), [1], dtype('int64'), np.int64(3))
        """
        values = np.asarray(column) if np.ndim(column) else np.full(size, column)
        narrow = next((kind for kind in NARROW if _holds(kind, values)), values.dtype)
        numbers = values.astype(narrow)
        places = np.flatnonzero(numbers)
        if len(places) * (PLACE + numbers.itemsize) < numbers.nbytes:
            return cls(size, values.dtype, numbers[places], places.astype(np.int32))
        return cls(size, values.dtype, numbers)

    def whole(self) -> NDArray[np.generic]:
        """The column as it came."""
        out: NDArray[np.generic]
        if self.places is None:
            out = self.numbers.astype(self.kind)
            return out
        out = np.zeros(self.size, self.kind)
        out[self.places] = self.numbers
        return out


def _holds(kind: Any, values: Any) -> bool:
    if not values.size or values.dtype == bool:
        return False
    known, low, high = np.iinfo(kind), values.min(), values.max()
    if not (known.min <= low and high <= known.max):  # NaN neither
        return False
    return values.dtype.kind in "iu" or bool((np.rint(values) == values).all())


class Chunks(Mapping[str, Any]):
    """Tallies by name, each of all examples, made anew from what is kept whenever one is asked for.

    >>> from goldassay.tally import Counts
    >>> found = Chunks({"strict": Counts()})
    >>> found.add({"strict": Counts(np.array([1, 0]), np.array([0, 2]), np.array([0, 0]))}, 2)
    >>> found.add({"strict": Counts(np.array([1]), np.array([0]), np.array([4]))}, 1)
    >>> found["strict"].tp.tolist(), found.total("strict")
    ([1, 0, 1], Counts(tp=2, fp=2, fn=4))
    """

    def __init__(self, zeros: Mapping[str, Any]) -> None:
        self.zeros = zeros
        self.sizes: list[int] = []
        self._orders: dict[str, list[Path] | None] = {}
        self._columns: dict[str, dict[Path, dict[int, Piece]]] = {name: {} for name in zeros}
        self._sums: dict[tuple[int, ...], Any] = {}

    def add(self, tallies: Mapping[str, object], size: int) -> None:
        """The next chunk, of this many examples."""
        made: dict[int, tuple[Any, Piece]] = {}  # tallies share arrays; one that is held keeps its id
        for name, tally in tallies.items():
            columns, laid_out = self._columns[name], _laid_out(tally)
            paths = list(laid_out)
            self._orders[name] = paths if self._orders.setdefault(name, paths) == paths else None
            for path, column in laid_out.items():
                if id(column) not in made:
                    made[id(column)] = column, Piece.of(column, size)
                columns.setdefault(path, {})[len(self.sizes)] = made[id(column)][1]
        self.sizes.append(size)

    def __len__(self) -> int:
        return len(self.zeros)

    def __iter__(self) -> Iterator[str]:
        return iter(self.zeros)

    def __getitem__(self, name: str) -> Any:
        paths = self._paths(name)
        return self._made(name, [(path, self._whole(name, path)) for path in paths])

    def total(self, name: str) -> Tally:
        """The evidence of all examples together."""
        if hasattr(self.zeros[name], "gathered"):
            whole: Tally = self[name].summed
            return whole
        return self._made(name, [(path, self._sum(name, path)) for path in self._paths(name)])

    def _made(self, name: str, columns: list[tuple[Path, Any]]) -> Tally:
        zero = self.zeros[name]
        state = nested([path for path, _ in columns], [column for _, column in columns])
        made: Tally = zero.gathered(state) if hasattr(zero, "gathered") else zero.from_state(state)
        return made

    def _paths(self, name: str) -> list[Path]:
        """The fields in their order; where chunks have different keys (types, bins) these are in alphabetical order."""
        return self._orders.get(name) or sorted(self._columns[name], key=lambda path: path[:-1])

    def _whole(self, name: str, path: Path) -> Any:
        pieces = self._columns[name][path]
        kind = np.result_type(*(piece.kind for piece in pieces.values()))
        parts = [pieces[at].whole() if at in pieces else np.zeros(size, kind) for at, size in enumerate(self.sizes)]
        return np.concatenate(parts)

    def _sum(self, name: str, path: Path) -> Any:
        """Counts add up chunk by chunk; rates only in one go, as rounding depends on where a sum begins."""
        pieces = self._columns[name][path]
        key = tuple(map(id, pieces.values()))
        if key not in self._sums:
            counts = all(piece.numbers.dtype.kind in "iub" for piece in pieces.values())
            sums = [piece.numbers.sum(dtype=np.int64).item() for piece in pieces.values()] if counts else []
            real = any(piece.kind.kind == "f" for piece in pieces.values())
            whole = float(sum(sums)) if real else sum(sums)
            self._sums[key] = whole if counts else np.sum(self._whole(name, path)).item()
        return self._sums[key]


def _laid_out(tally: Any) -> dict[Path, Any]:
    """The columns of a tally; one that is more than its state says which (``laid_out``, and ``gathered`` back)."""
    return dict(flat(tally.laid_out() if hasattr(tally, "laid_out") else tally.state()))
