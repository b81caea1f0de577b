"""One-to-one matching of gold and predicted spans within a document, independent of their order.

Among all one-to-one matchings the one with the most pairs is taken, and among those the one with the most exact pairs
(same boundaries), then the most of the same type. A greedy loop gives other counts for another order of the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from goldassay.measures.extraction.spans import Span

Pair = tuple[int, int]


def same(gold: Sequence[Span], pred: Sequence[Span], key: Callable[[Span], object]) -> int:
    """How many pairs can be made of spans with an equal key: the size of the intersection as multisets."""
    left = Counter(map(key, gold))
    right = Counter(key(span) for span in pred if span.start >= 0)
    return sum((left & right).values())


def overlapping(gold: Sequence[Span], pred: Sequence[Span], same_type: bool = True) -> list[Pair]:
    """Pairs (index in gold, index in pred) of spans that share a character, and a type if ``same_type``.

    >>> a, b, c = Span(0, 5, "X"), Span(4, 9, "X"), Span(3, 6, "X")
    >>> len(overlapping([a, b], [c])), len(overlapping([a, b], [a, c]))
    (1, 2)
    """
    edges = _edges(gold, pred, same_type)
    if not edges:
        return []
    lefts, rights = Counter(i for i, _ in edges), Counter(j for _, j in edges)
    alone = [(i, j) for i, j in edges if lefts[i] == 1 and rights[j] == 1]
    if len(alone) == len(edges):
        return alone
    crowded = [(i, j) for i, j in edges if lefts[i] > 1 or rights[j] > 1]
    return sorted(alone + _assigned(gold, pred, crowded))


def _edges(gold: Sequence[Span], pred: Sequence[Span], same_type: bool) -> list[Pair]:
    """All pairs that may match, found by a sweep over the predictions sorted by start."""
    order = sorted((j for j in range(len(pred)) if pred[j].start >= 0), key=lambda j: pred[j].start)
    starts = [pred[j].start for j in order]
    longest = max((pred[j].end - pred[j].start for j in order), default=0)
    out = []
    for i, span in enumerate(gold):
        first = int(np.searchsorted(starts, span.start - longest)) if len(order) > 16 else 0
        for j in order[first:]:
            other = pred[j]
            if other.start >= span.end:
                break
            if span.overlaps(other) and (not same_type or span.type == other.type):
                out.append((i, j))
    return out


def _assigned(gold: Sequence[Span], pred: Sequence[Span], edges: Sequence[Pair]) -> list[Pair]:
    rows, columns = sorted({i for i, _ in edges}), sorted({j for _, j in edges})
    at_row, at_column = {i: k for k, i in enumerate(rows)}, {j: k for k, j in enumerate(columns)}
    most = min(len(rows), len(columns)) + 1
    gain = np.zeros((len(rows), len(columns)))
    for i, j in edges:
        exact, typed = gold[i].place == pred[j].place, gold[i].type == pred[j].type
        gain[at_row[i], at_column[j]] = most**2 * 4 + most * (2 * exact) + typed
    left, right = linear_sum_assignment(gain, maximize=True)
    return [(rows[a], columns[b]) for a, b in zip(left.tolist(), right.tolist(), strict=True) if gain[a, b] > 0]
