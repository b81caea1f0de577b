"""All counts of a corpus in one pass over its documents.

Most documents are easy: predictions equal gold, or every span overlaps at most one of the other side. Only crowded ones
go to the assignment. The counts equal the sum of the measures' tallies (a test holds them to it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from goldassay.measures.extraction.matching import overlapping
from goldassay.measures.extraction.measures import HITS, MATCH, by_type, semeval
from goldassay.measures.extraction.spans import Span
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.extraction.tokens import token_counts
from goldassay.tally import Counts

MISSED, SPURIOUS = "MISSED", "SPURIOUS"


@dataclass
class Corpus:
    """Counts over all documents, by document, by type, and which type was taken for which."""

    micro: dict[str, Counts] = field(default_factory=dict)
    types: dict[str, dict[str, Counts]] = field(default_factory=dict)
    by_document: dict[str, list[Counts]] = field(default_factory=dict)
    semeval: dict[str, SemEvalCounts] = field(default_factory=dict)
    confusion: dict[str, dict[str, float | None]] = field(default_factory=dict)
    unlocated: int = 0


def corpus(gold: Sequence[Sequence[Span]], pred: Sequence[Sequence[Span]], texts: Sequence[str]) -> Corpus:
    """Count everything."""
    out = Corpus(
        {match: Counts(0, 0, 0) for match in (*MATCH, "token")},
        {match: {} for match in (*MATCH, "token")},
        {match: [] for match in MATCH},
        {scheme: SemEvalCounts(0, 0, 0, 0, 0) for scheme in ("strict", "exact", "partial", "type")},
    )
    for left, right, text in zip(gold, pred, texts, strict=True):
        out.unlocated += sum(span.start < 0 for span in right)
        for match, hits_of in HITS.items():
            hits = hits_of(left, right)
            counts = Counts(hits, len(right) - hits, len(left) - hits)
            out.by_document[match].append(counts)
            out.micro[match] += counts
        for match in ("strict", "partial"):
            _merge(out.types[match], by_type(left, right, match))
        tokens = token_counts(left, right, text)
        _merge(out.types["token"], tokens)
        out.micro["token"] = sum(tokens.values(), out.micro["token"])
        for scheme, found in semeval(left, right).items():
            out.semeval[scheme] += found
        _confuse(out.confusion, left, right)
    return out


def _merge(into: dict[str, Counts], found: dict[str, Counts]) -> None:
    for kind, counts in found.items():
        into[kind] = into[kind] + counts if kind in into else counts


def _confuse(into: dict[str, dict[str, float | None]], gold: Sequence[Span], pred: Sequence[Span]) -> None:
    pairs = overlapping(gold, pred, same_type=False)
    seen_gold, seen_pred = {i for i, _ in pairs}, {j for _, j in pairs}
    cells = [(gold[i].type, pred[j].type) for i, j in pairs]
    cells += [(span.type, MISSED) for i, span in enumerate(gold) if i not in seen_gold]
    cells += [(SPURIOUS, span.type) for j, span in enumerate(pred) if j not in seen_pred]
    for row, column in cells:
        found = into.setdefault(row, {})
        found[column] = (found.get(column) or 0) + 1
