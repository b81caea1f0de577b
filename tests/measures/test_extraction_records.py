"""Reading spans: what is taken, and the one line that says what is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from goldassay._support.exceptions import DataError, FieldError, GoldassayError
from goldassay.measures import extraction as ex
from goldassay.measures.extraction import Span
from goldassay.measures.extraction.records import sides, spans


def test_dicts_sequences_objects_and_words_that_are_not_in_the_text() -> None:
    listed = [
        {"start": 0, "end": 3, "type": "A", "text": "abc", "note": 1},
        (4, 6, "B"),
        [7, 9, "C"],
        SimpleNamespace(start=10, end=12, type="D", text="x"),
        {"start": None, "end": None, "type": "E", "text": "elsewhere"},
        {"type": "F", "fragments": [[20, 22], [15, 17]]},
        {"start": 30, "end": 33, "type": "G", "fragments": [[30, 33]]},
    ]
    assert spans(listed) == [
        Span(0, 3, "A", "abc"),
        Span(4, 6, "B"),
        Span(7, 9, "C"),
        Span(10, 12, "D", "x"),
        Span(-1, -1, "E", "elsewhere"),
        Span(15, 22, "F", "", ((15, 17), (20, 22))),
        Span(30, 33, "G"),
    ]
    assert spans(None) == []


def test_a_discontinuous_span_overlaps_only_with_its_parts() -> None:
    whole = Span(0, 10, "A", "", ((0, 3), (7, 10)))
    assert whole.overlaps(Span(2, 4, "A"))
    assert not whole.overlaps(Span(3, 7, "A"))
    assert not whole.overlaps(Span(10, 12, "A"))
    strict = ex.SpanF1()
    assert strict([whole], [Span(0, 10, "A")]).tally.tp == 0
    assert strict([whole], [whole]).tally.tp == 1
    assert ex.SpanF1("partial")([whole], [Span(0, 10, "A")]).tally.tp == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([{"start": 5, "end": 5, "type": "A"}], "predicted entities[0]: a span must begin before it ends, not 5–5"),
        ([(0, 1, "A"), (-2, 5, "A")], "predicted entities[1]: a span must begin before it ends, not -2–5"),
        (
            [{"start": 0, "end": 5, "kind": "A"}],
            "predicted entities[0]: a span needs a type; it has start, end, kind",
        ),
        (
            [{"text": "Delft", "type": "A"}],
            "predicted entities[0]: a span needs start and end: `goldassay.text.spans.locate(text, quotes)` finds "
            "them; null says that it is not in the text",
        ),
        ([{"start": 0, "end": 5, "type": 7}], "predicted entities[0]: the type must be text, not 7"),
        ([{"start": "0", "end": 5, "type": "A"}], "predicted entities[0]: an offset is a whole number, not '0'"),
        ([{"start": 0, "end": 5.5, "type": "A"}], "predicted entities[0]: an offset is a whole number, not 5.5"),
        (
            [{"start": 0, "end": 9, "type": "A", "fragments": [[0, 3], [5, 8]]}],
            "predicted entities[0]: the fragments [[0, 3], [5, 8]] do not make up 0–9",
        ),
        ("Rijksmuseum", "predicted entities: expected a list of spans, not str"),
        ({"start": 0}, "predicted entities: expected a list of spans, not dict"),
    ],
)
def test_a_wrong_span_is_said_by_measure_and_scorecard_alike(wrong: Any, says: str) -> None:
    gold, pred = {"id": "nl-7", "text": "x" * 20, "entities": []}, {"entities": wrong}
    for call in (lambda: ex.SpanF1()(gold, pred), lambda: ex.scorecard([gold], [pred])):
        with pytest.raises(DataError) as caught:
            call()
        assert str(caught.value) == f"record nl-7, {says}"


def test_gold_must_stand_in_the_text() -> None:
    gold = {"id": "nl-7", "text": "x", "entities": [{"start": None, "end": None, "type": "A", "text": "y"}]}
    for call in (lambda: ex.SpanF1()(gold, []), lambda: ex.scorecard([gold], [[]])):
        with pytest.raises(DataError, match=r"^record nl-7, gold entities\[0\]: a gold span needs start and end$"):
            call()


def test_a_missing_field_lists_what_is_there() -> None:
    with pytest.raises(
        FieldError, match=r"the gold example has no field 'entities'; it has text; rename with Metric\(…, columns="
    ):
        ex.SpanF1()({"text": "x"}, {"entities": []})
    with pytest.raises(FieldError, match=r"the prediction has no field 'entities'; it has spans, note; rename with"):
        ex.SpanF1()({"text": "x", "entities": []}, {"spans": [], "note": ""})
    with pytest.raises(FieldError, match="no field 'entities'"):
        ex.scorecard([{"text": "x"}], [{"entities": []}])


def test_sides_of_unlike_length_are_refused() -> None:
    with pytest.raises(GoldassayError, match="^1 gold records against 2 predictions; they must be aligned$"):
        ex.scorecard([[]], [[], []])


def part(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, "type": "LOC", **more}


def counted(measure: Any, gold: Any, pred: Any) -> tuple[float, float, float]:
    """The counts of one document, which a batch of it has too."""
    tally = measure(gold, pred).tally
    at_once = measure.tallies(measure.batch([gold], [pred]))
    assert [float(np.sum(number)) for number in at_once.state().values()] == [float(n) for n in tally.state().values()]
    return tally.tp, tally.fp, tally.fn


def test_bounds_are_widened_to_words_where_asked() -> None:
    text = "Albert's birthplace is Ulm."
    gold = {"text": text, "entities": [part(0, 8), part(23, 26)]}
    pred = {"entities": [part(0, 6), part(23, 25)]}
    assert counted(ex.SpanF1(), gold, pred) == (0, 2, 2)
    assert counted(ex.SpanF1(bounds="word"), gold, pred) == (2, 0, 0)
    card = ex.scorecard([gold], [pred], bounds="word")
    assert {card.values[name] for name in ("strict_f1", "token_f1", "strict_macro_f1", "semeval_exact_f1")} == {1.0}
    assert all("bounds=word" in convention for convention in card.conventions.values())
    assert card.by["type"]["LOC"]["strict_f1"] == 1.0
    fragments = part(0, 25, fragments=[[0, 6], [23, 25]])
    left, _, _ = sides({"text": text, "entities": [fragments]}, [], "word")
    assert left[0].place == ((0, 8), (23, 26))
    with pytest.raises(GoldassayError, match="bounds is given or word, not 'token'"):
        ex.SpanF1(bounds="token", average="macro")


@pytest.mark.parametrize(
    ("pred", "counts"),
    [
        ([part(0, 1)], (1, 0, 0)),
        ([part(0, 1), part(2, 3)], (1, 0, 0)),  # right, and counted on no side
        ([part(0, 1), part(2, 4)], (1, 1, 0)),  # wrong is wrong
        ([], (0, 0, 1)),
    ],
)
def test_an_optional_span_may_be_left_out(pred: Any, counts: Any) -> None:
    gold = {"text": "", "entities": [part(0, 1), part(2, 3, optional=True)]}
    assert counted(ex.SpanF1(), gold, {"entities": pred}) == counts


@pytest.mark.parametrize(
    ("pred", "counts"),
    [
        ([part(0, 22)], (1, 0, 0)),
        ([part(0, 9), part(11, 22)], (1, 0, 0)),
        ([part(0, 9)], (0, 0, 1)),  # half of it is not it, and not wrong
        ([part(0, 9), part(11, 21)], (0, 1, 1)),
        ([part(0, 22), part(0, 9), part(11, 22)], (1, 0, 0)),
    ],
)
def test_all_parts_of_a_span_stand_for_the_whole(pred: Any, counts: Any) -> None:
    # "Hollywood, Los Angeles": one label, or a label each
    parts = [part(0, 9, parent=[0, 22]), part(11, 22, parent=[0, 22])]
    gold = {"text": "Hollywood, Los Angeles", "entities": [part(0, 22), *parts]}
    assert counted(ex.SpanF1(), gold, {"entities": pred}) == counts


def test_parts_that_go_round_in_a_circle_end() -> None:
    ring = [part(0, 22), {**part(0, 22, parent=[0, 5]), "type": "PER"}, part(0, 5, parent=[0, 22])]
    assert counted(ex.SpanF1(), {"text": "", "entities": ring}, {"entities": [part(0, 5)]})[2] <= 1
