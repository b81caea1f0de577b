"""The rows of a run: in memory while they are few, else on disk alone, from where they are read when asked for."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from goldassay import jsonl

Row = dict[str, Any]
FEW = 20_000  # rows that are kept in memory too


class Rows(Sequence[Row]):
    """The rows that there are, in the order of their examples; ``file`` is where they stand, if they stand anywhere.

    Of more than `FEW` rows only the places in the file are kept, eight bytes each.

    >>> rows = Rows()
    >>> rows.add({"index": 7, "id": "b"}), rows.add({"index": 2, "id": "a"})
    (None, None)
    >>> [row["id"] for row in rows], 2 in rows.indices, rows[-1]["id"]
    (['a', 'b'], True, 'b')
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.kept: dict[int, Row] | None = {}
        self._places = array("q")  # by index; -1 where there is no row
        self._count = 0
        self._order: list[int] | None = None

    def add(self, row: Row, place: int = 0) -> None:
        """One more row, whose line starts at this place of the file; it replaces an earlier one of its example."""
        index = row["index"]
        if index >= len(self._places):
            self._places.extend([-1]) if index == len(self._places) else self._reach(index)
        self._count += self._places[index] < 0
        self._places[index], self._order = place, None
        if self.kept is not None:
            self.kept[index] = row
            if len(self.kept) > FEW and self.file is not None:
                self.kept = None

    def drop(self, index: int) -> None:
        """A row that does not count any more."""
        self._count, self._places[index], self._order = self._count - 1, -1, None
        if self.kept is not None:
            del self.kept[index]

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the examples that have a row, in order."""
        if self._order is None:
            self._order = [index for index, place in enumerate(self._places) if place >= 0]
        return self._order

    def missing(self, size: int) -> Iterator[int]:
        """The indices below ``size`` that have no row."""
        return (index for index in range(size) if index >= len(self._places) or self._places[index] < 0)

    def settled(self) -> Sequence[Row]:
        """The rows as a list where they are few; else themselves."""
        return self if self.kept is None else list(self)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        if self.kept is not None:
            return map(self.kept.__getitem__, self.indices)
        return self._read(self.indices)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            some = self.indices[at]
            return list(self._read(some) if self.kept is None else map(self.kept.__getitem__, some))
        index = self.indices[at]
        return next(self._read([index])) if self.kept is None else self.kept[index]

    def _read(self, indices: Sequence[int]) -> Iterator[Row]:
        file = self.file or Path()  # rows without a file are all in memory
        return jsonl.at(file, (self._places[index] for index in indices))

    def _reach(self, index: int) -> None:
        self._places.extend([-1] * (index + 1 - len(self._places)))
