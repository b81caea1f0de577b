"""When a value is right: comparators by name, by type, and as functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import parse, stored
from goldassay.core.tally import Counts
from goldassay.measures import records
from goldassay.measures.records.comparators import comparator


def counts(gold: Any, pred: Any, **options: Any) -> tuple[float, float, float]:
    tally = records.FieldF1(**options)({"record": gold}, {"record": pred}).tally
    return tally.tp, tally.fp, tally.fn


@pytest.mark.parametrize(
    ("name", "gold", "pred", "expected"),
    [
        ("exact", "a", "A", 0),
        ("exact", True, 1, 0),
        ("exact", 1, 1.0, 1),
        ("normalised", " Été  1", "ÉTÉ 1", 1),
        ("number(absolute=0.01)", 12.5, 12.509, 1),
        ("number(relative=0.1)", 100, 89, 0),
        ("number", "1,250.00", "1250", 1),
        ("number", 12.5, "12.5", 0),
        ("number", 2_000_000_001, 2_000_000_002, 0),  # two identifiers
        ("number", 2_000_000_001, 2_000_000_001.0, 1),
        ("money", 1234.5, "€ 1.234,50", 1),
        ("money", "$5", "€5", 0),
        ("money", "EUR 5", "5.00 €", 1),
        ("date", "2024-03-01", "20240301", 1),
        ("date", "2024-03-01T12:00:00Z", "2024-03-01T13:00:00+01:00", 1),
        ("date", "2024-03", "2024-03-01", 0),
        ("date(partial=True)", "2024-03", "2024-03-01", 1),
        ("date(partial=True)", "2024-03-01", "2024-03", 0),
        ("date", "10:30", "10:30:00", 1),
        ("date(format='%d/%m/%Y')", "01/03/2024", "1/3/2024", 1),
        ("date(format='%H:%M:%S on %d/%m/%Y')", "10:30:00 on 01/03/2024", "2024-03-01T10:30:00", 1),
        ("date:%d/%m/%Y", "01/03/2024", "2024-03-01", 1),
        ("date:%d/%m/%Y %H:%M", "01/03/2024 10:30", "2024-03-01T10:30", 1),
        ("date(format='%d/%m/%Y')", "01/03/2024", "2024-03-01", 1),
        ("date(format='%d/%m/%Y')", "01/03/2024", "2024-01-03", 0),
        ("fuzzy(0.8)", "Rijksmuseum", "Rijksmuseun", 1),
        ("fuzzy", "Rijksmuseum", "Mauritshuis", 0),
        ("enum", "NOT_PAID", "not paid", 1),
        ("identifier", "NL-AmRM", "nl amrm", 1),
        ("identifier", "NL-AmRM", "NL-AmRN", 0),
    ],
)
def test_comparators(name: str, gold: Any, pred: Any, expected: float) -> None:
    assert comparator(name)(gold, pred) == expected
    assert counts({"f": gold}, {"f": pred}, compare={"f": name})[0] == expected


def test_gold_that_is_no_date_is_reported() -> None:
    with pytest.warns(UserWarning, match=r"not in ISO 8601; state its form"):
        assert comparator("date")("01/03/2024", "2024-03-01") == 0
    with pytest.warns(UserWarning, match=r"not in ISO 8601 or %d/%m/%Y"):
        comparator("date(format='%d/%m/%Y')")("2024/03/01", "2024-03-01")


def test_embeddings_and_functions_compare_too() -> None:
    from goldassay.models.embedding import Function, register

    register(Function(lambda texts: [[text.count(c) + 0.1 for c in "aeiou"] for text in texts], "vowels of records"))
    name = "embedding(threshold=0.99, model='vowels of records')"
    assert counts({"f": "tea time"}, {"f": "teatime"}, compare={"f": name}) == (1, 0, 0)

    def first_letter(gold: str, pred: str) -> bool:
        return gold[0] == pred[0]

    measure = records.FieldF1(compare={"f": first_letter})
    assert measure({"record": {"f": "tea"}}, {"record": {"f": "tee"}}).tally == Counts(1, 0, 0)
    assert "f: first_letter" in measure.conventions
    assert parse(stored(measure)).key == "field_f1"  # a function is not stored: the name and the kind of evidence are


def test_wrong_comparators_and_schemas_are_one_line() -> None:
    with pytest.raises(GoldassayError, match="no comparator reads as 'fuzy'"):
        records.FieldF1(compare={"f": "fuzy"})
    with pytest.raises(GoldassayError, match=r"no comparator reads as 'fuzzy\(limit=1\)'"):
        records.FieldF1(compare={"f": "fuzzy(limit=1)"})
    with pytest.raises(GoldassayError, match="no comparator reads as 'money:eur'"):
        records.FieldF1(compare={"f": "money:eur"})
    with pytest.raises(GoldassayError, match="a schema is a pydantic model"):
        records.FieldF1(schema=3)
    with pytest.raises(GoldassayError, match="blank is same, null or apart"):
        records.FieldF1(blank="none")


def reference_anls(gold: str, pred: str, threshold: float = 0.5) -> float:
    """ANLS of one answer by DocVQA's script: 0 only below the threshold; the length is that of the texts as written."""
    from nltk import edit_distance

    a, b = (" ".join(side.strip().lower().split()) for side in (gold, pred))
    length = max(len(gold.upper()), len(pred.upper()))
    similarity = 1 - (edit_distance(a, b) / length if length else 0.0)
    return 0.0 if similarity < threshold else similarity


@drawn(100)
@given(st.text("abcAB 1", min_size=1, max_size=8), st.text("abcAB 1", min_size=1, max_size=8))
def test_anls_is_that_of_the_definition(gold: str, pred: str) -> None:
    assert comparator("anls")(gold, pred) == pytest.approx(reference_anls(gold, pred))
    if gold.strip() and pred.strip():  # a record of one field has its ANLS as its F1
        assessed = records.FieldF1(compare={"answer": "anls"})(
            {"record": {"answer": gold}}, {"record": {"answer": pred}}
        )
        assert assessed.tally.value == pytest.approx(reference_anls(gold, pred))
