"""The numbers of many mappings as one array; what is no number is an error with its query and document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from goldassay.exceptions import DataError
from goldassay.measures.retrieval.hits import Array

Rows = Sequence[Mapping[str, float]]


def numbers(rows: Rows, sizes: Array, noun: str, field: str, kind: Any, name: Callable[[int], str]) -> Array:
    """The values of all rows, one after the other; ``noun`` and ``field`` say what they are, ``name`` which row.

    >>> numbers([{"a": 1}, {"b": 2, "c": 3}], np.array([1, 2]), "grade", "relevant", np.float64, str).tolist()
    [1.0, 2.0, 3.0]
    """
    found = np.empty(int(sizes.sum()))
    place = 0
    try:
        for row in rows:  # a list a row is faster than one iterator over all
            found[place : place + len(row)] = list(row.values())
            place += len(row)
    except (TypeError, ValueError):
        found = np.array([np.nan])
    if np.isnan(found).any():
        _complain(rows, noun, field, name)
    with np.errstate(over="ignore"):
        return found.astype(kind)


def _complain(rows: Sequence[Mapping[str, Any]], noun: str, field: str, name: Callable[[int], str]) -> None:
    for index, row in enumerate(rows):
        for document, value in row.items():
            if isinstance(value, str) or not _number(value):
                raise DataError(f"the {noun} of {document} is a number, not {value!r}", record=name(index), field=field)


def _number(value: Any) -> bool:
    try:
        return not np.isnan(float(value))
    except (TypeError, ValueError):
        return False
