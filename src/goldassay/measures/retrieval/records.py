"""Judgements and results as ``{document: grade}`` and ``{document: score}``, with what can be wrong in each.

A list of relevant documents is grade 1 for each. Results are records with ``doc_id`` and ``score``, bare ids, or a
mapping from id to score; results without scores stand in their order. A document that stands twice on one side is an
error, for then every count is wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from struct import Struct
from struct import error as StructError
from typing import Any

import numpy as np

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import gold_field, pred_field
from goldassay.statistics.evidence import Floats

DocumentNumbers = Mapping[str, float]
_ID_AND_SCORE = itemgetter("doc_id", "score")


def grades(gold: object) -> DocumentNumbers:
    """The judged documents of a gold example and their grades.

    >>> grades({"query": "museum", "relevant": ["a", "b"]})
    {'a': 1.0, 'b': 1.0}
    """
    relevant = gold_field(gold, "relevant")
    if isinstance(relevant, Mapping):
        return relevant
    if relevant is None or isinstance(relevant, str):
        message = f"'relevant' is a list of ids or a mapping from ids to grades, not {relevant!r}"
        raise DataError(message, record=name(gold))
    documents = [str(document) for document in relevant]
    judged = dict.fromkeys(documents, 1.0)
    if len(judged) != len(documents):
        raise DataError(f"document {_twice(documents)} is judged twice", record=name(gold), field="relevant")
    return judged


def scores(pred: object, record: object = None) -> DocumentNumbers:
    """The retrieved documents of a prediction and their scores.

    >>> scores({"results": [{"doc_id": "a", "score": 2.5}, {"doc_id": "b", "score": 1.0}]})
    {'a': 2.5, 'b': 1.0}
    >>> scores({"results": ["b", "a"]})
    {'b': 0.0, 'a': -1.0}
    >>> scores({"results": ["a", "a"]})
    Traceback (most recent call last):
    goldassay.exceptions.DataError: results: document a stands twice in the results
    """
    results = pred_field(pred, "results")
    if not results or isinstance(results, Mapping):
        return results or {}
    try:
        pairs = list(map(_ID_AND_SCORE, results))
    except (KeyError, TypeError):
        pairs = [_pair(result, place, record) for place, result in enumerate(results)]
    scored = dict(pairs)
    if len(scored) != len(pairs):
        twice = _twice(document for document, _ in pairs)
        raise DataError(f"document {twice} stands twice in the results", record=record, field="results")
    bare = [document for document, score in scored.items() if score is None]
    if len(bare) == len(scored):
        return {document: 0.0 - place for place, document in enumerate(scored)}
    if bare:
        message = f"document {bare[0]} has no score while others have; give all of them one, or none"
        raise DataError(message, record=record, field="results")
    return scored


def _pair(result: Any, place: int, record: object) -> tuple[str, Any]:
    """The document of a result of any shape, and its score if it has one."""
    if isinstance(result, str):
        return result, None
    document = read(result, "doc_id", None)
    if document is None:
        raise DataError("a result needs a 'doc_id'", record=record, field=f"results[{place}]")
    return str(document), read(result, "score", None)


def name(gold: object) -> str | None:
    """The id of a record, for an error's place."""
    identity = read(gold, "id", None)
    return None if identity is None else str(identity)


def _twice(documents: Iterable[str]) -> str:
    return Counter(documents).most_common(1)[0][0]


def numbers(rows: Sequence[DocumentNumbers], noun: str, field: str, names: Sequence[str]) -> Floats:
    """The values of all rows, one after the other; what is no number is an error with its query and document.

    Args:
        rows: The numbers by document, a row a query.
        noun: What they are, for an error.
        field: The field that they come from.
        names: What the queries are called.

    >>> numbers([{"a": 1}, {"b": 2, "c": 3}], "grade", "relevant", ["1", "2"]).tolist()
    [1.0, 2.0, 3.0]
    """
    sizes = list(map(len, rows))
    packed, place = bytearray(8 * sum(sizes)), 0
    packing = {size: Struct(f"{size}d").pack_into for size in set(sizes)}
    try:
        for row in rows:  # packing row by row is faster than anything that goes over all numbers in numpy
            packing[len(row)](packed, place, *row.values())
            place += 8 * len(row)
        values = np.frombuffer(packed)
    except (StructError, TypeError, ValueError):
        values = np.array([np.nan])
    if np.isnan(values).any():
        for row, record in zip(rows, names, strict=True):
            for document, value in row.items():
                if not isinstance(value, (int, float, np.number)) or math.isnan(value):
                    raise DataError(f"the {noun} of {document} is a number, not {value!r}", record=record, field=field)
    return values
