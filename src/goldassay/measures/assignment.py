"""One-to-one assignments: the largest, the heaviest, and the spans that may be assigned to each other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy

Edge = TypeVar("Edge", bound=tuple[Any, ...])


def overlapping(gold: Sequence[Any], pred: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """The numbers of the spans that share a character; each side in the order of starts, -1 is not in the text."""
    first = 0
    for i, span in enumerate(gold):
        # a prediction that begins earlier may be a long one that reaches the next spans, too
        while first < len(pred) and pred[first].end <= span.start:
            first += 1
        for j in range(first, len(pred)):
            if pred[j].start >= span.end:
                break
            if span.start < pred[j].end:
                yield i, j


def heaviest(weights: Mapping[Edge, float]) -> list[Edge]:
    """The edges (row, column, …) with the largest sum of weights, all above 0, where each row and column has one.

    >>> heaviest({("a", 1): 3, ("a", 2): 2, ("b", 1): 2})
    [('a', 2), ('b', 1)]
    """
    # Rows and columns that no path of edges connects cannot compete: each such component is a small problem of its own.
    edges, size = list(weights), len(weights)
    ends = [[edge[end] for edge in edges] for end in (0, 1)]
    if all(len({*nodes}) == size for nodes in ends):
        return edges
    numbers = [{node: number for number, node in enumerate(dict.fromkeys(nodes))} for nodes in ends]
    row, column = (np.array(list(map(number.get, nodes))) for number, nodes in zip(numbers, ends, strict=True))
    values = np.array([*weights.values()], float)
    graph = scipy.sparse.coo_array((values, (row, column + size)), shape=(2 * size, 2 * size))
    component = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][row]
    order = np.argsort(component, kind="stable")
    chosen: list[int] = []
    for part in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        i, j = (np.unique(side[part], return_inverse=True)[1] for side in (row, column))
        table = np.zeros((i.max() + 1, j.max() + 1))
        table[i, j] = values[part]
        best = {*zip(*scipy.optimize.linear_sum_assignment(table, maximize=True), strict=True)}
        chosen += [at for at, pair in zip(part.tolist(), zip(i, j, strict=True), strict=True) if pair in best]
    return [edges[at] for at in sorted(chosen)]


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
