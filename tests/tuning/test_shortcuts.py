"""Planted shortcuts are found, and clean gold is not warned about."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from tests.simulations.planted_shortcuts import BESIDE_TEXT, IN_TEXT, gold, warned

from goldassay import explain
from goldassay.tuning.shortcuts import shortcuts


def test_planted_kinds_are_found_and_clean_sets_are_not() -> None:
    kinds = [*IN_TEXT, *BESIDE_TEXT]
    found = warned(kinds, range(2))
    assert sum(share == 1 for share in found.values()) >= 0.8 * len(kinds), found
    assert warned([""], range(10))[""] == 0


@pytest.mark.parametrize(
    ("kind", "feature"),
    [
        ("first word", "the first word"),
        ("source", "the source"),
        ("near copies", "near copies"),
        ("mark", "the mark #"),
    ],
)
def test_a_shortcut_is_named(kind: str, feature: str) -> None:
    assert feature in [shortcut.feature for shortcut in shortcuts(gold(kind, seed=1))]


def test_examples_of_one_document_count_once() -> None:
    rows = [row.copy(document=f"d{index % 10}").with_inputs("text") for index, row in enumerate(gold("length", 0))]
    assert shortcuts(rows) == []  # ten documents are too few


def test_what_an_answer_rests_on_is_no_label() -> None:
    rows = [
        row.copy(source="ab"[index % 2], documents=[f"d{index}"] if index % 2 else []).with_inputs("text")
        for index, row in enumerate(gold("", 0))
    ]
    assert shortcuts(rows) == []


def test_a_question_of_a_record_is_no_answer_in_its_place() -> None:
    fill = "abcdefghijklmnopqrstuvwxyz"
    rows = [
        {"id": f"r{index}", "question": f"{fill[index % 26] * 9} {index}?", "context": fill[index % 7] * 80}
        for index in range(60)
    ]
    assert not [shortcut for shortcut in shortcuts(rows) if "question" in str(shortcut)]


def test_explain_says_so(monkeypatch: Any) -> None:
    class Yes:
        def complete(self, request: Any) -> Any:
            from dspy.lm15 import Message, Response, TextPart, Usage

            message = Message.assistant([TextPart("[[ ## label ## ]]\nyes\n\n[[ ## completed ## ]]")])
            usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
            return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    lm = dspy.LM("scripted/yes", engine=Yes(), cache=False)
    program = dspy.Predict(dspy.Signature("text -> label", "Say yes."))
    metric = lambda gold, pred, trace=None: gold.label == pred.label  # noqa: E731
    explained = explain(program, gold("first word", seed=1), metric, lm=lm, budget="calls=60")
    assert any("the first word" in note for note in explained.notes)
