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

from goldassay.measure import Review, gold_field, pred_field
from goldassay.measures import Examples, cached
from goldassay.measures.extraction.matching import (
    CORRECT,
    INCORRECT,
    MISSING,
    PARTIAL,
    SCHEMAS,
    SPURIOUS,
    Pairs,
    SemEvalCounts,
    Side,
    decisions,
    matched,
    overlaps,
    ranges,
    text_order,
)
from goldassay.measures.extraction.mistakes import review
from goldassay.measures.extraction.records import Span, entities, sides, text_of
from goldassay.statistics.evidence import Ints
from goldassay.tally import Counts

MISSED_LABEL, SPURIOUS_LABEL = "MISSED", "SPURIOUS"
LETTER = "\ud800"  # stands in no text, so it can stand for any letter of one that is not there
TOKEN = re.compile(rf"[^\s{LETTER}]+|{LETTER}")
MARKS = {"fragments", "optional", "parent"}
Cells = tuple[Ints, Ints, Ints]
"""What is right, what is in gold and what is predicted: for each thing its document and its type."""


def plain_columns(documents: Sequence[Any]) -> list[list[Any]]:
    """Starts, ends and types of plain dicts with valid offsets; nothing for anything else, or anything wrong."""
    flat = list(chain.from_iterable(document or () for document in documents))
    if {*map(type, flat)} != {dict} or not MARKS.isdisjoint(chain.from_iterable(flat)):
        return []
    start, end, kind = columns = [[span.get(name) for span in flat] for name in Span._fields[:3]]
    if {*map(type, chain(start, end))} != {int} or {*map(type, kind)} != {str}:
        return []
    first, last = np.array(start), np.array(end)
    return [] if (first < 0).any() or (first >= last).any() else columns


