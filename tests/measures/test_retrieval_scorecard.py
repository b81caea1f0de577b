"""The scorecard of retrieval: names of measures, the band of ties, sides that fit."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.measure import parse, stored
from goldassay.measures import retrieval as r

GOLD = {"id": "q", "query": "museum", "relevant": {"a": 3, "b": 2, "c": 1, "x": 0}}


RESULTS = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5)


@drawn(25)
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
    assert r.named("nDCG").key == "nDCG"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("map", "AP"),
        ("map_cut_100", "AP@100"),
        ("recip_rank", "RR"),
        ("P_5", "P@5"),
        ("recall_100", "R@100"),
        ("success_1", "Success@1"),
        ("bpref", "Bpref"),
        ("MRR", "RR"),
        ("mrr@10", "RR@10"),
        ("precision@5", "P@5"),
        ("hit_rate@3", "Success@3"),
    ],
)
def test_names_of_trec_eval_and_ranx_are_understood(theirs: str, ours: str) -> None:
    assert r.named(theirs).key == ours


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


def test_a_convention_that_no_name_takes_is_an_error() -> None:
    sides = [GOLD, GOLD], [{"results": ["a"]}, {"results": []}]
    with pytest.raises(GoldassayError, match=r"these measures have their own: nDCG\(10, missing='skip'\)"):
        r.scorecard(*sides, measures=[r.RR()], missing="skip")
    assert r.scorecard(*sides, measures=[r.RR(missing="skip")]).values == {"RR": 1.0}
    assert r.scorecard(*sides, measures=["RR", r.AP()], missing="skip").values["RR"] == 1.0


def test_unaligned_sides_are_an_error() -> None:
    with pytest.raises(DataError, match="1 gold records against 0 predictions"):
        r.scorecard([GOLD], [])


def test_retrieved_documents_of_which_gold_has_none_are_named() -> None:
    assert r.scorecard([GOLD], [{"results": ["A", "B"]}]).notes == ["no predicted document occurs in gold: 'A', 'B'"]
    assert not r.scorecard([GOLD], [{"results": ["x", "y"]}]).notes  # x is judged


def test_rising_scores_are_told() -> None:
    gold = [{"id": str(n), "relevant": ["a"]} for n in range(3)]
    distances = [{"results": [{"doc_id": "a", "score": 0.1}, {"doc_id": "b", "score": 0.9}]} for _ in gold]
    assert any("negate distances" in note for note in r.scorecard(gold, distances, measures=["RR"]).notes)
    assert not r.scorecard(gold, [{"results": ["a", "b"]}] * 3, measures=["RR"]).notes
