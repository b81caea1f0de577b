"""The largest one-to-one assignment of rows to columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence


def assign(candidates: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """The column of each row that gets one.

    As many rows as possible get a column. Rows are served in order, and one that has a column keeps one; where there is
    a choice, a row gets the first of its candidates that is free.

    >>> assign({0: [0], 1: [0, 1]}), assign({0: [0, 1], 1: [0]})
    ({0: 0, 1: 1}, {0: 1, 1: 0})
    """
    # Augmenting paths: search breadth-first for a free column, through columns whose owners could move elsewhere;
    # then every row on the way back moves to the column it was reached through.
    owner: dict[int, int] = {}
    column_of: dict[int, int] = {}
    for start in candidates:
        reached_from: dict[int, int] = {}
        queue: deque[int] = deque([start])
        free: int | None = None
        while queue and free is None:
            row = queue.popleft()
            for column in candidates[row]:
                if column in reached_from:
                    continue
                reached_from[column] = row
                if column not in owner:
                    free = column
                    break
                queue.append(owner[column])
        while free is not None:
            row = reached_from[free]
            previous = column_of.get(row)
            owner[free], column_of[row] = row, free
            free = previous if row != start else None
    return column_of
