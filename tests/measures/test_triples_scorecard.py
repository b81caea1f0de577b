"""The scorecard of triples: by property and domain, what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.measures import triples as t


def triple(subject: str, predicate: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, **more}


def example(*triples: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"triples": list(triples), **more}


def counts(gold: dict[str, Any], pred: dict[str, Any], **options: Any) -> tuple[float, float, float]:
    tally = t.F1(**options)(gold, pred).tally
    return float(tally.tp), float(tally.fp), float(tally.fn)


def test_excluded_value_types_are_left_out_and_said() -> None:
    gold = example(triple("a", "P214", "123", object_type="ExternalId"), triple("a", "P1", "x"))
    card = t.scorecard([gold], [example(triple("a", "P1", "x"))])
    assert card.values["recall"] == 1.0
    assert card.warnings == ["1 gold statements of excluded value types are left out: ExternalId (1)"]
    assert t.scorecard([gold], [example(triple("a", "P1", "x"))], excluded=()).values["recall"] == 0.5
    assert counts(gold, example(triple("a", "P214", "124")), excluded=()) == (0, 1, 2)  # an identifier is equal or not


def test_by_domain_and_macro() -> None:
    gold = [
        example(triple("a", "P1", "x"), triple("a", "P1", "y"), domain="people"),
        example(triple("b", "P2", "x"), strata={"domain": "places"}),
    ]
    card = t.scorecard(gold, [example(triple("a", "P1", "x"), triple("a", "P3", "q")), example(triple("b", "P2", "x"))])
    assert card.by["domain"]["people"]["recall"] == 0.5
    assert card.by["domain"]["places"]["f1"] == 1.0
    assert card.values["macro_recall"] == 0.75  # P1 1/2, P2 1/1; P3 has no gold
    assert card.values["macro_precision"] == 1.0
    assert t.MacroF1()(gold[0], example()).tally.value == 0.0


@pytest.mark.extensions
def test_bad_calls_are_one_line() -> None:
    with pytest.raises(
        GoldassayError, match="hipe is for extraction and linking; triples has text2kgbench, webnlg, docred, carb"
    ):
        t.scorecard([], [], protocol="hipe")
    with pytest.raises(GoldassayError, match="needs the benchmark's ontology file: ontology=FILE"):
        t.scorecard([], [], protocol="text2kgbench")
    with pytest.raises(DataError, match="1 gold records against 0 predictions"):
        t.scorecard([example()], [])
    with pytest.raises(GoldassayError, match="times is gold or coarser"):
        t.F1(times="year")
    with pytest.raises(GoldassayError, match="threshold lies in"):
        t.F1(threshold=0.0)
    with pytest.raises(GoldassayError, match="part is subject or object"):
        t.Hallucination("predicate")
    with pytest.raises(DataError, match="an ontology has 'concepts' and 'relations'"):
        t.scorecard([example()], [example()], protocol="text2kgbench", ontology={})
