"""Retrieval: the ten measures by hand, their conventions, names, errors and what can be wrong in the input."""

from __future__ import annotations

import itertools
from math import log2
from typing import Any

import pytest
from benchmarks.perfect import attains_one, perfect_for
from hypothesis import given, settings
from hypothesis import strategies as st

from goldassay.compat import compute_retrieval_metrics, ndcg_at_k, retrieval_source_analysis
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import parse, stored
from goldassay.measures import retrieval as r

GOLD = {"id": "q", "query": "museum", "relevant": {"a": 3, "b": 2, "c": 1, "x": 0}}
PRED = {"results": [{"doc_id": d, "score": s} for d, s in [("b", 5.0), ("x", 4.0), ("u", 3.0), ("a", 2.0)]]}
# ranking: b(2) x(0) u(unjudged) a(3); R = 3 (a, b, c); N = 1 (x)
DCG = 2 / log2(2) + 3 / log2(5)
IDEAL = 3 / log2(2) + 2 / log2(3) + 1 / log2(4)
BY_HAND = {
    "nDCG@10": DCG / IDEAL,
    "nDCG@3": 2 / IDEAL,
    "nDCG(dcg='exp-log2')@10": (3 + 7 / log2(5)) / (7 + 3 / log2(3) + 1 / 2),
    "P@5": 2 / 5,
    "P(rel=3)@5": 1 / 5,
    "R@2": 1 / 3,
    "R@10": 2 / 3,
    "RR": 1.0,
    "RR(rel=3)": 1 / 4,
    "RR(rel=3)@3": 0.0,
    "AP": (1 / 1 + 2 / 4) / 3,
    "AP@3": (1 / 1) / 3,
    "Bpref": (1 + (1 - 1 / 1)) / 3,
    "RBP(p=0.8)": 0.2 * (1 + 0.8**3),
    "Rprec": 1 / 3,
    "Judged@10": 3 / 4,
    "Judged@2": 1.0,
    "Success@1": 1.0,
    "Success(rel=3)@3": 0.0,
}


@pytest.mark.parametrize(("name", "value"), BY_HAND.items())
def test_by_hand(name: str, value: float) -> None:
    assert r.named(name)(GOLD, PRED).tally.value == pytest.approx(value, abs=1e-12)
    assert r.scorecard([GOLD], [PRED], measures=[name]).values[name] == pytest.approx(value, abs=1e-12)


def test_the_ideal_of_the_retrieved_list_overstates() -> None:
    # flawed: the ideal from what was retrieved (grades 3 and 2 in the wrong order); right: from all judged documents
    flawed = r.nDCG(10, ideal="retrieved")(GOLD, PRED).tally.value
    assert flawed == pytest.approx(DCG / (3 / log2(2) + 2 / log2(3)), abs=1e-12)  # 0.7706
    assert flawed > 0.77 > 0.70 > r.nDCG(10)(GOLD, PRED).tally.value  # 0.6908
    assert ndcg_at_k([2, 0, 0, 3], 10) == pytest.approx(flawed)
    assert ndcg_at_k([2, 0, 0, 3], 10, judged=[3, 2, 1, 0]) == pytest.approx(DCG / IDEAL)


def test_ndcg_needs_enough_places_for_its_ideal() -> None:
    # the founding document's function breaks off when fewer documents are given than the ideal has
    assert ndcg_at_k([1], 10, judged=[1, 1]) == pytest.approx(1 / (1 + 1 / log2(3)))
    assert ndcg_at_k([], 10) == 0.0


def test_recall_without_relevant_documents_does_not_apply() -> None:
    nothing = {"relevant": {"x": 0}}
    assert r.R(10)(nothing, {"results": ["x"]}).tally.weight == 0
    both = r.scorecard([GOLD, {**nothing, "id": "2"}], [PRED, {"results": ["x"]}])
    assert both.values["R@10"] == pytest.approx(2 / 3)  # flawed: (2/3 + 1)/2 with 1 for the query without any
    assert both.values["AP"] == pytest.approx(0.5 / 2)  # trec_eval counts it 0 in the others
    assert "1 of 2 queries have no relevant document" in both.warnings[0]
    assert both.by["query"]["2"]["R@10"] is None


def test_a_missing_query_counts_zero_or_is_left_out() -> None:
    gold, pred = [GOLD, {"id": "2", "relevant": ["a"]}], [PRED, {"results": []}]
    counted, left = r.scorecard(gold, pred, measures=["RR"]), r.scorecard(gold, pred, measures=["RR"], missing="skip")
    assert (counted.values["RR"], left.values["RR"]) == (0.5, 1.0)
    assert counted.conventions["RR"] != left.conventions["RR"]
    assert counted.warnings == ["1 of 2 queries have no results and are counted 0"]
    assert r.scorecard([gold[1]], [pred[1]], measures=["RR"], missing="skip").values["RR"] is None


