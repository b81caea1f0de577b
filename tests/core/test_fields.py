"""Reading fields from whatever records are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dspy
import pytest

from goldassay._support.exceptions import DataError, FieldError
from goldassay.core.fields import check_unique, cluster, clusters, identity, read, shared_text, sides
from goldassay.core.measure import failed, gold_field, pred_field


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
    with pytest.raises(FieldError, match=r"the prediction has no field 'entities'; it has spans, note; rename with"):
        pred_field(dspy.Prediction(spans=[], note=""), "entities")
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


@pytest.mark.parametrize("name", [0, "0", 0.5, "a"])
def test_an_id_and_a_document_may_be_any_string_or_number(name: object) -> None:
    for record in ({"id": name, "document": name}, dspy.Example(id=name, document=name)):
        assert (identity(record, 7), cluster(record, 7)) == (str(name), str(name))


@pytest.mark.parametrize("nothing", [None, "", float("nan")])
def test_a_record_without_a_name_stands_for_itself(nothing: object) -> None:
    assert identity({"id": nothing}, 3) == "3"
    assert cluster({"document": nothing}, 3) == 3 != cluster({"document": 3}, 0)
    assert clusters([{"document": 3}, {}, {}, {}]) is None


def test_the_document_of_a_record() -> None:
    named = [{"document": "d"}, {"meta": {"document": "d"}}, {"documents": ["d"]}]
    assert clusters(named) == ["d", "d", "d"]
    assert cluster({"documents": ["d", "e"]}, 4) == 4  # a question about two documents belongs to neither
    assert cluster({"documents": ["a long text " * 50]}, 4) == 4


@pytest.mark.parametrize("ids", [[0, "0"], ["1", 1], ["a", "b", "a"], ["1", None]])
def test_ids_that_read_alike_are_duplicates(ids: list[object]) -> None:
    with pytest.raises(DataError, match="duplicate document id"):
        check_unique([{"id": name} for name in ids])


def test_an_answer_that_is_called_text_makes_no_examples_share_one() -> None:
    rows = [{"label": f"word {number}", "text": "yes"} for number in range(5)]
    assert "5 of 5 examples share a text" in shared_text(rows)
    assert shared_text(rows, outputs=["text"]) == ""


@pytest.mark.parametrize(
    "text", ['[{"start": 0}]', '{"entities": [{"start": 0}]}', 'Here it is:\n```json\n[{"start": 0}]\n```\nDone.']
)
def test_what_a_model_wrote_as_json_is_read_in_a_field_and_as_the_whole_answer(text: str) -> None:
    assert pred_field({"entities": text}, "entities") == [{"start": 0}]
    assert pred_field(text, "entities") == [{"start": 0}]
    assert gold_field({"entities": text}, "entities") == text


def test_a_label_in_a_fence_is_the_label_and_an_answer_stays_as_it_is() -> None:
    assert pred_field({"label": '```json\n{"label": "M"}\n```'}, "label") == "M"
    assert pred_field("```\nM\n```", "label") == "M"
    assert pred_field("[1]", "label") == "[1]"
    assert pred_field({"answer": '{"answer": "1885"}'}, "answer") == '{"answer": "1885"}'


def test_the_last_message_is_a_path_that_the_error_names() -> None:
    chat = {"messages": [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "1885"}]}
    with pytest.raises(FieldError, match="columns={'pred.answer': 'messages.-1.content'}"):
        pred_field(chat, "answer")
    _, pred = sides({"pred.answer": "messages.-1.content"}, {}, chat)
    assert pred_field(pred, "answer") == "1885"
    with pytest.raises(FieldError, match="no field '5'"):
        read(chat, "messages.5.content")


def test_a_column_may_hold_none() -> None:
    gold, pred = sides({"label": "team"}, {"team": "a"}, {"team": None})
    assert (gold_field(gold, "label"), pred_field(pred, "label")) == ("a", None)
    _, pred = sides({"label": "team"}, {"team": "a"}, {"team": None, "label": "b"})
    assert pred_field(pred, "label") == "b"


def test_a_field_of_a_near_name_is_the_column_that_the_error_names() -> None:
    with pytest.raises(FieldError, match="columns={'gold.answers': 'answer'}"):
        gold_field({"question": "?", "answer": "1885"}, "answers")


@pytest.mark.parametrize("field", ["score", "confidence"])
def test_a_number_about_an_answer_is_not_the_answer(field: str) -> None:
    with pytest.raises(FieldError, match="the prediction has no field 'label'"):
        pred_field({field: 1.0}, "label")
