"""All counts of a corpus at once: everything that the scorecard reports, without a loop over documents.

The counts equal the sums of the measures' tallies (a test holds them to it). By document they are `Counts` whose fields
are arrays, one number a document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goldassay.measures.extraction.batch import Columns, Flags, Ints, Paired, columns, paired
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.extraction.tokens import token_columns
from goldassay.tally import Counts

MISSED, SPURIOUS = "MISSED", "SPURIOUS"
SCHEMAS = ("strict", "exact", "partial", "type")


@dataclass
class Corpus:
    """Counts over all documents, by document, by type, and which type was taken for which."""

    micro: dict[str, Counts] = field(default_factory=dict)
    types: dict[str, dict[str, Counts]] = field(default_factory=dict)
    documents: dict[str, Counts] = field(default_factory=dict)
    semeval: dict[str, SemEvalCounts] = field(default_factory=dict)
    semeval_types: dict[str, dict[str, SemEvalCounts]] = field(default_factory=dict)
    confusion: dict[str, dict[str, float | None]] = field(default_factory=dict)
    unlocated: int = 0


def corpus(
    gold: Sequence[Any],
    pred: Sequence[Any],
    texts: Sequence[str] | None = None,
    record: Callable[[int], object] = lambda number: number,
) -> Corpus:
    """Count everything; tokens only where ``texts`` are given. ``record`` names a document in an error.

    >>> found = corpus([[(0, 5, "A"), (7, 9, "B")]], [[(0, 4, "A"), (7, 9, "C")]])
    >>> found.micro["partial"], found.confusion
    (Counts(tp=1, fp=1, fn=1), {'A': {'A': 1}, 'B': {'C': 1}})
    """
    left, right, types = columns(gold, pred, record)
    n = len(gold)
    extent = np.ones(n, np.int64)
    for side in (left, right):
        np.maximum.at(extent, side.document, side.end + 1)
    found = paired(left, right, np.cumsum(extent) - extent)
    out = Corpus(unlocated=int((right.start < 0).sum()))
    for match, hit in hits_of(found).items():
        rows = found.gold[hit]
        out.micro[match] = _counts(len(rows), len(left), len(right))
        by_document = (np.bincount(side, minlength=n) for side in (left.document[rows], left.document, right.document))
        out.documents[match] = _counts(*by_document)
        if match != "exact":
            out.types[match] = _by_type(types, left.type[rows], left.type, right.type)
    out.micro["type_anywhere"] = _anywhere(left, right, n, len(types))
    _semeval(out, found, left, right, types)
    _confuse(out, found, left, right, types)
    if texts is not None:
        hits, wanted, given = token_columns(left, right, texts, len(types))
        out.types["token"] = _by_type(types, hits, wanted, given)
        out.micro["token"] = _counts(len(hits), len(wanted), len(given))
    return out


def hits_of(found: Paired) -> dict[str, Flags]:
    """Which overlapping rows are true positives: of span and type, of overlap and type, of the span."""
    return {
        "strict": found.aims["strict"] & found.exact & found.typed,
        "partial": found.aims["type"] & found.typed,
        "exact": found.aims["exact"] & found.exact,
    }


def _counts(hits: Any, gold: Any, pred: Any) -> Counts:
    return Counts(hits, pred - hits, gold - hits)


def _by_type(types: Sequence[str], hits: Ints, gold: Ints, pred: Ints) -> dict[str, Counts]:
    table = [np.bincount(side, minlength=len(types)).tolist() for side in (hits, gold, pred)]
    return {kind: _counts(*row) for kind, *row in zip(types, *table, strict=True) if any(row)}


def _anywhere(left: Columns, right: Columns, documents: int, types: int) -> Counts:
    """Types matched wherever they stand in the document; words that are not in the text match nothing."""
    placed = right.start >= 0
    cells = documents * types
    mine = np.bincount(left.document * types + left.type, minlength=cells)
    theirs = np.bincount(right.document[placed] * types + right.type[placed], minlength=cells)
    return _counts(int(np.minimum(mine, theirs).sum()), len(left), len(right))


def _semeval(out: Corpus, found: Paired, left: Columns, right: Columns, types: Sequence[str]) -> None:
    """COR, INC, PAR, MIS, SPU in the four schemas, over all types and within each type."""
    aims, both = found.aims, found.exact & found.typed
    chosen = {
        "strict": (aims["strict"], both),
        "exact": (aims["exact"], found.exact),
        "type": (aims["type"], found.typed),
    }
    chosen["partial"] = chosen["exact"]
    for schema in SCHEMAS:
        pairs, correct = chosen[schema]
        out.semeval[schema] = schema_counts(
            schema, int((pairs & correct).sum()), int(pairs.sum()), len(left), len(right)
        )
    alike, typed = (
        np.bincount(left.type[found.gold[flags]], minlength=len(types)).tolist()
        for flags in (aims["alike"], aims["type"] & found.typed)
    )
    same = np.bincount(left.type[found.gold[aims["alike"] & found.exact]], minlength=len(types)).tolist()
    gold, pred = (np.bincount(side.type, minlength=len(types)).tolist() for side in (left, right))
    for at, kind in enumerate(types):
        out.semeval_types[kind] = {
            schema: schema_counts(schema, typed[at], typed[at], gold[at], pred[at])
            if schema == "type"
            else schema_counts(schema, same[at], alike[at], gold[at], pred[at])
            for schema in SCHEMAS
        }


def schema_counts(schema: str, correct: int, pairs: int, gold: int, pred: int) -> SemEvalCounts:
    """A pair that is not correct is INC, or PAR in the schema ``partial``; what is in no pair is MIS or SPU."""
    rest = (0, pairs - correct) if schema == "partial" else (pairs - correct, 0)
    return SemEvalCounts(correct, *rest, gold - pairs, pred - pairs)


def _confuse(out: Corpus, found: Paired, left: Columns, right: Columns, types: Sequence[str]) -> None:
    """Which type was given for which, over the pairs of the aim ``strict``."""
    n = len(types)
    gold, pred = found.gold[found.aims["strict"]], found.pred[found.aims["strict"]]
    table = np.zeros((n + 1, n + 1), np.int64)
    np.add.at(table, (left.type[gold], right.type[pred]), 1)
    table[:n, n] = np.bincount(left.type, minlength=n) - table[:n].sum(axis=1)
    table[n, :n] = np.bincount(right.type, minlength=n) - table[:n, :n].sum(axis=0)
    rows, names = [*types, SPURIOUS], [*types, MISSED]
    for i, j in zip(*(side.tolist() for side in np.nonzero(table)), strict=True):
        out.confusion.setdefault(rows[i], {})[names[j]] = int(table[i, j])
