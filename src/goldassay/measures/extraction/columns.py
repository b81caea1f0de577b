"""The spans of many documents as columns of numbers, which numpy counts without a loop.

The pairs of many documents at once, under every aim of `matching`.

All documents are laid on one axis, one after the other. A search finds which spans overlap; where each overlaps only
one of the other side the pair is there already, and only crowded places go through the assignment, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from goldassay.exceptions import DataError
from goldassay.measures.extraction.matching import AIMS, Edge, chosen
from goldassay.measures.extraction.records import Fragments, Span, spans
from goldassay.statistics.evidence import Flags, Ints

Raw = tuple[Ints, Ints, Ints, Sequence[str], dict[int, Fragments]]  # document, start, end, type, fragments


@dataclass(frozen=True, slots=True)
class SpanColumns:
    """A row a span, in the order of documents and of their text; ``start`` is -1 for one that is not in the text.

    ``type`` counts the names of types in alphabetical order; ``fragments`` has the parts of discontinuous spans by row.
    """

    document: Ints
    start: Ints
    end: Ints
    type: Ints
    fragments: dict[int, Fragments] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.document)


def columns(
    gold: Sequence[object], pred: Sequence[object], record: Callable[[int], object] = lambda number: number
) -> tuple[SpanColumns, SpanColumns, list[str]]:
    """Both sides, and the names of the types; ``record`` names a document in an error.

    >>> left, right, types = columns([[{"start": 4, "end": 9, "type": "TOP"}]], [[(0, 3, "MUS"), (4, 9, "TOP")]])
    >>> left.type.tolist(), right.type.tolist(), types
    ([1], [0, 1], ['MUS', 'TOP'])
    """
    raw = _raw(gold, "gold entities", record), _raw(pred, "predicted entities", record)
    types = sorted({kind for side in raw for kind in set(side[3])})
    left, right = (_ordered(side, {kind: number for number, kind in enumerate(types)}) for side in raw)
    return left, right, types


def _raw(documents: Sequence[Any], side: str, record: Callable[[int], object]) -> Raw:
    """Plain dicts are read by column; anything else, and anything wrong, span by span."""
    flat = list(chain.from_iterable(document or () for document in documents))
    if set(map(type, flat)) != {dict} or "fragments" in chain.from_iterable(flat):
        return _one_by_one(documents, side, record)
    try:
        start, end, kind = (list(map(itemgetter(name), flat)) for name in ("start", "end", "type"))
    except KeyError:
        return _one_by_one(documents, side, record)
    if set(map(type, chain(start, end))) != {int} or set(map(type, kind)) != {str}:
        return _one_by_one(documents, side, record)
    first, last = np.array(start, np.int64), np.array(end, np.int64)
    if (first < 0).any() or (first >= last).any():
        return _one_by_one(documents, side, record)
    lengths = np.fromiter((len(document or ()) for document in documents), np.int64, len(documents))
    return np.repeat(np.arange(len(documents)), lengths), first, last, kind, {}


def _one_by_one(documents: Sequence[Any], side: str, record: Callable[[int], object]) -> Raw:
    found = []
    for number, document in enumerate(documents):
        try:
            found.append(spans(document, side, placed=side.startswith("gold")))
        except DataError as error:
            raise error.at(record=record(number)) from None
    flat = list(chain.from_iterable(found))
    return (
        np.repeat(np.arange(len(found)), [len(document) for document in found]),
        np.array([span.start for span in flat], np.int64),
        np.array([span.end for span in flat], np.int64),
        [span.type for span in flat],
        {row: span.fragments for row, span in enumerate(flat) if span.fragments},
    )


def _ordered(side: Raw, numbers: dict[str, int]) -> SpanColumns:
    """In the order in which `matching` takes the spans of a document, so that both make the same choices."""
    document, start, end = side[0].astype(np.int64), side[1], side[2]
    kind = np.fromiter(map(numbers.__getitem__, side[3]), np.int64, len(start))
    if not side[4] and ((np.diff(document) > 0) | ((np.diff(document) == 0) & (np.diff(start) > 0))).all():
        return SpanColumns(document, start, end, kind)
    if side[4]:
        keys = zip(document.tolist(), start.tolist(), end.tolist(), kind.tolist(), strict=True)
        rows = [(*key, side[4].get(row, ()), row) for row, key in enumerate(keys)]
        order = np.array([row[-1] for row in sorted(rows)], np.int64)
    else:
        order = np.lexsort((kind, end, start, document))
    place = {row: at for at, row in enumerate(order.tolist())} if side[4] else {}
    parts = {place[row]: fragments for row, fragments in side[4].items()}
    return SpanColumns(document[order], start[order], end[order], kind[order], parts)


class Paired(NamedTuple):
    """Rows of gold and predicted columns that overlap, what is the same, and for each aim which of them are pairs."""

    gold: Ints
    pred: Ints
    exact: Flags
    typed: Flags
    aims: dict[str, Flags]


def paired(gold: SpanColumns, pred: SpanColumns, base: Ints) -> Paired:
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


def _overlaps(gold: SpanColumns, pred: SpanColumns, base: Ints) -> tuple[Ints, Ints]:
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


def _discontinuous(
    gold: SpanColumns, pred: SpanColumns, left: Ints, right: Ints, exact: Flags
) -> tuple[Ints, Ints, Flags]:
    """The same where the fragments of discontinuous spans are looked at."""
    keep, same = np.ones(len(left), bool), exact.copy()
    for at, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        mine, theirs = gold.fragments.get(i, ()), pred.fragments.get(j, ())
        if mine or theirs:
            keep[at] = _span(gold, i, mine).overlaps(_span(pred, j, theirs))
            same[at] = mine == theirs
    return left[keep], right[keep], same[keep]


def _span(side: SpanColumns, row: int, fragments: Fragments) -> Span:
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
