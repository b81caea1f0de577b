"""The retrieval programs: BM25, vectors, and a model's terms beside the query."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import workspace
from goldassay.gold import load
from goldassay.measures import retrieval

PASSAGES = [
    {"id": "nl", "text": "Het stadsarchief bewaart kerkboeken."},
    {"id": "en", "text": "The city archive keeps parish registers."},
    {"id": "fr", "text": "Le zoo a des girafes."},
]


@pytest.fixture(scope="module")
def module(root: Path) -> Any:
    return workspace.load(root / "programs" / "retrieval.py")


def test_bm25_finds_passages_that_share_words(module: Any) -> None:
    results = module.BM25().index(PASSAGES)(query="kerkboeken in het stadsarchief").results
    assert [(result["doc_id"], result["source"]) for result in results] == [("nl", "bm25")]
    assert results[0]["text"] == PASSAGES[0]["text"]
    assert module.BM25().index(PASSAGES)(query="giraffe").results == []


def test_dense_takes_any_embedder_and_says_what_it_is(module: Any) -> None:
    class Lengths:
        name = "lengths"

        def __call__(self, texts: Any) -> Any:
            return [[float(len(text)), 1.0] for text in texts]

    assert module.Dense(Lengths()).index(PASSAGES)(query="x" * 40).results[0]["source"] == "lengths"
    without = module.Dense().index(PASSAGES)(query="girafe").results
    assert (without[0]["doc_id"], without[0]["source"]) == ("fr", "char-lsa")


def test_a_models_terms_find_what_the_query_does_not(module: Any) -> None:
    program = module.Expanded().index(PASSAGES)
    with dspy.context(lm=DummyLM([{"terms": json.dumps(["archive", "parish registers"])}])):
        results = program(query="kerkboeken")
    assert [(result["doc_id"], result["source"]) for result in results.results] == [
        ("nl", "bm25+expansion"),
        ("en", "expansion"),
    ]
    assert results.terms == ["archive", "parish registers"]
    with dspy.context(lm=DummyLM([{"terms": "[]"}])):
        assert [result["doc_id"] for result in program(query="kerkboeken").results] == ["nl"]


def test_copies_share_the_index_and_states_do_not_hold_it(module: Any) -> None:
    program = module.Expanded().index(PASSAGES)
    assert copy.deepcopy(program)._indexed is program._indexed
    assert set(program.dump_state()) == {"expand"}
    assert program.fit([]) is program


def test_without_an_index_the_heritage_passages_are_searched(module: Any, root: Path) -> None:
    gold = load(root / "gold" / "heritage").retrieval.all
    for program, least in ((module.BM25(), 0.45), (module.Dense(), 0.55)):  # 0.52 and 0.65 when it was written
        card = retrieval.scorecard(gold, [program(query=example.query) for example in gold])
        value = card.values["nDCG@10"]
        assert value is not None
        assert value > least


def test_the_metric_of_the_workspace(root: Path) -> None:
    metric = workspace.load(root / "metrics" / "retrieval.py").metric
    gold = {"query": "archive", "relevant": {"nl": 3, "en": 2}}
    score = metric(gold, {"results": ["fr", "nl", "en"]})
    # nDCG@10 = (3/log2(3) + 2/2) / (3 + 2/log2(3)) = 0.678762; RR = 1/2
    assert score.score == pytest.approx(0.7 * 0.678762 + 0.3 * 0.5, abs=1e-6)
    assert "Relevant document nl (grade 3) is at rank 2, below fr (not judged)." in score.feedback
    assert metric.targets == {"nDCG@10": 0.60, "RR": 0.55}
    assert metric.state_of_the_art == {"nDCG@10": 0.68, "RR": 0.62}


def test_fusion_adds_reciprocal_ranks(module: Any) -> None:
    hits = module.fused({"x": [("a", 1.0), ("b", 0.5)], "y": [("b", 9.0), ("c", 8.0)]}, k=2)
    # b: 1/62 + 1/61; a: 1/61; c: 1/62
    assert [(name, source) for name, _, source in hits] == [("b", "x+y"), ("a", "x")]
    assert hits[0][1] == pytest.approx(1 / 62 + 1 / 61)
