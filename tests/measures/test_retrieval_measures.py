"""Retrieval: the ten measures by hand, their conventions, names, errors and what can be wrong in the input."""

from __future__ import annotations

from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn
from tests.perfect import attains_one, perfect_for

from goldassay._support.exceptions import DataError
from goldassay.ext.compat import compute_retrieval_metrics, ndcg_at_k, retrieval_source_analysis
from goldassay.measures import retrieval as r
from goldassay.workspace import metric as workspace_metric

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


@pytest.mark.parametrize("measure", r.MEASURES, ids=repr)
def test_a_query_without_relevant_documents_counts_zero_in_every_measure(measure: r.Ranked) -> None:
    tally = measure({"relevant": {"x": 0}}, {"results": ["u", "x"]}).tally
    judged = 0.5 if measure.name == "Judged" else 0.0
    assert (tally.value, tally.weight) == (judged, 1.0)


def test_recall_without_relevant_documents_is_zero_as_in_trec_eval() -> None:
    nothing = {"relevant": {"x": 0}}
    both = r.scorecard([GOLD, {**nothing, "id": "2"}], [PRED, {"results": ["x"]}])
    assert both.values["R@10"] == pytest.approx((2 / 3 + 0) / 2)
    assert both.values["AP"] == pytest.approx(0.5 / 2)
    assert "1 of 2 queries have no relevant document and count 0" in both.warnings[0]
    assert both.by["query"]["2"]["R@10"] == 0


def test_a_missing_query_counts_zero_or_is_left_out() -> None:
    gold, pred = [GOLD, {"id": "2", "relevant": ["a"]}], [PRED, {"results": []}]
    counted, left = r.scorecard(gold, pred, measures=["RR"]), r.scorecard(gold, pred, measures=["RR"], missing="skip")
    assert (counted.values["RR"], left.values["RR"]) == (0.5, 1.0)
    assert counted.conventions["RR"] != left.conventions["RR"]
    assert counted.warnings == ["1 of 2 queries have no results and are counted 0"]
    assert r.scorecard([gold[1]], [pred[1]], measures=["RR"], missing="skip").values["RR"] is None


@drawn(25)
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


def test_a_failed_program_counts_zero() -> None:
    assessment = r.nDCG(10)(GOLD, {"goldassay_failure": "ValueError: x"})
    assert (assessment.tally.value, assessment.tally.weight) == (0.0, 1.0)
    assert "the program failed" in assessment.errors[0].message


def test_the_founding_metrics_keep_their_keys() -> None:
    queries: list[dict[str, Any]] = [
        {"query": "one", "results": PRED["results"], "gold_relevant": GOLD["relevant"]},
        {"query": "two", "results": [{"doc_id": "z", "score": 1.0}], "gold_relevant": []},
    ]
    values = compute_retrieval_metrics(queries, [5])
    assert list(values) == ["ndcg@5", "precision@5", "recall@5", "mrr"]
    assert values["recall@5"] == pytest.approx(1 / 3)  # flawed: (2/3 + 1) / 2
    assert values["ndcg@5"] == pytest.approx(DCG / IDEAL / 2)
    assert values["mrr"] == 0.5
    assert compute_retrieval_metrics([queries[1]], [5])["recall@5"] == 0


def test_sources_are_shares_of_results_that_exist() -> None:
    query = {
        "results": [{"doc_id": "a", "score": 1.0, "source": "bm25"}, {"doc_id": "b", "score": 2.0, "source": "dense"}]
    }
    analysis = retrieval_source_analysis([query, {"results": []}])
    assert analysis["source_distribution"] == {"dense": 0.5, "bm25": 0.5}
    assert analysis["top1_by_source"] == {"dense": 1.0}  # flawed: bm25 0.5, for order of listing and an empty query
    assert analysis["top5_by_source"] == {"dense": 0.5, "bm25": 0.5}  # flawed: 1 / (2 · 5) each
    assert analysis["source_counts"] == {"dense": 1.0, "bm25": 1.0}
    assert retrieval_source_analysis([])["source_distribution"] == {}


def test_the_perfect_ranking_has_value_one() -> None:
    for measure in r.MEASURES:
        value = measure(GOLD, perfect_for("retrieval")(GOLD)).tally.value
        assert value == pytest.approx(1.0) or not attains_one(measure)


def test_gold_that_names_no_documents_is_left_out_and_no_result_is_spurious() -> None:
    unnamed = {"id": "3", "relevant": None}
    recall = r.R(1, missing="skip")
    assessment = recall(unnamed, PRED)
    assert (assessment.tally.weight, assessment.errors) == (0.0, ())
    batch = recall.batch([GOLD, unnamed], [PRED, PRED])
    assert [len(errors) > 0 for errors, _ in recall.reviews(batch)] == [True, False]
    with pytest.raises(DataError, match="'relevant' is a list of ids"):
        r.R(1)(unnamed, PRED)
    by_words = workspace_metric("answering")({"question": "When?", "answers": ["1885"]}, {"answer": "", **PRED})
    assert "No document is relevant" not in by_words.feedback
