"""Which gold and predicted spans of a document are pairs.

Spans that share a character may be paired, each with at most one of the other side. Which pairs are made depends on
the schema of SemEval'13:

| schema | first as many as possible | then | then |
|---|---|---|---|
| ``strict`` | pairs of one place and one type | pairs | pairs of one place or one type |
| ``exact``, ``partial`` | pairs of one place | pairs | pairs of one type |
| ``type`` | pairs of one type | pairs | pairs of one place |

So what counts as correct is the most that any one-to-one matching gives, whatever the order of the spans; a greedy loop
gives (1, 1, 1) or (2, 0, 0) as true positives, false positives and false negatives for the same spans in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from goldassay.measures.assignment import heaviest, overlapping
from goldassay.measures.extraction.records import Span

SCHEMAS = ("strict", "exact", "partial", "type")


class Pair(NamedTuple):
    """The numbers of a gold and a predicted span, and whether they are as the schema wants them."""

    gold: int
    pred: int
    right: bool


def matched(gold: Sequence[Span], pred: Sequence[Span], schema: str) -> list[Pair]:
    """The pairs of a document; both sides in the order of `text_order`.

    >>> matched([Span(0, 5, "A"), Span(6, 9, "B")], [Span(0, 5, "A"), Span(5, 7, "A")], "strict")
    [Pair(gold=0, pred=0, right=True), Pair(gold=1, pred=1, right=False)]
    """
    weights: dict[Pair, int] = {}
    most = min(len(gold), len(pred)) + 1  # more than any count of pairs: so wishes outweigh each other in their order
    for i, j in overlapping(gold, pred):
        if gold[i].overlaps(pred[j]):
            exact, typed = gold[i].place == pred[j].place, gold[i].type == pred[j].type
            right, then = (typed, exact) if schema == "type" else (exact, typed)
            if schema == "strict":
                right, then = exact and typed, exact or typed
            weights[Pair(i, j, right)] = most * most * right + most + then
    return heaviest(weights)


def text_order(span: Span) -> tuple[object, ...]:
    """The key that puts the spans of a document in order, so that the order of the input makes no difference."""
    return span.start, span.end, span.type, span.fragments
