"""The terse prompt, and typed answers through it."""

from __future__ import annotations

from typing import Any, Literal

import dspy
import pytest
from pydantic import BaseModel

from goldassay.models.lm import TerseAdapter


class Place(BaseModel):
    name: str
    kind: Literal["city", "river"]


class Places(dspy.Signature):
    """List the places."""

    text: str = dspy.InputField()
    hints: list[str] = dspy.InputField()
    places: list[Place] = dspy.OutputField(desc="as they stand in the text")
    sort: Literal["letter", "deed"] = dspy.OutputField()


def contents(demos: list[dict[str, Any]]) -> list[str]:
    result = TerseAdapter("json").format(Places, demos, {"text": "De Rijn bij Arnhem", "hints": ["water"]})
    return [f"{message['role']}| {message['content']}" for message in result]


def test_the_prompt_is_instructions_inputs_and_compact_demonstrations() -> None:
    demo = {"text": "Gouda", "hints": [], "places": [Place(name="Gouda", kind="city")], "sort": "deed"}
    assert contents([demo]) == [
        "system| List the places.\nplaces: as they stand in the text\nsort: letter, deed",
        "user| text: Gouda\nhints: []",
        'assistant| {"places": [{"name": "Gouda", "kind": "city"}], "sort": "deed"}',
        'user| text: De Rijn bij Arnhem\nhints: ["water"]',
    ]


def test_a_demonstration_without_some_output_shows_the_others_and_no_null() -> None:
    assert contents([{"text": "Gouda", "hints": [], "sort": "deed"}])[2] == 'assistant| {"sort": "deed"}'


def test_it_has_less_than_half_the_words_of_the_json_adapter() -> None:
    inputs = {"text": "De Rijn bij Arnhem", "hints": ["water"]}
    terse, plain = (
        sum(len(str(message["content"]).split()) for message in adapter.format(Places, [], inputs))
        for adapter in (TerseAdapter(), dspy.JSONAdapter())
    )
    assert terse < plain / 2


def test_typed_answers_are_parsed() -> None:
    result = TerseAdapter().parse(Places, '{"places": [{"name": "Rijn", "kind": "river"}], "sort": "letter"}')
    assert result == {"places": [Place(name="Rijn", kind="river")], "sort": "letter"}


def test_prose_and_a_fence_around_the_answer_do_not_matter() -> None:
    text = 'Sure:\n```json\n{"places": [], "sort": "deed",}\n```'
    assert TerseAdapter().parse(Places, text) == {"places": [], "sort": "deed"}


def test_a_label_outside_the_list_is_an_error_of_the_answer() -> None:
    with pytest.raises(dspy.utils.exceptions.AdapterParseError, match="sort"):
        TerseAdapter().parse(Places, '{"places": [], "sort": "poem"}')
