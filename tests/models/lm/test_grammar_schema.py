"""Bounds that a schema states are kept; what it leaves open is bounded; nothing else is touched."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from goldassay.models.lm.grammar import ITEMS, LARGEST_NUMBER, TEXT_CHARACTERS, bound, json_grammar, text_limits


def test_an_open_array_of_open_strings_is_bound() -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    assert bound(schema) == {
        "type": "array",
        "maxItems": ITEMS,
        "items": {"type": "string", "maxLength": TEXT_CHARACTERS},
    }


def test_stated_limits_are_kept() -> None:
    schema = {"type": "array", "maxItems": 40, "items": {"type": "string", "maxLength": 7}}
    assert bound(schema, items=3, characters=5) == schema


@pytest.mark.parametrize("closed", [{"enum": ["a"]}, {"const": "a"}, {"pattern": "^a+$"}, {"format": "date"}])
def test_a_string_that_is_bounded_another_way_stays(closed: dict[str, Any]) -> None:
    schema = {"type": "string", **closed}
    assert bound(schema) == schema


def test_a_field_of_its_own_may_be_longer_than_a_string_in_a_list_or_definition() -> None:
    string = {"type": "string"}
    schema = {
        "type": "object",
        "$defs": {"Name": {"type": "object", "properties": {"text": string}}},
        "properties": {"answer": string, "names": {"type": "array", "items": string}},
    }
    bounded = bound(schema, characters=30)
    assert bounded["properties"]["answer"]["maxLength"] == TEXT_CHARACTERS
    assert bounded["properties"]["names"]["items"]["maxLength"] == 30
    assert bounded["$defs"]["Name"]["properties"]["text"]["maxLength"] == 30


def test_alternatives_are_bounded_too() -> None:
    bounded = bound({"anyOf": [{"type": "string"}, {"type": "null"}]})
    assert bounded == {"anyOf": [{"type": "string", "maxLength": TEXT_CHARACTERS}, {"type": "null"}]}


def test_the_schema_that_is_given_stays_as_it_is() -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    before = copy.deepcopy(schema)
    bound(schema)
    assert schema == before


def test_objects_have_no_other_fields_unless_the_schema_says_so() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    schema = {"$defs": {"Inner": inner}, "properties": {"inner": {"$ref": "#/$defs/Inner"}}}
    bounded = bound(schema)
    assert bounded["additionalProperties"] is False
    assert bounded["$defs"]["Inner"]["additionalProperties"] is False
    assert bound({**inner, "additionalProperties": True})["additionalProperties"] is True
    assert "additionalProperties" not in bound({"allOf": [inner, inner]})["allOf"][0]
    assert bound({"type": "object"}) == {"type": "object"}


def test_the_digits_of_numbers_are_bounded() -> None:
    assert bound({"type": ["integer", "null"]})["maximum"] == LARGEST_NUMBER
    number = bound({"type": "number", "exclusiveMinimum": 0})
    assert number == {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_NUMBER, "multipleOf": 1e-6}
    assert bound({"type": "integer", "minimum": 10**15}) == {"type": "integer", "minimum": 10**15}


def test_a_text_may_be_half_as_long_again_as_the_longest_of_the_demonstrations() -> None:
    limits = text_limits([{"shops": [{"address": "a" * 100}]}], ["shops"])
    address = {"properties": {"address": {"type": "string"}, "city": {"type": "string"}}}
    fields = bound({"$defs": {"Shop": address}}, limits=limits)["$defs"]["Shop"]["properties"]
    assert fields["address"]["maxLength"] == 150
    assert fields["city"]["maxLength"] == TEXT_CHARACTERS == 400


def test_a_grammar_comes_from_llama_cpp() -> None:
    bounded = json_grammar({"type": "object", "properties": {"label": {"enum": ["museum"]}}})
    assert "museum" in bounded
