"""Words and signs of a text: what a character carries stays with it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldassay.text.words import places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In Delft, 1800.", ["In", "Delft", ",", "1800", "."]),
        ("cafe\u0301s", ["cafe\u0301s"]),  # a combining accent
        (
            "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd \u05d0",
            ["\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd", "\u05d0"],
        ),  # vowel points
        ("\u0939\u093f\u0928\u094d\u0926\u0940", ["\u0939\u093f\u0928\u094d\u0926\u0940"]),  # vowel signs, a virama
        ("\U0001f3db\ufe0f\U0001f3db", ["\U0001f3db\ufe0f", "\U0001f3db"]),  # a variation selector; two signs are two
        ("\u0301a", ["\u0301", "a"]),  # a mark with nothing before it is a sign
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in places(text)] == expected


@given(st.text())
def test_every_character_but_white_space_stands_in_one_word(text: str) -> None:
    spans = places(text)
    assert "".join(text[start:end] for start, end in spans) == re.sub(r"\s", "", text)
    assert all(start < end for start, end in spans)
    assert spans == sorted(spans)


@given(st.text(st.characters(max_codepoint=0x2FF)))
def test_without_marks_it_is_letters_and_signs(text: str) -> None:
    assert places(text) == [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
