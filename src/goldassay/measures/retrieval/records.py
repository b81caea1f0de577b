"""Judgements and results as ``{document: grade}`` and ``{document: score}``, with what can be wrong in each.

A list of relevant documents is grade 1 for each. Results are records with ``doc_id`` and ``score``, bare ids, or a
mapping from id to score; results without scores stand in the order in which they are given. A document that stands
twice on one side is an error, for then every count is wrong.

The numbers of many mappings as one array; what is no number is an error with its query and document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from struct import Struct
from struct import error as StructError
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import gold_field, pred_field
from goldassay.statistics.evidence import Ints

Grades = Mapping[str, float]
Scores = Mapping[str, float]
_ID_AND_SCORE = itemgetter("doc_id", "score")


def grades(gold: object) -> Grades:
    """The judged documents of a gold example and their grades.

    >>> grades({"query": "museum", "relevant": ["a", "b"]})
    {'a': 1.0, 'b': 1.0}
    """
    found = gold["relevant"] if type(gold) is dict and "relevant" in gold else gold_field(gold, "relevant")
    if isinstance(found, Mapping):
        return found
    if found is None or isinstance(found, str):
        raise DataError(
            f"'relevant' is a list of ids or a mapping from ids to grades, not {found!r}", record=name(gold)
        )
    listed = [str(document) for document in found]
    judged = dict.fromkeys(listed, 1.0)
    if len(judged) != len(listed):
        raise DataError(f"document {_twice(listed)} is judged twice", record=name(gold), field="relevant")
    return judged


def scores(pred: object, record: object = None) -> Scores:
    """The retrieved documents of a prediction and their scores.

    >>> scores({"results": [{"doc_id": "a", "score": 2.5}, {"doc_id": "b", "score": 1.0}]})
    {'a': 2.5, 'b': 1.0}
    >>> scores({"results": ["b", "a"]})
    {'b': 0.0, 'a': -1.0}
    >>> scores({"results": ["a", "a"]})
    Traceback (most recent call last):
    goldassay.exceptions.DataError: results: document a stands twice in the results
    """
    found = pred["results"] if type(pred) is dict and "results" in pred else pred_field(pred, "results")
    if not found:
        return {}
    if isinstance(found, Mapping):
        return found
    try:
        pairs = dict(map(_ID_AND_SCORE, found))
    except (KeyError, TypeError):
        return _by_place(found, record)
    if len(pairs) != len(found):
        twice = _twice(result["doc_id"] for result in found)
        raise DataError(f"document {twice} stands twice in the results", record=record, field="results")
    return pairs if None not in pairs.values() else _by_place(found, record)


def _by_place(found: Iterable[Any], record: object) -> Scores:
    """Results of any shape; without scores their place is the score."""
    listed: list[tuple[str, Any]] = []
    for place, result in enumerate(found):
        if isinstance(result, str):
            listed.append((result, None))
            continue
        document = read(result, "doc_id", None)
        if document is None:
            raise DataError("a result needs a 'doc_id'", record=record, field=f"results[{place}]")
        listed.append((str(document), read(result, "score", None)))
    pairs = dict(listed)
    if len(pairs) != len(listed):
        twice = _twice(document for document, _ in listed)
        raise DataError(f"document {twice} stands twice in the results", record=record, field="results")
    bare = sum(score is None for score in pairs.values())
    if bare == len(pairs):
        return {document: 0.0 - place for place, document in enumerate(pairs)}
    if bare:
        missing = next(document for document, score in pairs.items() if score is None)
        raise DataError(
            f"document {missing} has no score while others have; give all of them one, or none",
            record=record,
            field="results",
        )
    return pairs


def name(gold: object) -> str | None:
    """The id of a record, for an error's place."""
    found = read(gold, "id", None)
    return None if found is None else str(found)


def _twice(documents: Iterable[str]) -> str:
    seen: set[str] = set()
    for document in documents:
        if document in seen:
            return document
        seen.add(document)
    return ""


ScoreRows = Sequence[Mapping[str, float]]
F = TypeVar("F", bound=np.floating[Any])


def numbers(
    rows: ScoreRows,
    sizes: Ints,
    noun: str,
    field: str,
    kind: type[F],
    name: Callable[[int], str],
) -> NDArray[F]:
    """The values of all rows, one after the other; ``noun`` and ``field`` say what they are, ``name`` which row.

    Args:
        sizes: How many values each row has.
        kind: The type of the array.

    >>> numbers([{"a": 1}, {"b": 2, "c": 3}], np.array([1, 2]), "grade", "relevant", np.float64, str).tolist()
    [1.0, 2.0, 3.0]
    """
    packed, place = bytearray(8 * int(sizes.sum())), 0
    packing = {size: Struct(f"{size}d").pack_into for size in np.unique(sizes).tolist()}
    try:
        for row in rows:  # packing row by row is faster than anything that goes over all numbers in numpy
            packing[len(row)](packed, place, *row.values())
            place += 8 * len(row)
        found = np.frombuffer(packed)
    except (StructError, TypeError, ValueError):
        found = np.array([np.nan])
    if np.isnan(found).any():
        _complain(rows, noun, field, name)
    with np.errstate(over="ignore"):
        return found.astype(kind)


def _complain(rows: Sequence[Mapping[str, object]], noun: str, field: str, name: Callable[[int], str]) -> None:
    for index, row in enumerate(rows):
        for document, value in row.items():
            if isinstance(value, str) or not _number(value):
                raise DataError(f"the {noun} of {document} is a number, not {value!r}", record=name(index), field=field)


def _number(value: Any) -> bool:
    try:
        return not np.isnan(float(value))
    except (TypeError, ValueError):
        return False
