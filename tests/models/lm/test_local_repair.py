"""A cut answer keeps its complete parts, wherever it is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.models.lm.local import complete

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        ('{"names": [{"text": "Delft", "type": "TOP"}, {"text": "Gou', {"names": [{"text": "Delft", "type": "TOP"}]}),
        ('{"names": [{"text": "Delft", "type": "TOP"}', {"names": [{"text": "Delft", "type": "TOP"}]}),
        ('{"names": [{"text": "Delft"', {"names": []}),  # the first item lacks its type: it is not whole
        ('{"names": [', {"names": []}),
        ('{"names":', {}),
        ('{"na', {}),
        ('{"answer": "It was buil', {"answer": "It was buil"}),
        ('{"answer": "caf\\u00', {"answer": "caf"}),
        ('{"answer": "\\ud83d', {"answer": ""}),  # half of an emoji
        ('{"answer": "a \\', {"answer": "a "}),
        ('{"words": ["one", "tw', {"words": ["one"]}),
        ('{"n": 1911, "m": [1, 2', {"n": 1911, "m": [1]}),  # 2 may have been the beginning of 25
        ('{"n": 19', {}),
        ('{"n": 1e', {}),  # 1e5 is not 1
        ('{"sure": true', {"sure": True}),
        ('{"sure": tr', {}),
        ('{"in": {"a": 1, "b"', {}),
        ('{"in": {"a": 1, "b": [{"c": 2}, {"c"', {"in": {"a": 1, "b": [{"c": 2}]}}),
        ('{ "a" : [ 1 , 2 ] , "b" : "x', {"a": [1, 2], "b": "x"}),
        ('{"q\\"": ["a"', {'q"': ["a"]}),
    ],
)
def test_what_is_kept(cut: str, kept: Any) -> None:
    assert json.loads(complete(cut)) == kept


def test_a_whole_answer_stays_as_it_is() -> None:
    assert complete('{"a":  [1]}') == '{"a":  [1]}'


@drawn(200)
@given(st.dictionaries(st.text(max_size=4), JSON, max_size=3), st.data())
def test_every_cut_gives_an_object_whose_parts_stand_in_the_whole(whole: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(whole, ensure_ascii=data.draw(st.booleans()))
    place = data.draw(st.integers(1, len(text)))
    repaired = json.loads(complete(text[:place]))
    for key, value in repaired.items():
        if isinstance(value, list) and value != whole[key]:
            assert value == whole[key][: len(value)]
        elif isinstance(value, str):
            assert whole[key].startswith(value)
        elif isinstance(value, dict) and value != whole[key]:  # a record whose last list was cut
            *names, last = value
            assert [*names, last] == list(whole[key])[: len(value)]
            assert all(value[name] == whole[key][name] for name in names)
            assert value[last] == whole[key][last][: len(value[last])]
        else:
            assert value == whole[key]
    assert list(repaired) == list(whole)[: len(repaired)]
