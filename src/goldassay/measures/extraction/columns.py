"""The spans of many documents as columns of numbers, and which of them are pairs.

Spans that share a character may be paired, each with at most one of the other side. Which pairs are made depends on
the aim:

| aim | first as many as possible | then | used for |
|---|---|---|---|
| ``strict`` | pairs of one place and one type | as many pairs as possible | SemEval strict, confusion, errors |
| ``exact`` | pairs of one place | as many pairs as possible | SemEval exact and partial |
| ``type`` | pairs of one type | as many pairs as possible | partial (HIPE fuzzy), SemEval type |
| ``same_type`` | pairs of one place and one type | as many pairs of one type as possible | SemEval by type |

So what counts as correct is the most that any one-to-one matching gives, whatever the order of the spans; a greedy loop
gives (1, 1, 1) or (2, 0, 0) as true positives, false positives and false negatives for the same spans in another order.

How it is fast: all documents lie on one axis, one after the other, and a binary search finds which spans overlap. A
span that overlaps one of the other side and no more, which is nearly every span, is paired without a search. Only
crowded places (connected groups of overlapping spans) are solved as assignment problems, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import scipy

from goldassay.exceptions import DataError
from goldassay.measures.extraction.records import GOLD, PRED, Fragments, Span, spans
from goldassay.statistics.evidence import Flags, Ints

AIMS = ("strict", "exact", "type", "same_type")
Edge = tuple[int, int, bool, bool]
"""Two spans that share a character (numbers on each side), and whether place and type are the same."""


@dataclass(frozen=True, slots=True)
class SpanColumns:
    """A row a span, in the order of documents and of their text; ``start`` is -1 for one that is not in the text.

    ``type`` numbers the types in alphabetical order; ``fragments`` has the parts of discontinuous spans by row.
    """

    document: Ints
    start: Ints
    end: Ints
    type: Ints
    fragments: dict[int, Fragments] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.document)


def text_order(span: Span) -> tuple[object, ...]:
    """The key that puts the spans of a document in the order of `SpanColumns`."""
    return span.start, span.end, span.type, span.fragments


def columns(
    gold: Sequence[Any], pred: Sequence[Any], record: Callable[[int], object] = lambda number: number
) -> tuple[SpanColumns, SpanColumns, list[str]]:
    """Both sides, and the names of the types; ``record`` names a document in an error.

    >>> left, right, types = columns([[{"start": 4, "end": 9, "type": "TOP"}]], [[(0, 3, "MUS"), (4, 9, "TOP")]])
    >>> left.type.tolist(), right.type.tolist(), types
    ([1], [0, 1], ['MUS', 'TOP'])
    """
    sides = []
    for documents, side in ((gold, GOLD), (pred, PRED)):
        lengths = np.fromiter((len(document or ()) for document in documents), np.int64, len(documents))
        number = np.repeat(np.arange(len(documents)), lengths)
        sides.append((number, *(_plain(documents) or _read(documents, side, record))))
    types = sorted({kind for side in sides for kind in side[3]})
    codes = {kind: number for number, kind in enumerate(types)}
    left, right = (_ordered(*side, codes) for side in sides)  # pyright: ignore[reportCallIssue]
    return left, right, types


Values = tuple[Ints, Ints, Sequence[str], dict[int, Fragments]]  # start, end, type, fragments


def _plain(documents: Sequence[Any]) -> Values | None:
    """Plain dicts with valid offsets are read by column; ``None`` for anything else, or anything wrong."""
    flat = list(chain.from_iterable(document or () for document in documents))
    if set(map(type, flat)) != {dict} or "fragments" in chain.from_iterable(flat):
        return None
    try:
        start, end, kind = (list(map(itemgetter(name), flat)) for name in ("start", "end", "type"))
    except KeyError:
        return None
    if set(map(type, chain(start, end))) != {int} or set(map(type, kind)) != {str}:
        return None
    first, last = np.array(start, np.int64), np.array(end, np.int64)
    return None if (first < 0).any() or (first >= last).any() else (first, last, kind, {})


def _read(documents: Sequence[Any], side: str, record: Callable[[int], object]) -> Values:
    flat: list[Span] = []
    for number, document in enumerate(documents):
        try:
            flat += spans(document, side, placed=side == GOLD)
        except DataError as error:
            raise error.at(record=record(number)) from None
    start, end = (np.array([span[at] for span in flat], np.int64) for at in (0, 1))
    return start, end, [span.type for span in flat], {at: s.fragments for at, s in enumerate(flat) if s.fragments}


def _ordered(
    document: Ints,
    start: Ints,
    end: Ints,
    types: Sequence[str],
    fragments: dict[int, Fragments],
    codes: dict[str, int],
) -> SpanColumns:
    """In the order of documents and text, so that the order of the input makes no difference."""
    kind = np.fromiter(map(codes.__getitem__, types), np.int64, len(start))
    later = np.diff(document)
    if not fragments and ((later > 0) | ((later == 0) & (np.diff(start) > 0))).all():
        return SpanColumns(document, start, end, kind)
    ranks = {parts: rank for rank, parts in enumerate(sorted(set(fragments.values())), 1)}
    rank = np.array([ranks.get(fragments.get(row, ()), 0) for row in range(len(start))]) if fragments else kind
    order = np.lexsort((rank, kind, end, start, document))
    parts = {at: fragments[row] for at, row in enumerate(order.tolist()) if row in fragments} if fragments else {}
    return SpanColumns(document[order], start[order], end[order], kind[order], parts)


class Pairs(NamedTuple):
    """Rows of gold and predicted columns that overlap, what is the same, and for each aim which of them are pairs."""

    gold: Ints
    pred: Ints
    exact: Flags
    typed: Flags
    aims: dict[str, Flags]


def paired(gold: SpanColumns, pred: SpanColumns, base: Ints) -> Pairs:
    """The pairs of all documents; ``base`` is where each document begins on the axis.

    >>> left, right, _ = columns([[(0, 5, "A"), (6, 9, "B")]], [[(0, 5, "A"), (5, 7, "A")]])
    >>> pairs = paired(left, right, np.array([0]))
    >>> pairs.gold.tolist(), pairs.pred.tolist(), pairs.exact.tolist(), pairs.aims["same_type"].tolist()
    ([0, 1], [0, 1], [True, False], [True, False])
    """
    left, right = _overlaps(gold, pred, base)
    exact = (gold.start[left] == pred.start[right]) & (gold.end[left] == pred.end[right])
    if gold.fragments or pred.fragments:
        left, right, exact = _discontinuous(gold, pred, left, right, exact)
    typed = gold.type[left] == pred.type[right]
    alone = (np.bincount(left, minlength=len(gold))[left] == 1) & (np.bincount(right, minlength=len(pred))[right] == 1)
    aims = {aim: alone & typed if aim == "same_type" else alone.copy() for aim in AIMS}
    crowded = np.flatnonzero(~alone)
    for place in _places(left[crowded], right[crowded], len(gold), len(pred)):
        rows = crowded[place]
        i, j = (_renumbered(side[rows].tolist()) for side in (left, right))
        edges = zip(i, j, exact[rows].tolist(), typed[rows].tolist(), strict=True)
        for aim, taken in zip(AIMS, _solved(tuple(edges)), strict=True):
            aims[aim][rows[list(taken)]] = True
    return Pairs(left, right, exact, typed, aims)


def _overlaps(gold: SpanColumns, pred: SpanColumns, base: Ints) -> tuple[Ints, Ints]:
    """Rows of spans that share a character, ordered by gold and then pred.

    Predictions are searched by length class: within one, a span that overlaps begins at most the longest length before,
    so a few long spans do not make candidates of all others.
    """
    start, end = base[gold.document] + gold.start, base[gold.document] + gold.end
    other_start, other_end = base[pred.document] + pred.start, base[pred.document] + pred.end
    placed, others = np.flatnonzero(gold.start >= 0), np.flatnonzero(pred.start >= 0)
    classes = np.log2(other_end[others] - other_start[others]).astype(np.int64) // 3
    lefts, rights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in np.unique(classes).tolist():
        rows = others[classes == size]
        longest = int((other_end[rows] - other_start[rows]).max())
        first = np.searchsorted(other_start[rows], start[placed] - longest, "right")
        many = np.maximum(np.searchsorted(other_start[rows], end[placed], "left") - first, 0)
        left = np.repeat(placed, many)
        right = rows[np.arange(len(left)) - np.repeat(np.cumsum(many) - many - first, many)]
        near = (other_end[right] > start[left]) & (pred.document[right] == gold.document[left])
        lefts.append(left[near])
        rights.append(right[near])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    order = np.lexsort((right, left))
    return left[order], right[order]


def _discontinuous(
    gold: SpanColumns, pred: SpanColumns, left: Ints, right: Ints, exact: Flags
) -> tuple[Ints, Ints, Flags]:
    """The same rows, with the fragments of discontinuous spans compared."""
    keep, same = np.ones(len(left), bool), exact.copy()
    for at, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        mine, theirs = gold.fragments.get(i, ()), pred.fragments.get(j, ())
        if mine or theirs:
            span = Span(gold.start[i], gold.end[i], "", "", mine)  # pyright: ignore[reportArgumentType]
            keep[at] = span.overlaps(Span(pred.start[j], pred.end[j], "", "", theirs))  # pyright: ignore[reportArgumentType]
            same[at] = mine == theirs
    return left[keep], right[keep], same[keep]


def _places(left: Ints, right: Ints, n: int, m: int) -> list[Ints]:
    """The edges of each crowded place, as positions in ``left`` and ``right``."""
    if not len(left):
        return []
    table = scipy.sparse.coo_array((np.ones(len(left), np.int8), (left, n + right)), (n + m, n + m)).tocsr()
    label = scipy.sparse.csgraph.connected_components(table, directed=False)[1][left]
    order = np.argsort(label, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(label[order])) + 1).tolist(), len(order)]
    return [order[a:b] for a, b in pairwise(bounds)]


def _renumbered(rows: Sequence[int]) -> list[int]:
    """Row numbers as 0, 1, 2 … in the order of their first appearance."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(row, len(numbers)) for row in rows]


