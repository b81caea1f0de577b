"""The spans of many documents as columns of numbers, which numpy counts without a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import DataError
from goldassay.measures.extraction.spans import Parts, spans

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Raw = tuple[Ints, Ints, Ints, Sequence[str], dict[int, Parts]]  # document, start, end, type, fragments


@dataclass(frozen=True, slots=True)
class Columns:
    """A row a span, in the order of documents and of their text; ``start`` is -1 for one that is not in the text.

    ``type`` counts the names of types in alphabetical order; ``fragments`` has the parts of discontinuous spans by row.
    """

    document: Ints
    start: Ints
    end: Ints
    type: Ints
    fragments: dict[int, Parts] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.document)


def columns(
    gold: Sequence[Any], pred: Sequence[Any], record: Callable[[int], object] = lambda number: number
) -> tuple[Columns, Columns, list[str]]:
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


def _ordered(side: Raw, numbers: dict[str, int]) -> Columns:
    """In the order in which `matching` takes the spans of a document, so that both make the same choices."""
    document, start, end = side[0].astype(np.int64), side[1], side[2]
    kind = np.fromiter(map(numbers.__getitem__, side[3]), np.int64, len(start))
    if not side[4] and ((np.diff(document) > 0) | ((np.diff(document) == 0) & (np.diff(start) > 0))).all():
        return Columns(document, start, end, kind)
    if side[4]:
        keys = zip(document.tolist(), start.tolist(), end.tolist(), kind.tolist(), strict=True)
        rows = [(*key, side[4].get(row, ()), row) for row, key in enumerate(keys)]
        order = np.array([row[-1] for row in sorted(rows)], np.int64)
    else:
        order = np.lexsort((kind, end, start, document))
    place = {row: at for at, row in enumerate(order.tolist())} if side[4] else {}
    parts = {place[row]: fragments for row, fragments in side[4].items()}
    return Columns(document[order], start[order], end[order], kind[order], parts)
