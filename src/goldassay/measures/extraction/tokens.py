r"""Token level: ``\S+`` with true offsets; a token has the type of every span that overlaps it.

Splitting on spaces and adding one per token misaligns at the first double space or line break. Without a text each
character stands for a token. Words that a program gave and that do not occur in the text are one token that nothing
matches.

How it works: all texts are joined on one axis, where a comparison of neighbours finds the first and last character of
every token; a binary search turns the characters of each span into the numbers of its tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from itertools import chain, repeat

import numpy as np

from goldassay.measures.extraction.columns import SpanColumns
from goldassay.statistics.evidence import Flags, Ints


def token_columns(gold: SpanColumns, pred: SpanColumns, texts: Sequence[str], types: int) -> tuple[Ints, Ints, Ints]:
    """The tokens of many documents: those with the same type on both sides, those of gold, those of predictions.

    Each (document, type) of a token is the number document · ``types`` + type.
    """
    if not texts or not types:
        none = np.zeros(0, np.int64)
        return none, none, none
    reach = np.fromiter(map(len, texts), np.int64, len(texts))
    bare = reach == 0
    for side in (gold, pred):
        within = bare[side.document]
        np.maximum.at(reach, side.document[within], side.end[within])
    base = np.cumsum(reach + 1) - reach - 1  # one place between documents, which holds no token
    inside = _characters(texts, reach, bare)
    before = np.concatenate(([False], inside[:-1]))
    single = np.repeat(bare, reach + 1)  # without a text every character is a token
    starts = np.flatnonzero(inside & (~before | single))
    ends = np.flatnonzero(np.concatenate((before & (~inside | single), inside[-1:])))
    annotated, missing = _tokens(gold, base, reach, starts, ends, types)
    predicted, unlocated = _tokens(pred, base, reach, starts, ends, types)
    both = np.intersect1d(annotated, predicted, assume_unique=True)
    document = (np.searchsorted(base, starts, "right") - 1) * types

    def cells(tokens: Ints) -> Ints:
        return document[tokens // types] + tokens % types

    return cells(both), np.concatenate((cells(annotated), missing)), np.concatenate((cells(predicted), unlocated))


def _tokens(side: SpanColumns, base: Ints, reach: Ints, starts: Ints, ends: Ints, types: int) -> tuple[Ints, Ints]:
    """Distinct (token, type) as one number, and (document, type) of spans that are not in the text."""
    rows = np.flatnonzero(side.start >= 0)
    start, end = side.start[rows], side.end[rows]
    if side.fragments:
        parts = [
            (row, a, b)
            for row in rows.tolist()
            for a, b in side.fragments.get(row, ((side.start[row], side.end[row]),))
        ]
        rows, start, end = (np.array(column, np.int64) for column in zip(*parts, strict=True))
    origin, last = base[side.document[rows]], reach[side.document[rows]]
    first = np.searchsorted(ends, origin + np.minimum(start, last), "right")
    many = np.maximum(np.searchsorted(starts, origin + np.minimum(end, last), "left") - first, 0)
    token = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - first, many)
    lost = side.start < 0
    cells = np.sort(token * types + np.repeat(side.type[rows], many))  # nearly in order: faster than np.unique
    distinct = np.concatenate((np.ones(len(cells[:1]), bool), cells[1:] != cells[:-1]))
    return cells[distinct], side.document[lost] * types + side.type[lost]


def _characters(texts: Sequence[str], reach: Ints, bare: Flags) -> Flags:
    """For every place on the axis whether a token stands there."""
    if bare.any():
        joined = "".join(text + "\n" if text else "x" * n + "\n" for text, n in zip(texts, reach.tolist(), strict=True))
    else:
        joined = "".join(chain.from_iterable(zip(texts, repeat("\n"))))
    letters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.logical_not(_spaces()[letters])


@cache
def _spaces() -> Flags:
    """Which characters are white space for ``re``."""
    out = np.zeros(sys.maxunicode + 1, bool)
    out[[code for code in range(0x3001) if chr(code).isspace()]] = True
    return out
