"""Which spans are pairs, what SemEval'13 counts them as, and every count of many documents (`SpanBatch`).

Spans that share a character may be paired, each with at most one of the other side. Which pairs are made depends on
the schema of SemEval'13:

| schema | first as many as possible | then | then |
|---|---|---|---|
| ``strict`` | pairs of one place and one type | pairs | pairs of one place or one type |
| ``exact``, ``partial`` | pairs of one place | pairs | pairs of one type |
| ``type`` | pairs of one type | pairs | pairs of one place |

So what counts as correct is the most that any one-to-one matching gives, whatever the order of the spans; a greedy loop
gives (1, 1, 1) or (2, 0, 0) as true positives, false positives and false negatives for the same spans in another order.

How it is fast: all documents lie on one axis, one after the other, and a binary search finds which spans overlap. A
span that overlaps one of the other side and no more, which is nearly every span, is paired without a search. Only
crowded places (connected groups of overlapping spans) are solved as assignment problems, each by itself.

The official HIPE scorer takes predictions in the order of the text (`decisions`). A prediction that equals a gold span
(boundaries, type and words) is correct in every schema. Otherwise the first gold span decides that has the same
boundaries and another type, or that overlaps and was not taken before, with or without the same type; the same
boundaries and type in other words are an overlap. A prediction that no gold span decides is spurious; a gold span that
none took is missed.

All counts of a batch are by document: a tally whose fields are arrays, one number a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from goldassay.core.evidence import Flags, Ints
from goldassay.core.measure import Review, gold_field, pred_field
from goldassay.core.tally import RATE_TALLIES, Counts, Number, Sums
from goldassay.measures import Examples, cached
from goldassay.measures.assignment import heaviest
from goldassay.measures.extraction.mistakes import review
from goldassay.measures.extraction.records import PRED, Entities, Span, items_of, sides, spans, text_of

SCHEMAS = ("strict", "exact", "partial", "type")


@dataclass(frozen=True, slots=True)
class SemEvalCounts(Sums):
    """SemEval'13 counts; ``value`` is F1, and 1.0 if there is no evidence at all.

    ACT = COR + INC + PAR + SPU, POS = COR + INC + PAR + MIS, P = (COR + ½ PAR) / ACT, R = (COR + ½ PAR) / POS. PAR is
    only counted in the schema ``partial``, so one formula serves all four schemas.
    """

    rate = "f1"
    correct: Number = 0.0
    incorrect: Number = 0.0
    partial: Number = 0.0
    missed: Number = 0.0
    spurious: Number = 0.0

    @property
    def actual(self) -> Number:
        """How many were predicted (ACT)."""
        return self.correct + self.incorrect + self.partial + self.spurious

    @property
    def possible(self) -> Number:
        """How many are in gold (POS)."""
        return self.correct + self.incorrect + self.partial + self.missed

    @property
    def counts(self) -> Counts:
        """COR + ½ PAR as true positives, what is left of ACT and POS as false ones."""
        credit = self.correct + 0.5 * self.partial
        return RATE_TALLIES[self.rate](credit, self.actual - credit, self.possible - credit)

    @property
    def weight(self) -> Number:
        """How many there are on both sides."""
        return self.actual + self.possible

    @property
    def value(self) -> Number:
        return self.counts.value


class SemEvalPrecision(SemEvalCounts):
    """The same counts; ``value`` is precision."""

    __slots__ = ()
    rate = "precision"


class SemEvalRecall(SemEvalCounts):
    """The same counts; ``value`` is recall."""

    __slots__ = ()
    rate = "recall"


class Side(NamedTuple):
    """A row a span, in the order of documents and of their text; ``start`` is -1 for one that is not in the text.

    ``type`` numbers the types; ``spans`` are the spans themselves, if they were read one by one.
    """

    document: Ints
    start: Ints
    end: Ints
    type: Ints
    spans: Sequence[Span]

    @property
    def cells(self) -> Ints:
        """The document and the type of each span: shape (2, spans)."""
        return np.stack((self.document, self.type))


class SpanPairs(NamedTuple):
    """The rows of gold and predicted spans that share a character, and what is the same; all of shape (pairs,)."""

    gold: Ints
    pred: Ints
    exact: Flags
    typed: Flags


def text_order(span: Span) -> tuple[object, ...]:
    """The key that puts the spans of a document in order, so that the order of the input makes no difference."""
    return span.start, span.end, span.type, span.fragments


def ranges(first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All numbers from each first one to its end, and which of the ranges each is in."""
    many = np.maximum(end - first, 0)
    which = np.repeat(np.arange(len(many)), many)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(many) - many - first, many)


def overlaps(gold: Side, pred: Side, base: Ints) -> SpanPairs:
    """All spans that share a character; ``base`` is where each document begins on the axis: shape (documents,)."""
    start = base[gold.document] + gold.start
    end = base[gold.document] + gold.end
    other_start = base[pred.document] + pred.start
    other_end = base[pred.document] + pred.end
    reach = np.maximum.accumulate(other_end)  # no prediction up to here ends later
    left, right = ranges(np.searchsorted(reach, start, "right"), np.searchsorted(other_start, end, "left"))
    near = other_end[right] > start[left]
    left = left[near]
    right = right[near]
    exact = (start[left] == other_start[right]) & (end[left] == other_end[right])
    if any(span.fragments for side in (gold, pred) for span in side.spans):
        matched = [(gold.spans[i], pred.spans[j]) for i, j in zip(left.tolist(), right.tolist(), strict=True)]
        near = np.array([span.overlaps(other) for span, other in matched], bool)
        exact = np.array([span.place == other.place for span, other in matched], bool)[near]
        left = left[near]
        right = right[near]
    return SpanPairs(left, right, exact, gold.type[left] == pred.type[right])


