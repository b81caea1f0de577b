"""Extraction's measures by hand: one document where every kind of mistake is made, and the edges."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Measure, parse, stored
from goldassay.core.tally import Counts, Mean
from goldassay.measures import extraction as ex
from goldassay.measures.extraction.matching import SemEvalCounts

#       0         1         2         3         4
#       0123456789012345678901234567890123456789012345
TEXT = "Het Rijksmuseum in Amsterdam opende in 1885 ."
GOLD = {
    "text": TEXT,
    "entities": [(4, 15, "MUS"), (19, 28, "TOP"), (39, 43, "TMP"), (0, 3, "MUS")],
}
# exact; right place, wrong type; boundary wrong; missed (Het); spurious (opende); not in the text
PRED = {
    "entities": [
        {"start": 4, "end": 15, "type": "MUS"},
        {"start": 19, "end": 28, "type": "MUS"},
        {"start": 36, "end": 43, "type": "TMP"},
        {"start": 29, "end": 35, "type": "TMP"},
        {"start": None, "end": None, "type": "TOP", "text": "Rotterdam"},
    ]
}


@pytest.mark.parametrize(
    ("measure", "tally"),
    [
        (ex.SpanF1(), (1, 4, 3)),  # Rijksmuseum
        (ex.SpanF1("partial"), (2, 3, 2)),  # and 1885
        (ex.SpanF1("exact"), (2, 3, 2)),  # Rijksmuseum, Amsterdam
        (ex.SpanF1("type"), (2, 3, 2)),  # as partial
        # MUS twice on both sides, TMP once in gold; TOP of the words that are not in the text counts for nothing
        (ex.SpanF1("type_anywhere"), (3, 2, 1)),
        # gold tokens: Het, Rijksmuseum, Amsterdam, 1885. Predicted: Rijksmuseum, Amsterdam/MUS, in, 1885, opende and
        # Rotterdam. Right: Rijksmuseum and 1885
        (ex.SpanF1("token"), (2, 4, 2)),
    ],
)
def test_counts_by_hand(measure: Any, tally: tuple[int, int, int]) -> None:
    counts = measure(GOLD, PRED).tally
    assert (counts.tp, counts.fp, counts.fn) == tally
    tp, fp, fn = tally
    assert counts.value == pytest.approx(2 * tp / (2 * tp + fp + fn))


@pytest.mark.parametrize("match", ["strict", "partial", "exact", "type", "type_anywhere", "token"])
def test_precision_and_recall_read_the_same_counts(match: str) -> None:
    f1, precision, recall = (ex.SpanF1(match, rate) for rate in ("f1", "precision", "recall"))
    assert [m.key for m in (f1, precision, recall)] == [f"{match}_{r}" for r in ("f1", "precision", "recall")]
    counts = f1(GOLD, PRED).tally
    assert precision(GOLD, PRED).tally.value == counts.tp / (counts.tp + counts.fp)
    assert recall(GOLD, PRED).tally.value == counts.tp / (counts.tp + counts.fn)


@pytest.mark.parametrize(
    ("schema", "counts"),
    [
        ("strict", (1, 2, 0, 1, 2)),  # Amsterdam and 1885 overlap something that is not the same
        ("exact", (2, 1, 0, 1, 2)),
        ("partial", (2, 0, 1, 1, 2)),
        ("type", (2, 1, 0, 1, 2)),  # Amsterdam's type is wrong
    ],
)
def test_semeval_by_hand(schema: str, counts: tuple[int, ...]) -> None:
    semeval = ex.SemEval(schema)(GOLD, PRED).tally
    assert semeval == SemEvalCounts(*counts)
    # ACT = 5 predicted, POS = 4 in gold
    credit = counts[0] + 0.5 * counts[2]
    assert ex.SemEval(schema, rate="precision")(GOLD, PRED).tally.value == credit / 5
    assert ex.SemEval(schema, rate="recall")(GOLD, PRED).tally.value == credit / 4
    assert semeval.value == pytest.approx(2 * (credit / 5) * (credit / 4) / (credit / 5 + credit / 4))


def test_averages_by_type() -> None:
    # strict: MUS tp 1 fp 1 fn 1 -> 1/2; TOP tp 0 fp 1 fn 1 -> 0; TMP tp 0 fp 2 fn 1 -> 0; all three are in gold
    assert ex.SpanF1(average="macro")(GOLD, PRED).tally.value == pytest.approx(0.5 / 3)
    assert ex.SpanF1(average="weighted")(GOLD, PRED).tally.value == pytest.approx(0.5 * 2 / 4)  # MUS has 2 of 4
    # partial: MUS 1/2; TMP tp 1 fp 1 fn 0 -> 2/3; TOP 0
    assert ex.SpanF1("partial", average="macro")(GOLD, PRED).tally.value == pytest.approx((1 / 2 + 2 / 3) / 3)
    # only predicted: LIB counts 0 among the types seen
    more = {"entities": [*PRED["entities"], (44, 45, "LIB")]}
    assert ex.SpanF1(average="macro")(GOLD, more).tally.value == pytest.approx(0.5 / 3)
    assert ex.SpanF1(average="macro_seen")(GOLD, more).tally.value == pytest.approx(0.5 / 4)


def test_averages_by_document_leave_out_what_has_no_value() -> None:
    span = [(0, 3, "A")]
    documents: list[tuple[Any, Any]] = [(span, span), (span, []), ([], span), ([], []), (span, [(0, 2, "A")])]
    expected = {
        "precision": (1 + 0 + 0) / 3,  # of documents 1, 3, 5
        "recall": (1 + 0 + 0) / 3,  # of documents 1, 2, 5
        "f1": (1 + 0) / 2,  # of documents 1 and 5
    }
    for rate, measure in ((rate, ex.SpanF1(rate=rate, average="document")) for rate in expected):
        total = sum((measure(gold, pred).tally for gold, pred in documents), measure.zero)
        assert total.value == pytest.approx(expected[rate])
        assert measure.key == f"macro_doc_{rate}"
    assert ex.SpanF1("partial", average="document")(*documents[4]).tally == Mean(1.0, 1.0)
    assert ex.SpanF1("partial", average="document").key == "macro_doc_partial_f1"


def test_duplicates_are_separate_spans() -> None:
    gold, pred = [(0, 3, "A"), (0, 3, "A")], [(0, 3, "A")] * 3
    for measure in (ex.SpanF1(), ex.SpanF1("partial"), ex.SpanF1("exact"), ex.SpanF1("type_anywhere")):
        assert measure(gold, pred).tally == Counts(2, 1, 0)


def test_nested_spans_and_two_types_of_one_span_are_gold_like_any_other() -> None:
    gold = [(0, 20, "MUS"), (15, 20, "TOP"), (0, 20, "ORG")]
    assert ex.SpanF1()(gold, gold[::-1]).tally == Counts(3, 0, 0)
    assert ex.SpanF1()(gold, gold[1:2]).tally == Counts(1, 0, 2)
    assert ex.SpanF1("partial")(gold, [(0, 19, "ORG"), (14, 20, "TOP")]).tally == Counts(2, 0, 1)


def test_a_greedy_loop_would_lose_one() -> None:
    # the first prediction overlaps both gold spans, the second only the first: a loop in this order finds one
    gold, pred = [(0, 4, "A"), (5, 9, "A")], [(3, 7, "A"), (0, 2, "A")]
    assert ex.SpanF1("partial")(gold, pred).tally == ex.SpanF1("partial")(gold, pred[::-1]).tally == Counts(2, 0, 0)


def test_semeval_never_has_fewer_correct_than_the_measure_of_that_name() -> None:
    gold, pred = [(0, 5, "X"), (4, 9, "X")], [(4, 9, "X"), (5, 6, "X")]
    assert ex.SemEval("strict")(gold, pred).tally == SemEvalCounts(1, 0, 0, 1, 1)
    assert ex.SemEval("type")(gold, pred).tally == SemEvalCounts(2, 0, 0, 0, 0)


def test_nothing_on_both_sides_is_no_evidence_and_no_mistake() -> None:
    for measure in ex.MEASURES:
        assessment = measure([], [])
        assert (assessment.tally.weight, assessment.tally.value) == (0, 1.0)
        assert assessment.errors == ()


def test_a_program_that_failed_misses_all_of_gold() -> None:
    assert ex.SpanF1()(GOLD, None).tally == Counts(0, 0, 4)
    assert ex.scorecard([GOLD], [None]).counts["strict"] == {"tp": 0, "fp": 0, "fn": 4}


def test_keys_are_distinct_and_read_back() -> None:
    keys = [measure.key for measure in ex.listed()]
    assert len(set(keys)) == len(keys)
    assert set(Metric(dict.fromkeys(ex.listed(), 1.0)).conventions) == set(keys)
    assert parse(stored(ex.SemEval("partial", rate="recall"))) == ex.SemEval("partial", "recall")
    assert ex.SpanF1().conventions == (
        "strict_f1[bounds=given, matching=one-to-one, match=span+type, average=micro, repeated=each counts, "
        "empty=1/null]"
    )
    assert ex.SpanF1(average="macro_seen").conventions == (
        "strict_macro_f1_seen[bounds=given, matching=one-to-one, match=span+type, over=seen, average=macro by type, "
        "repeated=each counts, empty=1/null]"
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: ex.SemEval("ent_type"), "schema is strict, exact, partial or type, not 'ent_type'"),
        (lambda: ex.SemEval("strict", rate="f2"), "rate is f1, precision or recall, not 'f2'"),
        (lambda: ex.SpanF1("exact", average="macro"), "the match of an average is strict or partial, not 'exact'"),
        (
            lambda: ex.SpanF1("token", matching="hipe"),
            "the HIPE scorer does not count token; leave out matching='hipe'",
        ),
        (lambda: ex.SpanF1(matching="greedy"), "matching is one-to-one or hipe, not 'greedy'"),
        (
            lambda: ex.scorecard([], [], protocol="conll"),
            "the protocol conll is for linking; extraction has hipe, hipe2020",
        ),
    ],
)
@pytest.mark.extensions
def test_an_unknown_convention_is_refused(wrong: Any, says: str) -> None:
    with pytest.raises(GoldassayError) as caught:
        wrong()
    assert str(caught.value) == says


def test_what_is_damaged_is_noticed_by_the_measures_that_should() -> None:
    """A boundary moved, a type swapped, an entity dropped, one added: who must see it and who must not."""
    gold = {"text": TEXT, "entities": [(4, 15, "MUS"), (19, 28, "TOP")]}
    damages: dict[str, tuple[Any, set[str]]] = {
        "boundary": ([(4, 14, "MUS"), (19, 28, "TOP")], {"strict_f1", "exact_f1", "semeval_partial_f1"}),
        "type": ([(4, 15, "LIB"), (19, 28, "TOP")], {"strict_f1", "partial_f1", "type_f1", "token_f1"}),
        "dropped": (
            [(4, 15, "MUS")],
            {"strict_f1", "partial_f1", "type_f1", "exact_f1", "token_f1", "semeval_partial_f1"},
        ),
        "elsewhere": (
            [(4, 15, "MUS"), (29, 35, "TOP")],
            {"strict_f1", "partial_f1", "type_f1", "exact_f1", "token_f1", "semeval_partial_f1"},
        ),
    }
    several = ex.SpanF1(), ex.SpanF1("partial"), ex.SpanF1("type"), ex.SpanF1("exact"), ex.SpanF1("token")
    measures: list[Measure[Any]] = [*several, ex.SemEval("partial")]
    for name, (pred, who) in damages.items():
        noticed = {m.key for m in measures if m(gold, pred).tally.value < 1}
        assert noticed == who, name
