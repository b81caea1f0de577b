"""Reading fields from whatever records are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dspy
import pytest

from goldassay.exceptions import FieldError
from goldassay.fields import read, sides
from goldassay.measure import failed, gold_field, pred_field


@pytest.mark.parametrize(
    "record",
    [
        {"label": "M", "rag": {"contexts": ["a"]}},
        dspy.Example(label="M", rag={"contexts": ["a"]}),
        dspy.Prediction(label="M", rag=SimpleNamespace(contexts=["a"])),
        SimpleNamespace(label="M", rag={"contexts": ["a"]}),
    ],
)
def test_dicts_examples_predictions_and_objects_are_read_alike(record: object) -> None:
    assert read(record, "label") == "M"
    assert read(record, "rag.contexts") == ["a"]
    assert read(record, "nothing", "default") == "default"


def test_a_name_with_a_dot_in_it_wins_over_the_path() -> None:
    assert read({"a.b": 1, "a": {"b": 2}}, "a.b") == 1


def test_a_missing_field_says_what_there_is_and_how_to_rename() -> None:
    with pytest.raises(FieldError, match=r"the prediction has no field 'entities'; it has spans; rename with columns="):
        pred_field(dspy.Prediction(spans=[]), "entities")
    with pytest.raises(FieldError, match=r"the gold example has no field 'label'"):
        gold_field({"text": "x"}, "label")


def test_a_failed_program_has_no_fields_and_that_is_no_field_error() -> None:
    assert pred_field(None, "entities") is None
    assert pred_field(dspy.Prediction(), "entities") is None
    assert failed(dspy.Prediction(goldassay_failure="ValueError: no")) == "ValueError: no"
    assert failed(dspy.Prediction(entities=[])) == ""


def test_columns_by_name_path_and_callable() -> None:
    gold, pred = {"truth": "x"}, {"rag": {"contexts": ["c"]}, "out": "y"}
    columns: dict[str, Any] = {
        "retrieved_contexts": "rag.contexts",
        "reference": "truth",
        "answer": lambda row: row["out"].upper(),
        "gold.label": "truth",
    }
    renamed_gold, renamed_pred = sides(columns, gold, pred)
    assert read(renamed_pred, "retrieved_contexts") == ["c"]
    assert read(renamed_pred, "answer") == "Y"
    assert read(renamed_gold, "reference") == read(renamed_gold, "label") == "x"
    assert read(renamed_gold, "truth") == "x"


def test_without_columns_records_stay_what_they_are() -> None:
    gold, pred = object(), object()
    assert sides(None, gold, pred) == (gold, pred)
