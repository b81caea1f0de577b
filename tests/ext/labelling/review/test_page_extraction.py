"""Extraction on the page: spans by keys alone and by mouse, in any script; offsets are code points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.ext.labelling.review.desk import Desk

TYPES = ["TOP", "TMP", "MUS"]
TEXT = "In 1992 opende de Kunsthal Rotterdam in Rotterdam."
Marks = Sequence[tuple[str, str]]
BOX = """(element) => { const box = element.getBoundingClientRect(); return [box.left, (box.top + box.bottom) / 2]; }"""
PLACE = """(at) => {
  const walker = document.createTreeWalker(document.querySelector(".line"), NodeFilter.SHOW_TEXT);
  let node = walker.nextNode();
  while (node.data.length < at) { at -= node.data.length; node = walker.nextNode(); }
  const range = document.createRange();
  range.setStart(node, at);
  const box = range.getBoundingClientRect();
  return [box.left, (box.top + box.bottom) / 2];
}"""


def spans(text: str, *marks: tuple[str, str]) -> list[dict[str, Any]]:
    """The entities of (words, type) pairs, each at its last place in the text."""
    entities = []
    for words, kind in marks:
        start = text.rindex(words)
        entities.append({"start": start, "end": start + len(words), "type": kind, "text": words})
    return sorted(entities, key=lambda entity: (entity["start"], entity["end"]))


def desk(*texts: str, **systems: Sequence[list[dict[str, Any]]]) -> Desk:
    """Texts with the entities that each system suggests for them."""
    records = [
        {
            "id": f"t{number}",
            "text": text,
            "suggestions": {name: {"entities": each[number]} for name, each in systems.items()},
        }
        for number, text in enumerate(texts)
    ]
    return Desk("extraction", records, ["entities"], types=TYPES)


def entities(screen: Any, number: int = 0) -> list[dict[str, Any]]:
    """The spans that were decided, without keys that suggestions had besides."""
    gold = screen.desk.gold()[number]
    text = screen.desk.records[number]["text"]
    for span in gold["entities"]:
        assert text[span["start"] : span["end"]] == span["text"]
    return list(gold["entities"])


def test_words_are_selected_by_keys_from_nothing(show: Any) -> None:
    screen = show(desk(TEXT))
    screen.press("ArrowRight", "ArrowRight", "2")  # 1992
    screen.press("ArrowRight", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "3")  # Kunsthal Rotterdam
    screen.press("ArrowRight", "ArrowRight", "1")  # the second Rotterdam
    screen.press("Enter")
    screen.decided(1)
    assert entities(screen) == spans(TEXT, ("1992", "TMP"), ("Kunsthal Rotterdam", "MUS"), ("Rotterdam", "TOP"))
    assert screen.console == []


def test_types_ends_and_deletions_are_corrected_by_keys(show: Any) -> None:
    wrong = spans(TEXT, ("1992", "TOP"), ("de Kunsthal", "MUS"), ("opende", "TOP"), ("Rotterda", "TOP"))
    screen = show(desk(TEXT, weak=[wrong]))
    screen.press("ArrowDown", "2")  # 1992 is a time
    screen.press("ArrowDown", "Backspace")  # opende is nothing; the next span is active
    screen.press("Shift+ArrowRight", "e", "Shift+ArrowRight", "e")  # both ends of the museum
    screen.press("ArrowDown", "Control+ArrowRight", "Enter")  # one character
    screen.decided(1)
    gold = spans(TEXT, ("1992", "TMP"), ("Kunsthal Rotterdam", "MUS"), ("Rotterdam", "TOP"))
    assert entities(screen) == gold


def test_every_edit_is_undone_down_to_the_suggestion(show: Any) -> None:
    weak = spans(TEXT, ("1992", "TOP"), ("Rotterdam", "TOP"))
    screen = show(desk(TEXT, TEXT, weak=[weak, weak]))
    screen.press("Enter", "ArrowDown", "2", "Shift+ArrowRight", "ArrowDown", "Backspace")
    screen.press("u", "u", "u", "Enter")
    screen.decided(2)
    assert entities(screen, 1) == weak
    screen.press("u", "u")
    assert screen.at() == "t0"
    assert screen.desk.decisions() == {}


def test_spans_of_systems_are_taken_all_or_one_at_a_time(show: Any) -> None:
    first = spans(TEXT, ("1992", "TMP"), ("Kunsthal", "MUS"))
    second = spans(TEXT, ("1992", "TMP"), ("Kunsthal Rotterdam", "MUS"), ("Rotterdam", "TOP"))
    screen = show(desk(TEXT, TEXT, TEXT, first=[first] * 3, second=[second] * 3))
    screen.press("Enter")  # what both found
    screen.press("b", "Enter")
    screen.press("ArrowDown", "ArrowDown", "ArrowDown", " ", "ArrowDown", " ", "Enter")
    screen.decided(3)
    assert entities(screen, 0) == spans(TEXT, ("1992", "TMP"))
    assert entities(screen, 1) == second
    assert entities(screen, 2) == second


def test_spans_overlap(show: Any) -> None:
    screen = show(desk(TEXT))
    screen.press(*["ArrowRight"] * 5, "Shift+ArrowRight", "3")
    screen.press("ArrowLeft", "ArrowRight", "ArrowRight", "1")  # Rotterdam inside the Kunsthal Rotterdam
    screen.press("Enter")
    screen.decided(1)
    at = TEXT.index("Rotterdam")
    inner = {"start": at, "end": at + 9, "type": "TOP", "text": "Rotterdam"}
    assert entities(screen) == [*spans(TEXT, ("Kunsthal Rotterdam", "MUS")), inner]


SCRIPTS = {
    "emoji": ("😀 Zomer 👩‍👩‍👧 in Delft 🇳🇱 in 1650", [("Delft", "TOP"), ("1650", "TMP")]),
    "combining": (
        "Le muse\u0301e a\u0300 Orle\u0301ans en 1797",
        [("muse\u0301e", "MUS"), ("Orle\u0301ans", "TOP"), ("1797", "TMP")],
    ),
    "arabic": ("زار المتحف في القاهرة عام 1902", [("المتحف", "MUS"), ("القاهرة", "TOP"), ("1902", "TMP")]),
    "mixed": ("مكتبة 😀 Leiden في 1575\nשלום 𐐀 Delft", [("Leiden", "TOP"), ("1575", "TMP"), ("Delft", "TOP")]),
    "lines": ("een\n\n\ntwee 1700\r\n\r\ndrie Gouda\n", [("1700", "TMP"), ("Gouda", "TOP")]),
    "han": ("國立故宮博物院在臺北，建於1965年", [("1965", "TMP")]),
}


def test_offsets_are_code_points_in_every_script(show: Any) -> None:
    screen = show(desk(*(text for text, _ in SCRIPTS.values() for _ in range(2))))
    for script, (text, marks) in SCRIPTS.items():
        for words, kind in marks:
            screen.page.keyboard.press("/")
            screen.page.keyboard.insert_text(words)
            screen.page.wait_for_selector("#finder li")
            screen.press("Enter", str(TYPES.index(kind) + 1))
        screen.press("Enter")
        forward = "ArrowLeft" if script in ("arabic", "mixed") else "ArrowRight"
        for words, kind in marks:  # and by words alone
            for _ in range(40):
                screen.page.keyboard.press(forward)
                if screen.page.evaluate("getSelection().toString()") == words:
                    break
            screen.press(str(TYPES.index(kind) + 1))
        screen.press("Enter")
        done = 2 * list(SCRIPTS).index(script) + 2
        screen.decided(done)
        assert entities(screen, done - 2) == spans(text, *marks), script
        assert entities(screen, done - 1) == spans(text, *marks), script


def test_the_mouse_selects_marks_changes_and_deletes(show: Any) -> None:
    screen = show(desk(TEXT))
    page = screen.page
    box = page.evaluate(
        """() => { const range = document.createRange(); const node = document.querySelector(".line").firstChild;
        range.setStart(node, 3); range.setEnd(node, 7); const box = range.getBoundingClientRect();
        return [box.left, box.right, (box.top + box.bottom) / 2]; }"""
    )
    page.mouse.move(box[0] + 1, box[2])
    page.mouse.down()
    page.mouse.move(box[1] + 2, box[2], steps=4)  # with the space after it
    page.mouse.up()
    page.click(".choices button:has-text('MUS')")
    page.click(".source mark")
    page.click(".choices button:has-text('TMP')")
    page.click("[aria-label='End on by a word']")
    page.click("[aria-label='End back by a word']")
    page.click("button:has-text('Accept')")
    screen.decided(1)
    assert entities(screen) == spans(TEXT, ("1992", "TMP"))


@pytest.mark.parametrize("script", [pytest.param("latin", marks=pytest.mark.nightly), "emoji", "arabic"])
def test_the_mouse_moves_the_ends_of_a_span_by_characters(show: Any, script: str) -> None:
    text, whole, part = {
        "latin": (TEXT, "Kunsthal Rotterdam", "sthal Rott"),
        "emoji": ("Zomer 👩‍👩‍👧 Delft 🇳🇱 in 1650", "👩‍👩‍👧 Delft 🇳🇱", "Delft"),
        "arabic": ("زار المتحف في القاهرة عام 1902", "المتحف في القاهرة", "تحف في القا"),
    }[script]
    screen = show(desk(text, text, weak=[spans(text, (part, "MUS"))] * 2))
    page = screen.page
    start = text.index(whole)
    for keys in (("Enter",), ("u", "u", "Enter")):
        page.click(".source mark")
        for handle, offset in ((0, start), (1, start + len(whole))):
            box = page.locator(".source .handle").nth(handle).evaluate(BOX)
            to = page.evaluate(PLACE, len(text[:offset].encode("utf-16-le")) // 2)
            page.mouse.move(*box)
            page.mouse.down()
            page.mouse.move((box[0] + to[0]) / 2, to[1], steps=3)
            page.mouse.move(*to)
            page.mouse.up()
            screen.settle()
        screen.press(*keys)
    screen.decided(2)
    assert entities(screen, 0) == spans(text, (whole, "MUS"))
    assert entities(screen, 1) == spans(text, (part, "MUS"))
    assert screen.console == []


def test_a_text_of_100_000_characters_is_marked_at_its_end(show: Any) -> None:
    line = "Het archief van Delft bewaart 1000 brieven. "
    text = line * 1136 + "\n" + (line * 9 + "\n") * 126 + "Slot in Gouda."
    assert len(text) >= 99_000
    screen = show(desk(text))
    screen.page.keyboard.press("/")
    screen.write("Gouda")
    screen.page.wait_for_selector("#finder li")
    screen.press("Enter", "1", "ArrowRight", "ArrowLeft", "ArrowLeft", "3")
    assert screen.page.evaluate("document.querySelector('.source').scrollTop") > 1000
    screen.press("Enter")
    screen.decided(1)
    assert entities(screen) == spans(text, ("Gouda", "TOP"), ("Slot", "MUS"))


def test_a_long_text_of_one_line_is_answered_at_once(show: Any) -> None:
    line = "Het archief 😀 van Delft bewaart 1000 brieven. "
    text = line * 2128
    weak = [spans(line * (number + 1), ("Delft", "TOP"))[0] for number in range(0, 2000, 20)]
    screen = show(desk(text, weak=[weak]))
    screen.page.evaluate("document.fonts.ready")
    before = screen.busy()
    keys = [
        "ArrowDown",
        "ArrowDown",
        "2",
        *["ArrowRight"] * 6,
        "Shift+ArrowRight",
        "3",
        "u",
        *["ArrowRight"] * 100,
        "1",
    ]
    for key in keys:
        screen.page.keyboard.press(key)
    screen.settle()
    assert (screen.busy() - before) / len(keys) < 0.05  # seconds a key
    screen.press("Enter")
    screen.decided(1)
    gold = entities(screen)
    assert len(gold) == 101
    assert [span["type"] for span in gold].count("TMP") == 1


def test_hostile_types_and_texts_stay_text(show: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    text = f"{hostile} in \u202eDelft"
    record = {"id": hostile, "text": text, "suggestions": {hostile: {"entities": spans(text, (hostile, hostile))}}}
    screen = show(Desk("extraction", [record], ["entities"], types=[hostile]))
    assert screen.page.query_selector("main img") is None
    screen.press("Enter")
    screen.decided(1)
    assert entities(screen) == spans(text, (hostile, hostile))
    assert screen.console == []


@pytest.mark.nightly
def test_axe_finds_nothing(show: Any) -> None:
    weak = spans(TEXT, ("1992", "TOP"), ("Kunsthal Rotterdam", "MUS"), ("Rotterdam", "TOP"))
    screen = show(desk(TEXT, one=[weak], two=[weak[:2]]))
    screen.press("ArrowDown")
    assert screen.violations() == []
