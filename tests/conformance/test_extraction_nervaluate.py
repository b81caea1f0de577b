"""SemEval's four schemas held to nervaluate 1.2.1, where its greedy loop does not depend on the order of the input.

Which spans nervaluate pairs depends on the order in which they come. So every order of the predictions is tried: where
all give the same counts, ours are these; where they differ, ours has at least as many correct as any of them.
"""

from __future__ import annotations

import random
from itertools import islice, permutations
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nervaluate import Evaluator
from tests.nightly import drawn

from goldassay.measures.extraction import SpanBatch
from goldassay.measures.extraction.matching import SCHEMAS, SemEvalCounts

KINDS = ["LOC", "PER"]
NAMES = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}
FIELDS = ("correct", "incorrect", "partial", "missed", "spurious")

Side = list[dict[str, Any]]
span = st.builds(
    lambda a, n, kind: {"start": a, "end": a + n, "type": kind},
    st.integers(0, 12),
    st.integers(1, 6),
    st.sampled_from(KINDS),
)
document = st.lists(span, max_size=4)
documents = st.lists(st.tuples(document, document), min_size=1, max_size=3)


def oracle(gold: list[Side], pred: list[Side]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Overall and by type."""

    def inclusive(side: list[Side]) -> list[Side]:
        return [[{"start": s["start"], "end": s["end"] - 1, "label": s["type"]} for s in doc] for doc in side]

    result: dict[str, Any] = Evaluator(inclusive(gold), inclusive(pred), tags=KINDS, loader="dict").evaluate()
    return result["overall"], result["entities"]


def evaluate_spans(gold: list[Side], pred: list[Side]) -> dict[str, SemEvalCounts]:
    """Ours in the four schemas."""
    batch = SpanBatch(gold, pred)
    return {schema: batch.semeval(schema).summed for schema in SCHEMAS}


def evaluate_spans_by_type(gold: list[Side], pred: list[Side]) -> dict[str, dict[str, SemEvalCounts]]:
    """The same of the spans of each type by themselves."""

    def of_type(side: list[Side], kind: str) -> list[Side]:
        return [[span for span in document if span["type"] == kind] for document in side]

    kinds = {span["type"] for side in (gold, pred) for document in side for span in document}
    return {kind: evaluate_spans(of_type(gold, kind), of_type(pred, kind)) for kind in kinds}


def plain(counts: Any) -> tuple[int, ...]:
    return tuple(getattr(counts, name) for name in FIELDS)


@drawn(60)
@given(document, document)
def test_no_order_of_nervaluate_finds_more_and_where_all_agree_so_do_we(gold: Side, pred: Side) -> None:
    ours, by_type = evaluate_spans([gold], [pred]), evaluate_spans_by_type([gold], [pred])
    orders = [oracle([list(g)], [list(p)]) for g in islice(permutations(gold), 6) for p in permutations(pred)]
    for theirs, schema in NAMES.items():
        seen = {plain(overall[theirs]) for overall, _ in orders}
        assert ours[schema].correct >= max(counts[0] for counts in seen)
        if len(seen) == 1 and len(gold) < 4:  # then all orders of gold were tried too
            assert {plain(ours[schema])} == seen
        for kind in by_type:
            counts_of_type = {plain(entities[kind][theirs]) for _, entities in orders}
            assert by_type[kind][schema].correct >= max(counts[0] for counts in counts_of_type)
            if len(counts_of_type) == 1 and len(gold) < 4:
                assert {plain(by_type[kind][schema])} == counts_of_type


@drawn(50)
@given(documents)
def test_rates_of_many_documents(data: list[tuple[Side, Side]]) -> None:
    pairs = [(g, p) for g, p in data if _apart(g, p)]
    assume(pairs)
    gold, pred = [g for g, _ in pairs], [p for _, p in pairs]
    overall, _ = oracle(gold, pred)
    ours = evaluate_spans(gold, pred)
    for theirs, schema in NAMES.items():
        want, counts = overall[theirs], ours[schema]
        assert plain(counts) == plain(want)
        if counts.weight:
            assert (counts.counts.precision, counts.counts.recall, counts.value) == pytest.approx(
                (want.precision, want.recall, want.f1)
            )


def _apart(gold: Side, pred: Side) -> bool:
    """Whether no span overlaps two of the other side: then every greedy order gives the same."""
    hits = [
        (i, j)
        for i, g in enumerate(gold)
        for j, p in enumerate(pred)
        if g["start"] < p["end"] and p["start"] < g["end"]
    ]
    return len({i for i, _ in hits}) == len(hits) == len({j for _, j in hits})


@drawn(40)
@given(documents)
def test_at_once_equals_one_by_one(data: list[tuple[Side, Side]]) -> None:
    at_once = evaluate_spans([g for g, _ in data], [p for _, p in data])
    singly = [evaluate_spans([g], [p]) for g, p in data]
    assert at_once == {s: sum((row[s] for row in singly), SemEvalCounts(0, 0, 0, 0, 0)) for s in at_once}


def test_nested_spans_by_hand() -> None:
    gold = [[{"start": 0, "end": 9, "type": "LOC"}, {"start": 2, "end": 5, "type": "PER"}], []]
    pred = [
        [{"start": 2, "end": 5, "type": "PER"}, {"start": 0, "end": 8, "type": "LOC"}],
        [{"start": 0, "end": 1, "type": "LOC"}],
    ]
    counts = evaluate_spans(gold, pred)
    # nested PER is exact, LOC overlaps with the same type, the second document's LOC is spurious
    assert counts["strict"] == SemEvalCounts(1, 1, 0, 0, 1)
    assert counts["type"] == SemEvalCounts(2, 0, 0, 0, 1)
    assert evaluate_spans_by_type(gold, pred)["LOC"]["partial"] == SemEvalCounts(0, 0, 1, 0, 1)


def test_a_thousand_documents_of_a_usual_kind() -> None:
    rng = random.Random(0)
    gold: list[Side] = []
    pred: list[Side] = []
    for _ in range(1000):
        places = [(at, at + rng.randint(1, 6), rng.choice(KINDS)) for at in range(0, rng.randint(10, 80), 8)]
        moved = [
            (a, b + rng.choice((0, 0, 0, 1)), k if rng.random() < 0.9 else rng.choice(KINDS)) for a, b, k in places
        ]
        gold.append([{"start": a, "end": b, "type": k} for a, b, k in places])
        pred.append([{"start": a, "end": b, "type": k} for a, b, k in moved if rng.random() < 0.9])
    overall, by_type = oracle(gold, pred)
    ours, ours_by_type = evaluate_spans(gold, pred), evaluate_spans_by_type(gold, pred)
    for theirs, schema in NAMES.items():
        assert plain(ours[schema]) == plain(overall[theirs])
        for kind in KINDS:
            assert plain(ours_by_type[kind][schema]) == plain(by_type[kind][theirs])