@lru_cache(maxsize=1 << 14)
def _solved(edges: tuple[Edge, ...]) -> tuple[tuple[int, ...], ...]:
    """For each aim, the edges of one crowded place that become pairs; small places look alike and are remembered."""
    wishes: dict[str, list[tuple[bool, bool] | None]] = {
        "strict": [(exact and typed, exact or typed) for _, _, exact, typed in edges],
        "exact": [(exact, typed) for _, _, exact, typed in edges],
        "type": [(typed, exact) for _, _, exact, typed in edges],
        "same_type": [(exact, False) if typed else None for _, _, exact, typed in edges],
    }
    return tuple(_assigned(edges, wishes[aim]) for aim in AIMS)


def _assigned(edges: Sequence[Edge], wishes: Sequence[tuple[bool, bool] | None]) -> tuple[int, ...]:
    """A one-to-one choice with the most first wishes, then the most edges, then the most second wishes.

    The three aims become one number for each edge, so that the assignment with the largest sum is the choice: with
    ``most`` larger than any count of pairs, first wishes outweigh edges and edges outweigh second wishes.
    """
    height, width = max(edge[0] for edge in edges) + 1, max(edge[1] for edge in edges) + 1
    most = min(height, width) + 1
    table = np.zeros((height, width))
    number = {}
    for at, ((i, j, _, _), wish) in enumerate(zip(edges, wishes, strict=True)):
        if wish is not None:
            table[i, j] = most * most * wish[0] + most + wish[1]
            number[i, j] = at
    pairs = zip(*(side.tolist() for side in scipy.optimize.linear_sum_assignment(table, maximize=True)), strict=True)
    return tuple(sorted(number[pair] for pair in pairs if pair in number))
