r"""Token level: ``\S+`` with true offsets; a token has the type of every span that overlaps it.

Splitting on spaces and adding one per token misaligns at the first double space or line break. Without a text each
character stands for a token. Words that a program gave and that do not stand in the text are one token that nothing
matches.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import chain, repeat

import numpy as np

from goldassay.measures.extraction.columns import Columns, Flags, Ints
from goldassay.measures.extraction.records import Span
from goldassay.tally import Counts

TOKEN = re.compile(r"\S+")


def tokens(text: str) -> list[tuple[int, int]]:
    r"""The offsets of the tokens of a text.

    >>> tokens("a  b\nc")
    [(0, 1), (3, 4), (5, 6)]
    """
    return [match.span() for match in TOKEN.finditer(text)]


def token_counts(gold: Sequence[Span], pred: Sequence[Span], text: str) -> dict[str, Counts]:
    """Counts of the tokens of one document by type."""
    end = max((span.end for span in (*gold, *pred)), default=0)
    places = tokens(text) if text else [(i, i + 1) for i in range(end)]
    left, right = _covered(gold, places), _covered(pred, places)
    return {
        kind: Counts(len(a & b), len(b - a), len(a - b))
        for kind in sorted({*left, *right})
        for a, b in [(left.get(kind, set()), right.get(kind, set()))]
        if a or b
    }


def _covered(items: Sequence[Span], places: Sequence[tuple[int, int]]) -> dict[str, set[int]]:
    starts, ends = [start for start, _ in places], [end for _, end in places]
    out: dict[str, set[int]] = {}
    for span in items:
        found = out.setdefault(span.type, set())
        if span.start < 0:
            found.add(-1 - len(found))  # nothing else has this number
            continue
        for start, end in span.fragments or ((span.start, span.end),):
            found.update(range(bisect_right(ends, start), bisect_left(starts, end)))
    return out


def token_columns(gold: Columns, pred: Columns, texts: Sequence[str], types: int) -> tuple[Ints, Ints, Ints]:
    """The same for many documents at once: the tokens that both sides have, that gold has, that pred has.

    Each token is the number document · ``types`` + type.
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
    wanted, missing = _tokens(gold, base, reach, starts, ends, types)
    given, unlocated = _tokens(pred, base, reach, starts, ends, types)
    both = np.intersect1d(wanted, given, assume_unique=True)
    document = (np.searchsorted(base, starts, "right") - 1) * types

    def cells(found: Ints) -> Ints:
        return document[found // types] + found % types

    return cells(both), np.concatenate((cells(wanted), missing)), np.concatenate((cells(given), unlocated))


def _tokens(side: Columns, base: Ints, reach: Ints, starts: Ints, ends: Ints, types: int) -> tuple[Ints, Ints]:
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
    here, last = base[side.document[rows]], reach[side.document[rows]]
    first = np.searchsorted(ends, here + np.minimum(start, last), "right")
    many = np.maximum(np.searchsorted(starts, here + np.minimum(end, last), "left") - first, 0)
    token = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - first, many)
    lost = side.start < 0
    found = np.sort(token * types + np.repeat(side.type[rows], many))  # nearly in order: faster than np.unique
    distinct = np.concatenate((np.ones(len(found[:1]), bool), found[1:] != found[:-1]))
    return found[distinct], side.document[lost] * types + side.type[lost]


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
