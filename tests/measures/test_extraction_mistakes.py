"""Errors in words: every kind, with the words around and what the annotation asks."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.core.measure import Review
from goldassay.measures.extraction import Span, SpanBatch, SpanF1
from goldassay.results.result import form_alone

TEXT = "In 1885 verhuisde het Rijksmuseum naar Amsterdam Zuid, waar het nog steeds te vinden is."


def errors(gold: list[Span], pred: list[Span], text: str = "") -> Review:
    return SpanBatch([{"text": text, "entities": gold}], [pred]).reviews[0]


def place(words: str, kind: str) -> Span:
    start = TEXT.index(words)
    return Span(start, start + len(words), kind)


@pytest.mark.parametrize(
    ("gold", "pred", "kind", "says"),
    [
        (
            [place("Rijksmuseum", "MUS")],
            [],
            "missed",
            '"Rijksmuseum" (MUS) was missed, in "In 1885 verhuisde het Rijksmuseum naar Amsterdam Zuid, waar het…".',
        ),
        (
            [],
            [place("1885", "TOP")],
            "spurious",
            '"1885" was given as TOP, but nothing is annotated there, in "In 1885 verhuisde het Rijksmuseum…".',
        ),
        (
            [place("Rijksmuseum", "MUS")],
            [place("Rijksmuseum", "LIB")],
            "wrong_type",
            '"Rijksmuseum" is MUS, not LIB, in "In 1885 verhuisde het Rijksmuseum naar Amsterdam Zuid, waar het…".',
        ),
        (
            [place("Amsterdam Zuid", "TOP")],
            [place("Amsterdam", "TOP")],
            "wrong_boundary",
            'TOP is "Amsterdam Zuid", not "Amsterdam": give the whole name, '
            'in "…het Rijksmuseum naar Amsterdam Zuid, waar het nog steeds te…".',
        ),
        (
            [place("Rijksmuseum", "MUS")],
            [place("het Rijksmuseum", "MUS")],
            "wrong_boundary",
            'MUS is "Rijksmuseum", not "het Rijksmuseum": give no word more than the name, '
            'in "In 1885 verhuisde het Rijksmuseum naar Amsterdam Zuid, waar het…".',
        ),
        (
            [place("Amsterdam Zuid", "TOP")],
            [place("naar Amsterdam", "TOP")],
            "wrong_boundary",
            'TOP is "Amsterdam Zuid", not "naar Amsterdam": give the whole name and no word more, '
            'in "…het Rijksmuseum naar Amsterdam Zuid, waar het nog steeds te…".',
        ),
        (
            [place("Amsterdam Zuid", "TOP")],
            [place("Amsterdam", "MUS")],
            "wrong_type_and_boundary",
            '"Amsterdam Zuid" is TOP, but "Amsterdam" was given as MUS, '
            'in "…het Rijksmuseum naar Amsterdam Zuid, waar het nog steeds te…".',
        ),
        (
            [],
            [Span(-1, -1, "MUS", "Louvre\n Paris")],
            "not_in_text",
            '"Louvre Paris" (MUS) is not in the text: copy the words exactly.',
        ),
    ],
)
def test_each_kind(gold: list[Span], pred: list[Span], kind: str, says: str) -> None:
    (error,), right = errors(gold, pred, TEXT)
    assert (error.kind, error.message, right) == (kind, says, ())
    assert error.field == "entities"
    if gold:
        assert (error.start, error.end) == (gold[0].start, gold[0].end)
        assert error.gold == TEXT[gold[0].start : gold[0].end]


def test_what_is_right_is_said_and_stays_right() -> None:
    # the strict pair is kept although the first prediction could be explained by it too
    gold = [place("Rijksmuseum", "MUS"), place("Amsterdam Zuid", "TOP")]
    pred = [place("naar Amsterdam", "MUS"), *gold]
    mistakes, right = errors(gold, pred, TEXT)
    assert right == ('"Rijksmuseum" (MUS)', '"Amsterdam Zuid" (TOP)')
    assert [error.kind for error in mistakes] == ["spurious"]
    assert "what is annotated there is already predicted" in mistakes[0].message


def test_places_after_the_text_are_said_without_context() -> None:
    mistakes, _ = errors([], [Span(500, 510, "A"), Span(TEXT.index("is."), 600, "A")], TEXT)
    assert mistakes[0].message.endswith('but nothing is annotated there, in "…waar het nog steeds te vinden is.".')
    assert mistakes[1].message == '"500–510" was given as A, but nothing is annotated there.'


def test_errors_stand_in_the_order_of_the_text_and_have_places_without_a_text() -> None:
    gold: list[Any] = [Span(20, 24, "A"), Span(0, 4, "A")]
    mistakes, _ = errors(gold, [Span(-1, -1, "B", "words"), Span(10, 12, "B")])
    assert [error.kind for error in mistakes] == ["missed", "spurious", "missed", "not_in_text"]
    assert mistakes[0].message == '"0–4" (A) was missed.'


def test_offsets_of_the_same_words_are_an_error_of_form() -> None:
    gold = {"text": "in Delft 1885", "entities": [{"start": 3, "end": 8, "type": "LOC", "text": "Delft"}]}
    assessment = SpanF1()(gold, {"entities": [{"start": 3, "end": 7, "type": "LOC", "text": "Delft"}]})
    assert assessment.errors[0].message.startswith('LOC "Delft" is at 3–8, not 3–7: an end is exclusive')
    assert len([*form_alone(assessment.errors)]) == 1
