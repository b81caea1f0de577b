"""The spans of many documents as columns of numbers, and which of them are pairs.

Spans that share a character may be paired, each with at most one of the other side. Which pairs are made depends on
the schema of SemEval'13:

| schema | first as many as possible | then | then |
|---|---|---|---|
| ``strict`` | pairs of one place and one type | pairs | pairs of one place or one type |
| ``exact``, ``partial`` | pairs of one place | pairs | pairs of one type |
| ``type`` | pairs of one type | pairs | pairs of one place |

So what counts as correct is the most that any one-to-one matching gives, whatever the order of the spans; a greedy loop
gives (1, 1, 1) or (2, 0, 0) as true positives, false positives and false negatives for the same spans in another order.

How it is fast: all documents lie on one axis, one after the other, and a binary search finds which spans overlap. A
span that overlaps one of the other side and no more, which is nearly every span, is paired without a search. Only
crowded places (connected groups of overlapping spans) are solved as assignment problems, each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from goldassay.measures.assignment import heaviest
from goldassay.measures.extraction.records import Span
from goldassay.statistics.evidence import Flags, Ints

SCHEMAS = ("strict", "exact", "partial", "type")
MARKS = {"fragments", "optional", "parent"}
Rows = tuple[Ints, Ints, Sequence[str], Sequence[Span]]
"""Starts, ends and types, and the spans themselves if they were read one by one."""


class Side(NamedTuple):
    """A row a span, in the order of documents and of their text; ``start`` is -1 for one that is not in the text.

    ``type`` numbers the types; ``spans`` are the spans themselves, if they were read one by one.
    """

    document: Ints
    start: Ints
    end: Ints
    type: Ints
    spans: Sequence[Span]


class Pairs(NamedTuple):
    """The rows of gold and predicted spans that share a character, and what is the same."""

    gold: Ints
    pred: Ints
    exact: Flags
    typed: Flags


def by_column(documents: Sequence[Any]) -> Rows | None:
    """Plain dicts with valid offsets, read by column; ``None`` for anything else, or anything wrong."""
    flat = list(chain.from_iterable(document or () for document in documents))
    if {*map(type, flat)} != {dict} or not MARKS.isdisjoint(chain.from_iterable(flat)):
        return None
    start, end, kind = ([span.get(name) for span in flat] for name in ("start", "end", "type"))
    if {*map(type, chain(start, end))} != {int} or {*map(type, kind)} != {str}:
        return None
    first, last = np.array(start), np.array(end)
    return None if (first < 0).any() or (first >= last).any() else (first, last, kind, ())


def one_by_one(documents: Sequence[Sequence[Span]]) -> Rows:
    """Any spans."""
    flat = [span for document in documents for span in sorted(document, key=text_order)]
    start, end = (np.array([span[at] for span in flat], int) for at in (0, 1))
    return start, end, [span.type for span in flat], flat


def text_order(span: Span) -> tuple[object, ...]:
    """The key that puts the spans of a document in order, so that the order of the input makes no difference."""
    return span.start, span.end, span.type, span.fragments


def columns(documents: Sequence[Any], rows: Rows, types: Sequence[str]) -> Side:
    """The rows of a side in order, with their documents."""
    start, end, kinds, spans = rows
    codes = {kind: code for code, kind in enumerate(types)}
    kind = np.fromiter(map(codes.__getitem__, kinds), int, len(kinds))
    document = np.repeat(np.arange(len(documents)), [len(document or ()) for document in documents])
    order = np.lexsort((kind, end, start, document))
    return Side(document[order], start[order], end[order], kind[order], spans)


def ranges(first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All numbers from each first one to its end, and which of the ranges each is in.

    >>> [numbers.tolist() for numbers in ranges(np.array([3, 7]), np.array([5, 8]))]
    [[0, 0, 1], [3, 4, 7]]
    """
    many = np.maximum(end - first, 0)
    which = np.repeat(np.arange(len(many)), many)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(many) - many - first, many)


def overlaps(gold: Side, pred: Side, base: Ints) -> Pairs:
    """All spans that share a character; ``base`` is where each document begins on the axis."""
    (start, end), (other_start, other_end) = (
        (base[side.document] + side.start, base[side.document] + side.end) for side in (gold, pred)
    )
    reach = np.maximum.accumulate(other_end)  # no prediction up to here ends later
    left, right = ranges(np.searchsorted(reach, start, "right"), np.searchsorted(other_start, end, "left"))
    near = other_end[right] > start[left]
    left, right = left[near], right[near]
    exact = (start[left] == other_start[right]) & (end[left] == other_end[right])
    if any(span.fragments for side in (gold, pred) for span in side.spans):
        both = [(gold.spans[i], pred.spans[j]) for i, j in zip(left.tolist(), right.tolist(), strict=True)]
        near = np.array([span.overlaps(other) for span, other in both], bool)
        exact = np.array([span.place == other.place for span, other in both], bool)[near]
        left, right = left[near], right[near]
    return Pairs(left, right, exact, gold.type[left] == pred.type[right])


def matched(pairs: Pairs, schema: str) -> tuple[Ints, Ints, Flags]:
    """The rows of the pairs that a schema makes of spans that overlap, and which of them are as it wants them."""
    left, right, exact, typed = pairs
    first, then = {"strict": (exact & typed, exact | typed), "type": (typed, exact)}.get(schema, (exact, typed))
    taken = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    crowded = np.flatnonzero(~taken)
    most = len(crowded) + 1  # more than any count of pairs: so the wishes outweigh each other in their order
    weights = (most * most * first + most + then)[crowded].tolist()
    edges = zip(left[crowded].tolist(), right[crowded].tolist(), crowded.tolist(), strict=True)
    taken[[row for _, _, row in heaviest(dict(zip(edges, weights, strict=True)))]] = True
    return left[taken], right[taken], first[taken]
