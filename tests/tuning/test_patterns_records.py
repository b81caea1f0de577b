"""Errors of records in tuning: patterns by field with their cost, rules, and feedback for a predictor."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.measures import records
from goldassay.reporting import tuning as tables
from goldassay.running.comparing import from_predictions
from goldassay.tuning.edits import LabelWords
from goldassay.tuning.instructions import rules_of
from goldassay.tuning.patterns import find, repair

GOLD = {"no": "7", "day": "2024-03-01", "lines": [{"what": "tea", "qty": 2}, {"what": "jam", "qty": 1}]}


@pytest.mark.parametrize(
    "pred",
    [
        {**GOLD, "day": "01/03/2024"},
        {**GOLD, "lines": GOLD["lines"][:1]},
        {**GOLD, "lines": [*GOLD["lines"], {"what": "salt", "qty": 9}]},
        {**GOLD, "lines": [{"what": "tea", "qty": 1}, {"what": "jam", "qty": 2}]},
        {"day": "March", "vat": {"rate": 1, "of": 2}, "lines": "none"},
        "{",
    ],
)
def test_without_its_errors_a_record_is_right(pred: Any) -> None:
    assessment = records.FieldF1()({"record": GOLD}, {"record": pred})
    tally, errors = assessment.tally, assessment.errors
    assert (tally + repair(tally, errors, errors)).value == pytest.approx(1.0)


def test_patterns_are_of_fields_and_cost_what_they_lose() -> None:
    gold: list[dict[str, Any]] = [{"id": str(n), "record": {**GOLD, "no": f"{n}{n}"}} for n in range(8)]
    pred: list[dict[str, Any]] = [
        {"record": {**example["record"], "day": "1 March"} | ({} if n % 2 else {"lines": []})}
        for n, example in enumerate(gold)
    ]
    run = from_predictions(gold, pred, {"field_f1": records.FieldF1()}, name="x")
    lines, day = find(run.cases)
    # of 48 gold leaves 16 are lost with their lists, and 8 days are wrong: tp 24, fp 8, fn 24
    assert (lines.kind, lines.gold_type, lines.count) == ("missing_field", "lines", 4)
    assert (day.kind, day.gold_type, day.count) == ("wrong_value", "day", 8)
    value = 48 / (48 + 8 + 24)
    assert run.values["field_f1"] == pytest.approx(value)
    assert lines.loss == pytest.approx(80 / (80 + 8 + 8) - value)
    assert day.loss == pytest.approx(64 / (64 + 16) - value)
    words = LabelWords(dspy.Predict("text -> record"), [])
    assert rules_of(lines, words) == ["Give lines wherever the text says it."]


def test_patterns_of_one_kind_can_be_told_apart_and_values_are_no_rules() -> None:
    names = ["Gouda Bakery", "Tiel Bakery", "Delft Cheese", "Hoorn Books", "Breda Tools", "Venlo Fish"]
    gold: list[dict[str, Any]] = [
        {"id": str(n), "record": {"total": f"{n}.{n + 10}", "shop": names[n % 6]}} for n in range(24)
    ]
    pred = [
        {"record": {"total": f"{90 - n}.{99 - n}", "shop": f"The {row['record']['shop']} Ltd"}}
        for n, row in enumerate(gold)
    ]
    patterns = find(from_predictions(gold, pred, {"field_f1": records.FieldF1()}, name="x").cases)
    (total,) = [pattern for pattern in patterns if pattern.gold_type == "total"]  # digits make no groups
    assert total.count == 24
    seen = [(pattern.title, *tables.details(pattern)) for pattern in patterns]
    assert len(set(seen)) == len(seen)
    assert "0.10 → 90.99" in " ".join(tables.details(total))
    words = LabelWords(dspy.Predict("text -> record"), [])
    assert rules_of(total, words) == []  # an amount of one receipt says nothing of the next


def test_feedback_names_the_leaves_for_the_predictor_that_wrote_them() -> None:
    metric = Metric(records.FieldF1())
    pred = dspy.Prediction(record={**GOLD, "day": "March", "no": 7})
    trace = [(dspy.Predict("text -> record"), {"text": "No. 7 of the first of March"}, pred)]
    score = metric(dspy.Example(text="x", record=GOLD), pred, pred_name="read", pred_trace=trace)
    assert 'day is "2024-03-01", not "March".' in score.feedback
    assert 'no is "7", not 7: write it as a text.' in score.feedback
    assert "were lost before" not in score.feedback  # a date need not stand in the text as gold writes it
