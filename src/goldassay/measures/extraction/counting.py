"""The counts of one document: under each match, by type, and in SemEval's schemas."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from goldassay.measures.extraction.corpus import SCHEMAS, schema_counts
from goldassay.measures.extraction.matching import pairs
from goldassay.measures.extraction.records import Span
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.tally import Counts

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