def test_ties_are_broken_by_document_id_descending_in_32_bits() -> None:
    gold = {"relevant": ["a"]}
    close = {"results": [{"doc_id": "a", "score": 1.00000001}, {"doc_id": "b", "score": 1.0}]}  # one float32
    assert r.RR()(gold, close).tally.value == 0.5
    assert r.RR(ties="stable")(gold, close).tally.value == 1.0
    assert r.RR(ties="best")(gold, close).tally.value == 1.0
    assert r.band([gold], [close], ["RR", "P@1"]) == {"RR": (0.5, 1.0), "P@1": (0.0, 1.0)}


RESULTS = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 3), min_size=1),
    RESULTS.flatmap(lambda docs: st.tuples(*[st.tuples(st.just(d), st.integers(0, 2)) for d in docs])),
)
def test_the_band_is_that_of_all_orders(judged: dict[str, int], scored: tuple[tuple[str, int], ...]) -> None:
    gold = {"relevant": judged}
    pred = {"results": [{"doc_id": d, "score": s} for d, s in scored]}
    names = ["nDCG@3", "nDCG(dcg='exp-log2')@3", "P@2", "R@2", "RR", "AP", "Bpref", "RBP(p=0.8)", "Rprec", "Judged@2"]
    orders = [
        [d for _, group in groups for d in group]
        for groups in itertools.product(
            *[
                [(s, order) for order in itertools.permutations([d for d, t in scored if t == s])]
                for s in sorted({s for _, s in scored}, reverse=True)
            ]
        )
    ]
    band = r.band([gold], [pred], names)
    for name in names:
        if name not in band:
            continue
        values = [r.named(name)(gold, {"results": order}).tally.value for order in orders]
        assert band[name] == pytest.approx((min(values), max(values)), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_one_query_and_many_agree(data: st.DataObject) -> None:
    queries = data.draw(st.integers(1, 5))
    gold: list[dict[str, Any]] = []
    pred: list[dict[str, Any]] = []
    for index in range(queries):
        judged = data.draw(st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 3), max_size=6))
        scored = data.draw(st.dictionaries(st.sampled_from("abcdefghij"), st.integers(-2, 3), max_size=9))
        gold.append({"id": str(index), "relevant": judged})
        pred.append({"results": [{"doc_id": d, "score": s} for d, s in scored.items()]})
    for measure in r.MEASURES:
        total = sum((measure(g, p).tally for g, p in zip(gold, pred, strict=True)), measure.zero)
        card = r.scorecard(gold, pred, measures=[measure])
        expected = total.value if total.weight else None
        assert card.values[measure.key] == pytest.approx(expected, abs=1e-12)


def test_very_different_depths_are_handled_together() -> None:
    deep = {"results": [{"doc_id": f"d{i}", "score": -i} for i in range(3000)]}
    gold = [{"relevant": ["d2999"]}, {"relevant": ["d0"]}]
    card = r.scorecard(gold, [deep, {"results": ["x", "d0"]}], measures=["RR"])
    assert card.values["RR"] == pytest.approx((1 / 3000 + 1 / 2) / 2)


