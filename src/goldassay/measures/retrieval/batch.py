"""Where the judged documents of many queries stand, as arrays, found without sorting the results.

A measure needs to know where the *judged* documents stand, which are few. The rank of one is the number of scores above
its own, so the results are only compared and counted; they are sorted only for queries in which a judged document
shares its score with another. Scores are compared in 32 bits, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import DataError
from goldassay.measure import failed
from goldassay.measures.retrieval.records import DocumentNumbers, grades, name, numbers, scores
from goldassay.statistics.evidence import Flags, Floats, Ints
from goldassay.tally import divide

CELLS = 4_000_000  # scores compared at once: what fits the cache
UNJUDGED = -1.0
TIES = ("docno_desc", "stable", "best", "worst")


def places(query: Ints, n: int) -> Ints:
    """The place of each entry within its query, from 0; entries of a query stand together.

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


class Batch:
    """Judgements and results of many queries, aligned.

    Args:
        judged: The grade of each judged document, by query.
        runs: The score of each retrieved document, by query.
        names: The ids of the queries, for errors.
    """

    def __init__(
        self,
        judged: Sequence[DocumentNumbers],
        runs: Sequence[DocumentNumbers],
        names: Sequence[str | None] | None = None,
    ) -> None:
        self.judged, self.runs, self.n = judged, runs, len(judged)
        self.names = [f"#{at}" if name is None else name for at, name in enumerate(names or [None] * self.n, 1)]
        self.retrieved = np.fromiter(map(len, runs), np.int64, self.n)
        self.failed = np.zeros(self.n, bool)
        self._starts = np.cumsum(self.retrieved) - self.retrieved
        self.grade = numbers(judged, "grade", "relevant", self.names)
        self.query = np.repeat(np.arange(self.n), np.fromiter(map(len, judged), np.int64, self.n))
        for at in np.flatnonzero(self.grade < 0)[:1].tolist():
            message = f"grade {self.grade[at]:g} of {self._documents[at]} is negative; grades are 0 or more"
            raise DataError(message, record=self.names[self.query[at]], field="relevant")
        with np.errstate(over="ignore"):
            self._scores = numbers(runs, "score", "results", self.names).astype(np.float32)
        self._cache: dict[tuple[object, ...], Any] = {}

    @classmethod
    def of(cls, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """The batch of aligned gold examples and predictions."""
        names = [name(example) for example in gold]
        runs = [scores(answer, record) for answer, record in zip(pred, names, strict=True)]
        batch = cls([grades(example) for example in gold], runs, names)
        batch.failed = np.array([answer is not None and bool(failed(answer)) for answer in pred], bool)
        return batch

    def hits(self, ties: str = "docno_desc", judged: bool = False) -> Hits:
        """Where the relevant documents stand; with ``judged`` those of grade 0 too. Sorted by query and rank."""
        key = (ties, judged)
        if key not in self._cache:
            self._cache[key] = self._ranked(ties, judged)
        return self._cache[key]  # type: ignore[no-any-return]

    def top(self, ties: str, rel: float, k: int | None = None) -> Hits:
        """The hits of at least this grade in the first k places."""
        key = (ties, rel, k)
        if key not in self._cache:
            hits = self.hits(ties) if k is None else self.top(ties, rel)
            self._cache[key] = hits.where(hits.grade >= rel if k is None else hits.rank < k)
        return self._cache[key]  # type: ignore[no-any-return]

    def relevant(self, rel: float = 1) -> Ints:
        """How many documents have at least this grade, by query."""
        if (rel,) not in self._cache:
            self._cache[rel,] = np.bincount(self.query[(self.grade >= rel) & (self.grade > 0)], minlength=self.n)
        return self._cache[rel,]  # type: ignore[no-any-return]

    @cached_property
    def ideal(self) -> Hits:
        """The relevant documents in the best order."""
        return Hits(self.query, self.query, self.grade).where(self.grade > 0).by_grade(self.n)

    def counts(self, hits: Hits) -> Ints:
        """How many hits each query has."""
        return np.bincount(hits.query, minlength=self.n)

    def share(self, hits: Hits, whole: Ints) -> Floats:
        """How many hits each query has, over a whole; 0 of nothing."""
        shares: Floats = divide(self.counts(hits).astype(float), whole)
        return shares

    def total(self, hits: Hits, values: Floats) -> Floats:
        """The sum of values over each query's hits."""
        return np.asarray(np.bincount(hits.query, values, self.n), np.float64)

    @cached_property
    def _documents(self) -> list[str]:
        return list(chain.from_iterable(self.judged))

    @cached_property
    def _judged_scores(self) -> NDArray[np.float32]:
        """The score of each judged document; NaN if it was not retrieved."""
        absent, values = repeat(np.nan), list[float]()
        for run, judged in zip(self.runs, self.judged, strict=True):
            values.extend(map(run.get, judged, absent))
        with np.errstate(over="ignore"):
            return np.fromiter(values, np.float64, len(values)).astype(np.float32)

    def _ranked(self, ties: str, judged: bool) -> Hits:
        retrieved = ~np.isnan(self._judged_scores)
        index = np.flatnonzero(retrieved if judged else retrieved & (self.grade > 0))
        query, score, grade = self.query[index], self._judged_scores[index], self.grade[index]
        rank, shared = np.empty(len(index), np.int64), np.zeros(len(index), bool)
        deepest = max(1, int(self.retrieved.max(initial=0)))
        queries = max(1, CELLS // deepest)
        for low in range(0, self.n, queries):
            rows = self._rows(low, min(low + queries, self.n))
            first, last = np.searchsorted(query, (low, low + queries)).tolist()
            step = max(1, CELLS // rows.shape[1])
            for start in range(first, last, step):
                part = slice(start, min(start + step, last))
                row, own = rows[query[part] - low], score[part, None]
                rank[part] = np.count_nonzero(row > own, axis=1)
                shared[part] = np.count_nonzero(row == own, axis=1) > 1
        for tied in np.unique(query[shared]).tolist():
            place = self._order(tied, ties)
            for at in range(*np.searchsorted(query, (tied, tied + 1)).tolist()):
                rank[at] = place[self._documents[index[at]]]
        order = np.argsort(query * (deepest + 1) + rank, kind="stable")
        return Hits(query[order], rank[order], grade[order])

    def _rows(self, low: int, high: int) -> NDArray[np.floating[Any]]:
        """The scores of some queries, a row each, padded with NaN."""
        sizes = self.retrieved[low:high]
        start, width = int(self._starts[low]), max(1, int(sizes.max()))
        flat = self._scores[start : start + int(sizes.sum())]
        if (sizes == width).all():
            return flat.reshape(high - low, width)
        rows = np.full((high - low, width), np.nan, np.float32)
        rows[np.arange(width) < sizes[:, None]] = flat
        return rows

    def _order(self, query: int, ties: str) -> dict[str, int]:
        """The rank of every document of a query."""
        start = int(self._starts[query])
        scored = self._scores[start : start + int(self.retrieved[query])].tolist()
        documents, judged = list(zip(scored, self.runs[query], strict=True)), self.judged[query]
        if ties == "docno_desc":
            documents.sort(reverse=True)
        else:
            sign = {"best": -1.0, "worst": 1.0, "stable": 0.0}[ties]
            documents.sort(key=lambda pair: (-pair[0], sign * judged.get(pair[1], UNJUDGED)))
        return {document: rank for rank, (_, document) in enumerate(documents)}

    def ranking(self, query: int, ties: str = "docno_desc") -> list[str]:
        """The documents of one query, best first."""
        return list(self._order(query, ties))
