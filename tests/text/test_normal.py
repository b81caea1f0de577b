"""Near duplicates: the bounds spare comparisons and lose no pair."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from tests.nightly import drawn

from goldassay.text.near import near_pairs
from goldassay.text.normal import plain


def every(texts: list[str], near: float) -> set[tuple[int, int]]:
    folded = [plain(text) for text in texts]
    return {
        (i, j)
        for j in range(len(texts))
        for i in range(j)
        if folded[i] and folded[j] and fuzz.ratio(folded[i], folded[j]) >= near
    }


@drawn(60)
@given(st.lists(st.text("abc ", max_size=12), max_size=8), st.sampled_from([50.0, 75.0, 90.0, 100.0]))
def test_short_texts_as_compared_one_by_one(texts: list[str], near: float) -> None:
    assert {(i, j) for i, j, _ in near_pairs(texts, near)} == every(texts, near)


@pytest.mark.parametrize("near", [70.0, 85.0, 90.0, 95.0])
def test_edited_texts_as_compared_one_by_one(near: float) -> None:
    rng = random.Random(7)
    base = "".join(rng.choices("abcdefghij klmnop", k=300))
    texts = [base]
    for edits in range(1, 80):
        letters = list(base)
        for _ in range(2 * edits):
            at = rng.randrange(len(letters))
            letters[at : at + rng.randint(0, 1)] = rng.choices("abcdefgh ", k=rng.randint(0, 2))
        texts.append("".join(letters))
    near_places = {(i, j) for i, j, _ in near_pairs(texts, near)}
    assert near_places == every(texts, near)
    assert near_places
    assert len(near_places) < len(texts) * (len(texts) - 1) / 2


def test_what_is_folded_is_the_same() -> None:
    assert list(near_pairs(["Cafe\u0301  Delft", "caf\u00e9 delft\n", "", " "])) == [(0, 1, 100.0)]
