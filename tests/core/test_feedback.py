"""Feedback with the notes of a review: which note an example gets, what is never in it, and who hears of an error."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay._support.exceptions import DataError
from goldassay.core.feedback import FEEDBACK_SIZE, REVIEWED_FILE, ReviewNotes
from goldassay.measures import answering, classification, trajectories


def reviewed(folder: Path, *rows: tuple[str, str, str | None, tuple[str, ...]]) -> Path:
    """A review's folder with records of (id, text, note, modes)."""
    fields = ("id", "fields", "note", "modes")
    lines = [dict(zip(fields, (name, {"text": text}, note, modes), strict=True)) for name, text, note, modes in rows]
    (folder / REVIEWED_FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def example(text: str, **more: Any) -> dspy.Example:
    return dspy.Example(text=text, label="museum", **more).with_inputs("text")


WRONG = dspy.Prediction(label="archive")
INVOICE = "Invoice 17 of Bakker, net 100.00, VAT 21.00, total 121.00"
NOTE = "takes the net sum for the total"


def test_the_same_inputs_get_their_own_note(tmp_path: Path) -> None:
    folder = reviewed(tmp_path, ("a", INVOICE, NOTE, ("missing total",)), ("b", "A letter from Delft", None, ()))
    metric = Metric(classification.Accuracy(), feedback_from=folder)
    lines = metric(example(f"  {INVOICE} "), WRONG).feedback.splitlines()
    assert lines[1] == f"A reviewer noted on an earlier output for these inputs: {NOTE} (missing total)"
    assert lines[2].startswith("- ")  # the errors follow


def test_a_record_without_failure_has_no_note_though_a_similar_one_has(tmp_path: Path) -> None:
    near = INVOICE.replace("17", "18")
    notes = ReviewNotes(reviewed(tmp_path, ("a", INVOICE, NOTE, ()), ("b", near, None, ())))
    assert notes.about(example(near)) == ""
    assert f'similar inputs ("{INVOICE}"): {NOTE}' in notes.about(example(INVOICE.replace("17", "19")))


def test_far_inputs_get_none_whatever_their_id(tmp_path: Path) -> None:
    notes = ReviewNotes(reviewed(tmp_path, ("1", INVOICE, NOTE, ())))
    assert notes.about(example("The harbour was frozen all winter.", id=1)) == ""
    assert notes.about(dspy.Example(label="museum")) == ""


def test_of_near_inputs_those_with_the_same_id_are_nearest(tmp_path: Path) -> None:
    closer = INVOICE.replace("17", "19")
    notes = ReviewNotes(reviewed(tmp_path, ("x", INVOICE, "of x", ()), ("y", closer, "of y", ())))
    changed = INVOICE.replace("17", "1 9")
    assert notes.about(example(changed)).endswith("of y")
    assert notes.about(example(changed, id="x")).endswith("of x")


def test_nothing_is_noted_where_nothing_is_wrong(tmp_path: Path) -> None:
    metric = Metric(classification.Accuracy(), feedback_from=reviewed(tmp_path, ("a", INVOICE, NOTE, ())))
    assert NOTE not in metric(example(INVOICE), dspy.Prediction(label="museum")).feedback
    assert NOTE in metric(example(INVOICE), WRONG).feedback


def test_a_function_as_a_metric_has_notes_too(tmp_path: Path) -> None:
    folder = reviewed(tmp_path, ("a", INVOICE, NOTE, ()))
    metric = Metric.of(lambda gold, pred: gold["label"] == pred["label"], feedback_from=folder)
    assert NOTE in metric(example(INVOICE), WRONG).feedback


def test_notes_are_bounded_and_without_secrets(tmp_path: Path) -> None:
    key = "sk-abcdef1234567890"
    folder = reviewed(tmp_path, ("a", f"{INVOICE} {key}", f"see {key}\n{'long ' * 1000}", ()))
    metric = Metric(classification.Accuracy(), feedback_from=folder)
    for text in (f"{INVOICE} {key}", INVOICE):
        feedback = metric(example(text), WRONG).feedback
        assert "A reviewer noted" in feedback
        assert key not in feedback
        assert len(feedback) <= FEEDBACK_SIZE
        assert "- " in feedback  # the errors still fit


@pytest.mark.parametrize("line", [None, '{"id": "a"}', '{"id": "a", "fields": 3, "note": "x", "modes": []}'])
def test_a_folder_without_notes_is_an_error(line: str | None, tmp_path: Path) -> None:
    if line:
        (tmp_path / REVIEWED_FILE).write_text(f"{line}\n")
    with pytest.raises(DataError, match=REVIEWED_FILE):
        Metric(classification.Accuracy(), feedback_from=tmp_path)


def test_a_thousand_notes_cost_little(tmp_path: Path) -> None:
    rows = [(str(n), f"Invoice {n} of customer {n * 7919 % 1000} " * 5, f"note {n}", ()) for n in range(1000)]
    notes = ReviewNotes(reviewed(tmp_path, *rows))
    notes.about(example("Invoice"))  # the index
    began = time.process_time()
    for n in range(100):
        assert notes.about(example(f"Invoices {n} of customer {n * 7919 % 1000} " * 5))
    assert time.process_time() - began < 2.0


def test_nothing_was_lost_before_the_predictor_that_writes_the_query() -> None:
    gold = dspy.Example(id="1", question="When did Gouda begin?", answers=["1874"]).with_inputs("question")
    pred = dspy.Prediction(answer="1907")
    asked = {"question": gold.question}
    calls = {
        "plan": (None, asked, dspy.Prediction(query="Delft")),
        "reply": (None, {**asked, "passages": "Delft 1907"}, pred),
    }
    heard = {
        name: Metric(answering.ExactMatch())(gold, pred, pred_name=name, pred_trace=[call]).feedback
        for name, call in calls.items()
    }
    assert "expected “1874”" in heard["plan"]
    assert "1 more were lost before 'reply'" in heard["reply"]


def test_a_wrong_call_was_not_lost_before_the_predictor_that_makes_it() -> None:
    gold = dspy.Example(id="1", question="Where?", calls=[{"name": "search", "args": {"query": "Gouda"}}])
    calls = dspy.ToolCalls.from_dict_list([{"name": "search", "args": {"query": "Delft"}}])
    pred = dspy.Prediction(calls=calls)
    call = (None, {"question": "Where?", "tools": ["search"]}, pred)
    feedback = Metric(trajectories.CallF1())(gold, pred, pred_name="plan", pred_trace=[call]).feedback
    assert '- Step 1: search: query is "Gouda", not "Delft".' in feedback
