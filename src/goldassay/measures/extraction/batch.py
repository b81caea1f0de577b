"""The spans of many documents, and every count that measures take from them.

All counts are by document: a tally whose fields are arrays, one number a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from goldassay.core.evidence import Ints
from goldassay.core.measure import Review, gold_field, pred_field
from goldassay.core.tally import Counts
from goldassay.measures import Examples, cached
from goldassay.measures.extraction.matching import (
    CORRECT,
    INCORRECT,
    MISSING,
    PARTIAL,
    SCHEMAS,
    SPURIOUS,
    SemEvalCounts,
    Side,
    SpanPairs,
    decisions,
    matched,
    overlaps,
    ranges,
    text_order,
)
from goldassay.measures.extraction.mistakes import review
from goldassay.measures.extraction.records import Entities, Span, items_of, sides, text_of

MISSED_LABEL = "MISSED"
SPURIOUS_LABEL = "SPURIOUS"
LETTER = "\ud800"  # in no text, so it can be any letter of one that is not there
TOKEN = re.compile(rf"[^\s{LETTER}]+|{LETTER}")
Cells = tuple[Ints, Ints, Ints]
"""The right things, those of gold and the predicted ones: arrays of two rows, the document and the type of each."""


def plain_columns(documents: Sequence[Entities]) -> list[list[object]]:
    """Starts, ends and types of plain dicts with valid offsets; nothing for anything else, or anything wrong."""
    marks = {"fragments", "optional", "parent"}
    try:
        flat: list[Any] = list(chain.from_iterable(document or () for document in documents))
    except TypeError:  # a document is not a list
        return []
    if {*map(type, flat)} != {dict} or not marks.isdisjoint(chain.from_iterable(flat)):
        return []
    columns = [[span.get(name) for span in flat] for name in Span._fields[:3]]
    offsets = columns[:2]
    if {*map(type, chain(*offsets))} != {int} or {*map(type, columns[2])} != {str}:
        return []
    first, last = np.array(offsets)
    return [] if (first < 0).any() or (first >= last).any() else columns


class SpanBatch:
    """Aligned records, or bare lists of spans; each count is made when it is first needed.

    >>> batch = SpanBatch([[(0, 5, "A"), (7, 9, "B")]], [[(0, 4, "A"), (7, 9, "C")]])
    >>> batch.counts("partial").summed, batch.confusion
    (Counts(tp=1, fp=1, fn=1), Counter({('A', 'A'): 1, ('B', 'C'): 1}))
    """

    def __init__(self, gold: Examples, pred: Examples, *, bounds: str = "given") -> None:
        self.records = (gold, pred)
        self.bounds = bounds
        self.n = len(gold)
        answers = [items_of(record, pred_field) for record in pred]
        self.failed = np.array([spans is None for spans in answers], bool)
        documents: list[Sequence[Any]] = [[items_of(record, gold_field) for record in gold], answers]
        # Plain spans are read by column, since that is fast; all others, and all that are wrong, one by one.
        columns: list[Any] = [plain_columns(side) if bounds == "given" else [] for side in documents]
        spans: list[Sequence[Span]] = [(), ()]
        if not all(columns):
            documents = [[document[side] for document in self.documents] for side in (0, 1)]
            spans = [[span for spans in side for span in sorted(spans, key=text_order)] for side in documents]
            columns = [[[span[at] for span in side] for at in range(3)] for side in spans]
        self.types = sorted({kind for _, _, kinds in columns for kind in kinds})
        self.gold = self._side(documents[0], columns[0], spans[0])
        self.pred = self._side(documents[1], columns[1], spans[1])

    def _side(self, documents: Sequence[Any], columns: Sequence[Sequence[object]], spans: Sequence[Span]) -> Side:
        starts, ends, kinds = columns
        codes = {kind: code for code, kind in enumerate(self.types)}
        document = np.repeat(np.arange(self.n), [len(spans or ()) for spans in documents])
        start, end, kind = np.array([starts, ends, [codes[kind] for kind in kinds]], int).reshape(3, -1)
        order = np.lexsort((kind, end, start, document))
        return Side(document[order], start[order], end[order], kind[order], spans)

    @cached_property
    def documents(self) -> list[tuple[list[Span], list[Span], str]]:
        """The spans of each document one by one, and its text."""
        return [sides(*pair, self.bounds) for pair in zip(*self.records, strict=True)]

    @cached_property
    def pairs(self) -> SpanPairs:
        """The spans that overlap."""
        extent = np.full(self.n, 2)  # spans that are not in the text lie between the documents
        for side in (self.gold, self.pred):
            np.maximum.at(extent, side.document, side.end + 2)
        return overlaps(self.gold, self.pred, np.cumsum(extent) - extent + 1)

    @cached_property
    def reviews(self) -> list[Review]:
        """The errors of each document, and what is right in it."""
        left, right, equal = matched(self.pairs, "strict")
        document = self.gold.document[left]
        left, right = [
            rows - np.searchsorted(side.document, document) for rows, side in ((left, self.gold), (right, self.pred))
        ]
        pairs: list[list[tuple[int, int, bool]]] = [[] for _ in range(self.n)]
        for index, *pair in zip(*(column.tolist() for column in (document, left, right, equal)), strict=True):
            pairs[index].append(tuple(pair))
        return [
            review(sorted(gold, key=text_order), sorted(pred, key=text_order), text, matches)
            for (gold, pred, text), matches in zip(self.documents, pairs, strict=True)
        ]

    @property
    def confusion(self) -> Counter[tuple[str, str]]:
        """How often each type was given for each other one, over the pairs of SemEval's strict schema."""
        _, gold, pred, _ = self.outcomes("strict", "one-to-one").tolist()
        rows = [*self.types, SPURIOUS_LABEL]
        names = [*self.types, MISSED_LABEL]
        return Counter((rows[i], names[j]) for i, j in zip(gold, pred, strict=True))

    @cached
    def counts(self, match: str, matching: str = "one-to-one") -> Counts:
        """Counts by document; ``match`` is strict, partial, exact, type, type_anywhere or token."""
        right, gold, pred = [np.bincount(cells[0], minlength=self.n) for cells in self.cells(match, matching)]
        return Counts(right, pred - right, gold - right)

    @cached
    def by_type(self, match: str, matching: str = "one-to-one") -> dict[str, Counts]:
        """The same for each type by itself; types that occur."""
        by_type = zip(self.types, *map(self._table, self.cells(match, matching)), strict=True)
        return {kind: Counts(right, p - right, g - right) for kind, right, g, p in by_type if g.any() or p.any()}

    @cached
    def semeval(self, schema: str, matching: str = "one-to-one") -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU by document."""
        document, _, _, outcome = self.outcomes(schema, matching)
        return SemEvalCounts(*(np.bincount(document[outcome == code], minlength=self.n) for code in range(5)))

    @cached
    def cells(self, match: str, matching: str) -> Cells:
        """The things that a match counts: spans, types in a document, or tokens.

        Returns:
            Three arrays of shape (2, things): the documents, and the types as numbers.
        """
        if match == "token":
            return self._tokens()
        if match == "type_anywhere":
            gold = self.gold.cells
            pred = self.pred.cells
            # words that are not in the text match nothing
            shared = np.minimum(self._table(gold), self._table(pred[:, self.pred.start >= 0]))
            kind, document = np.nonzero(shared)
            return np.repeat((document, kind), shared[kind, document], axis=1), gold, pred
        document, gold_type, pred_type, outcome = self.outcomes("type" if match == "partial" else match, matching)
        gold = np.stack((document, gold_type))
        pred = np.stack((document, pred_type))
        return gold[:, outcome == CORRECT], gold[:, gold_type >= 0], pred[:, pred_type >= 0]

    def _table(self, cells: Ints) -> Ints:
        """How often each type occurs in each document: a row a type."""
        shape = (len(self.types), self.n)
        return np.bincount(cells[1] * self.n + cells[0], minlength=shape[0] * shape[1]).reshape(shape)

    @cached
    def outcomes(self, schema: str, matching: str) -> Ints:
        """The pairs that a schema makes, and the spans that are in none.

        A pair that is not correct is INC, or PAR in the schema ``partial``; a span without a pair is MIS or SPU. HIPE's
        scorer gives both sides of a pair one type.

        Returns:
            Shape (4, pairs): document, gold type, predicted type (-1 is none) and what SemEval counts the pair as.
        """
        if matching == "hipe":
            at = SCHEMAS.index(schema)
            decided = [
                (number, self.types.index(kind), outcome[at])
                for number, (gold, pred, _) in enumerate(self.documents)
                for kind, outcome in decisions(gold, pred)
            ]
            document, kind, outcome = np.array(decided, int).reshape(-1, 3).T
            gold_type = np.where(outcome == SPURIOUS, -1, kind)
            return np.stack((document, gold_type, np.where(outcome == MISSING, -1, kind), outcome))
        gold = self.gold
        pred = self.pred
        left, right, correct = matched(self.pairs, schema)
        wrong = PARTIAL if schema == "partial" else INCORRECT
        missed = np.delete(np.arange(len(gold.start)), left)
        spurious = np.delete(np.arange(len(pred.start)), right)
        blocks = (
            (gold.document[left], gold.type[left], pred.type[right], np.where(correct, CORRECT, wrong)),
            (gold.document[missed], gold.type[missed], -1, MISSING),
            (pred.document[spurious], -1, pred.type[spurious], SPURIOUS),
        )
        return np.hstack([np.stack(np.broadcast_arrays(*block)) for block in blocks])

    def _tokens(self) -> Cells:
        r"""Tokens are ``\S+`` with true offsets; a token has the type of every span that overlaps it.

        Splitting on spaces and adding one per token misaligns at the first double space or line break. Without a text
        each character counts as a token. Words that are not in the text are one token that nothing matches.
        """
        texts = list(map(text_of, self.records[0]))
        reach = np.array(list(map(len, texts)), int)
        bare = reach == 0
        for side in (self.gold, self.pred):
            rows = bare[side.document]
            np.maximum.at(reach, side.document[rows], side.end[rows])
        base = np.cumsum(reach + 1) - reach - 1
        types = max(1, len(self.types))
        joined = "\n".join(text or LETTER * size for text, size in zip(texts, reach.tolist(), strict=True))
        starts, ends = np.array([token.span() for token in TOKEN.finditer(joined)], int).reshape(-1, 2).T
        document = np.searchsorted(base, starts, "right") - 1

        def covered(side: Side) -> Ints:
            """Each token with each type that it has, as one number."""
            rows = np.flatnonzero(side.start >= 0)
            start = side.start[rows]
            end = side.end[rows]
            if side.spans:
                parts = [(row, *fragment) for row in rows.tolist() for fragment in side.spans[row].parts]
                rows, start, end = np.array(parts, int).reshape(-1, 3).T
            document = side.document[rows]
            first = base[document] + np.minimum(start, reach[document])
            last = base[document] + np.minimum(end, reach[document])
            which, token = ranges(np.searchsorted(ends, first, "right"), np.searchsorted(starts, last, "left"))
            return np.unique(token * types + side.type[rows][which])

        def cells(numbers: Ints) -> Ints:
            return np.stack((document[numbers // types], numbers % types))

        gold = covered(self.gold)
        pred = covered(self.pred)
        lost = self.pred.cells[:, self.pred.start < 0]
        return cells(np.intersect1d(gold, pred, assume_unique=True)), cells(gold), np.hstack((cells(pred), lost))
