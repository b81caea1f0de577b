"""The pairs of many documents at once, under every aim of `matching`.

All documents are laid on one axis, one after the other. A search finds which spans overlap; where each overlaps only
one of the other side the pair is there already, and only crowded places go through the assignment, each by itself.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from goldassay.measures.extraction.columns import Columns, Flags, Ints
from goldassay.measures.extraction.matching import AIMS, Edge, chosen
from goldassay.measures.extraction.spans import Parts, Span


class Paired(NamedTuple):
    """Rows of gold and predicted columns that overlap, what is the same, and for each aim which of them are pairs."""

    gold: Ints
    pred: Ints
    exact: Flags
    typed: Flags
    aims: dict[str, Flags]


def paired(gold: Columns, pred: Columns, base: Ints) -> Paired:
    """Pairs of all documents; ``base`` is where each document begins on the axis.

    >>> from goldassay.measures.extraction.columns import columns
    >>> left, right, _ = columns([[(0, 5, "A"), (6, 9, "B")]], [[(0, 5, "A"), (5, 7, "A")]])
    >>> found = paired(left, right, np.array([0]))
    >>> found.gold.tolist(), found.pred.tolist(), found.exact.tolist(), found.aims["alike"].tolist()
    ([0, 1], [0, 1], [True, False], [True, False])
    """
    left, right = _overlaps(gold, pred, base)
    exact = (gold.start[left] == pred.start[right]) & (gold.end[left] == pred.end[right])
    if gold.fragments or pred.fragments:
        left, right, exact = _discontinuous(gold, pred, left, right, exact)
    typed = gold.type[left] == pred.type[right]
    alone = (np.bincount(left, minlength=len(gold))[left] == 1) & (np.bincount(right, minlength=len(pred))[right] == 1)
    aims = {aim: alone & typed if aim == "alike" else alone.copy() for aim in AIMS}
    crowded = np.flatnonzero(~alone)
    for place in _places(left[crowded], right[crowded], len(gold), len(pred)):
        rows = crowded[place]
        edges = zip(left[rows].tolist(), right[rows].tolist(), exact[rows].tolist(), typed[rows].tolist(), strict=True)
        for aim, taken in zip(AIMS, chosen([Edge(*edge) for edge in edges]), strict=True):
            aims[aim][rows[list(taken)]] = True
    return Paired(left, right, exact, typed, aims)


def _overlaps(gold: Columns, pred: Columns, base: Ints) -> tuple[Ints, Ints]:
    """Rows of spans that share a character, ordered by gold and then pred.

    Predictions are searched by length class: within one, a span that overlaps begins at most the longest length before,
    so a few long spans do not make candidates of all others.
    """
    start, end = base[gold.document] + gold.start, base[gold.document] + gold.end
    other_start, other_end = base[pred.document] + pred.start, base[pred.document] + pred.end
    here, there = np.flatnonzero(gold.start >= 0), np.flatnonzero(pred.start >= 0)
    classes = np.log2(other_end[there] - other_start[there]).astype(np.int64) // 3
    lefts, rights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in np.unique(classes).tolist():
        rows = there[classes == size]
        longest = int((other_end[rows] - other_start[rows]).max())
        first = np.searchsorted(other_start[rows], start[here] - longest, "right")
        many = np.maximum(np.searchsorted(other_start[rows], end[here], "left") - first, 0)
        left = np.repeat(here, many)
        right = rows[np.arange(len(left)) - np.repeat(np.cumsum(many) - many - first, many)]
        near = (other_end[right] > start[left]) & (pred.document[right] == gold.document[left])
        lefts.append(left[near])
        rights.append(right[near])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    order = np.lexsort((right, left))
    return left[order], right[order]


def _discontinuous(gold: Columns, pred: Columns, left: Ints, right: Ints, exact: Flags) -> tuple[Ints, Ints, Flags]:
    """The same where the fragments of discontinuous spans are looked at."""
    keep, same = np.ones(len(left), bool), exact.copy()
    for at, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        mine, theirs = gold.fragments.get(i, ()), pred.fragments.get(j, ())
        if mine or theirs:
            keep[at] = _span(gold, i, mine).overlaps(_span(pred, j, theirs))
            same[at] = mine == theirs
    return left[keep], right[keep], same[keep]


def _span(side: Columns, row: int, fragments: Parts) -> Span:
    return Span(int(side.start[row]), int(side.end[row]), "", "", fragments)


def _places(left: Ints, right: Ints, n: int, m: int) -> list[Ints]:
    """The edges of each connected place, as places in ``left`` and ``right``."""
    if not len(left):
        return []
    table = coo_array((np.ones(len(left), np.int8), (left, n + right)), (n + m, n + m)).tocsr()
    label = connected_components(table, directed=False)[1][left]
    order = np.argsort(label, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(label[order])) + 1).tolist(), len(order)]
    return [order[a:b] for a, b in pairwise(bounds)]
