r"""Token level: ``\S+`` with true offsets; a token belongs to every span that overlaps it.

Splitting on spaces and adding one per token misaligns at the first double space or line break.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from goldassay.measures.extraction.spans import Span
from goldassay.tally import Counts

TOKEN = re.compile(r"\S+")


def tokens(text: str) -> list[tuple[int, int]]:
    r"""The offsets of the tokens of a text.

    >>> tokens("a  b\nc")
    [(0, 1), (3, 4), (5, 6)]
    """
    return [match.span() for match in TOKEN.finditer(text)]


def token_counts(gold: Sequence[Span], pred: Sequence[Span], text: str) -> dict[str, Counts]:
    """Counts of tokens by type. Without a text the characters of the spans stand for tokens."""
    if not text:
        end = max((span.end for span in (*gold, *pred)), default=0)
        places = [(i, i + 1) for i in range(end)]
    else:
        places = tokens(text)
    left, right = _covered(gold, places), _covered(pred, places)
    return {
        kind: Counts(len(a & b), len(b - a), len(a - b))
        for kind in sorted({*left, *right})
        for a, b in [(left.get(kind, set()), right.get(kind, set()))]
    }


def _covered(items: Sequence[Span], places: Sequence[tuple[int, int]]) -> dict[str, set[int]]:
    starts, ends = [start for start, _ in places], [end for _, end in places]
    out: dict[str, set[int]] = {}
    for span in items:
        found = out.setdefault(span.type, set())
        if span.start < 0:
            found.add(-1 - len(found))  # words that do not stand in the text: one token that nothing matches
            continue
        for start, end in span.fragments or ((span.start, span.end),):
            found.update(range(bisect_right(ends, start), bisect_left(starts, end)))
    return out
