"""Which spans are pairs, and what SemEval'13 counts them as.

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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from goldassay.core.evidence import Flags, Ints
from goldassay.core.measure import pred_field
from goldassay.core.tally import RATE_TALLIES, Counts, Number, Sums
from goldassay.measures import Examples
from goldassay.measures.assignment import heaviest
from goldassay.measures.extraction.records import PRED, Span, items_of, sides, spans

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
