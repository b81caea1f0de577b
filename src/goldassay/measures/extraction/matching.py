"""One-to-one matching of gold and predicted spans within a document, whatever their order, and what it counts.

Spans that share a character may be paired, each with one of the other side. Which pairs are made depends on the aim:

| aim | first as many as possible | then | used for |
|---|---|---|---|
| ``strict`` | pairs of one place and one type | as many pairs as possible | SemEval strict, confusion, errors |
| ``exact`` | pairs of one place | as many pairs as possible | SemEval exact and partial |
| ``type`` | pairs of one type | as many pairs as possible | partial (HIPE fuzzy), SemEval type |
| ``alike`` | pairs of one place and one type | as many pairs of one type as possible | SemEval by type |

So what counts as right is the most that any one-to-one matching gives; a greedy loop gives (1, 1, 1) or (2, 0, 0) as
true positives, false positives and false negatives for the same spans in another order. Where there is still a choice,
the same place or type is preferred. Spans that overlap one of the other side and no more, which is nearly all, need no
search.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from goldassay.measures.extraction.records import Span
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.tally import Counts, Number


class Edge(NamedTuple):
    """Two spans that share a character (numbers on each side), and whether place and type are the same."""

    gold: int
    pred: int
    exact: bool
    typed: bool


class Chosen(NamedTuple):
    """For each aim the edges that become pairs, as numbers in the list of edges."""

    strict: tuple[int, ...]
    exact: tuple[int, ...]
    type: tuple[int, ...]
    alike: tuple[int, ...]


AIMS = Chosen._fields
DENSE = 40_000  # cells of a table up to which the dense method is the faster one
SMALL = 12  # edges up to which a crowded place is remembered: such places look alike


def pairs(gold: Sequence[Span], pred: Sequence[Span], aim: str) -> list[Edge]:
    """The pairs of one document under an aim.

    >>> a, b, c = Span(0, 5, "X"), Span(4, 9, "X"), Span(3, 6, "X")
    >>> len(pairs([a, b], [c], "type")), len(pairs([a, b], [a, c], "type"))
    (1, 2)
    """
    edges = overlaps(gold, pred)
    which = AIMS.index(aim)
    if len({edge.gold for edge in edges}) == len(edges) == len({edge.pred for edge in edges}):
        return [edge for edge in edges if edge.typed or aim != "alike"]
    return [place[at] for place in _places(edges) for at in chosen(place)[which]]


def overlaps(gold: Sequence[Span], pred: Sequence[Span]) -> list[Edge]:
    """All pairs of spans that share a character, in the order of the text on both sides."""
    lefts = sorted((i for i in range(len(gold)) if gold[i].start >= 0), key=lambda i: _order(gold[i]))
    rights = sorted((j for j in range(len(pred)) if pred[j].start >= 0), key=lambda j: _order(pred[j]))
    starts = [pred[j].start for j in rights]
    longest = max((pred[j].end - pred[j].start for j in rights), default=0)
    found = []
    for i in lefts:
        span = gold[i]
        for j in rights[bisect_left(starts, span.start - longest) : bisect_left(starts, span.end)]:
            other = pred[j]
            if span.overlaps(other):
                found.append(Edge(i, j, span.place == other.place, span.type == other.type))
    return found


def _order(span: Span) -> tuple[object, ...]:
    return span.start, span.end, span.type, span.fragments


def _places(edges: Sequence[Edge]) -> list[list[Edge]]:
    """The edges of each connected place, in the order given."""
    root: dict[int, int] = {}

    def find(node: int) -> int:
        while root.setdefault(node, node) != node:
            root[node] = node = root[root[node]]
        return node

    for edge in edges:  # gold spans are numbered 0, 1, … and predicted ones -1, -2, …
        root[find(~edge.pred)] = find(edge.gold)
    out: dict[int, list[Edge]] = {}
    for edge in edges:
        out.setdefault(find(edge.gold), []).append(edge)
    return list(out.values())


def chosen(place: Sequence[Edge]) -> Chosen:
    """Which edges of one connected place become pairs, for every aim."""
    rows: dict[int, int] = {}
    columns: dict[int, int] = {}
    renumbered = tuple(
        Edge(rows.setdefault(g, len(rows)), columns.setdefault(p, len(columns)), bool(exact), bool(typed))
        for g, p, exact, typed in place
    )
    return _remembered(renumbered) if len(renumbered) <= SMALL else _solved(renumbered)


def _solved(edges: tuple[Edge, ...]) -> Chosen:
    alike = [at for at, edge in enumerate(edges) if edge.typed]
    return Chosen(
        _assigned(edges, [(e.exact and e.typed, e.exact or e.typed) for e in edges]),
        _assigned(edges, [(e.exact, e.typed) for e in edges]),
        _assigned(edges, [(e.typed, e.exact) for e in edges]),
        tuple(alike[at] for at in _assigned([edges[at] for at in alike], [(edges[at].exact, False) for at in alike])),
    )


_remembered = lru_cache(maxsize=1 << 14)(_solved)


def _assigned(edges: Sequence[Edge], wishes: Sequence[tuple[bool, bool]]) -> tuple[int, ...]:
    """A one-to-one choice with the most first wishes, then the most edges, then the most second wishes."""
    if not edges:
        return ()
    rows, columns = [edge.gold for edge in edges], [edge.pred for edge in edges]
    height, width = max(rows) + 1, max(columns) + 1
    most = min(height, width) + 1  # more than any count of pairs, so the sums below order by the first that differs
    gains = [most * most * first + most + second for first, second in wishes]
    if height * width <= DENSE:
        table = np.zeros((height, width))
        table[rows, columns] = gains
        pairs = zip(*(side.tolist() for side in linear_sum_assignment(table, maximize=True)), strict=True)
    else:
        pairs = _sparse(rows, columns, gains, height, width)
    number = {(edge.gold, edge.pred): at for at, edge in enumerate(edges)}
    return tuple(sorted(number[pair] for pair in pairs if pair in number))


def _sparse(rows: list[int], columns: list[int], gains: list[int], height: int, width: int) -> zip[tuple[int, int]]:
    """The same for a large place; every row may also stay alone, in a column of its own."""
    own = range(height)
    top = max(gains) + 1
    cost = [top - gain for gain in gains] + [top] * height
    table = coo_array(
        (np.array(cost, float), ([*rows, *own], [*columns, *(width + i for i in own)])), (height, width + height)
    )
    left, right = min_weight_full_bipartite_matching(table.tocsr())
    return zip(left.tolist(), right.tolist(), strict=True)


SCHEMAS = ("strict", "exact", "partial", "type")
PairCount = Callable[[Sequence[Span], Sequence[Span]], int]
MATCH = {
    "strict": "span+type",
    "partial": "overlap+type",
    "exact": "span",
    "type": "type+overlap",
    "type_anywhere": "type",
    "token": "token+type",
}
ALSO = {
    "strict": "HIPE strict, CoNLL, seqeval, SemEval strict",
    "partial": "HIPE fuzzy, SemEval type",
    "exact": "SemEval exact",
    "type": "the same as partial, HIPE fuzzy, SemEval type; SemEval's own partial ignores the type",
    "type_anywhere": "types of the document, wherever they stand",
    "token": r"a token (\S+) has the types of the spans that overlap it",
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


def schema_counts(schema: str, correct: Number, pairs: Number, gold: Number, pred: Number) -> SemEvalCounts:
    """A pair that is not correct is INC, or PAR in the schema ``partial``; what is in no pair is MIS or SPU.

    Args:
        pairs: How many pairs there are.
        gold: How many gold spans.
        pred: How many predicted ones.
    """
    wrong, partly = (0 * pairs, pairs - correct) if schema == "partial" else (pairs - correct, 0 * pairs)
    return SemEvalCounts(correct, wrong, partly, gold - pairs, pred - pairs)


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


HITS: dict[str, PairCount] = {
    "strict": lambda gold, pred: _same(gold, pred, lambda span: (span.place, span.type)),
    "partial": _overlapping,
    "exact": lambda gold, pred: _same(gold, pred, lambda span: span.place),
    "type": _overlapping,
    "type_anywhere": lambda gold, pred: _same(gold, pred, lambda span: span.type),
}
