"""The scorecard counts all documents at once; it must say what the measures say, and leave empty what has no value."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.core.evidence import row
from goldassay.core.measure import Batches
from goldassay.core.tally import By, Counts
from goldassay.measures import extraction as ex
from goldassay.measures.extraction import Span
from goldassay.measures.extraction.matching import drop_unknown_types

KINDS = ["MUS", "TOP", "TMP"]
TEXTS = ["", "Het  Rijksmuseum\nin Amsterdam", "a\u00a0b \u2003c  d\u200be f", "x", "één 🏛️ musée à Lyon"]


def placed(start: int, length: int, kind: str, cut: bool) -> dict[str, Any]:
    """A span as a record has it; where ``cut``, with a gap in the middle."""
    span: dict[str, Any] = {"start": start, "end": start + length, "type": kind, "text": ""}
    if cut and length > 2:
        span["fragments"] = [[start, start + 1], [start + 2, start + length]]
    return span


span = st.builds(
    placed, st.integers(0, 26), st.integers(1, 9), st.sampled_from(KINDS), st.sampled_from([False] * 9 + [True])
)
lost = st.builds(lambda kind: {"start": None, "end": None, "type": kind, "text": "lost"}, st.sampled_from(KINDS))
records = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.lists(span, max_size=5), st.lists(span | lost, max_size=5)),
    min_size=1,
    max_size=6,
)


def aligned(data: list[tuple[str, list[Any], list[Any]]]) -> tuple[list[Any], list[Any]]:
    return [{"text": t, "entities": g} for t, g, _ in data], [{"entities": p} for _, _, p in data]


@pytest.mark.parametrize("matching", ["one-to-one", "hipe"])
@drawn(25)
@given(data=records)
def test_every_value_is_that_of_its_measure(matching: str, data: list[tuple[str, list[Any], list[Any]]]) -> None:
    gold, pred = aligned(data)
    card = ex.scorecard(gold, pred, protocol=None if matching == "one-to-one" else matching)
    assert list(card.measures.values()) == ex.listed(matching)
    if matching == "hipe":
        pred, _ = drop_unknown_types(gold, pred)
    singles = [Batches([g], [p]) for g, p in zip(gold, pred, strict=True)]
    for measure in ex.listed(matching):
        total: Any = sum((row(measure.tallies(single.of(measure)), 0) for single in singles), measure.zero)
        value = card.values[measure.key]
        if value is None:
            assert total.weight == 0 or isinstance(total, By)
            assert total.value == 1.0
        else:
            assert value == pytest.approx(total.value, abs=1e-12), measure
        if isinstance(total, Counts):
            name = measure.key.rpartition("_")[0]
            assert card.counts[name] == total.state()
    macro = ex.SpanF1(matching=matching, average="macro")
    by_type: By[str, Counts] = sum((macro(g, p).tally for g, p in zip(gold, pred, strict=True)), By())
    for kind, counts in by_type.items():
        assert card.by["type"][kind]["strict_f1"] == pytest.approx(counts.f1)
        assert card.by["type"][kind]["support"] == counts.tp + counts.fn
    assert set(card.by["type"]) == set(by_type)
    total_cells = sum(n or 0 for row in card.by["confusion"].values() for n in row.values())
    assert total_cells == sum(sum(ex.SemEval()(g, p).tally.state().values()) for g, p in zip(gold, pred, strict=True))
    json.dumps(card.state(), allow_nan=False)
    assert set(card.values) == set(card.conventions)


@settings(max_examples=20)
@given(records, st.randoms(use_true_random=False))
def test_neither_the_order_of_documents_nor_of_spans_matters(
    data: list[tuple[str, list[Any], list[Any]]], rng: random.Random
) -> None:
    other = [(t, rng.sample(g, len(g)), rng.sample(p, len(p))) for t, g, p in rng.sample(data, len(data))]
    card, other_card = ex.scorecard(*aligned(data)), ex.scorecard(*aligned(other))
    assert card.counts == other_card.counts
    assert card.by == other_card.by
    assert card.values == pytest.approx(other_card.values)


def test_values_by_hand() -> None:
    gold = [
        {"text": "Het Rijksmuseum in Amsterdam", "entities": [(4, 15, "MUS"), (19, 28, "TOP")]},
        {"text": "", "entities": []},
    ]
    pred = [
        {"entities": [(4, 15, "LIB")]},
        {"entities": [{"start": None, "end": None, "type": "MUS", "text": "Louvre"}]},
    ]
    card = ex.scorecard(gold, pred)
    assert card.examples == 2
    assert card.counts["strict"] == {"tp": 0, "fp": 2, "fn": 2}
    assert card.counts["exact"] == {"tp": 1, "fp": 1, "fn": 1}
    assert card.counts["semeval_strict"] == {"correct": 0, "incorrect": 1, "partial": 0, "missed": 1, "spurious": 1}
    assert card.by["confusion"] == {"MUS": {"LIB": 1}, "SPURIOUS": {"MUS": 1}, "TOP": {"MISSED": 1}}
    assert card.by["type"]["LIB"]["support"] == 0
    assert card.by["type"]["LIB"]["ratio"] is None
    assert card.by["type"]["TOP"]["ratio"] == 0.0
    assert card.warnings == ["1 predicted spans are not in their text and count as spurious"]
    # document 1: P 0/1, R 0/2; document 2 has no gold, so R and F1 leave it
    assert (card.values["macro_doc_precision"], card.values["macro_doc_recall"], card.values["macro_doc_f1"]) == (
        0,
        0,
        0,
    )
    assert card.values["type_f1"] == card.values["partial_f1"]
    assert "HIPE fuzzy" in card.conventions["partial_f1"]


@pytest.mark.parametrize(("gold", "pred"), [([], []), ([[]], [[]])])
def test_without_evidence_every_value_is_null(gold: list[Any], pred: list[Any]) -> None:
    card = ex.scorecard(gold, pred)
    assert set(card.values.values()) == {None}
    assert card.counts["strict"] == {"tp": 0, "fp": 0, "fn": 0}
    assert card.by == {"type": {}, "confusion": {}}


def test_the_official_protocol_says_so_and_differs_where_it_should() -> None:
    # the first gold span is taken by the first prediction, which leaves the second gold span to none
    gold, pred = [[(0, 9, "pers"), (10, 12, "pers")]], [[(5, 12, "pers"), (0, 3, "pers")]]
    ours, official = ex.scorecard(gold, pred), ex.scorecard(gold, pred, protocol="hipe")
    assert ours.counts["partial"] == {"tp": 2, "fp": 0, "fn": 0}
    assert "matching=one-to-one" in ours.conventions["partial_f1"]
    assert "matching=hipe" in official.conventions["partial_f1"]
    gold, pred = [[(0, 9, "pers"), (10, 20, "pers")]], [[(2, 12, "pers"), (0, 20, "pers")]]
    assert ex.scorecard(gold, pred, protocol="hipe").counts["partial"]["tp"] == 2


def test_a_span_like_a_whole_document_costs_nothing_and_crosses_no_border() -> None:
    gold: list[list[Span]] = [[Span(0, 100_000, "A")], [Span(0, 5, "A")]]
    pred: list[list[Span]] = [[Span(99_999, 100_001, "A")], [Span(0, 5, "A")]]
    assert ex.scorecard(gold, pred).counts["partial"] == {"tp": 2, "fp": 0, "fn": 0}
    assert ex.scorecard(gold, pred[::-1]).counts["partial"] == {"tp": 1, "fp": 1, "fn": 1}


def test_predicted_types_of_which_gold_has_none_are_named() -> None:
    gold = [{"text": "in Delft", "entities": [(3, 8, "LOC")]}]
    assert ex.scorecard(gold, [{"entities": [(3, 8, "B-LOC")]}]).notes == ["no predicted type occurs in gold: 'B-LOC'"]
    assert not ex.scorecard(gold, [{"entities": [(3, 8, "LOC"), (0, 2, "TMP")]}]).notes
