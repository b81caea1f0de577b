"""SemEval's four schemes over many documents at once.

All spans are laid on one axis, document after document. Where every span overlaps at most one of the other side, the
pairs are read off two searches; only documents with a crowded place go through the assignment one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.measures import SCHEMES, semeval
from goldassay.measures.extraction.spans import spans
from goldassay.measures.extraction.tally import SemEvalCounts

Ints = NDArray[np.int64]


class Axis(NamedTuple):
    """Spans of all documents: the document, the place on the axis, the type."""

    document: Ints
    start: Ints
    end: Ints
    type: Ints


def evaluate_spans(gold: Sequence[Sequence[Any]], pred: Sequence[Sequence[Any]]) -> dict[str, SemEvalCounts]:
    """COR, INC, PAR, MIS and SPU of all documents in the schemes strict, exact, partial and type.

    Each document is a list of ``{"start", "end", "type"}`` (end exclusive). The counts equal the sum over documents of
    the measure ``SemEval``.

    >>> evaluate_spans([[{"start": 0, "end": 5, "type": "A"}]], [[{"start": 0, "end": 4, "type": "A"}]])["type"].correct
    1
    """
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold documents against {len(pred)} predicted ones; they must be aligned")
    kinds: dict[str, int] = {}
    left, right = _axis(gold, kinds), _axis(pred, kinds)
    crowded = _overlapping_itself(left, len(gold)) | _overlapping_itself(right, len(gold))
    left, right = _without(left, crowded), _without(right, crowded)
    first, over_pred = _overlaps(right, left)
    _, over_gold = _overlaps(left, right)
    more = np.zeros(len(gold), bool)
    more[right.document[over_pred > 1]] = True
    more[left.document[over_gold > 1]] = True
    left, right, (first, over_pred), over_gold = _keep(left, right, first, over_pred, over_gold, more)
    counts = _counted(left, right, first, over_pred, over_gold)
    out = {scheme: SemEvalCounts(*counts[scheme]) for scheme in SCHEMES}
    for index in np.flatnonzero(crowded | more).tolist():
        for scheme, found in semeval(spans(gold[index]), spans(pred[index])).items():
            out[scheme] += found
    return out


def _axis(documents: Sequence[Sequence[Any]], kinds: dict[str, int]) -> Axis:
    flat = list(chain.from_iterable(documents))
    n = len(flat)
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    document = np.repeat(np.arange(len(documents)), lengths)
    start = np.fromiter(map(itemgetter("start"), flat), np.int64, n)
    end = np.fromiter(map(itemgetter("end"), flat), np.int64, n)
    for kind in set(map(itemgetter("type"), flat)):
        kinds.setdefault(kind, len(kinds))
    number = np.fromiter(map(kinds.__getitem__, map(itemgetter("type"), flat)), np.int64, n)
    order = np.lexsort((start, document))
    return Axis(document[order], start[order], end[order], number[order])


def _places(axis: Axis, other: Axis) -> tuple[Ints, Ints]:
    """Start and end on the common axis, which no document shares with another."""
    width = int(max(axis.end.max(initial=0), other.end.max(initial=0))) + 1
    return axis.document * width + axis.start, axis.document * width + axis.end


def _overlapping_itself(axis: Axis, documents: int) -> NDArray[np.bool_]:
    out = np.zeros(documents, bool)
    same = axis.document[1:] == axis.document[:-1]
    out[axis.document[1:][same & (axis.start[1:] < axis.end[:-1])]] = True
    return out


def _without(axis: Axis, documents: NDArray[np.bool_]) -> Axis:
    keep = ~documents[axis.document]
    return axis if keep.all() else Axis(*(column[keep] for column in axis))


def _overlaps(these: Axis, those: Axis) -> tuple[Ints, Ints]:
    """For each of these the first of those that it overlaps, and how many it overlaps."""
    (start, end), (other_start, other_end) = _places(these, those), _places(those, these)
    first = np.searchsorted(other_end, start, "right")
    return first, np.searchsorted(other_start, end, "left") - first


def _keep(left: Axis, right: Axis, first: Ints, over_pred: Ints, over_gold: Ints, drop: NDArray[np.bool_]) -> Any:
    """Without the documents in ``drop``; indices into ``left`` are renumbered."""
    keep_left, keep_right = ~drop[left.document], ~drop[right.document]
    number = np.concatenate([np.cumsum(keep_left) - 1, [0]])
    return (
        Axis(*(column[keep_left] for column in left)),
        Axis(*(column[keep_right] for column in right)),
        (number[np.minimum(first[keep_right], len(left.start))], over_pred[keep_right]),
        over_gold[keep_left],
    )


def _counted(left: Axis, right: Axis, first: Ints, over_pred: Ints, over_gold: Ints) -> dict[str, tuple[int, ...]]:
    paired = over_pred == 1
    mate = first[paired]
    exact = (right.start[paired] == left.start[mate]) & (right.end[paired] == left.end[mate])
    typed = right.type[paired] == left.type[mate]
    n, same, kind, both = int(paired.sum()), int(exact.sum()), int(typed.sum()), int((exact & typed).sum())
    rest = int((over_gold == 0).sum()), int((over_pred == 0).sum())
    return {
        "strict": (both, n - both, 0, *rest),
        "exact": (same, n - same, 0, *rest),
        "partial": (same, 0, n - same, *rest),
        "type": (kind, n - kind, 0, *rest),
    }
