"""Tallies that only extraction needs.

The counts of one document: under each match, by type, and in SemEval's schemas.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from goldassay.measures.extraction.corpus import SCHEMAS, schema_counts
from goldassay.measures.extraction.matching import pairs
from goldassay.measures.extraction.records import Span
from goldassay.tally import By, Counts, Number, divide, mean
from goldassay.tally.base import Sums


@dataclass(frozen=True, slots=True)
class SemEvalCounts(Sums):
    """SemEval'13 counts; ``value`` is F1.

    ACT = COR + INC + PAR + SPU, POS = COR + INC + PAR + MIS, P = (COR + ½ PAR) / ACT, R = (COR + ½ PAR) / POS. PAR is
    only counted in the schema ``partial``, so one formula serves all four schemas.
    """

    correct: Number = 0.0
    incorrect: Number = 0.0
    partial: Number = 0.0
    missed: Number = 0.0
    spurious: Number = 0.0

    @property
    def credit(self) -> Number:
        """COR + ½ PAR."""
        return self.correct + 0.5 * self.partial

    @property
    def actual(self) -> Number:
        """How many were predicted (ACT)."""
        return self.correct + self.incorrect + self.partial + self.spurious

    @property
    def possible(self) -> Number:
        """How many stand in gold (POS)."""
        return self.correct + self.incorrect + self.partial + self.missed

    @property
    def precision(self) -> Number:
        """(COR + ½ PAR) / ACT."""
        return divide(self.credit, self.actual)

    @property
    def recall(self) -> Number:
        """(COR + ½ PAR) / POS."""
        return divide(self.credit, self.possible)

    @property
    def weight(self) -> Number:
        """How many there are on both sides."""
        return self.actual + self.possible

    @property
    def value(self) -> Number:
        """F1."""
        return divide(2 * self.credit, self.actual + self.possible, empty=1.0)


@dataclass(frozen=True, slots=True)
class SemEvalPrecision(SemEvalCounts):
    """The same counts; ``value`` is precision (1.0 where there is no evidence at all)."""

    @property
    def value(self) -> Number:
        """Precision."""
        return self.precision + _none(self.weight)


@dataclass(frozen=True, slots=True)
class SemEvalRecall(SemEvalCounts):
    """The same counts; ``value`` is recall (1.0 where there is no evidence at all)."""

    @property
    def value(self) -> Number:
        """Recall."""
        return self.recall + _none(self.weight)


class MacroGold(By[str, Counts]):
    """Counts by type; ``value`` is the mean F1 over the types that stand in gold."""

    @property
    def value(self) -> Number:
        """The mean F1 over the types with gold."""
        return mean([(counts.f1, _some(counts.tp + counts.fn)) for counts in self.values()])


class MacroSeen(By[str, Counts]):
    """Counts by type; ``value`` is the mean F1 over all types seen, in gold or predicted."""

    @property
    def value(self) -> Number:
        """The mean F1 over all types seen."""
        return mean([(counts.f1, _some(counts.weight)) for counts in self.values()])


class Weighted(By[str, Counts]):
    """Counts by type; ``value`` is the mean F1 over types, weighted by how often they stand in gold."""

    @property
    def value(self) -> Number:
        """The weighted mean F1."""
        return mean([(counts.f1, counts.tp + counts.fn) for counts in self.values()])


def _some(amount: Number) -> Number:
    """1.0 where there is any, 0.0 where there is none."""
    return float(amount > 0) if isinstance(amount, (int, float)) else (amount > 0).astype(float)


def _none(amount: Number) -> Number:
    """1.0 where there is nothing, 0.0 where there is some."""
    return 1.0 - _some(amount)


Hits = Callable[[Sequence[Span], Sequence[Span]], int]
MATCH = {
    "strict": "span+type",
    "partial": "overlap+type",
    "exact": "span",
    "type": "type+overlap",
    "type_anywhere": "type",
    "token": "token+type",
}


def counts(gold: Sequence[Span], pred: Sequence[Span], match: str) -> Counts:
    """Counts of one document; ``match`` is strict, partial, exact, type or type_anywhere.

    >>> counts([Span(0, 5, "A"), Span(8, 9, "B")], [Span(0, 4, "A")], "partial")
    Counts(tp=1, fp=0, fn=1)
    """
    hits = HITS[match](gold, pred)
    return Counts(hits, len(pred) - hits, len(gold) - hits)


def by_type(gold: Sequence[Span], pred: Sequence[Span], match: str) -> dict[str, Counts]:
    """The same for each type by itself."""
    left, right = _apart(gold), _apart(pred)
    return {kind: counts(left.get(kind, []), right.get(kind, []), match) for kind in sorted({*left, *right})}


def semeval(gold: Sequence[Span], pred: Sequence[Span]) -> dict[str, SemEvalCounts]:
    """The counts of one document in the four schemas, each with the matching that gives it the most correct pairs.

    >>> semeval([Span(0, 5, "A")], [Span(0, 4, "B")])["partial"]
    SemEvalCounts(correct=0, incorrect=0, partial=1, missed=0, spurious=0)
    """
    found = {aim: pairs(gold, pred, aim) for aim in ("strict", "exact", "type")}
    found["partial"] = found["exact"]
    correct = {
        "strict": sum(pair.exact and pair.typed for pair in found["strict"]),
        "exact": sum(pair.exact for pair in found["exact"]),
        "partial": sum(pair.exact for pair in found["exact"]),
        "type": sum(pair.typed for pair in found["type"]),
    }
    return {
        schema: schema_counts(schema, correct[schema], len(found[schema]), len(gold), len(pred)) for schema in SCHEMAS
    }


def _same(gold: Sequence[Span], pred: Sequence[Span], key: Callable[[Span], object]) -> int:
    """How many pairs can be made of spans with an equal key: the intersection as multisets."""
    left, right = Counter(map(key, gold)), Counter(key(span) for span in pred if span.start >= 0)
    return (left & right).total()


def _overlapping(gold: Sequence[Span], pred: Sequence[Span]) -> int:
    return sum(pair.typed for pair in pairs(gold, pred, "type"))


def _apart(items: Sequence[Span]) -> dict[str, list[Span]]:
    out: dict[str, list[Span]] = defaultdict(list)
    for span in items:
        out[span.type].append(span)
    return out


HITS: dict[str, Hits] = {
    "strict": lambda gold, pred: _same(gold, pred, lambda span: (span.place, span.type)),
    "partial": _overlapping,
    "exact": lambda gold, pred: _same(gold, pred, lambda span: span.place),
    "type": _overlapping,
    "type_anywhere": lambda gold, pred: _same(gold, pred, lambda span: span.type),
}
