r"""Tokens are ``\S+`` with true offsets, one by one and all documents at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from goldassay.compat import token_level_metrics
from goldassay.measures.extraction import Span, TokenF1
from goldassay.measures.extraction.columns import columns
from goldassay.measures.extraction.tokens import TOKEN, token_columns, token_counts, tokens
from goldassay.tally import Counts

texts = st.text(st.sampled_from("ab \n\t\u00a0\u2003\u200b\u3000é🏛\x1c\x85"), max_size=12)
spans = st.builds(lambda a, n, kind: Span(a, a + n, kind), st.integers(0, 12), st.integers(1, 6), st.sampled_from("AB"))
lost = st.builds(lambda kind: Span(-1, -1, kind, "lost"), st.sampled_from("AB"))


def test_double_spaces_and_line_breaks_do_not_shift_anything() -> None:
    text = "Het  Rijksmuseum\nin Amsterdam"
    assert [text[a:b] for a, b in tokens(text)] == ["Het", "Rijksmuseum", "in", "Amsterdam"]
    found = token_level_metrics([(20, 29, "TOP")], [(20, 29, "TOP"), (5, 16, "MUS")], text)
    assert found["TOP"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}
    assert found["MUS"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}
    assert found["macro_avg"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}


def test_a_token_belongs_to_every_span_that_touches_it() -> None:
    # "(Teylers)" is one token; a span without the brackets covers it, and so does a nested one of another type
    text = "in (Teylers) hier"
    assert token_counts([Span(4, 11, "MUS")], [Span(3, 12, "MUS"), Span(4, 6, "PER")], text) == {
        "MUS": Counts(1, 0, 0),
        "PER": Counts(0, 1, 0),
    }
    # two spans in one token are one token of that type
    assert token_counts([Span(4, 6, "A"), Span(7, 9, "A")], [], text) == {"A": Counts(0, 0, 1)}


def test_white_space_alone_and_places_after_the_text_hold_no_token() -> None:
    assert token_counts([Span(2, 3, "A")], [Span(50, 60, "A")], "in Delft") == {}


def test_words_that_are_not_in_the_text_are_one_wrong_token_each() -> None:
    found = TokenF1()({"text": "in Delft", "entities": []}, [Span(-1, -1, "TOP", "Den Haag")] * 2).tally
    assert found == Counts(0, 2, 0)


def test_without_a_text_each_character_stands_for_a_token() -> None:
    assert TokenF1()([(0, 4, "A")], [(2, 5, "A")]).tally == Counts(2, 1, 2)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(texts, st.lists(spans, max_size=4), st.lists(spans | lost, max_size=4)), min_size=1, max_size=5)
)
def test_all_at_once_is_the_sum_of_one_by_one(data: list[tuple[str, list[Span], list[Span]]]) -> None:
    gold, pred, names = columns([g for _, g, _ in data], [p for _, _, p in data])
    hits, wanted, given_ = token_columns(gold, pred, [text for text, _, _ in data], len(names))
    cells = len(data) * len(names)
    tp, left, right = (np.bincount(side, minlength=cells) for side in (hits, wanted, given_))
    for document, (text, g, p) in enumerate(data):
        found = token_counts(g, p, text)
        for number, name in enumerate(names, start=document * len(names)):
            one = found.get(name, Counts(0, 0, 0))
            assert (one.tp, one.tp + one.fp, one.tp + one.fn) == (tp[number], right[number], left[number])


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_white_space_is_that_of_the_pattern(text: str) -> None:
    whole = [[Span(0, len(text), "A")]] if text else [[]]
    _, wanted, _ = token_columns(*columns(whole, [[]])[:2], [text], 1)
    assert len(wanted) == len(TOKEN.findall(text))
