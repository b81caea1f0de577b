"""The scorecard of records."""

from __future__ import annotations

from goldassay.measures import records


def test_the_scorecard_takes_its_schema_from_gold() -> None:
    gold = [{"record": {"no": 1, "day": "2024-03-01"}}, {"record": {"no": 2, "day": "2024-03-02", "vat": 5}}]
    pred = [{"record": {"no": 1, "day": "20240301"}}, {"record": {"no": "2"}}]
    card = records.scorecard(gold, pred)
    # right: no, day of the first; wrong type: no; missing: day, vat
    assert card.counts["field"] == {"tp": 2, "fp": 1, "fn": 3}
    assert card.values["schema_valid"] == 0.5
    assert card.values["record_accuracy"] == 0.5
    assert "compare=no: number, day: date, vat: number" in card.conventions["field_f1"]
    assert card.by["field"]["vat"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1, "predicted": 0}
    invalid = records.scorecard(gold, [{"record": "{"}, {"record": None}])
    assert invalid.values["field_recall"] == 0
    assert "2 predictions are not records" in invalid.warnings[0]


def test_errors_of_form_alone_are_told() -> None:
    gold = [{"record": {"total": "5.00"}}, {"record": {"total": 5.0}}, {"record": {"total": 7}}]
    pred = [{"record": {"total": 5.0}}, {"record": {"total": "5.0"}}, {"record": {"total": "VII"}}]
    (note,) = records.scorecard(gold, pred).warnings
    assert note.startswith("2 errors are of form alone (case, marks, Unicode, type or offsets); the first: total is ")
