"""Two answers on the page: left, right, both, neither, or one of them corrected."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ext.labelling.review.desk import Desk

LABELS = ["question", "complaint", "praise"]


def desk(n: int, **setup: Any) -> Desk:
    outputs = {"secret-a": {"label": "question"}, "secret-b": {"label": "praise"}}
    records = [{"id": f"r{number}", "text": f"Text {number}", "suggestions": outputs} for number in range(n)]
    return Desk("classification", records, ["label"], labels=LABELS, mode="compare", hidden=True, **setup)


def test_one_key_chooses_a_side_both_or_neither(show: Any) -> None:
    screen = show(desk(6))
    assert "secret" not in screen.page.content()
    screen.press("1", "2", "3", "4", "ArrowLeft", "ArrowRight")
    screen.decided(6)
    assert [line["choice"] for line in screen.desk.lines] == ["1", "2", "both", "neither", "1", "2"]
    assert all(line["value"] is None for line in screen.desk.lines)


def test_one_side_is_corrected_which_makes_gold(show: Any) -> None:
    text = "Het museum in Delft"
    spans = [{"start": 14, "end": 19, "type": "MUS", "text": "Delft"}]
    outputs = {"a": {"entities": spans}, "b": {"entities": []}}
    records = [{"id": "r", "text": text, "suggestions": outputs}, {"id": "s", "text": text, "suggestions": outputs}]
    types = {"types": ["TOP", "MUS"]}
    screen = show(Desk("extraction", records, ["entities"], mode="compare", hidden=True, **types))
    screen.press("a", "ArrowDown", "1", "u", "u")
    assert screen.page.is_visible("text=Both are correct")  # undone to the choice
    screen.press("a", "ArrowDown", "1", "Enter")
    screen.press("b", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "1", "Enter")
    screen.decided(2)
    gold = {"entities": [{**spans[0], "type": "TOP"}]}
    assert screen.desk.gold() == [gold, gold]
    assert [line["choice"] for line in screen.desk.lines] == ["1", "2"]  # the one that was corrected is the better one


def test_a_record_without_suggestions_is_labelled_from_nothing(show: Any) -> None:
    screen = show(desk(2, blind=[0]))
    assert "without suggestions" in screen.page.inner_text("main")
    screen.press("2", "2")
    screen.decided(2)
    assert [(line["value"], line["choice"]) for line in screen.desk.lines] == [
        ({"label": "complaint"}, None),
        (None, "2"),
    ]


def test_undo_shows_the_choice_again(show: Any) -> None:
    screen = show(desk(2))
    screen.press("1", "2", "u", "u")
    assert screen.at() == "r0"
    assert screen.desk.decisions() == {}
    screen.press("4")
    screen.decided(1)


@pytest.mark.nightly
def test_axe_finds_nothing(show: Any) -> None:
    assert show(desk(2)).violations() == []
