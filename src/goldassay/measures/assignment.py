"""One-to-one assignments: the largest, and the heaviest."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import scipy

Edge = TypeVar("Edge", bound=tuple[Any, ...])


def heaviest(weights: Mapping[Edge, float]) -> list[Edge]:
    """The edges (row, column, …) with the largest sum of weights, all above 0, where each row and column has one.

    >>> heaviest({("a", 1): 3, ("a", 2): 2, ("b", 1): 2})
    [('a', 2), ('b', 1)]
    """
    # Rows and columns that no path of edges connects cannot compete: each such component is a small problem of its own.
    size = len(weights)
    rows = _numbers([edge[0] for edge in weights])
    columns = _numbers([edge[1] for edge in weights])
    if len({*rows}) == len({*columns}) == size:
        return list(weights)
    graph = scipy.sparse.coo_array((np.ones(size), (rows, np.array(columns) + size)), shape=(2 * size, 2 * size))
    component = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][rows].tolist()
    groups = defaultdict(list)
    for edge, number in zip(weights, component, strict=True):
        groups[number].append(edge)
    chosen: set[Edge] = set()
    for group in groups.values():
        rows = _numbers([edge[0] for edge in group])
        columns = _numbers([edge[1] for edge in group])
        best = _heaviest(tuple(zip(rows, columns, [weights[edge] for edge in group], strict=True)))
        chosen.update(group[at] for at in best)
    return [edge for edge in weights if edge in chosen]


def _numbers(nodes: Sequence[Hashable]) -> list[int]:
    """Nodes as 0, 1, 2 … in the order of their first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(node, len(numbers)) for node in nodes]


@lru_cache(maxsize=1 << 12)
def _heaviest(edges: tuple[tuple[int, int, float], ...]) -> list[int]:
    """The numbers of the best edges of one component; most are small and look alike, so they are remembered."""
    row, column, weights = map(list, zip(*edges, strict=True))
    table = np.zeros((max(row) + 1, max(column) + 1))
    table[row, column] = weights
    best = {*zip(*scipy.optimize.linear_sum_assignment(table, maximize=True), strict=True)}
    return [at for at, edge in enumerate(edges) if edge[:2] in best]


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
            owner[free] = row
            column_of[row] = free
            free = previous if row != start else None
    return column_of
