"""The page in front of the real server: every task, its journal, and the gold that comes out of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.conftest import Start, classification, extraction, sampling
from tests.ext.labelling.review.screen import Screen
from tests.nightly import by_day

from goldassay.gold import read


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


@pytest.mark.parametrize("task", by_day(DRAFTS, "retrieval"))
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


DELFT = {"start": 10, "end": 15, "text": "Delft"}
YEAR = {"start": 18, "end": 22, "type": "TMP", "text": "1985"}
PLACE = {**DELFT, "type": "TOP"}
MADE: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[str, Any], tuple[str, ...], dict[str, Any]]] = {
    # what the system says, keys that correct it, its gold, keys at a record without suggestions, its gold;
    # what begins with "=" is typed
    "classification": (
        {"label": "museum"},
        ("/", "=archive", "Enter"),
        {"label": "archive"},
        ("2",),
        {"label": "archive"},
    ),
    "extraction": (
        {"entities": [YEAR]},
        ("ArrowDown", "Backspace", "/", "=Delft", "Enter", "o", "=TOP", "Enter", "Enter"),
        {"entities": [PLACE]},
        ("ArrowRight", "ArrowRight", "ArrowRight", "2", "ArrowRight", "1", "Enter"),
        {"entities": [PLACE, YEAR]},
    ),
    "linking": (
        {"links": [{**DELFT, "candidates": [{"id": "Q690"}]}]},
        ("0", "Enter"),
        {"links": [{**DELFT, "ids": {}}]},
        ("ArrowRight", "ArrowRight", "ArrowRight", "/", "=Q42", "Enter", "Enter"),
        {"links": [{**DELFT, "ids": {"wikidata": ["Q42"]}}]},
    ),
    "answering": (
        {"answer": "Delft"},
        ("i", "=Gouda", "Enter"),
        {"answers": ["Gouda"]},
        ("0", "Enter"),
        {"answers": []},
    ),
    "retrieval": (
        {"results": [{"doc_id": "d1"}, {"doc_id": "d2"}]},
        ("1", "3", "Enter"),
        {"relevant": {"d1": 1, "d2": 3}},
        ("2", "Enter"),
        {"relevant": {"p1": 2}},
    ),
    "triples": (
        {"triples": [{"subject": "Museum", "predicate": "at", "object": "Delft"}]},
        ("ArrowDown", "2", "=in", "Enter", "Enter"),
        {"triples": [{"subject": "Museum", "predicate": "in", "object": "Delft"}]},
        ("ArrowRight", "1", "ArrowRight", "2", "ArrowRight", "3", "Enter"),
        {"triples": [{"subject": "Museum", "predicate": "in", "object": "Delft"}]},
    ),
    "records": (
        {"record": {"place": "Delft", "year": 1985}},
        ("ArrowDown", "i", "Control+A", "=1986", "Enter"),
        {"record": {"place": "Delft", "year": 1986}},
        ("i", "=Gouda", "Tab", "=1700", "Enter"),
        {"record": {"place": "Gouda", "year": 1700}},
    ),
    "reply": (
        {"reply": "Hello."},
        ("i", "Control+A", "=Sorry.", "Enter"),
        {"reply": "Sorry."},
        ("i", "=Thanks.", "Enter"),
        {"reply": "Thanks."},
    ),
}
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}, "year": {"type": "integer"}}}


def type_keys(screen: Screen, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key.startswith("="):
            screen.write(key[1:])
        else:
            screen.press(key)


@pytest.mark.parametrize("task", by_day(MADE, "extraction"))
def test_keys_alone_make_gold_from_a_suggestion_and_from_nothing(start: Start, browse: Any, task: str) -> None:
    output, correct, corrected, make, made = MADE[task]
    fields = {"text": TEXT, "question": "Where?", "query": "museums", "passages": {"p1": TEXT}}
    used = {"answering": ["question"], "retrieval": ["query", "passages"]}.get(task, ["text"])
    inputs = {name: fields[name] for name in used}
    draft = task_draft(task, output, **inputs)
    draft[0]["passages"] = {}
    for record in draft[1:]:
        record["suggestions"] = {}
    review = start(draft, task=task)
    (review.folder / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    screen = browse(review.url)
    for number, keys in enumerate((correct, make, make, make), 1):
        type_keys(screen, keys)
        screen.page.wait_for_selector(f"html:not([data-item='{number - 1}'])", state="attached")
        screen.settle()
    assert state(screen) == "finished"
    review.export()
    lines = [json.loads(line) for line in (review.folder / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    gold = [{name: record[name] for name in corrected} for record in lines]
    assert gold == [corrected, made, made, made]
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
    review = start(classification(20), task="classification")
    screen = browse(review.url)
    if review.session.folder.mode != "compare":
        pytest.fail(f"the draft is opened as {review.session.folder.mode}")
    assert "Systems: a, b" not in screen.page.inner_text("#panel")
    until_finished(screen, "1")
    items = [line["item"] for line in journal(review.folder)]
    assert sum(item.isdecimal() for item in items) == 20
    assert sum(item.endswith(":repeat") for item in items) == 1  # one in twenty comes again
    screen.page.wait_for_selector("#panel:has-text('Systems: a, b')")


def test_a_corrected_side_is_preferred_and_undo_shows_the_choice_again(start: Start, browse: Any) -> None:
    review = start(classification(4), task="classification")
    screen = browse(review.url)
    screen.press("a", "2", "2", "u")
    assert "Both are correct" in screen.page.inner_text("main")
    screen.press("u")
    screen.page.wait_for_selector("[aria-pressed=true]:has-text('library')")  # what was corrected, to go on with
    screen.press("u")
    assert "nothing to undo" in screen.page.inner_text("#message")
    corrected = journal(review.folder)[0]
    assert (corrected["choice"], corrected["value"]) == ("1", {"label": "library"})


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


def test_a_page_without_records_goes_on_when_another_one_leaves_its_own(start: Start, browse: Any) -> None:
    review = start(extraction(4), task="extraction")
    ann = browse(review.url, "ann")
    bob = browse(review.url, "bob", poll=200)
    assert "Other people have the rest." in bob.page.inner_text("main")
    ann.page.close()
    for lease in review.session.queue.leases.values():
        lease.seen -= 60
    bob.page.wait_for_selector("html[data-state=ready][data-item='0']", state="attached")
    assert until_finished(bob, "Enter", blind=("Enter",)) == 4
    assert "Every record is decided." in bob.page.inner_text("main")


def letters(n: int) -> list[dict[str, Any]]:
    """Answers to letters, drafted to find errors: half of them looked likely to fail."""
    return [
        {
            "id": f"l{number}",
            "letter": f"Letter {number} asks for a refund.",
            "suggestions": {"bot": {"reply": "Hello."}},
            "sampling": sampling(
                number // 2,
                5 * n // 2,
                ["bot"],
                question="errors",
                stratum="likely" if number % 2 else "rest",
                population=5 * n,
            ),
        }
        for number in range(n)
    ]


def name_mode(screen: Screen, typed: str, *then: str) -> None:
    screen.press("m")
    screen.write(typed)
    screen.press("Enter", *then)


def table(screen: Screen) -> dict[str, str]:
    """The modes of the tab with their numbers of records."""
    rows = screen.page.query_selector_all(".mode:not(.fresh)")
    return {row.query_selector(".mode-name").inner_text(): row.query_selector(".quiet").inner_text() for row in rows}


@pytest.mark.nightly
def test_modes_by_keyboard_alone_with_the_real_server(start: Start, browse: Any) -> None:
    review = start(letters(12), task="reply")
    screen = browse(review.url)
    for typed, grade in (("missing total", "2"), ("wrong tone", "1"), ("invented date", "3")):
        name_mode(screen, typed, grade)
        screen.press("Enter")
    for typed in ("tot", "ton", "dat", "tot"):  # completed
        name_mode(screen, typed, "Enter")
        screen.press("Enter")
    screen.press("n")
    screen.write("no greeting")
    screen.press("Enter", *["Enter"] * 5)
    assert state(screen) == "finished"
    screen.press("f")
    named = {
        "missing total": "3 records",
        "wrong tone": "2 records",
        "invented date": "2 records",
        "Notes without a mode": "1 record",
    }
    assert table(screen) == named
    text = screen.page.inner_text("#modes")
    assert "No new mode in the last 9 records." in text
    assert "12 of 60 traces read · 3 modes · 1 note without a mode" in text
    assert screen.page.query_selector_all(".mode svg.share")
    screen.press("e")
    screen.write("no total")
    screen.press("Enter")
    screen.press("m")  # merged
    screen.write("tone")
    screen.press("Enter")
    assert table(screen)["wrong tone"] == "5 records"
    screen.press("ArrowRight", " ", " ", "m")  # split
    screen.write("rude")
    screen.press("Enter", "d")
    screen.write("Not how one writes to a customer.")
    screen.page.keyboard.press("Escape")
    screen.settle()
    assert {"rude": "2 records", "wrong tone": "3 records"}.items() <= table(screen).items()
    assert "Not how one writes" in (review.folder / "modes.yaml").read_text(encoding="utf-8")
    assert [line["kind"] for line in journal(review.folder)][-4:] == ["rename", "merge", "move", "describe"]
    screen.press("u", "u", "u", "u")
    assert table(screen) == named
    screen.press("u")
    assert "no change" in screen.page.inner_text("#message")
    screen.press("f", "u")  # and decisions, back to the first
    while state(screen) != "finished" and "nothing to undo" not in screen.page.inner_text("#message"):
        screen.press("u")
    assert screen.page.get_attribute("html", "data-item") == "0"
    assert "missing total" in screen.page.inner_text("#named")
    assert "grade 2" in screen.page.inner_text("#named")


def test_two_browsers_see_each_others_modes(start: Start, browse: Any) -> None:
    review = start(letters(12), task="reply")
    ann = browse(review.url, "ann", poll=200)
    bob = browse(review.url, "bob")
    name_mode(ann, "missing total", "2")
    ann.press("Enter", "f")
    bob.press("f")
    assert table(bob) == {"missing total": "1 record"}
    bob.press("e")
    bob.write("no total")
    bob.press("Enter")
    ann.page.wait_for_selector(".mode-name:text-is('no total')")
    bob.press("f")
    name_mode(bob, "no", "Enter")
    bob.press("Enter")
    ann.page.wait_for_selector(".mode:has-text('2 records')")
    ann.press("f", "m")
    ann.page.wait_for_selector("#finder li:has-text('no total')")
    assert bob.console == ann.console == []


def test_a_record_that_is_forgotten_while_it_is_fetched_is_fetched_again(start: Start, browse: Any) -> None:
    screen = browse(start(letters(2), task="reply").url)
    forgotten = """async () => {
        const { Server } = await import("./assets/server.js");
        const server = new Server(() => {});
        const record = server.record("1");
        server.records.clear();
        return (await record)?.id;
    }"""
    assert screen.page.evaluate(forgotten) == "l1"


@pytest.mark.nightly
def test_dragging_with_the_real_server(start: Start, browse: Any) -> None:
    review = start(letters(8), task="reply")
    screen = browse(review.url)
    for typed in ("one", "two", "three", "one"):
        name_mode(screen, typed, "Enter")
        screen.press("Enter")
    screen.press("f")
    screen.page.drag_and_drop(".mode:has-text('three')", ".mode:has-text('two')")
    screen.page.wait_for_selector("#message:has-text('three is part of two')")
    assert table(screen) == {"one": "2 records", "two": "2 records"}
    screen.page.drag_and_drop(".mode-records li:first-child", ".mode.fresh")
    screen.page.wait_for_selector("#finder[open]")
    screen.write("four")
    screen.press("Enter")
    screen.page.wait_for_selector("#message:has-text('moved to four')")
    assert table(screen) == {"one": "2 records", "two": "1 record", "four": "1 record"}
    screen.page.click(".mode:has-text('four')")
    screen.page.click(".mode-records .link")
    screen.page.wait_for_selector("#record:not([hidden])")
    screen.settle()
    assert "four" in screen.page.inner_text("#named")
    screen.press("f", "e")
    screen.write("five")
    screen.press("Enter", "f")
    assert "five" in screen.page.inner_text("#named")
    assert screen.console == []


@pytest.mark.nightly
def test_axe_finds_nothing_on_the_modes_of_the_real_server(start: Start, browse: Any) -> None:
    screen = browse(start(letters(8), task="reply").url)
    for typed in ("missing total", "wrong tone", "tone"):
        name_mode(screen, typed, "2")
        screen.press("Enter")
    screen.press("f", "ArrowRight")
    assert screen.violations() == []


def test_the_page_ends_the_review(start: Start, browse: Any) -> None:
    review = start(classification(4))
    screen = browse(review.url)
    screen.page.on("dialog", lambda dialog: dialog.accept())
    screen.page.click("text=End the review")
    screen.page.wait_for_selector("#ended")
    review.server.wait()
    assert not screen.console


def test_an_answer_that_arrives_after_the_end_finds_no_page_and_stays_silent(start: Start, browse: Any) -> None:
    screen = browse(start(classification(4)).url, poll=200)
    screen.page.on("dialog", lambda dialog: dialog.accept())
    under_way: list[Any] = []
    screen.page.route("**/progress?*", lambda route: under_way.append((route, route.fetch())))
    with screen.page.expect_request("**/progress?*"):
        pass
    screen.page.click("text=End the review")
    screen.page.wait_for_selector("#ended")
    for route, response in under_way:
        route.fulfill(response=response)
    screen.page.wait_for_timeout(200)
    assert under_way
    assert not screen.console


def test_the_verdict_follows_a_decision_and_does_not_wait_for_the_next_poll(start: Start, browse: Any) -> None:
    screen = browse(start(classification(12), who="ann").url, poll=2_000_000_000)
    screen.press("1", "1", "1")
    screen.page.wait_for_selector("#panel .verdict", state="attached")
