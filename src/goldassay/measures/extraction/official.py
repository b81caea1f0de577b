"""Counting as the official HIPE scorer does where it differs from one-to-one matching with the most pairs.

Its fuzzy regime walks over gold in the order of the text; a gold span takes the first prediction not yet taken with the
same boundaries and type, else the first one not yet taken that overlaps and has the same type.
"""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.measures.extraction.spans import Span
from goldassay.tally import Counts


def hipe_counts(gold: Sequence[Span], pred: Sequence[Span]) -> Counts:
    """The fuzzy counts of one document in the official order.

    >>> hipe_counts([Span(0, 5, "A"), Span(4, 9, "A")], [Span(4, 6, "A"), Span(7, 8, "A")])
    Counts(tp=2, fp=0, fn=0)
    """
    left = sorted(gold, key=lambda span: (span.start, span.end))
    right = sorted((span for span in pred if span.start >= 0), key=lambda span: (span.start, span.end))
    free = [True] * len(right)
    hits = 0
    rest = []
    for span in left:
        exact = next(
            (j for j, p in enumerate(right) if free[j] and p.place == span.place and p.type == span.type), None
        )
        if exact is None:
            rest.append(span)
        else:
            free[exact] = False
            hits += 1
    for span in rest:
        near = next((j for j, p in enumerate(right) if free[j] and p.type == span.type and span.overlaps(p)), None)
        if near is not None:
            free[near] = False
            hits += 1
    return Counts(hits, len(pred) - hits, len(gold) - hits)
