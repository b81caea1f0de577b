"""Words as numbers: the same words get the same number and others another, whatever their length and neighbours."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from goldassay.measures.answering import rouge
from goldassay.measures.answering.rouge import numbered
from goldassay.text.words import tokens

WORDS = st.text("ab", max_size=36) | st.sampled_from(["İstanbul", "\u212aelvin", "Café", "it's", "\x01", "\x00", "1"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join) | st.text(max_size=20), max_size=5)


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("tokenizer", ["rouge-score", "unicode"])
@settings(max_examples=60, deadline=None)
@example(texts=[])
@example(texts=["", "é", ""])
@example(texts=["museum museums", "museumas", "museu mas", "a" * 32, "a" * 33, "a" * 40 + "b", "a" * 41])
@given(texts=TEXTS)
def test_a_number_is_a_word(texts: list[str], tokenizer: str, stem: bool) -> None:
    ids, lengths = numbered(texts, tokenizer, stem)
    words = [tokens(text, tokenizer, stem) for text in texts]
    assert lengths.tolist() == [len(each) for each in words]
    flat = [word for each in words for word in each]
    assert len(ids) == len(flat)
    pairs = set(zip(ids.tolist(), flat, strict=True))
    assert len(pairs) == len(set(flat)) == len({number for number, _ in pairs})
    assert all(number > 0 for number, _ in pairs)


def test_words_that_differ_only_after_many_letters_do_not_match() -> None:
    for n in (7, 8, 9, 16, 31, 32, 33, 100):
        long = "a" * n
        found = rouge([f"{long}b", f"{long}b"], [f"{long}c", f"x {long}b"], ("1", "L"))
        assert found["1"][:, 2].tolist() == found["L"][:, 2].tolist() == pytest.approx([0, 2 / 3])  # P 1/1, R 1/2
