"""SemEval's four schemes held to nervaluate 1.2.1, where its greedy loop does not depend on the order of the input."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate import Evaluator

from goldassay.measures.extraction import evaluate_spans, scorecard, semeval, spans
from goldassay.measures.extraction.tally import SemEvalCounts

KINDS = ["LOC", "PER"]
NAMES = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}


def apart(draw: Any) -> list[dict[str, Any]]:
    """Spans of a document that do not overlap one another."""
    out, at = [], 0
    for gap, length, kind in draw:
        out.append({"start": at + gap, "end": at + gap + length, "type": kind})
        at += gap + length
    return out


document = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(KINDS)), max_size=5).map(apart)
documents = st.lists(st.tuples(document, document), min_size=1, max_size=6)


def simple(gold: list[dict[str, Any]], pred: list[dict[str, Any]]) -> bool:
    """Whether no span overlaps two of the other side: then every greedy order gives the same."""
    hits = [(i, j) for i, g in enumerate(gold) for j, p in enumerate(pred) if g["start"] < p["end"] and p["start"] < g["end"]]
    return len({i for i, _ in hits}) == len(hits) == len({j for _, j in hits})


def oracle(gold: list[Any], pred: list[Any]) -> dict[str, Any]:
    def inclusive(side: list[Any]) -> list[Any]:
        return [[{"start": s["start"], "end": s["end"] - 1, "label": s["type"]} for s in doc] for doc in side]

    found: dict[str, Any] = Evaluator(inclusive(gold), inclusive(pred), tags=KINDS, loader="dict").evaluate()["overall"]
    return found


@settings(max_examples=150, deadline=None)
@given(documents)
def test_counts_of_all_four_schemes(data: list[tuple[list[Any], list[Any]]]) -> None:
    kept = [(g, p) for g, p in data if simple(g, p)]
    gold, pred = [g for g, _ in kept], [p for _, p in kept]
    if not any(gold) and not any(pred):
        return
    ours = evaluate_spans(gold, pred)
    for theirs, scheme in NAMES.items():
        want, found = oracle(gold, pred)[theirs], ours[scheme]
        counts = (want.correct, want.incorrect, want.partial, want.missed, want.spurious)
        assert (found.correct, found.incorrect, found.partial, found.missed, found.spurious) == counts, scheme
        if found.weight:
            assert (found.precision, found.recall, found.value) == pytest.approx((want.precision, want.recall, want.f1))


@settings(max_examples=100, deadline=None)
@given(documents)
def test_at_once_equals_one_by_one(data: list[tuple[list[Any], list[Any]]]) -> None:
    at_once = evaluate_spans([g for g, _ in data], [p for _, p in data])
    singly = [semeval(spans(g), spans(p)) for g, p in data]
    assert at_once == {s: sum((one[s] for one in singly), SemEvalCounts(0, 0, 0, 0, 0)) for s in at_once}


def test_overlapping_spans_within_one_side_go_the_slow_way_and_count_right() -> None:
    gold = [[{"start": 0, "end": 9, "type": "LOC"}, {"start": 2, "end": 5, "type": "PER"}], []]
    pred = [[{"start": 2, "end": 5, "type": "PER"}, {"start": 0, "end": 8, "type": "LOC"}], [{"start": 0, "end": 1, "type": "LOC"}]]
    found = evaluate_spans(gold, pred)
    # nested PER is exact, LOC overlaps with the same type, the second document's LOC is spurious
    assert found["strict"] == SemEvalCounts(1, 1, 0, 0, 1)
    assert found["type"] == SemEvalCounts(2, 0, 0, 0, 1)


def test_the_scorecard_and_the_measures_count_the_same_whatever_the_order() -> None:
    rng = random.Random(0)
    gold = [{"text": "x" * 40, "entities": [(s, s + rng.randint(1, 9), rng.choice(KINDS)) for s in range(0, 30, 3)]} for _ in range(30)]
    pred = [{"entities": [(max(0, s + rng.randint(-2, 2)), e + 2, t) for s, e, t in g["entities"]]} for g in gold]  # type: ignore[attr-defined]
    card = scorecard(gold, pred)
    shuffled = [{"entities": rng.sample(p["entities"], len(p["entities"]))} for p in pred]
    assert scorecard(gold, shuffled).counts == card.counts
