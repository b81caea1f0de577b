"""The page in front of the real server: every task, its journal, and the gold that comes out of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.reviewing.conftest import Start, classification, extraction, sampling
from tests.reviewing.desk import Desk
from tests.reviewing.screen import PATIENCE, Screen

from goldassay.gold import read


@pytest.fixture
def browse(chromium: Any) -> Iterator[Any]:
    contexts = []

    def open_page(url: str, who: str = "") -> Screen:
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        if who:
            context.add_init_script(f"localStorage.setItem('goldassay-reviewer', {who!r})")
        screen = Screen(context.new_page(), Desk("none", [], []))
        screen.page.on("console", lambda message: screen.console.append(message.text))
        screen.page.on("pageerror", lambda error: screen.console.append(str(error)))
        screen.page.goto(url)
        screen.settle()
        return screen

    yield open_page
    for context in contexts:
        context.close()


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def state(screen: Screen) -> str:
    return str(screen.page.get_attribute("html", "data-state"))


def until_finished(screen: Screen, *keys: str, blind: tuple[str, ...] = ("1",)) -> int:
    """Press the same keys at every record until none is left; others at a record without suggestions."""
    for count in range(200):
        if state(screen) == "finished":
            return count
        before = screen.page.get_attribute("html", "data-item")
        screen.press(*(blind if "without suggestions" in screen.page.inner_text("main") else keys))
        screen.page.wait_for_selector(f"html:not([data-item='{before}'])", state="attached")
    raise AssertionError("the queue does not end")


def task_draft(task: str, output: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{task}{number}",
            **fields,
            "suggestions": {"a": output},
            "sampling": sampling(number, 4, ["a"], question="tuning"),
        }
        for number in range(4)
    ]


TEXT = "Museum in Delft 🙂 1985."
DRAFTS = {
    "answering": task_draft("answering", {"answer": "Delft"}, question="Where?", context=TEXT),
    "linking": task_draft(
        "linking", {"links": [{"start": 10, "end": 15, "text": "Delft", "candidates": [{"id": "Q690"}]}]}, text=TEXT
    ),
    "triples": task_draft(
        "triples", {"triples": [{"subject": "Museum", "predicate": "in", "object": "Delft"}]}, text=TEXT
    ),
    "records": task_draft("records", {"record": {"place": "Delft", "year": 1985}}, text=TEXT),
    "extraction": task_draft(
        "extraction", {"entities": [{"start": 18, "end": 22, "type": "TMP", "text": "1985"}]}, text=TEXT
    ),
    "retrieval": task_draft("retrieval", {"results": [{"doc_id": "d1"}, {"doc_id": "d2"}]}, query="museums"),
}
GOLD: dict[str, dict[str, Any]] = {
    "answering": {"answers": ["Delft"]},
    "linking": {"links": [{"start": 10, "end": 15, "text": "Delft", "ids": {"wikidata": ["Q690"]}}]},
    "triples": {"triples": [{"subject": "Museum", "predicate": "in", "object": "Delft"}]},
    "records": {"record": {"place": "Delft", "year": 1985}},
    "extraction": {"entities": [{"start": 18, "end": 22, "type": "TMP", "text": "1985"}]},
    "retrieval": {"relevant": {"d1": 3, "d2": 0}},
}


@pytest.mark.parametrize("task", DRAFTS)
def test_what_is_accepted_is_gold_that_validates(start: Start, browse: Any, task: str) -> None:
    review = start(DRAFTS[task], task=task)
    screen = browse(review.url)
    keys = ("3", "0", "Enter") if task == "retrieval" else ("Enter",)
    assert until_finished(screen, *keys) == 4
    review.export()
    gold = read(review.folder / "gold.jsonl", task=task)
    assert len(gold) == 4
    for record in gold:
        assert {name: record[name] for name in GOLD[task]} == GOLD[task]
    assert screen.console == []


def test_undo_goes_back_to_the_first_record_and_survives_a_reload(start: Start, browse: Any) -> None:
    review = start(classification(8), task="classification")
    screen = browse(review.url)
    screen.press("1", "2", "Enter", "3")
    screen.page.reload()
    screen.settle()
    screen.press("u", "u", "u")
    assert screen.page.inner_text(".where .link") == "r0"
    screen.press("u")
    assert "nothing to undo" in screen.page.inner_text("#message")


def test_sides_are_compared_blind_and_names_come_at_the_end(start: Start, browse: Any) -> None:
    review = start(classification(40), task="classification")
    screen = browse(review.url)
    if review.session.folder.mode != "compare":
        pytest.fail(f"the draft is opened as {review.session.folder.mode}")
    assert "Systems: a, b" not in screen.page.inner_text("#panel")
    until_finished(screen, "1")
    items = [line["item"] for line in journal(review.folder)]
    assert sum(item.isdecimal() for item in items) == 40
    assert sum(item.endswith(":repeat") for item in items) == 2  # one in twenty comes again
    screen.page.wait_for_selector("#panel:has-text('Systems: a, b')")


def test_two_reviewers_get_different_records_and_settle_their_conflicts(start: Start, browse: Any) -> None:
    review = start(extraction(8), task="extraction", overlap=1.0)
    ann = browse(review.url, "ann")
    bob = browse(review.url, "bob")
    until_finished(ann, "Enter", blind=("Enter",))
    for _ in range(8):
        bob.press("a", "ArrowDown", "Backspace", "Enter")
    bob.settle()
    assert "reviewers disagree" in bob.page.inner_text("main")
    bob.press("1")
    last = journal(review.folder)[-1]
    assert (last["who"], last["item"].endswith(":conflict")) == ("bob", True)
