"""Matching held to a search through all one-to-one matchings, in whatever order the spans come."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.measures.extraction import Span, SpanBatch
from goldassay.measures.extraction.matching import SCHEMAS, matched, text_order

KINDS = ["A", "B"]


def span(start: int, length: int, kind: str, cut: bool) -> Span:
    """A span; where ``cut``, one without its middle character."""
    end = start + length
    middle = start + length // 2
    parts = ((start, middle), (middle + 1, end)) if cut and length > 2 else ()
    return Span(start, end, kind, "", parts)


spans = st.builds(span, st.integers(0, 8), st.integers(1, 6), st.sampled_from(KINDS), st.booleans())
documents = st.lists(spans | st.just(Span(-1, -1, "A")), max_size=4)


class Edge(NamedTuple):
    gold: int
    pred: int
    exact: bool
    typed: bool


def overlaps(gold: Sequence[Span], pred: Sequence[Span]) -> list[Edge]:
    """All pairs of spans that share a character."""
    return [
        Edge(i, j, g.place == p.place, g.type == p.type)
        for i, g in enumerate(gold)
        for j, p in enumerate(pred)
        if g.start >= 0 <= p.start and g.overlaps(p)
    ]


def pairs(gold: Sequence[Span], pred: Sequence[Span], schema: str) -> list[Edge]:
    """The pairs of one document in a schema."""
    order = [sorted(range(len(side)), key=lambda i: text_order(side[i])) for side in (gold, pred)]
    left, right, _ = (column.tolist() for column in matched(SpanBatch([gold], [pred]).pairs, schema))
    numbers = [(order[0][i], order[1][j]) for i, j in zip(left, right, strict=True)]
    return [Edge(i, j, gold[i].place == pred[j].place, gold[i].type == pred[j].type) for i, j in numbers]


def matchings(edges: Sequence[Edge]) -> Iterator[tuple[Edge, ...]]:
    """All one-to-one matchings."""
    if not edges:
        yield ()
        return
    first, rest = edges[0], edges[1:]
    yield from matchings(rest)
    for matching in matchings([edge for edge in rest if edge.gold != first.gold and edge.pred != first.pred]):
        yield (first, *matching)


def worth(matching: Sequence[Edge], schema: str) -> tuple[int, int]:
    """What the schema asks first, and how many pairs."""
    wish = {
        "strict": lambda edge: edge.exact and edge.typed,
        "exact": lambda edge: edge.exact,
        "type": lambda edge: edge.typed,
        "partial": lambda edge: edge.exact,
    }[schema]
    return sum(map(wish, matching)), len(matching)


@drawn(100)
@given(documents, documents)
def test_no_matching_is_better(gold: list[Span], pred: list[Span]) -> None:
    gold = [span for span in gold if span.start >= 0]
    edges = overlaps(gold, pred)
    for schema in SCHEMAS:
        matching = pairs(gold, pred, schema)
        assert len({pair.gold for pair in matching}) == len(matching) == len({pair.pred for pair in matching})
        assert set(matching) <= set(edges)
        assert worth(matching, schema) == max(worth(other, schema) for other in matchings(edges))


@drawn(60)
@given(documents, documents, st.randoms(use_true_random=False))
def test_the_order_of_spans_does_not_matter(gold: list[Span], pred: list[Span], rng: random.Random) -> None:
    gold = [span for span in gold if span.start >= 0]
    other_gold, other_pred = rng.sample(gold, len(gold)), rng.sample(pred, len(pred))
    for schema in SCHEMAS:
        before = sorted((gold[i], pred[j]) for i, j, *_ in pairs(gold, pred, schema))
        assert sorted((other_gold[i], other_pred[j]) for i, j, *_ in pairs(other_gold, other_pred, schema)) == before


@drawn(60)
@given(st.lists(st.tuples(documents, documents), min_size=1, max_size=4))
def test_all_documents_at_once_give_the_same_pairs(data: list[tuple[list[Span], list[Span]]]) -> None:
    data = [([span for span in gold if span.start >= 0], pred) for gold, pred in data]
    batch = SpanBatch([gold for gold, _ in data], [pred for _, pred in data])
    for schema in SCHEMAS:
        left, right, _ = matched(batch.pairs, schema)
        at_once = sorted(
            (int(batch.gold.document[i]), batch.gold.spans[i], batch.pred.spans[j])
            for i, j in zip(left.tolist(), right.tolist(), strict=True)
        )
        singly = sorted(
            (number, gold[i], pred[j])
            for number, (gold, pred) in enumerate(data)
            for i, j, *_ in pairs(gold, pred, schema)
        )
        assert at_once == singly


def test_an_exact_pair_is_not_given_up_for_two_overlaps() -> None:
    # (4, 9) stands in gold as it is; pairing it with (0, 5) instead would leave room for (5, 6), but nothing exact
    gold, pred = [Span(0, 5, "X"), Span(4, 9, "X")], [Span(4, 9, "X"), Span(5, 6, "X")]
    assert [(pair.gold, pair.pred) for pair in pairs(gold, pred, "strict")] == [(1, 0)]
    assert sorted((pair.gold, pair.pred) for pair in pairs(gold, pred, "type")) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("n", [5, 400])
def test_a_long_chain_of_overlaps_is_matched_end_to_end(n: int) -> None:
    # gold i overlaps predictions i and i+1: taking i+1 throughout would lose one, the best takes all n
    gold = [Span(10 * i, 10 * i + 9, "A") for i in range(n)]
    pred = [Span(10 * i - 5 if i else 0, 10 * i + 4, "A") for i in range(n)]
    for schema in SCHEMAS:
        assert len(pairs(gold, pred, schema)) == n


def test_a_span_over_the_whole_document_takes_one_of_many() -> None:
    gold = [Span(0, 10_000, "A"), *(Span(10 * i, 10 * i + 5, "A") for i in range(300))]
    pred = [Span(0, 9_999, "A"), *(Span(10 * i + 1, 10 * i + 5, "A") for i in range(300))]
    assert len(pairs(gold, pred, "type")) == 301
    assert len(pairs(gold, pred[:1], "type")) == 1