def test_the_names_are_those_of_ir_measures_and_read_back() -> None:
    assert r.nDCG(10).conventions == (
        "nDCG@10[gain=linear, ideal=judged, ties=docno_desc, missing=0, unjudged=irrelevant, no_relevant=0]"
    )
    assert repr(r.nDCG(10)) == "nDCG(ties='docno_desc', missing=0, k=10, gain='linear', ideal='judged')"
    for measure in r.MEASURES:
        assert parse(stored(measure)) == measure
        assert parse(stored(measure)).conventions == measure.conventions
        assert r.named(measure.key, ties=measure.ties, missing=measure.missing) == measure
    for name in ("nDCG@10", "RR", "P(rel=2)@5", "RBP(p=0.8)", "R@10", "AP", "Rprec", "Judged@10", "Success@1"):
        assert r.named(name).key == name
    assert r.named("MRR") == r.RR()
    assert r.named("bpref") == r.Bpref()
    assert r.named("nDCG").key == "nDCG"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nDGC@10", "no measure 'nDGC@10'; there are nDCG@k, P@k"),
        ("P", "no measure 'P'; there are nDCG@k, P@k"),
        ("Rprec@5", "Rprec, Judged@k"),
        ("P@0", "k is a whole number from 1 on"),
        ("P(rel=0)@5", "rel is above 0"),
        ("P(p=0.5)@5", "with rel=, p="),
        ("RBP(p=1.5)", "p is between 0 and 1"),
        ("nDCG(dcg='ln')@5", "no measure"),
        ("nDCG(ties='random')@5", "ties is docno_desc, stable, best or worst"),
        ("nDCG(gain=open('x'))@5", "no measure"),
        ("P(missing=1)@5", "missing is 0 or skip"),
    ],
)
def test_a_wrong_name_says_what_there_is(name: str, words: str) -> None:
    with pytest.raises(GoldassayError) as error:
        r.named(name)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("gold", "pred", "words"),
    [
        ({"relevant": ["a", "a"]}, {"results": []}, "document a is judged twice"),
        ({"relevant": "a"}, {"results": []}, "a list of ids or a mapping"),
        ({"relevant": {"a": -1}}, {"results": []}, "grade -1 of a is negative; grades are 0 or more"),
        ({"relevant": {"a": "high"}}, {"results": []}, "the grade of a is a number, not 'high'"),
        ({"relevant": ["a"]}, {"results": ["b", "b"]}, "document b is twice in the results"),
        (
            {"relevant": ["a"]},
            {"results": [{"doc_id": "b", "score": 1}, {"doc_id": "b", "score": 0}]},
            "document b is twice",
        ),
        (
            {"relevant": ["a"]},
            {"results": [{"doc_id": "b", "score": float("nan")}]},
            "the score of b is a number, not nan",
        ),
        (
            {"relevant": ["a"]},
            {"results": [{"doc_id": "b", "score": 1}, {"doc_id": "c"}]},
            "document c has no score while",
        ),
        ({"relevant": ["a"]}, {"results": [{"score": 1}]}, "results[0]: a result needs a 'doc_id'"),
    ],
)
def test_bad_input_is_one_line_with_the_query(gold: dict[str, Any], pred: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as error:
        r.scorecard([{"id": "q7", **gold}], [pred])
    assert words in str(error.value)
    assert "record q7" in str(error.value)


def test_unaligned_sides_are_an_error() -> None:
    with pytest.raises(DataError, match="1 gold records against 0 predictions"):
        r.scorecard([GOLD], [])


def test_huge_scores_overflow_to_a_tie_not_to_a_warning() -> None:
    pred = {"results": [{"doc_id": "a", "score": 1e300}, {"doc_id": "b", "score": 1e301}]}
    assert r.RR()({"relevant": ["a"]}, pred).tally.value == 0.5


def test_a_failed_program_counts_zero() -> None:
    found = r.nDCG(10)(GOLD, {"goldassay_failure": "ValueError: x"})
    assert (found.tally.value, found.tally.weight) == (0.0, 1.0)
    assert "the program failed" in found.errors[0].message


def test_errors_say_what_stood_above() -> None:
    pred = {"results": [*PRED["results"][:3], {"doc_id": "a", "score": 2.0, "text": "Het  Rijksmuseum"}]}
    assessment = r.RR()(GOLD, pred)
    errors, right = assessment.errors, assessment.right
    assert [error.kind for error in errors] == ["outranked", "missed"]
    assert errors[0].message == (
        "Relevant document a (grade 3, “Het Rijksmuseum”) is at rank 4, below b (grade 2), x (grade 0), u (not judged)."
    )
    assert errors[1].message == "Relevant document c (grade 1) was not retrieved: it is not among the 4 results."
    assert right == ("b (grade 2) at rank 1",)
    assert {error.field for error in errors} == {"results"}
    assert r.RR()({"relevant": []}, pred).errors[0].kind == "spurious"


def test_the_founding_metrics_keep_their_keys() -> None:
    queries: list[dict[str, Any]] = [
        {"query": "one", "results": PRED["results"], "gold_relevant": GOLD["relevant"]},
        {"query": "two", "results": [{"doc_id": "z", "score": 1.0}], "gold_relevant": []},
    ]
    out = compute_retrieval_metrics(queries, [5])
    assert list(out) == ["ndcg@5", "precision@5", "recall@5", "mrr"]
    assert out["recall@5"] == pytest.approx(2 / 3)  # flawed: (2/3 + 1) / 2
    assert out["ndcg@5"] == pytest.approx(DCG / IDEAL / 2)
    assert out["mrr"] == 0.5
    assert compute_retrieval_metrics([queries[1]], [5])["recall@5"] is None


def test_sources_are_shares_of_results_that_exist() -> None:
    one = {
        "results": [{"doc_id": "a", "score": 1.0, "source": "bm25"}, {"doc_id": "b", "score": 2.0, "source": "dense"}]
    }
    found = retrieval_source_analysis([one, {"results": []}])
    assert found["source_distribution"] == {"dense": 0.5, "bm25": 0.5}
    assert found["top1_by_source"] == {"dense": 1.0}  # flawed: bm25 0.5, for order of listing and an empty query
    assert found["top5_by_source"] == {"dense": 0.5, "bm25": 0.5}  # flawed: 1 / (2 · 5) each
    assert found["source_counts"] == {"dense": 1.0, "bm25": 1.0}
    assert retrieval_source_analysis([])["source_distribution"] == {}


def test_the_perfect_ranking_has_value_one() -> None:
    for measure in r.MEASURES:
        value = measure(GOLD, perfect_for("retrieval")(GOLD)).tally.value
        assert value == pytest.approx(1.0) or not attains_one(measure)
