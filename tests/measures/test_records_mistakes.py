"""The errors of records: their kinds and their places."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.measures import records


def counts(gold: Any, pred: Any, **options: Any) -> tuple[float, float, float]:
    tally = records.FieldF1(**options)({"record": gold}, {"record": pred}).tally
    return tally.tp, tally.fp, tally.fn


def kinds(gold: Any, pred: Any, **options: Any) -> list[str]:
    return [error.kind for error in records.FieldF1(**options)({"record": gold}, {"record": pred}).errors]


def test_a_missing_item_is_one_error_that_costs_its_leaves() -> None:
    lines = [{"what": f"w{n}", "qty": n, "price": 10 + n} for n in range(4)]
    (error,) = records.FieldF1()({"record": {"lines": lines}}, {"record": {"lines": lines[1:]}}).errors
    assert (error.kind, error.size, error.gold_type) == ("missing_item", 3, "lines")
    assert counts({"lines": lines}, {"lines": lines[1:]}) == (9, 0, 3)
    assert counts({"lines": lines}, {"lines": lines[1:]}, ordered="all") == (9, 0, 3)
    assert counts({"lines": lines}, {"lines": [*lines, {"what": "new"}]}) == (12, 1, 0)


def test_values_of_two_items_that_were_swapped_are_one_error() -> None:
    gold = {"lines": [{"what": "green tea", "qty": 2}, {"what": "red jam", "qty": 1}]}
    pred = {"lines": [{"what": "green tea", "qty": 1}, {"what": "red jam", "qty": 2}]}
    (error,) = records.FieldF1()({"record": gold}, {"record": pred}).errors
    assert (error.kind, error.size, error.gold_type) == ("swapped_items", 2, "lines.qty")


@pytest.mark.parametrize(
    ("gold", "pred", "kind"),
    [
        (12.5, "12.50", "wrong_type"),
        ("12 kg", "12 g", "wrong_unit"),
        ("€ 5", "$ 5", "wrong_unit"),
        ("2024-03-01", "01/03/2024", "wrong_format"),
        ("Delft", "DELFT", "wrong_format"),
        ("NL-AmRM", "NLAmRM", "wrong_format"),
        ("12 kg", "13 kg", "wrong_value"),
        ("1.5 kg", "15 kg", "wrong_value"),
        ("NL-7", "NL 7", "wrong_format"),
        ("12.50", "RM 12.50", "wrong_unit"),
        ("Olive 9 Pharmacy", "Olive9Pharmacy", "wrong_format"),
        ("Olive 9 Pharmacy Ltd", "Olive9Pharmacy", "wrong_value"),
        ([1], {"a": 1}, "wrong_type"),
    ],
)
def test_wrong_values_are_typed(gold: Any, pred: Any, kind: str) -> None:
    assert set(kinds({"f": gold}, {"f": pred})) == {kind}


def test_an_error_names_its_places_on_both_sides() -> None:
    gold = {"lines": [{"what": "green tea", "qty": 2}, {"what": "red jam", "qty": 1}], "no": "7"}
    pred = {"lines": [{"what": "red jam", "qty": 3}], "vat": 1}
    errors = records.FieldF1()({"record": gold}, {"record": pred}).errors
    assert {error.kind: error.context for error in errors} == {
        "wrong_value": "lines[1].qty | lines[0].qty",
        "missing_item": "lines[0] | ",
        "missing_field": "no | ",
        "invented_field": " | vat",
    }
