"""The triples programs: a language model's statements become triples, and the patterns find what they say they find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import workspace
from goldassay.gold import load
from goldassay.measures import triples


@pytest.fixture(scope="module")
def module(root: Path) -> Any:
    return workspace.load(root / "programs" / "triples.py")


@pytest.fixture(scope="module")
def heritage(root: Path) -> Any:
    return load(root / "gold" / "heritage").triples


def test_a_models_statements_become_triples_with_property_ids(module: Any) -> None:
    statements = [
        {"subject": "Louvre", "predicate": "inception", "object": "1793", "confidence": 0.4},
        {"subject": "Louvre ", "predicate": "inception", "object": "1793", "confidence": 0.9},
        {"subject": "Louvre", "predicate": "located in", "object": "Paris"},
        {"subject": "Louvre", "predicate": "located in", "object": " "},
    ]
    program = module.Triples()
    with dspy.context(lm=DummyLM([{"statements": json.dumps(statements)}])):
        triples = program(text="The Louvre in Paris opened in 1793.").triples
    assert triples == [
        {"subject": "Louvre", "predicate": "P571", "object": "1793", "confidence": 0.9},
        {"subject": "Louvre", "predicate": "P131", "object": "Paris", "confidence": 1.0},
    ]


def test_a_predicate_that_is_not_in_the_list_is_refused(module: Any) -> None:
    program = module.Triples({"author": "P50"})
    statements = [{"subject": "a", "predicate": "inception", "object": "1793"}]
    with (
        dspy.context(lm=DummyLM([{"statements": json.dumps(statements)}] * 4)),
        pytest.raises(Exception, match="failed to parse"),
    ):
        program(text="x")


def test_gold_becomes_a_demonstration_and_comes_back(module: Any, heritage: Any) -> None:
    program = module.Triples()
    for example in heritage.train[:20]:
        demo = program.to_demo(example)["statements"]
        assert len(demo) == len(example.triples)
        assert {program.properties[triple["predicate"]] for triple in demo} == {
            triple["predicate"] for triple in example.triples
        }


def test_every_predicate_of_the_gold_set_can_be_said(module: Any, heritage: Any) -> None:
    used = {triple["predicate"] for record in heritage.records for triple in record["triples"]}
    assert used <= set(module.PROPERTIES.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Het Zeemuseum werd in 1904 opgericht in Vlissingen.", {("P571", "1904"), ("P131", "Vlissingen")}),
        ("The Harbour Museum was founded in 1904 by Ann Smith.", {("P571", "1904"), ("P112", "Ann Smith")}),
        ("Das Stadtarchiv Husum wurde 1904 gegründet.", {("P571", "1904")}),
        ("Le Musée du Port, fondé en 1904, se trouve à Brest.", {("P571", "1904"), ("P131", "Brest")}),
        ("The Town Library (ISIL NL-0800070000) lends books.", {("P791", "NL-0800070000")}),
        ("Nothing is said here.", set()),
    ],
)
def test_patterns_in_four_languages(module: Any, text: str, expected: set[tuple[str, str]]) -> None:
    triples = module.PatternTriples()(text=text).triples
    assert {(triple["predicate"], triple["object"]) for triple in triples} == expected


def test_fitting_learns_rates_and_leaves_the_baseline_alone(module: Any, heritage: Any) -> None:
    fitted = module.baseline.fit(heritage.train)
    assert module.baseline.rates == {}
    assert 0.0 < min(fitted.rates.values()) <= max(fitted.rates.values()) < 1.0
    test = heritage.test
    card = triples.scorecard(test, [fitted(text=example.text) for example in test], excluded=())
    assert card.values["f1"] is not None
    assert card.values["f1"] > 0.3  # 0.45 when it was written
    assert card.values["subject_hallucination"] == 0.0


def test_the_metric_of_the_workspace(root: Path, heritage: Any) -> None:
    metric = workspace.load(root / "metrics" / "triples.py").metric
    example = next(triple for triple in heritage.all if any(t["object_type"] == "external-id" for t in triple.triples))
    whole = metric(example, {"triples": [dict(triple) for triple in example.triples]})
    assert whole.score == 1.0
    assert bool(whole)
    without = [triple for triple in example.triples if triple["object_type"] != "external-id"]
    assert metric(example, {"triples": without}).score < 1.0
    assert metric.targets == {"precision": 0.85, "recall": 0.60, "f1": 0.70, "calibration_pearson": 0.80}
