"""Failure modes on the page: named at a record; renamed, merged and split on their own tab, by keys and by dragging."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.ext.labelling.review.desk import Desk
from tests.ext.labelling.review.screen import PATIENCE

NAMED = {"missing total": 5, "wrong tone": 3, "invented date": 2}


def desk(n: int = 12, **setup: Any) -> Desk:
    """Letters with one answer each, read for errors."""
    records = [
        {"id": f"r{number}", "text": f"Letter {number} asks for a refund.", "suggestions": {"bot": {"reply": "Hello."}}}
        for number in range(n)
    ]
    fields = [{"name": "reply", "type": "str", "description": "", "choices": []}]
    return Desk("reply", records, ["reply"], fields=fields, question="errors", **setup)


def read(both: Desk, named: dict[str, int] = NAMED) -> Desk:
    """The first records are read; of each mode so many have it, with a note."""
    names = [name for name, count in named.items() for _ in range(count)]
    for number, name in enumerate([*names, None]):
        both.lines.append(
            {
                "decision": str(number),
                "item": str(number),
                "kind": "label",
                "value": None,
                "good": False,
                "note": f"note {number}",
                "modes": [name] if name else [],
                "grade": 1 + number % 3 if name else None,
                "seconds": 1.0,
            }
        )
    return both


def name_mode(screen: Any, typed: str, *then: str) -> None:
    """Name a mode of the record; then press keys of the field, which is empty again."""
    screen.press("m")
    screen.write(typed)
    screen.press("Enter", *then)


def names(screen: Any) -> list[str]:
    return [each.inner_text() for each in screen.page.query_selector_all(".mode-name")]


def current(both: Desk) -> dict[str, int]:
    return {mode["name"]: mode["records"] for mode in both.modes()["modes"]}


def test_three_modes_in_twelve_records_by_keys_alone(show: Any) -> None:
    screen = show(desk())
    name_mode(screen, "missing total", "2")  # a grade closes the field
    assert "Wrong" in screen.page.inner_text("#actions button")
    screen.press("Enter")
    assert "Accept" in screen.page.inner_text("#actions button")
    name_mode(screen, "wrong tone", "Enter")
    screen.press("Enter")
    for typed in ("tot", "ton", "tot"):  # completed
        name_mode(screen, typed, "Enter")
        screen.press("Enter")
    name_mode(screen, "miss", "Tab")  # nothing is graded or closed by other keys
    screen.page.keyboard.press("Escape")
    name_mode(screen, "invented date", "3")
    screen.press("Enter")
    screen.press(*["Enter"] * 6)
    screen.decided(12)
    first, second, *_ = lines = screen.desk.lines
    assert (first["modes"], first["grade"], first["good"], first["value"]) == (["missing total"], 2, False, None)
    assert (second["modes"], second.get("grade")) == (["wrong tone"], None)
    assert [line["modes"] for line in lines[2:6]] == [
        ["missing total"],
        ["wrong tone"],
        ["missing total"],
        ["missing total", "invented date"],
    ]
    assert lines[5]["grade"] == 3
    assert [line["value"] for line in lines[6:]] == [{"reply": "Hello."}] * 6
    assert screen.console == []


def test_a_mode_and_its_grade_are_taken_back_and_undo_brings_them_again(show: Any) -> None:
    screen = show(desk(3))
    name_mode(screen, "wrong tone", "1")
    name_mode(screen, "missing total", "Backspace", "Enter")
    screen.press("Enter", "u")
    assert "wrong tone" in screen.page.inner_text("#named")
    assert "grade 1" in screen.page.inner_text("#named")
    name_mode(screen, "wrong", "Enter")  # once more takes it back
    screen.press("Enter")
    screen.decided(1)
    assert [line["modes"] for line in screen.desk.decisions().values()] == [[]]
    assert screen.desk.gold()[0] == {"reply": "Hello."}


def test_a_mode_that_is_named_later_is_written(show: Any) -> None:
    screen = show(desk(2))
    screen.press("Enter", "k")
    name_mode(screen, "wrong tone", "Enter")
    screen.press("Enter")
    screen.decided(1)
    assert screen.desk.decisions()["0"]["modes"] == ["wrong tone"]


def test_the_tab_lists_modes_with_shares_and_goes_to_records(show: Any) -> None:
    screen = show(read(desk(40)))
    screen.press("f")
    assert names(screen) == [*NAMED, "Notes without a mode"]
    text = screen.page.inner_text("#modes")
    assert "No new mode in the last 2 records." in text
    assert "11 of 400 traces read · 3 modes · 1 note without a mode" in text
    assert "45 %\n[23, 73]" in text
    screen.press("ArrowDown", "ArrowRight", "ArrowDown", "Enter")
    assert screen.at() == "r6"
    assert screen.page.is_hidden("#modes")
    screen.press("f", "f")
    assert screen.at() == "r6"


def test_tabs_are_reached_with_the_tab_key(show: Any) -> None:
    screen = show(read(desk()))
    screen.page.focus("#tab-record")
    screen.press("ArrowRight")
    screen.page.wait_for_selector("#tab-modes:focus[aria-selected=true]")
    screen.page.wait_for_selector("#modes .mode")
    screen.page.keyboard.press("Tab")
    screen.page.wait_for_selector("#open-rules:focus")


def test_rename_merge_split_describe_and_undo_by_keys(show: Any) -> None:
    screen = show(read(desk(20)))
    before = current(screen.desk)
    screen.press("f", "ArrowDown", "e")
    screen.write("rude")
    screen.press("Enter")
    assert current(screen.desk) == {"missing total": 5, "rude": 3, "invented date": 2}
    screen.press("ArrowDown", "m")
    screen.write("missing")
    screen.press("Enter")
    assert current(screen.desk) == {"missing total": 7, "rude": 3}
    screen.press("ArrowRight", " ", " ", "m")
    screen.write("missing currency")
    screen.press("Enter")
    assert current(screen.desk) == {"missing total": 5, "rude": 3, "missing currency": 2}
    screen.press("d")
    screen.write("No total at all.")
    screen.page.keyboard.press("Escape")
    screen.settle()
    assert screen.desk.modes()["modes"][0]["description"] == "No total at all."
    screen.press("u", "u", "u", "u")
    assert current(screen.desk) == before
    assert names(screen) == [*NAMED, "Notes without a mode"]
    screen.press("u")
    assert "nothing to undo" in screen.page.inner_text("#message")
    screen.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "m")
    screen.write("tone")
    screen.press("Enter")
    assert current(screen.desk)["wrong tone"] == 4
    assert len(screen.console) == 1  # the refused undo


def test_a_description_is_saved_while_it_is_typed(show: Any) -> None:
    screen = show(read(desk(20)))
    screen.press("f", "d")
    for typed, saved in (("No total", "No total"), (" at all.", "No total at all.")):
        screen.write(typed)
        deadline = time.monotonic() + PATIENCE
        while screen.desk.modes()["modes"][0]["description"] != saved:
            assert time.monotonic() < deadline, screen.desk.changes
            time.sleep(0.02)
    assert screen.page.input_value("textarea:focus") == "No total at all."
    assert [change["kind"] for change in screen.desk.changes] == ["describe", "describe"]


def test_a_mode_that_gets_the_name_of_another_is_merged(show: Any) -> None:
    screen = show(read(desk(20)))
    screen.press("f", "ArrowDown", "e")
    screen.write("missing total")
    screen.press("Enter")
    assert screen.desk.changes[-1]["kind"] == "merge"
    assert current(screen.desk) == {"missing total": 8, "invented date": 2}


def test_dragging_merges_and_splits(show: Any) -> None:
    screen = show(read(desk(20)))
    screen.press("f")
    page = screen.page
    page.drag_and_drop(".mode:has-text('invented date')", ".mode:has-text('wrong tone')")
    page.wait_for_selector("#message:has-text('invented date is part of wrong tone')")
    assert current(screen.desk) == {"missing total": 5, "wrong tone": 5}
    page.check(".mode-records li:nth-child(1) input")
    page.check(".mode-records li:nth-child(3) input")
    page.drag_and_drop(".mode-records li:nth-child(3)", ".mode.fresh")
    page.wait_for_selector("#finder[open]")
    screen.write("both")
    screen.press("Enter")
    screen.settle()
    assert current(screen.desk) == {"missing total": 5, "wrong tone": 3, "both": 2}
    page.drag_and_drop(".mode-records li:nth-child(1)", ".mode:has-text('missing total')")
    page.wait_for_selector("#message:has-text('1 record moved to missing total')")
    assert current(screen.desk) == {"missing total": 6, "both": 2, "wrong tone": 2}
    page.click(".mode:has-text('Notes without')")
    page.drag_and_drop(".mode-records li", ".mode:has-text('both')")
    page.wait_for_selector("#message:has-text('moved to both')")
    assert not screen.desk.modes()["untagged"]
    screen.press("u", "u", "u", "u")
    assert current(screen.desk) == NAMED


def test_keys_go_on_where_the_mouse_ticked(show: Any) -> None:
    screen = show(read(desk(20)))
    screen.press("f")
    screen.page.check(".mode-records li:nth-child(2) input")
    screen.page.keyboard.press("Tab")
    screen.page.keyboard.press("Tab")
    screen.press(" ")  # the box of the third
    screen.press("m")
    screen.write("other")
    screen.press("Enter")
    assert current(screen.desk) == {"missing total": 3, "wrong tone": 3, "invented date": 2, "other": 2}


def test_a_record_that_is_open_has_the_new_name(show: Any) -> None:
    screen = show(read(desk(20)))
    name_mode(screen, "wrong tone", "Enter")
    screen.press("f", "ArrowDown", "e")
    screen.write("rude")
    screen.press("Enter", "f")
    assert "rude" in screen.page.inner_text("#named")
    screen.press("f", "ArrowRight", "m")  # a split is about other records
    screen.write("curt")
    screen.press("Enter", "f")
    assert "rude" in screen.page.inner_text("#named")
    screen.press("f", "u", "u", "f")
    assert "wrong tone" in screen.page.inner_text("#named")
    screen.press("Enter")
    assert screen.desk.lines[-1]["modes"] == ["wrong tone"]


def test_a_decided_record_has_the_mode_that_it_moved_to(show: Any) -> None:
    screen = show(read(desk(20)))
    screen.press("f", "ArrowRight", "Enter")
    assert screen.at() == "r0"
    screen.press("f", "ArrowRight", "m")
    screen.write("no sum")
    screen.press("Enter", "f")
    assert "no sum" in screen.page.inner_text("#named")
    screen.press("n")
    screen.write("again")
    screen.press("Enter", "Enter")
    assert screen.desk.lines[-1]["modes"] == ["no sum"]


HOSTILE = "<img src=x onerror=alert(1)></script><b>'\"&{{7*7}}\u202e"


def test_hostile_names_notes_and_ids_stay_text(show: Any) -> None:
    both = read(desk(20), {HOSTILE: 2, "plain": 1})
    for line in both.lines:
        line["note"] = HOSTILE
    both.records = [{**record, "id": HOSTILE + record["id"], "text": HOSTILE} for record in both.records]
    both.setup["modes"] = [{"name": HOSTILE, "description": HOSTILE}]
    both.changes.append({"kind": "describe", "mode": HOSTILE, "description": HOSTILE, "lines": 9})
    screen = show(both)
    name_mode(screen, "img", "Enter")
    screen.press("f", "ArrowRight", " ", "m")
    screen.write(HOSTILE)
    screen.page.keyboard.press("Escape")
    assert screen.page.query_selector("#modes img, #modes b, #finder img, #finder b, footer img, footer b") is None
    assert HOSTILE in screen.page.inner_text("#modes h2")
    assert screen.console == []


@pytest.mark.nightly
def test_axe_finds_nothing(show: Any) -> None:
    screen = show(read(desk(20)))
    name_mode(screen, "wrong tone")
    violations = screen.violations()
    screen.press("1")
    violations += screen.violations()
    screen.press("f", "ArrowRight", " ")
    violations += screen.violations()
    screen.press("m")
    violations += screen.violations()
    empty = show(desk(2))
    empty.press("f")
    assert [*violations, *empty.violations()] == []
