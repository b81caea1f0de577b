"""Judgements and results of many queries, and the ranks of the judged documents.

Judgements are ``{document: grade}``; a list of relevant documents is grade 1 for each. Results are records with
``doc_id`` and ``score``, bare ids, or a mapping from id to score; results without scores keep their order. A document
that is twice on one side is an error, for then every count is wrong.

How it is fast: a measure needs the ranks of the *judged* documents, which are few. The rank of one is the number
of scores above its own, so the results are only compared and counted; they are sorted only for queries in which a
judged document shares its score with another. Scores are compared in 32 bits, as in trec_eval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from struct import error as StructError
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay._support.exceptions import DataError
from goldassay.core.evidence import Flags, Floats, Ints
from goldassay.core.fields import read
from goldassay.core.measure import failed, gold_field, pred_field
from goldassay.measures import Examples, cached

Numbers = Mapping[str, float]
"""Grades or scores by document."""
UNJUDGED = -1.0
NOT_NAMED: Numbers = {}
"""The judgements of a query whose gold names no documents: nobody knows what is relevant to it."""
TIES = ("docno_desc", "stable", "best", "worst")


def grades(gold: object) -> Numbers:
    """The judged documents of a gold example and their grades; `NOT_NAMED` where ``relevant`` is None.

    Raises:
        DataError: they are neither a list nor a mapping, or a document is judged twice.

    >>> grades({"query": "museum", "relevant": ["a", "b"]})
    {'a': 1.0, 'b': 1.0}
    """
    relevant = gold_field(gold, "relevant")
    if isinstance(relevant, Mapping):
        return {str(document): grade for document, grade in relevant.items()}
    if relevant is None:
        return NOT_NAMED
    if isinstance(relevant, str) or not isinstance(relevant, Iterable):
        raise DataError(f"'relevant' is a list of ids or a mapping from ids to grades, not {relevant!r}")
    documents = [str(document) for document in relevant]
    judged = dict.fromkeys(documents, 1.0)
    if len(judged) != len(documents):
        raise DataError(f"document {_twice(documents)} is judged twice", field="relevant")
    return judged


def scores(pred: object) -> Numbers:
    """The retrieved documents of a prediction and their scores.

    Raises:
        DataError: a document occurs twice, lacks its id, or alone lacks a score.

    >>> scores({"results": [{"doc_id": "a", "score": 2.5}, {"doc_id": "b", "score": 1.0}]})
    {'a': 2.5, 'b': 1.0}
    >>> scores({"results": ["b", "a"]})
    {'b': 0.0, 'a': -1.0}
    >>> scores({"results": ["a", "a"]})
    Traceback (most recent call last):
    goldassay._support.exceptions.DataError: results: document a is twice in the results
    """
    results = pred_field(pred, "results")
    if not results or isinstance(results, Mapping):
        return {str(document): score for document, score in (results or {}).items()}
    if isinstance(results, str) or not isinstance(results, Collection):
        raise DataError(f"expected a list of results, not {type(results).__name__}", field="results")
    try:
        scored: dict[str, Any] = {str(result["doc_id"]): result["score"] for result in results}
    except (KeyError, TypeError):
        documents = [item if isinstance(item, (str, int)) else read(item, "doc_id", None) for item in results]
        if None in documents:
            raise DataError("a result needs a 'doc_id'", field=f"results[{documents.index(None)}]") from None
        scored = {}
        for document, item in zip(documents, results, strict=True):
            scored[str(document)] = read(item, "score", None)
    if len(scored) != len(results):
        ids = [str(item if isinstance(item, (str, int)) else read(item, "doc_id")) for item in results]
        raise DataError(f"document {_twice(ids)} is twice in the results", field="results")
    if None in scored.values():
        bare = [document for document, score in scored.items() if score is None]
        if len(bare) == len(scored):
            return {document: 0.0 - rank for rank, document in enumerate(scored)}
        message = f"document {bare[0]} has no score while others have; give all of them one, or none"
        raise DataError(message, field="results")
    return scored


def _twice(documents: Iterable[str]) -> str:
    return Counter(documents).most_common(1)[0][0]


def places(query: Ints, n: int) -> Ints:
    """The place of each entry within its query, from 0; entries of a query are neighbours.

    >>> places(np.array([0, 0, 2]), 3).tolist()
    [0, 1, 0]
    """
    sizes = np.bincount(query, minlength=n)
    return np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


@dataclass(frozen=True, slots=True)
class Hits:
    """Documents by query and rank (from 0), with their grades."""

    query: Ints
    rank: Ints
    grade: Floats

    def where(self, keep: Flags) -> Hits:
        """Those for which ``keep`` holds."""
        return self if keep.all() else Hits(self.query[keep], self.rank[keep], self.grade[keep])

    def by_grade(self, n: int) -> Hits:
        """The same documents of ``n`` queries, the best on top."""
        order = np.lexsort((-self.grade, self.query))
        return Hits(self.query, places(self.query, n), self.grade[order])


class RankingBatch:
    """Judgements and results of many queries, aligned.

    Args:
        judged: The grade of each judged document, by query.
        runs: The score of each retrieved document, by query.
        names: The ids of the queries, for errors.
    """

    def __init__(self, judged: Sequence[Numbers], runs: Sequence[Numbers], names: Examples = ()) -> None:
        self.judged = judged
        self.runs = runs
        self.n = len(judged)
        self.names = [f"#{at}" if name is None else name for at, name in enumerate(names or [None] * self.n, 1)]
        self.retrieved = np.fromiter(map(len, runs), np.int64, self.n)
        self.failed = np.zeros(self.n, bool)
        self.named = np.fromiter((row is not NOT_NAMED for row in judged), bool, self.n)
        self.predictions: Examples = ()
        self._starts = np.cumsum(self.retrieved) - self.retrieved
        self.grade = self._numbers(judged, "grade", "relevant")
        self.query = np.repeat(np.arange(self.n), np.fromiter(map(len, judged), np.int64, self.n))
        for at in np.flatnonzero(self.grade < 0)[:1].tolist():
            message = f"grade {self.grade[at]:g} of {self._documents[at]} is negative; grades are 0 or more"
            raise DataError(message, record=self.names[self.query[at]], field="relevant")
        with np.errstate(over="ignore"):
            self._scores = self._numbers(runs, "score", "results").astype(np.float32)

    @classmethod
    def of(cls, gold: Examples, pred: Examples) -> RankingBatch:
        """The batch of aligned gold examples and predictions.

        Raises:
            DataError: judgements or results cannot be read; it names the query.
        """
        judged: list[Numbers] = []
        runs: list[Numbers] = []
        names = [read(example, "id", None) for example in gold]
        for example, answer, name in zip(gold, pred, names, strict=True):
            try:
                judged.append(grades(example))
                runs.append(scores(answer))
            except DataError as error:
                raise error.at(record=name) from None
        batch = cls(judged, runs, names)
        batch.predictions = pred
        for at in np.flatnonzero(batch.retrieved == 0).tolist():
            batch.failed[at] = pred[at] is not None and bool(failed(pred[at]))
        return batch

    def _numbers(self, rows: Sequence[Numbers], noun: str, field: str) -> Floats:
        """The values of all rows, one after the other; what is not a number is an error with its query and document."""
        try:
            # row by row is faster than anything that goes over all numbers in numpy
            numbers = np.frombuffer(b"".join([pack(f"{len(row)}d", *row.values()) for row in rows]))
        except StructError:
            numbers = np.array([np.nan])
        if np.isnan(numbers).any():
            for row, record in zip(rows, self.names, strict=True):
                for document, value in row.items():
                    if not isinstance(value, (int, float, np.number)) or math.isnan(value):
                        message = f"the {noun} of {document} is a number, not {value!r}"
                        raise DataError(message, record=record, field=field)
        return numbers

    @cached
    def hits(self, ties: str = "docno_desc", judged: bool = False) -> Hits:
        """The ranks of the relevant documents; with ``judged`` those of grade 0 too. Sorted by query and rank."""
        cells = 4_000_000  # scores compared at once: what fits the cache
        retrieved = ~np.isnan(self._judged_scores)
        index = np.flatnonzero(retrieved if judged else retrieved & (self.grade > 0))
        query = self.query[index]
        score = self._judged_scores[index]
        rank = np.empty(len(index), np.int64)
        shared = np.zeros(len(index), bool)
        deepest = max(1, int(self.retrieved.max(initial=0)))
        queries = max(1, cells // deepest)
        for low in range(0, self.n, queries):
            rows = self._padded(low, min(low + queries, self.n))
            first, last = np.searchsorted(query, (low, low + queries)).tolist()
            step = max(1, cells // rows.shape[1])
            for start in range(first, last, step):
                block = slice(start, min(start + step, last))
                row = rows[query[block] - low]
                judged_score = score[block, None]
                rank[block] = np.count_nonzero(row > judged_score, axis=1)
                shared[block] = np.count_nonzero(row == judged_score, axis=1) > 1
        for tied in np.unique(query[shared]).tolist():
            rank_of = {document: rank for rank, document in enumerate(self.ranking(tied, ties))}
            for at in range(*np.searchsorted(query, (tied, tied + 1)).tolist()):
                rank[at] = rank_of[self._documents[index[at]]]
        order = np.argsort(query * (deepest + 1) + rank, kind="stable")
        return Hits(query[order], rank[order], self.grade[index][order])

    @cached
    def top(self, ties: str, rel: float, k: int | None = None) -> Hits:
        """The hits of at least this grade in the first k places."""
        hits = self.hits(ties) if k is None else self.top(ties, rel)
        return hits.where(hits.grade >= rel if k is None else hits.rank < k)

    @cached
    def relevant(self, rel: float = 1) -> Ints:
        """How many documents have at least this grade, by query."""
        return np.bincount(self.query[(self.grade >= rel) & (self.grade > 0)], minlength=self.n)

    @cached_property
    def ideal(self) -> Hits:
        """The relevant documents in the best order."""
        return Hits(self.query, self.query, self.grade).where(self.grade > 0).by_grade(self.n)

    def total(self, hits: Hits, values: Floats | None = None) -> Floats:
        """How many hits each query has, or the sum of values (one a hit) over them: shape (queries,)."""
        return np.bincount(hits.query, values, self.n).astype(float)

    @cached_property
    def _documents(self) -> list[str]:
        return list(chain.from_iterable(self.judged))

    @cached_property
    def _judged_scores(self) -> NDArray[np.float32]:
        """The score of each judged document; NaN if it was not retrieved."""
        queries = zip(self.runs, self.judged, strict=True)
        values = chain.from_iterable(map(run.get, judged, repeat(np.nan)) for run, judged in queries)
        with np.errstate(over="ignore"):
            return np.fromiter(values, np.float64, len(self.grade)).astype(np.float32)

    def _padded(self, low: int, high: int) -> NDArray[np.float32]:
        """The scores of some queries, a row each, padded with NaN: shape (queries, deepest)."""
        sizes = self.retrieved[low:high]
        start = int(self._starts[low])
        width = max(1, int(sizes.max()))
        flat = self._scores[start : start + int(sizes.sum())]
        if (sizes == width).all():
            return flat.reshape(high - low, width)
        rows = np.full((high - low, width), np.nan, np.float32)
        rows[np.arange(width) < sizes[:, None]] = flat
        return rows

    def ranking(self, query: int, ties: str = "docno_desc") -> list[str]:
        """The documents of one query, best first."""
        start = int(self._starts[query])
        judged = self.judged[query]
        scored = self._scores[start : start + int(self.retrieved[query])].tolist()
        pairs = list(zip(scored, self.runs[query], strict=True))
        if ties == "docno_desc":
            pairs.sort(reverse=True)
        else:
            sign = {"best": -1.0, "worst": 1.0, "stable": 0.0}[ties]
            pairs.sort(key=lambda pair: (-pair[0], sign * judged.get(pair[1], UNJUDGED)))
        return [document for _, document in pairs]
