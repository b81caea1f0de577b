r"""Tokens are ``\S+`` with true offsets, one by one and all documents at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.core.evidence import row
from goldassay.core.tally import Counts
from goldassay.ext.compat import token_level_metrics
from goldassay.measures.extraction import Span, SpanBatch, SpanF1

texts = st.text(st.sampled_from("ab \n\t\u00a0\u2003\u200b\u3000é🏛\x1c\x85"), max_size=12)
spans = st.builds(lambda a, n, kind: Span(a, a + n, kind), st.integers(0, 12), st.integers(1, 6), st.sampled_from("AB"))
lost = st.builds(lambda kind: Span(-1, -1, kind, "lost"), st.sampled_from("AB"))


def token_counts(gold: Sequence[Span], pred: Sequence[Span], text: str) -> dict[str, Counts]:
    """The counts of one document by type, token by token."""
    end = max((span.end for span in (*gold, *pred)), default=0)
    places = [match.span() for match in re.finditer(r"\S+", text)] if text else [(i, i + 1) for i in range(end)]

    def covered(side: Sequence[Span], kind: str) -> set[tuple[int, int]]:
        spans_of_type = [span for span in side if span.type == kind]
        tokens = {place for place in places if any(a < place[1] and place[0] < b for a, b, *_ in spans_of_type)}
        return tokens | {(-1, i) for i, span in enumerate(spans_of_type) if span.start < 0}

    kinds = {span.type for span in (*gold, *pred)}
    sets = {kind: (covered(gold, kind), covered(pred, kind)) for kind in sorted(kinds)}
    return {kind: Counts(len(a & b), len(b - a), len(a - b)) for kind, (a, b) in sets.items() if a or b}


Data = Sequence[tuple[str, Sequence[Span], Sequence[Span]]]


def records(data: Data) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Texts with the spans of both sides, as records."""
    return [{"text": text, "entities": gold} for text, gold, _ in data], [{"entities": pred} for _, _, pred in data]


def by_type(gold: Sequence[Span], pred: Sequence[Span], text: str) -> dict[str, Counts]:
    """Ours, of one document."""
    return {kind: row(counts, 0) for kind, counts in SpanBatch(*records([(text, gold, pred)])).by_type("token").items()}


def test_double_spaces_and_line_breaks_do_not_shift_anything() -> None:
    text = "Het  Rijksmuseum\nin Amsterdam"
    metrics = token_level_metrics([(20, 29, "TOP")], [(20, 29, "TOP"), (5, 16, "MUS")], text)
    assert metrics["TOP"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}
    assert metrics["MUS"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}
    assert metrics["macro_avg"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}


def test_a_token_belongs_to_every_span_that_touches_it() -> None:
    # "(Teylers)" is one token; a span without the brackets covers it, and so does a nested one of another type
    text = "in (Teylers) hier"
    assert by_type([Span(4, 11, "MUS")], [Span(3, 12, "MUS"), Span(4, 6, "PER")], text) == {
        "MUS": Counts(1, 0, 0),
        "PER": Counts(0, 1, 0),
    }
    # two spans in one token are one token of that type
    assert by_type([Span(4, 6, "A"), Span(7, 9, "A")], [], text) == {"A": Counts(0, 0, 1)}


def test_white_space_alone_and_places_after_the_text_hold_no_token() -> None:
    assert by_type([Span(2, 3, "A")], [Span(50, 60, "A")], "in Delft") == {}


def test_words_that_are_not_in_the_text_are_one_wrong_token_each() -> None:
    counts = SpanF1("token")({"text": "in Delft", "entities": []}, [Span(-1, -1, "TOP", "Den Haag")] * 2).tally
    assert counts == Counts(0, 2, 0)


def test_without_a_text_each_character_stands_for_a_token() -> None:
    assert SpanF1("token")([(0, 4, "A")], [(2, 5, "A")]).tally == Counts(2, 1, 2)


@drawn(50)
@given(
    st.lists(st.tuples(texts, st.lists(spans, max_size=4), st.lists(spans | lost, max_size=4)), min_size=1, max_size=5)
)
def test_the_counts_are_those_of_a_loop_over_tokens(data: list[tuple[str, list[Span], list[Span]]]) -> None:
    batch = SpanBatch(*records(data))
    by_type = batch.by_type("token")
    for document, (text, g, p) in enumerate(data):
        ours = {kind: row(counts, document) for kind, counts in by_type.items()}
        assert {kind: counts for kind, counts in ours.items() if counts.weight} == token_counts(g, p, text)


@drawn(50)
@given(st.text(max_size=30))
def test_white_space_is_that_of_the_pattern(text: str) -> None:
    whole = [Span(0, len(text), "A")] if text else []
    counts = row(SpanBatch(*records([(text, whole, [])])).counts("token"), 0)
    assert counts.fn == len(re.findall(r"\S+", text))
