"""The spans of many documents, matched once, and every count that measures take from them.

All counts are by document: a tally whose fields are arrays, one number a document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.columns import columns, paired
from goldassay.measures.extraction.hipe import CORRECT, MISSING, SCHEMAS, SPURIOUS, decisions
from goldassay.measures.extraction.records import GOLD, PRED, fields, marked, name, sides, spans
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.extraction.tokens import token_columns
from goldassay.statistics.evidence import Flags, Ints
from goldassay.tally import Counts

T = TypeVar("T")
MISSED_LABEL, SPURIOUS_LABEL = "MISSED", "SPURIOUS"
SCHEMA_OF = {"strict": "strict", "partial": "type", "type": "type", "exact": "exact"}
"""The SemEval schema whose correct pairs are the true positives of a match."""


class Cells(NamedTuple):
    """Things that are counted: the document of each, and its type."""

    document: Ints
    type: Ints


class Batch:
    """Aligned documents; overlaps are searched at once, and each count when it is first asked for.

    Args:
        gold: The gold spans of each document.
        pred: The predicted spans.
        texts: The texts, which tokens are taken from.
        record: What names a document in an error, by its number.
        failed: Which documents the program failed on; those whose predictions are None without.

    >>> from goldassay.statistics.evidence import summed
    >>> batch = Batch([[(0, 5, "A"), (7, 9, "B")]], [[(0, 4, "A"), (7, 9, "C")]])
    >>> summed(batch.counts("partial")), batch.confusion
    (Counts(tp=1, fp=1, fn=1), {'A': {'A': 1}, 'B': {'C': 1}})
    """

    def __init__(
        self,
        gold: Sequence[Any],
        pred: Sequence[Any],
        texts: Sequence[str] | None = None,
        record: Callable[[int], object] = lambda number: number,
        failed: Sequence[bool] | None = None,
    ) -> None:
        if len(gold) != len(pred):
            raise GoldassayError(f"{len(gold)} gold documents against {len(pred)} predicted ones; they must be aligned")
        self.documents, self.texts, self._sides = len(gold), texts or [""] * len(gold), (gold, pred)
        self.failed = np.array([spans is None for spans in pred] if failed is None else failed, bool)
        self.gold, self.pred, self.types = columns(gold, pred, record)
        extent = np.ones(self.documents, np.int64)
        for side in (self.gold, self.pred):
            np.maximum.at(extent, side.document, side.end + 1)
        self.pairs = paired(self.gold, self.pred, np.cumsum(extent) - extent)
        self._cache: dict[tuple[str, ...], Any] = {}  # functools.cache on a method would keep all spans alive

    @classmethod
    def of(cls, gold: Sequence[object], pred: Sequence[object], bounds: str = "given") -> Batch:
        """The batch of aligned records, or of bare lists of spans; of those that count (`settled`)."""
        left, right, texts = fields(gold, pred)
        if bounds != "given" or any(map(marked, left)):
            both = [sides(*pair, bounds)[:2] for pair in zip(gold, pred, strict=True)]
            failed = [spans is None for spans in right]
            left, right = [side for side, _ in both], [side for _, side in both]
            return cls(left, right, texts, lambda number: name(gold[number]), failed)
        return cls(left, right, texts, lambda number: name(gold[number]))

    @property
    def unlocated(self) -> int:
        """How many predicted spans do not occur in their text."""
        return int((self.pred.start < 0).sum())

    def counts(self, match: str, matching: str = "one-to-one") -> Counts:
        """Counts by document; ``match`` is strict, partial, exact, type, type_anywhere or token."""

        def count() -> Counts:
            tp, gold, pred = (
                np.bincount(cells.document, minlength=self.documents) for cells in self._cells(match, matching)
            )
            return Counts(tp, pred - tp, gold - tp)

        return self._cached(("counts", match, matching), count)

    def by_type(self, match: str, matching: str = "one-to-one") -> dict[str, Counts]:
        """The same for each type by itself; types that occur."""

        def count() -> dict[str, Counts]:
            tp, gold, pred = map(self._table, self._cells(match, matching))
            by_type = zip(self.types, tp, gold, pred, strict=True)
            return {kind: Counts(hits, p - hits, g - hits) for kind, hits, g, p in by_type if g.any() or p.any()}

        return self._cached(("by_type", match, matching), count)

    def semeval(self, schema: str, matching: str = "one-to-one") -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU by document."""

        def count() -> SemEvalCounts:
            if matching == "hipe":
                document, _, outcomes = self._decisions
                column = outcomes[:, SCHEMAS.index(schema)]
                return SemEvalCounts(
                    *(np.bincount(document[column == at], minlength=self.documents) for at in range(5))
                )
            paired, right = self._schema(schema)
            rows = self.pairs.gold[paired], self.pairs.gold[paired & right]
            parts = (self.gold.document[pairs] for pairs in rows)
            counted = (*parts, self.gold.document, self.pred.document)
            return _schema_counts(schema, *(np.bincount(part, minlength=self.documents) for part in counted))

        return self._cached(("semeval", schema, matching), count)

    def _cached(self, key: tuple[str, ...], count: Callable[[], T]) -> T:
        if key not in self._cache:
            self._cache[key] = count()
        counts: T = self._cache[key]
        return counts

    def _cells(self, match: str, matching: str) -> tuple[Cells, Cells, Cells]:
        """What is correct, all of gold, and all predictions."""
        gold, pred = (Cells(side.document, side.type) for side in (self.gold, self.pred))
        if match == "token":
            cells = token_columns(self.gold, self.pred, self.texts, len(self.types))
            hits, gold, pred = (Cells(*np.divmod(cell, max(1, len(self.types)))) for cell in cells)
        elif match == "type_anywhere":
            hits = self._anywhere(gold, pred)
        elif matching == "hipe":
            document, kind, outcomes = self._decisions
            column = outcomes[:, SCHEMAS.index(SCHEMA_OF[match])]
            which = (column == CORRECT, column != SPURIOUS, column != MISSING)
            hits, gold, pred = (Cells(document[rows], kind[rows]) for rows in which)
        else:
            paired, right = self._schema(SCHEMA_OF[match])
            rows = self.pairs.gold[paired & right]
            hits = Cells(gold.document[rows], gold.type[rows])
        return hits, gold, pred

    def _schema(self, schema: str) -> tuple[Flags, Flags]:
        """Which overlapping rows are pairs in a schema, and which are as they should be."""
        aims, exact, typed = self.pairs.aims, self.pairs.exact, self.pairs.typed
        if schema == "strict":
            return aims["strict"], exact & typed
        return (aims["type"], typed) if schema == "type" else (aims["exact"], exact)

    def _table(self, cells: Cells) -> Ints:
        """How often each type occurs in each document: a row a type."""
        shape = (len(self.types), self.documents)
        return np.bincount(cells.type * self.documents + cells.document, minlength=shape[0] * shape[1]).reshape(shape)

    def _anywhere(self, gold: Cells, pred: Cells) -> Cells:
        """Types matched wherever they occur in the document; words that are not in the text match nothing."""
        placed = self.pred.start >= 0
        shared = np.minimum(self._table(gold), self._table(Cells(pred.document[placed], pred.type[placed])))
        kind, document = np.nonzero(shared)
        many = shared[kind, document]
        return Cells(np.repeat(document, many), np.repeat(kind, many))

    @cached_property
    def _decisions(self) -> tuple[Ints, Ints, Ints]:
        """Document, type and outcomes of what the official scorer decides (`hipe`)."""
        codes = {kind: number for number, kind in enumerate(self.types)}
        rows = [
            (number, codes[kind], *outcome)
            for number, (gold, pred) in enumerate(zip(*self._sides, strict=True))
            for kind, outcome in decisions(spans(gold, GOLD), spans(pred, PRED))
        ]
        table = np.array(rows, np.int64).reshape(len(rows), 2 + len(SCHEMAS))
        return table[:, 0], table[:, 1], table[:, 2:]

    def semeval_by_type(self) -> dict[str, dict[str, SemEvalCounts]]:
        """SemEval's counts within each type, over all documents."""
        n = len(self.types)
        left, aims = self.gold.type[self.pairs.gold], self.pairs.aims
        rows = (
            left[aims["same_type"]],
            left[aims["same_type"] & self.pairs.exact],
            left[aims["type"] & self.pairs.typed],
        )
        pairs, same, typed, gold, pred = (
            np.bincount(part, minlength=n).tolist() for part in (*rows, self.gold.type, self.pred.type)
        )
        return {
            kind: {
                schema: _schema_counts(schema, typed[at], typed[at], gold[at], pred[at])
                if schema == "type"
                else _schema_counts(schema, pairs[at], same[at], gold[at], pred[at])
                for schema in SCHEMAS
            }
            for at, kind in enumerate(self.types)
        }

    @property
    def confusion(self) -> dict[str, dict[str, int]]:
        """Which type was given for which, over the pairs of SemEval's strict schema."""
        n, pairs = len(self.types), self.pairs.aims["strict"]
        table = np.zeros((n + 1, n + 1), np.int64)
        np.add.at(table, (self.gold.type[self.pairs.gold[pairs]], self.pred.type[self.pairs.pred[pairs]]), 1)
        table[:n, n] = np.bincount(self.gold.type, minlength=n) - table[:n].sum(axis=1)
        table[n, :n] = np.bincount(self.pred.type, minlength=n) - table[:n, :n].sum(axis=0)
        rows, names = [*self.types, SPURIOUS_LABEL], [*self.types, MISSED_LABEL]
        confusion: dict[str, dict[str, int]] = {}
        for i, j in zip(*(side.tolist() for side in np.nonzero(table)), strict=True):
            confusion.setdefault(rows[i], {})[names[j]] = int(table[i, j])
        return confusion


def _schema_counts(schema: str, pairs: Any, correct: Any, gold: Any, pred: Any) -> SemEvalCounts:
    """A pair that is not correct is INC, or PAR in the schema ``partial``; what is in no pair is MIS or SPU."""
    wrong, partly = (0 * pairs, pairs - correct) if schema == "partial" else (pairs - correct, 0 * pairs)
    return SemEvalCounts(correct, wrong, partly, gold - pairs, pred - pairs)
