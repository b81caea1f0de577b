"""Where judged documents stand: by query and rank, as arrays.

Many queries at once: the places of the judged documents, found without sorting the results.

A measure needs to know where the *judged* documents stand, which are few. The place of one is the number of scores
above its own, so the results are only compared and counted; they are sorted only for queries in which a judged document
shares its score with another. Scores are compared in 32 bits, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import DataError
from goldassay.measures.retrieval.records import Grades, Scores, grades, name, numbers, scores
from goldassay.statistics.evidence import Flags, Floats, Ints


@dataclass(frozen=True, slots=True)
class Hits:
    """Judged documents that were retrieved, by query and rank (from 0)."""

    query: Ints
    rank: Ints
    grade: Floats

    def where(self, keep: Flags) -> Hits:
        """Those for which ``keep`` holds."""
        return self if keep.all() else Hits(self.query[keep], self.rank[keep], self.grade[keep])


def places(query: Ints, n: int) -> Ints:
    """The place of each entry within its query, from 0; entries of a query stand together.

    >>> places(np.array([0, 0, 2]), 3).tolist()
    [0, 1, 0]
    """
    sizes = np.bincount(query, minlength=n)
    return np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


CELLS = 4_000_000  # scores compared at once: what fits the cache
UNJUDGED = -1.0
TIES = ("docno_desc", "stable", "best", "worst")


class Batch:
    """Judgements and results of many queries, aligned."""

    def __init__(
        self, judged: Sequence[Grades], runs: Sequence[Scores], names: Sequence[str | None] | None = None
    ) -> None:
        self.judged, self.runs, self.names = judged, runs, names
        self.n = len(judged)
        self.retrieved = np.fromiter(map(len, runs), np.int64, self.n)
        self._judged = np.fromiter(map(len, judged), np.int64, self.n)
        self._starts = np.cumsum(self.retrieved) - self.retrieved
        self.grade = numbers(judged, self._judged, "grade", "relevant", np.float64, self._name)
        self.query = np.repeat(np.arange(self.n), self._judged)
        if len(self.grade) and self.grade.min() < 0:
            at = int(np.flatnonzero(self.grade < 0)[0])
            raise DataError(
                f"grade {self.grade[at]:g} of {self._documents[at]} is negative; grades are 0 or more",
                record=self._name(int(self.query[at])),
                field="relevant",
            )
        self._scores = numbers(runs, self.retrieved, "score", "results", np.float32, self._name)
        self._hits: dict[tuple[str, bool], Hits] = {}
        self._cuts: dict[tuple[str, float, int | None], Hits] = {}
        self._relevant: dict[float, Ints] = {}

    @classmethod
    def of(cls, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """The batch of aligned gold examples and predictions."""
        if len(gold) != len(pred):
            raise DataError(f"{len(gold)} gold examples and {len(pred)} predictions; they must be aligned")
        names = [name(example) for example in gold]
        runs = [scores(answer, record) for answer, record in zip(pred, names, strict=True)]
        return cls([grades(example) for example in gold], runs, names)

    def hits(self, ties: str = "docno_desc", judged: bool = False) -> Hits:
        """Where the relevant documents stand; with ``judged`` those of grade 0 too. Sorted by query and rank."""
        key = (ties, judged)
        if key not in self._hits:
            self._hits[key] = self._found(ties, judged)
        return self._hits[key]

    def top(self, ties: str, rel: float, k: int | None = None) -> Hits:
        """The hits of at least this grade in the first k places."""
        key = (ties, rel, k)
        if key not in self._cuts:
            whole = self.hits(ties) if k is None else self.top(ties, rel)
            self._cuts[key] = whole.where(whole.grade >= rel if k is None else whole.rank < k)
        return self._cuts[key]

    def relevant(self, rel: float = 1) -> Ints:
        """How many documents have at least this grade, by query."""
        if rel not in self._relevant:
            self._relevant[rel] = np.bincount(self.query[(self.grade >= rel) & (self.grade > 0)], minlength=self.n)
        return self._relevant[rel]

    @cached_property
    def ideal(self) -> Hits:
        """The judged relevant documents in the best order."""
        keep = self.grade > 0
        query, grade = self.query[keep], self.grade[keep]
        order = np.lexsort((-grade, query))
        return Hits(query, places(query, self.n), grade[order])

    def counts(self, hits: Hits) -> Ints:
        """How many hits each query has."""
        return np.bincount(hits.query, minlength=self.n)

    def total(self, hits: Hits, values: Floats) -> Floats:
        """The sum of values over each query's hits."""
        return np.asarray(np.bincount(hits.query, values, self.n), np.float64)

    def _name(self, index: int) -> str:
        known = self.names[index] if self.names else None
        return known if known is not None else f"#{index + 1}"

    @cached_property
    def _documents(self) -> list[str]:
        return list(chain.from_iterable(self.judged))

    @cached_property
    def _found_scores(self) -> NDArray[np.float32]:
        """The score of each judged document; NaN where it was not retrieved."""
        absent, found = repeat(np.nan), list[float]()
        for run, judged in zip(self.runs, self.judged, strict=True):
            found.extend(map(run.get, judged, absent))
        with np.errstate(over="ignore"):
            return np.fromiter(found, np.float64, len(found)).astype(np.float32)

    def _found(self, ties: str, judged: bool) -> Hits:
        wanted = ~np.isnan(self._found_scores)
        if not judged:
            wanted &= self.grade > 0
        index = np.flatnonzero(wanted)
        query, score, grade = self.query[index], self._found_scores[index], self.grade[index]
        rank = np.empty(len(index), np.int64)
        shared = np.zeros(len(index), bool)
        for low, high in self._chunks():
            first, last = np.searchsorted(query, (low, high))
            if first == last:
                continue
            rows = self._rows(low, high)
            step = max(1, CELLS // rows.shape[1])
            for start in range(int(first), int(last), step):
                part = slice(start, min(start + step, int(last)))
                row, own = rows[query[part] - low], score[part, None]
                rank[part] = np.count_nonzero(row > own, axis=1)
                shared[part] = np.count_nonzero(row == own, axis=1) > 1
        for tied in np.unique(query[shared]).tolist():
            place = self._order(tied, ties)
            for at in range(*np.searchsorted(query, (tied, tied + 1)).tolist()):
                rank[at] = place[self._documents[index[at]]]
        order = np.argsort(query * (int(self.retrieved.max(initial=0)) + 1) + rank, kind="stable")
        return Hits(query[order], rank[order], grade[order])

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Runs of queries whose results, padded to the longest, fit the cache."""
        if self.n and int(self.retrieved.max()) * self.n <= CELLS:
            yield 0, self.n
            return
        low = width = 0
        for high, size in enumerate(self.retrieved.tolist()):
            if high > low and max(width, size) * (high - low + 1) > CELLS:
                yield low, high
                low, width = high, 0
            width = max(width, size)
        if low < self.n:
            yield low, self.n

    def _rows(self, low: int, high: int) -> NDArray[np.floating[Any]]:
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
        run, judged = self.runs[query], self.judged[query]
        documents = list(zip(scored, run, strict=True))
        if ties == "docno_desc":
            documents.sort(reverse=True)
        elif ties == "stable":
            documents.sort(key=lambda pair: -pair[0])
        else:
            sign = 1.0 if ties == "best" else -1.0
            documents.sort(key=lambda pair: (-pair[0], -sign * judged.get(pair[1], UNJUDGED)))
        return {document: rank for rank, (_, document) in enumerate(documents)}

    def ranking(self, query: int, ties: str = "docno_desc") -> list[str]:
        """The documents of one query, best first."""
        place = self._order(query, ties)
        return sorted(place, key=place.__getitem__)