def matched(pairs: SpanPairs, schema: str) -> tuple[Ints, Ints, Flags]:
    """The rows of the pairs that a schema makes of spans that overlap, and which of them are correct in it."""
    left, right, exact, typed = pairs
    first, then = {"strict": (exact & typed, exact | typed), "type": (typed, exact)}.get(schema, (exact, typed))
    taken = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    crowded = np.flatnonzero(~taken)
    # A weight in three digits of base ``most``: correct pairs, then pairs of the second wish, then pairs at all. No
    # digit overflows, since there are fewer than ``most`` pairs; so the heaviest matching follows that order.
    most = len(crowded) + 1
    weights = (most * most * first + most + then)[crowded].tolist()
    edges = zip(left[crowded].tolist(), right[crowded].tolist(), crowded.tolist(), strict=True)
    taken[[row for _, _, row in heaviest(dict(zip(edges, weights, strict=True)))]] = True
    return left[taken], right[taken], first[taken]


COARSE = "pers per loc org prod humanprod time work object scope date building street comp"
FINE = (
    "pers.ind pers.coll pers.ind.articleauthor pers.author per.author pers.editor pers.myth pers.other org.adm org.ent "
    "org.ent.pressagency prod.media prod.doctr time.date.abs time.hour.abs loc.add loc.add.phys loc.add.elec loc.adm "
    "loc.adm.town loc.adm.reg loc.adm.nat loc.adm.sup loc.admin.sup loc.phys loc.phys.geo loc.phys.hydro "
    "loc.phys.astro loc.oro loc.fac loc.unk work.primlit work.seclit work.fragm object.manuscr object.museum "
    "comp.demonym comp.function comp.name comp.qualifier comp.title"
)
CORRECT, INCORRECT, PARTIAL, MISSING, SPURIOUS = range(5)  # the fields of SemEvalCounts, in their order
Outcome = tuple[int, ...]  # a field for each of `SCHEMAS`
EQUAL: Outcome = (CORRECT,) * 4
OTHER_TYPE: Outcome = (INCORRECT, CORRECT, CORRECT, INCORRECT)
OVERLAPS: tuple[Outcome, Outcome] = (  # of another type, of the same
    (INCORRECT, INCORRECT, PARTIAL, INCORRECT),
    (INCORRECT, INCORRECT, PARTIAL, CORRECT),
)
MISSED_ALL: Outcome = (MISSING,) * 4
SPURIOUS_ALL: Outcome = (SPURIOUS,) * 4
Fit = tuple[bool, bool, bool, bool]
"""Whether a prediction equals gold; has its place and another type; has its type; shares a character with it."""
F = TypeVar("F")


def hipe_types(gold: Sequence[Sequence[Span]]) -> set[str]:
    """The types that the HIPE scorer counts, in small letters: gold's and those of its tag sets of 2020 and 2022."""
    return {*f"{COARSE} {FINE}".split(), *(span.type.casefold() for document in gold for span in document)}


def drop_unknown_types(gold: Examples, pred: Examples) -> tuple[list[list[Span]], int]:
    """The predictions without those of types that the HIPE scorer does not count, and how many those are."""
    types = hipe_types([sides(record, [])[0] for record in gold])
    predicted = [spans(items_of(prediction, pred_field), PRED) for prediction in pred]
    counted = [[span for span in document if span.type.casefold() in types] for document in predicted]
    return counted, sum(map(len, predicted)) - sum(map(len, counted))


def decisions(gold: Sequence[Span], pred: Sequence[Span]) -> list[tuple[str, Outcome]]:
    """The outcome of each prediction of a document, and of each gold span that none took, with the type it counts for.

    >>> [outcome[3] for _, outcome in decisions([Span(0, 5, "loc")], [Span(0, 4, "loc"), Span(4, 5, "loc")])]
    [0, 4]
    """

    def fit(span: Span, other: Span) -> Fit:
        same = span.type == other.type
        in_text = other.start >= 0
        placed = span.place == other.place
        equal = placed and same and in_text and not other.form
        return equal, placed and not same, same and in_text, in_text and span.overlaps(other)

    def in_order(side: Sequence[Span]) -> list[Span]:
        return sorted(side, key=lambda span: span[:2])

    return decided(in_order(gold), in_order(pred), fit, lambda span: span.type)


def decided(
    gold: Sequence[F], pred: Sequence[F], fit: Callable[[F, F], Fit], name: Callable[[F], str]
) -> list[tuple[str, Outcome]]:
    """The same for spans or mentions: ``fit`` compares gold with a prediction, ``name`` gives the type or id."""
    taken: set[int] = set()
    outcomes: list[tuple[str, Outcome]] = []
    for answer in pred:
        index = -1
        outcome = SPURIOUS_ALL
        for at, other in enumerate(gold):
            equal, mistyped, typed, overlaps = fit(other, answer)
            if equal:
                index = at
                outcome = EQUAL
                break
            if index < 0 and (mistyped or (overlaps and at not in taken)):
                index = at
                outcome = OTHER_TYPE if mistyped else OVERLAPS[typed]
        taken.add(index)
        outcomes.append((name(answer if index < 0 else gold[index]), outcome))
    return outcomes + [(name(other), MISSED_ALL) for index, other in enumerate(gold) if index not in taken]


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
