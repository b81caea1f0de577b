"""The spans of many documents, matched once, and every count that measures take from them.

All counts are by document: a tally whose fields are arrays, one number a document. They equal what `matching` (and
`hipe`, for the official order) counts in each document by itself; a test holds them to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.columns import columns, paired
from goldassay.measures.extraction.hipe import SCHEMA, as_counts, hipe
from goldassay.measures.extraction.matching import SCHEMAS, schema_counts
from goldassay.measures.extraction.records import fields, marked, name, sides, spans
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.extraction.tokens import token_columns
from goldassay.statistics.evidence import Flags, Ints
from goldassay.tally import Counts

T = TypeVar("T")
MISSED, SPURIOUS = "MISSED", "SPURIOUS"
CountsByType = dict[str, Counts]


class Batch:
    """Aligned documents; what overlaps what is found at once, and each count when it is first asked for.

    >>> from goldassay.statistics.evidence import summed
    >>> found = Batch([[(0, 5, "A"), (7, 9, "B")]], [[(0, 4, "A"), (7, 9, "C")]])
    >>> summed(found.counts("partial")), found.confusion
    (Counts(tp=1, fp=1, fn=1), {'A': {'A': 1}, 'B': {'C': 1}})
    """

    def __init__(
        self,
        gold: Sequence[Any],
        pred: Sequence[Any],
        texts: Sequence[str] | None = None,
        record: Callable[[int], object] = lambda number: number,
    ) -> None:
        if len(gold) != len(pred):
            raise GoldassayError(f"{len(gold)} gold documents against {len(pred)} predicted ones; they must be aligned")
        self.documents, self.texts, self._sides = len(gold), texts, (gold, pred)
        self.gold, self.pred, self.types = columns(gold, pred, record)
        extent = np.ones(self.documents, np.int64)
        for side in (self.gold, self.pred):
            np.maximum.at(extent, side.document, side.end + 1)
        self.found = paired(self.gold, self.pred, np.cumsum(extent) - extent)
        self._kept: dict[tuple[str, ...], Any] = {}  # a cache of bound methods would keep itself, and all spans, alive

    @classmethod
    def of(cls, gold: Sequence[object], pred: Sequence[object], bounds: str = "given") -> Batch:
        """The batch of aligned records, or of bare lists of spans; of those that count (`settled`)."""
        left, right, texts = fields(gold, pred)
        if bounds != "given" or any(map(marked, left)):
            both = [sides(*pair, bounds)[:2] for pair in zip(gold, pred, strict=True)]
            left, right = [one for one, _ in both], [other for _, other in both]
        return cls(left, right, texts, lambda number: name(gold[number]))

    @property
    def unlocated(self) -> int:
        """How many predicted spans do not stand in their text."""
        return int((self.pred.start < 0).sum())

    def counts(self, match: str, matching: str = "one-to-one") -> Counts:
        """Counts by document; ``match`` is strict, partial, exact, type, type_anywhere or token."""
        return self._once(self._counts, match, matching)

    def by_type(self, match: str, matching: str = "one-to-one") -> CountsByType:
        """The same for each type by itself; types that occur."""
        return self._once(self._by_type, match, matching)

    def semeval(self, schema: str, matching: str = "one-to-one") -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU by document."""
        return self._once(self._semeval, schema, matching)

    def _once(self, make: Callable[[str, str], T], what: str, matching: str) -> T:
        key = (make.__name__, what, matching)
        if key not in self._kept:
            self._kept[key] = make(what, matching)
        found: T = self._kept[key]
        return found

    def _counts(self, match: str, matching: str) -> Counts:
        if match == "token":
            return Counts(*(part.sum(axis=0) for part in self._tokens.state().values()))
        if match == "type_anywhere":
            return self._anywhere()
        if matching == "hipe":
            return as_counts(self.semeval(SCHEMA[match], "hipe"))
        rows = self.found.gold[self._hits(match)]
        n = self.documents
        sides = (self.gold.document[rows], self.gold.document, self.pred.document)
        hits, gold, pred = (np.bincount(side, minlength=n) for side in sides)
        return Counts(hits, pred - hits, gold - hits)

    def _by_type(self, match: str, matching: str) -> CountsByType:
        if match == "token":
            table = list(self._tokens.state().values())
        elif matching == "hipe":
            schema = SCHEMA[match]
            kinds = sorted({kind for document in self._official for kind in document} - {"ALL"})
            return {kind: as_counts(self._column(kind, schema)) for kind in kinds}
        else:
            rows = self.found.gold[self._hits(match)]
            hits = self._cells(self.gold.document[rows], self.gold.type[rows])
            gold, pred = (self._cells(side.document, side.type) for side in (self.gold, self.pred))
            table = [hits, pred - hits, gold - hits]
        by_kind = zip(self.types, *table, strict=True)
        return {kind: Counts(*parts) for kind, *parts in by_kind if any(part.any() for part in parts)}

    def _semeval(self, schema: str, matching: str) -> SemEvalCounts:
        if matching == "hipe":
            return self._column("ALL", schema)
        pairs, correct = self._schema(schema)
        n, document = self.documents, self.gold.document[self.found.gold]
        made, right = (np.bincount(document[flags], minlength=n) for flags in (pairs, pairs & correct))
        gold, pred = (np.bincount(side.document, minlength=n) for side in (self.gold, self.pred))
        return schema_counts(schema, right, made, gold, pred)

    def _hits(self, match: str) -> Flags:
        """Which overlapping rows are true positives: of span and type, of overlap and type, of the span."""
        aims, exact, typed = self.found.aims, self.found.exact, self.found.typed
        hits: Flags = {
            "strict": lambda: aims["strict"] & exact & typed,
            "partial": lambda: aims["type"] & typed,
            "type": lambda: aims["type"] & typed,
            "exact": lambda: aims["exact"] & exact,
        }[match]()
        return hits

    def _schema(self, schema: str) -> tuple[Flags, Flags]:
        """Which overlapping rows are pairs in a schema, and which are as they should be."""
        aims, exact, typed = self.found.aims, self.found.exact, self.found.typed
        if schema == "strict":
            return aims["strict"], exact & typed
        return (aims["type"], typed) if schema == "type" else (aims["exact"], exact)

    def _cells(self, document: Ints, kind: Ints) -> Ints:
        """How often each type stands in each document: a row a type."""
        shape = (len(self.types), self.documents)
        return np.bincount(kind * self.documents + document, minlength=shape[0] * shape[1]).reshape(shape)

    def _anywhere(self) -> Counts:
        """Types matched wherever they stand in the document; words that are not in the text match nothing."""
        placed = self.pred.start >= 0
        mine = self._cells(self.gold.document, self.gold.type)
        theirs = self._cells(self.pred.document[placed], self.pred.type[placed])
        hits = np.minimum(mine, theirs).sum(axis=0)
        gold, pred = (np.bincount(side.document, minlength=self.documents) for side in (self.gold, self.pred))
        return Counts(hits, pred - hits, gold - hits)

    @cached_property
    def _tokens(self) -> Counts:
        """Counts of tokens by type and document."""
        texts, types = self.texts if self.texts is not None else [""] * self.documents, max(1, len(self.types))
        found = token_columns(self.gold, self.pred, texts, len(self.types))
        hits, gold, pred = (self._cells(cells // types, cells % types) for cells in found)
        return Counts(hits, pred - hits, gold - hits)

    @cached_property
    def _official(self) -> list[dict[str, dict[str, SemEvalCounts]]]:
        """Each document, counted in the order of the official scorer."""
        sides = zip(*self._sides, strict=True)
        return [hipe(spans(gold, "gold entities"), spans(pred, "predicted entities")) for gold, pred in sides]

    def _column(self, kind: str, schema: str) -> SemEvalCounts:
        none = {schema: SemEvalCounts(0, 0, 0, 0, 0)}
        found = [document.get(kind, none)[schema] for document in self._official]
        parts = SemEvalCounts.__dataclass_fields__
        return SemEvalCounts(*(np.array([getattr(one, part) for one in found], np.int64) for part in parts))

    @cached_property
    def semeval_by_type(self) -> dict[str, dict[str, SemEvalCounts]]:
        """SemEval's counts within each type, over all documents."""
        n, left, aims = len(self.types), self.gold.type[self.found.gold], self.found.aims
        alike, typed, same = (
            np.bincount(left[flags], minlength=n).tolist()
            for flags in (aims["alike"], aims["type"] & self.found.typed, aims["alike"] & self.found.exact)
        )
        gold, pred = (np.bincount(side.type, minlength=n).tolist() for side in (self.gold, self.pred))
        return {
            kind: {
                schema: schema_counts(schema, typed[at], typed[at], gold[at], pred[at])
                if schema == "type"
                else schema_counts(schema, same[at], alike[at], gold[at], pred[at])
                for schema in SCHEMAS
            }
            for at, kind in enumerate(self.types)
        }

    @cached_property
    def confusion(self) -> dict[str, dict[str, int]]:
        """Which type was given for which, over the pairs of SemEval's strict schema."""
        n, pairs = len(self.types), self.found.aims["strict"]
        gold, pred = self.found.gold[pairs], self.found.pred[pairs]
        table = np.zeros((n + 1, n + 1), np.int64)
        np.add.at(table, (self.gold.type[gold], self.pred.type[pred]), 1)
        table[:n, n] = np.bincount(self.gold.type, minlength=n) - table[:n].sum(axis=1)
        table[n, :n] = np.bincount(self.pred.type, minlength=n) - table[:n, :n].sum(axis=0)
        rows, names = [*self.types, SPURIOUS], [*self.types, MISSED]
        out: dict[str, dict[str, int]] = {}
        for i, j in zip(*(side.tolist() for side in np.nonzero(table)), strict=True):
            out.setdefault(rows[i], {})[names[j]] = int(table[i, j])
        return out
