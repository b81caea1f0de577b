"""The spans of many documents, and every count that measures take from them.

All counts are by document: a tally whose fields are arrays, one number a document.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from goldassay.measures.extraction.hipe import CORRECT, INCORRECT, MISSING, PARTIAL, SPURIOUS, decisions
from goldassay.measures.extraction.matching import SCHEMAS, matched, text_order
from goldassay.measures.extraction.records import Span, entities, sides
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.tally import Counts

T = TypeVar("T")
MISSED_LABEL, SPURIOUS_LABEL = "MISSED", "SPURIOUS"
SCHEMA_OF = {"strict": "strict", "partial": "type", "type": "type", "exact": "exact"}
"""The SemEval schema whose correct pairs are the true positives of a match."""
TOKEN = re.compile(r"\S+")
Outcome = tuple[str | None, str | None, int]
"""The type of a gold span, that of the prediction it is paired with, and what SemEval'13 counts the two as."""
Cells = tuple[Sequence[str], Sequence[str], Sequence[str]]
"""The types of what is right in a document, of its gold, and of its predictions."""


def cached(method: Callable[..., T]) -> Callable[..., T]:
    """A method of a batch that counts once for all measures that share the batch."""

    def call(batch: Batch, *arguments: str) -> T:
        key = (method, *arguments)
        if key not in batch.cache:
            batch.cache[key] = method(batch, *arguments)
        counts: T = batch.cache[key]
        return counts

    return call


class Batch:
    """Aligned records, or bare lists of spans; each count is made when it is first asked for.

    >>> from goldassay.statistics.evidence import summed
    >>> batch = Batch([[(0, 5, "A"), (7, 9, "B")]], [[(0, 4, "A"), (7, 9, "C")]])
    >>> summed(batch.counts("partial")), batch.confusion
    (Counts(tp=1, fp=1, fn=1), Counter({('A', 'A'): 1, ('B', 'C'): 1}))
    """

    def __init__(self, gold: Sequence[object], pred: Sequence[object], bounds: str = "given") -> None:
        self.documents = [sides(*pair, bounds) for pair in zip(gold, pred, strict=True)]
        self.failed = np.array([entities(prediction) is None for prediction in pred], bool)
        self.cache: dict[Any, Any] = {}  # functools.cache on a method would keep all spans alive

    @property
    def unlocated(self) -> int:
        """How many predicted spans do not occur in their text."""
        return sum(span.start < 0 for _, pred, _ in self.documents for span in pred)

    @property
    def confusion(self) -> Counter[tuple[str, str]]:
        """Which type was given for which, over the pairs of SemEval's strict schema."""
        outcomes = (each for document in self.outcomes("strict", "one-to-one") for each in document)
        return Counter((gold or SPURIOUS_LABEL, pred or MISSED_LABEL) for gold, pred, _ in outcomes)

    @cached
    def counts(self, match: str, matching: str = "one-to-one") -> Counts:
        """Counts by document; ``match`` is strict, partial, exact, type, type_anywhere or token."""
        return _counts([list(map(len, cells)) for cells in self.cells(match, matching)])

    @cached
    def by_type(self, match: str, matching: str = "one-to-one") -> dict[str, Counts]:
        """The same for each type by itself; types that occur."""
        rows = [list(map(Counter, cells)) for cells in self.cells(match, matching)]
        types = sorted({kind for row in rows for counter in row for kind in counter})
        return {kind: _counts([[counter[kind] for counter in row] for row in rows]) for kind in types}

    def semeval(self, schema: str, matching: str = "one-to-one") -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU by document."""
        counters = [Counter(each[2] for each in document) for document in self.outcomes(schema, matching)]
        return SemEvalCounts(*(np.array([counter[what] for counter in counters], int) for what in range(5)))

    @cached
    def cells(self, match: str, matching: str) -> list[Cells]:
        """What the counts of a match count, by document."""
        if match == "token":
            return [_token_cells(*document) for document in self.documents]
        if match == "type_anywhere":
            return [_type_cells(gold, pred) for gold, pred, _ in self.documents]
        return [
            (
                [gold for gold, _, what in outcomes if what == CORRECT and gold is not None],
                [gold for gold, _, _ in outcomes if gold is not None],
                [pred for _, pred, _ in outcomes if pred is not None],
            )
            for outcomes in self.outcomes(SCHEMA_OF[match], matching)
        ]

    @cached
    def outcomes(self, schema: str, matching: str) -> list[list[Outcome]]:
        """What became of the spans of each document in a schema, by a one-to-one matching or in HIPE's order."""
        if matching == "hipe":
            return [_decided(gold, pred, SCHEMAS.index(schema)) for gold, pred, _ in self.documents]
        return [_paired(gold, pred, schema) for gold, pred, _ in self.documents]


def _counts(rows: list[list[int]]) -> Counts:
    """Of what is right, what is in gold and what is predicted."""
    right, gold, pred = np.array(rows, int).reshape(-1, 3).T
    return Counts(right, pred - right, gold - right)


def _decided(gold: Sequence[Span], pred: Sequence[Span], at: int) -> list[Outcome]:
    """What the official scorer decides, which gives both sides of a pair one type."""
    rows = [(kind, outcome[at]) for kind, outcome in decisions(gold, pred)]
    return [(None if what == SPURIOUS else kind, None if what == MISSING else kind, what) for kind, what in rows]


def _paired(gold: Sequence[Span], pred: Sequence[Span], schema: str) -> list[Outcome]:
    """A pair that is not correct is INC, or PAR in the schema ``partial``; what is in no pair is MIS or SPU."""
    gold, pred = sorted(gold, key=text_order), sorted(pred, key=text_order)
    pairs = matched(gold, pred, schema)
    wrong = PARTIAL if schema == "partial" else INCORRECT
    rows: list[Outcome] = [(gold[i].type, pred[j].type, CORRECT if right else wrong) for i, j, right in pairs]
    explained, used = {pair.gold for pair in pairs}, {pair.pred for pair in pairs}
    rows += [(span.type, None, MISSING) for i, span in enumerate(gold) if i not in explained]
    return rows + [(None, span.type, SPURIOUS) for j, span in enumerate(pred) if j not in used]


def _type_cells(gold: Sequence[Span], pred: Sequence[Span]) -> Cells:
    """Types matched wherever they occur in the document; words that are not in the text match nothing."""
    right = Counter(span.type for span in gold) & Counter(span.type for span in pred if span.start >= 0)
    return list(right.elements()), [span.type for span in gold], [span.type for span in pred]


def _token_cells(gold: Sequence[Span], pred: Sequence[Span], text: str) -> Cells:
    r"""The types of tokens: ``\S+`` with true offsets; a token has the type of every span that overlaps it.

    Splitting on spaces and adding one per token misaligns at the first double space or line break. Without a text each
    character stands for a token. Words that are not in the text are one token that nothing matches.
    """
    places = [token.span() for token in TOKEN.finditer(text)]
    starts, ends = [start for start, _ in places], [end for _, end in places]

    def tokens(spans: Sequence[Span]) -> set[tuple[int, str]]:
        covered = {(-1 - number, span.type) for number, span in enumerate(spans) if span.start < 0}
        for span in spans:
            for start, end in span.parts if span.start >= 0 else ():
                within = (bisect_right(ends, start), bisect_left(starts, end)) if text else (start, end)
                covered.update((token, span.type) for token in range(*within))
        return covered

    left, right = tokens(gold), tokens(pred)
    hits, annotated, predicted = ([kind for _, kind in side] for side in (left & right, left, right))
    return hits, annotated, predicted