class Batch:
    """Aligned records, or bare lists of spans; each count is made when it is first asked for.

    >>> from goldassay.statistics.evidence import summed
    >>> batch = Batch([[(0, 5, "A"), (7, 9, "B")]], [[(0, 4, "A"), (7, 9, "C")]])
    >>> summed(batch.counts("partial")), batch.confusion
    (Counts(tp=1, fp=1, fn=1), Counter({('A', 'A'): 1, ('B', 'C'): 1}))
    """

    def __init__(self, gold: Examples, pred: Examples, *, bounds: str = "given") -> None:
        self.records, self.bounds, self.n = (gold, pred), bounds, len(gold)
        read: list[Any] = [[entities(record, gold_field) for record in gold]]
        read.append([entities(record, pred_field) for record in pred])
        self.failed = np.array([spans is None for spans in read[1]], bool)
        # plain spans are read by column, since that is fast; all others, and all that are wrong, one by one
        columns: list[Any] = [bounds == "given" and plain_columns(side) for side in read]
        spans: list[Any] = [(), ()]
        if not all(columns):
            read = [[document[side] for document in self.documents] for side in (0, 1)]
            spans = [[span for spans in side for span in sorted(spans, key=text_order)] for side in read]
            columns = [[[span[at] for span in side] for at in range(3)] for side in spans]
        self.types = sorted({kind for _, _, kinds in columns for kind in kinds})
        codes = {kind: code for code, kind in enumerate(self.types)}
        both = []
        for documents, (start, end, kinds), listed in zip(read, columns, spans, strict=True):
            document = np.repeat(np.arange(self.n), [len(each or ()) for each in documents])
            first, last, kind = np.array([start, end, [codes[kind] for kind in kinds]], int).reshape(3, -1)
            order = np.lexsort((kind, last, first, document))
            both.append(Side(document[order], first[order], last[order], kind[order], listed))
        self.gold, self.pred = both

    @cached_property
    def documents(self) -> list[tuple[list[Span], list[Span], str]]:
        """The spans of each document one by one, and its text."""
        return [sides(*pair, self.bounds) for pair in zip(*self.records, strict=True)]

    @cached_property
    def pairs(self) -> Pairs:
        """The spans that overlap."""
        extent = np.full(self.n, 2)  # spans that are not in the text lie between the documents
        for side in (self.gold, self.pred):
            np.maximum.at(extent, side.document, side.end + 2)
        return overlaps(self.gold, self.pred, np.cumsum(extent) - extent + 1)

    @cached_property
    def review(self) -> Review:
        """The errors of the one document of a batch of one, and what is right in it."""
        gold, pred, text = self.documents[0]
        pairs = list(zip(*(column.tolist() for column in matched(self.pairs, "strict")), strict=True))
        return review(sorted(gold, key=text_order), sorted(pred, key=text_order), text, pairs)

    @property
    def confusion(self) -> Counter[tuple[str, str]]:
        """Which type was given for which, over the pairs of SemEval's strict schema."""
        _, gold, pred, _ = self.outcomes("strict", "one-to-one").tolist()
        rows, names = [*self.types, SPURIOUS_LABEL], [*self.types, MISSED_LABEL]
        return Counter((rows[i], names[j]) for i, j in zip(gold, pred, strict=True))

    @cached
    def counts(self, match: str, matching: str = "one-to-one") -> Counts:
        """Counts by document; ``match`` is strict, partial, exact, type, type_anywhere or token."""
        right, gold, pred = (np.bincount(cells[0], minlength=self.n) for cells in self.cells(match, matching))
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
        return SemEvalCounts(*(np.bincount(document[outcome == what], minlength=self.n) for what in range(5)))

    @cached
    def cells(self, match: str, matching: str) -> Cells:
        """What the counts of a match count."""
        if match == "token":
            return self._tokens()
        if match == "type_anywhere":
            gold, pred = (np.stack((side.document, side.type)) for side in (self.gold, self.pred))
            # words that are not in the text match nothing
            shared = np.minimum(self._table(gold), self._table(pred[:, self.pred.start >= 0]))
            kind, document = np.nonzero(shared)
            return np.repeat((document, kind), shared[kind, document], axis=1), gold, pred
        document, gold, pred, outcome = self.outcomes("type" if match == "partial" else match, matching)
        gold, pred = np.stack((document, gold)), np.stack((document, pred))
        return gold[:, outcome == CORRECT], gold[:, gold[1] >= 0], pred[:, pred[1] >= 0]

    def _table(self, cells: Ints) -> Ints:
        """How often each type occurs in each document: a row a type."""
        shape = (len(self.types), self.n)
        return np.bincount(cells[1] * self.n + cells[0], minlength=shape[0] * shape[1]).reshape(shape)

    @cached
    def outcomes(self, schema: str, matching: str) -> Ints:
        """Columns of document, gold type, predicted type (-1 is none) and what SemEval counts the pair as.

        A pair that is not correct is INC, or PAR in the schema ``partial``; what is in no pair is MIS or SPU. HIPE's
        scorer gives both sides of a pair one type.
        """
        if matching == "hipe":
            at = SCHEMAS.index(schema)
            decided = [
                (number, self.types.index(kind), outcome[at])
                for number, (gold, pred, _) in enumerate(self.documents)
                for kind, outcome in decisions(gold, pred)
            ]
            document, kind, outcome = np.array(decided, int).reshape(-1, 3).T
            sides = (np.where(outcome == alone, -1, kind) for alone in (SPURIOUS, MISSING))
            return np.stack((document, *sides, outcome))
        gold, pred = self.gold, self.pred
        left, right, correct = matched(self.pairs, schema)
        wrong = PARTIAL if schema == "partial" else INCORRECT
        missed, spurious = (np.delete(np.arange(len(side.start)), rows) for side, rows in ((gold, left), (pred, right)))
        blocks = (
            (gold.document[left], gold.type[left], pred.type[right], np.where(correct, CORRECT, wrong)),
            (gold.document[missed], gold.type[missed], -1, MISSING),
            (pred.document[spurious], -1, pred.type[spurious], SPURIOUS),
        )
        return np.hstack([np.stack(np.broadcast_arrays(*block)) for block in blocks])

    def _tokens(self) -> Cells:
        r"""Tokens are ``\S+`` with true offsets; a token has the type of every span that overlaps it.

        Splitting on spaces and adding one per token misaligns at the first double space or line break. Without a text
        each character stands for a token. Words that are not in the text are one token that nothing matches.
        """
        texts = list(map(text_of, self.records[0]))
        reach = np.array(list(map(len, texts)), int)
        bare = reach == 0
        for side in (self.gold, self.pred):
            rows = bare[side.document]
            np.maximum.at(reach, side.document[rows], side.end[rows])
        base, types = np.cumsum(reach + 1) - reach - 1, max(1, len(self.types))
        joined = "\n".join(text or LETTER * size for text, size in zip(texts, reach.tolist(), strict=True))
        starts, ends = np.array([token.span() for token in TOKEN.finditer(joined)], int).reshape(-1, 2).T

        def covered(side: Side) -> Ints:
            """Each token with each type that it has, as one number."""
            rows = np.flatnonzero(side.start >= 0)
            start, end = side.start[rows], side.end[rows]
            if side.spans:
                parts = [(row, *part) for row in rows.tolist() for part in side.spans[row].parts]
                rows, start, end = np.array(parts, int).reshape(-1, 3).T
            document = side.document[rows]
            first, last = (base[document] + np.minimum(at, reach[document]) for at in (start, end))
            which, token = ranges(np.searchsorted(ends, first, "right"), np.searchsorted(starts, last, "left"))
            return np.unique(token * types + side.type[rows][which])

        gold, pred = covered(self.gold), covered(self.pred)
        document = np.searchsorted(base, starts, "right") - 1
        right, annotated, predicted = (
            np.stack((document[cells // types], cells % types))
            for cells in (np.intersect1d(gold, pred, assume_unique=True), gold, pred)
        )
        lost = self.pred.start < 0
        return right, annotated, np.hstack((predicted, (self.pred.document[lost], self.pred.type[lost])))
