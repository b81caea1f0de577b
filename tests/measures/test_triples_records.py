"""Statements as the measures read them, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay._support.exceptions import DataError, FieldError
from goldassay.measures import triples as t


def triple(subject: str, predicate: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, **more}


def example(*triples: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"triples": list(triples), **more}


def counts(gold: dict[str, Any], pred: dict[str, Any], **options: Any) -> tuple[float, float, float]:
    tally = t.F1(**options)(gold, pred).tally
    return float(tally.tp), float(tally.fp), float(tally.fn)


def test_an_iri_is_its_prefixed_name() -> None:
    # flawed: the table holds "schema:birthDate", the system says the IRI, and all is "novel": tp 0
    gold = example(triple("a", "P569", "1867"))
    table = (("schema:birthDate", "P569"),)
    for predicate in ("schema:birthDate", "http://schema.org/birthDate", "https://schema.org/birthDate", "wdt:P569"):
        assert counts(gold, example(triple("a", predicate, "1867")), alignment=table) == (1, 0, 0), predicate


def test_deprecated_statements_are_left_out() -> None:
    # flawed: the deprecated date is matched, tp 1 and recall 1/2; right: it is no statement, tp 0 fp 1 fn 1
    gold = example(triple("a", "P569", "1866", rank="deprecated"), triple("a", "P569", "1867", rank="normal"))
    assert counts(gold, example(triple("a", "P569", "1866"))) == (0, 1, 1)
    assert counts(gold, example(triple("a", "P569", "1867"))) == (1, 0, 0)


@pytest.mark.parametrize(
    ("gold", "pred", "error", "words"),
    [
        (
            example({"subject": "a", "object": "b"}),
            example(),
            DataError,
            "record r1, triples: a triple needs a 'predicate'",
        ),
        (example(), {"triples": "a b c"}, DataError, "'triples' is a list of triples, not 'a b c'"),
        (
            example(),
            example(triple("a", "b", "c", confidence=7)),
            DataError,
            "a confidence lies between 0 and 1, not 7",
        ),
        (
            example(),
            {"statements": [], "note": ""},
            FieldError,
            "the prediction has no field 'triples'; it has statements",
        ),
    ],
)
def test_bad_input_is_one_line(gold: dict[str, Any], pred: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        t.scorecard([{"id": "r1", **gold}], [pred])
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("measure", t.MEASURES, ids=repr)
def test_a_tuple_is_a_triple_for_every_measure(measure: Any) -> None:
    gold, pred = [("Ada", "born", "1815"), ("Ada", "died", "1852")], [("Ada", "born", "1815"), ("Bo", "died", "1853")]
    text = "Ada was born in 1815 and died in 1852."
    as_tuples = measure({"text": text, "triples": gold}, {"triples": pred})
    gold_dicts, pred_dicts = ([triple(*statement) for statement in side] for side in (gold, pred))
    assert as_tuples == measure({"text": text, "triples": gold_dicts}, {"triples": pred_dicts})
