"""The page of `review` in a real browser: classification, and what every task shares."""

from __future__ import annotations

from typing import Any

from tests.ext.labelling.review.desk import Desk

LABELS = ["question", "complaint", "praise"]


def drafts(n: int, **suggestions: str) -> list[dict[str, Any]]:
    """Records with texts; each system suggests one label for all of them."""
    outputs = {name: {"label": label} for name, label in suggestions.items()}
    return [{"id": f"r{number}", "text": f"Text {number}", "suggestions": outputs} for number in range(n)]


def desk(n: int, **suggestions: str) -> Desk:
    return Desk("classification", drafts(n, **suggestions), ["label"], labels=LABELS)


def test_a_digit_decides_and_goes_on(show: Any) -> None:
    screen = show(desk(3))
    screen.press("2", "3", "1")
    screen.decided(3)
    assert screen.desk.gold() == [{"label": "complaint"}, {"label": "praise"}, {"label": "question"}]
    assert screen.at() == ""
    assert screen.console == []


def test_enter_accepts_a_suggestion_and_a_letter_takes_a_system(show: Any) -> None:
    records = drafts(2, first="praise", second="praise") + drafts(2, first="praise", second="question")
    for number, record in enumerate(records):
        record["id"] = f"r{number}"
    screen = show(Desk("classification", records, ["label"], labels=LABELS))
    screen.press("Enter", "2")
    assert "Choose first" not in screen.page.inner_text("#message")
    screen.press("Enter")  # the systems disagree: nothing is chosen for the reviewer
    assert "Choose" in screen.page.inner_text("#message")
    screen.press("b", "Enter", "a", "Enter")
    screen.decided(4)
    assert [value["label"] for value in screen.desk.gold()] == ["praise", "complaint", "question", "praise"]


def test_several_labels_the_first_is_the_main_one(show: Any) -> None:
    screen = show(Desk("classification", drafts(2), ["label", "secondary_labels"], labels=LABELS))
    screen.press("3", "1", "Enter", "1", "2", "2", "Enter")
    screen.decided(2)
    assert screen.desk.gold() == [
        {"label": "praise", "secondary_labels": ["question"]},
        {"label": "question", "secondary_labels": []},
    ]


def test_a_set_of_labels_may_be_empty(show: Any) -> None:
    screen = show(Desk("classification", drafts(2), ["labels"], labels=LABELS, several=True))
    screen.press("3", "1", "Enter", "Enter")
    screen.decided(2)
    assert screen.desk.gold() == [{"labels": ["praise", "question"]}, {"labels": []}]


def test_many_labels_have_capitals_and_are_found_by_typing(show: Any) -> None:
    names = [*"GLAMORCUBES", "mixed", "holy site", "taste and smell"]
    screen = show(Desk("classification", drafts(3), ["label"], labels=names))
    screen.press("R")
    screen.press("1")
    screen.page.keyboard.press("/")
    screen.write("smell")
    screen.page.wait_for_selector("#finder li:first-child:has-text('taste and smell')")
    screen.press("Enter")
    screen.decided(3)
    assert [value["label"] for value in screen.desk.gold()] == ["R", "mixed", "taste and smell"]


def test_undo_reaches_the_beginning_and_a_reload_forgets_nothing(show: Any) -> None:
    screen = show(desk(6, only="praise"))
    screen.press("1", "2", "s", "x", "Enter")
    screen.page.reload()
    screen.settle()
    assert screen.at() == "r5"
    ids = []
    for _ in range(5):
        screen.press("u")
        ids.append(screen.at())
    assert ids == ["r4", "r3", "r2", "r1", "r0"]
    assert screen.desk.decisions() == {}
    assert screen.page.inner_text("[aria-pressed=true]").startswith("question")  # what was decided is chosen again
    screen.press("u")
    assert "nothing to undo" in screen.page.inner_text("#message")
    screen.press("Enter")
    screen.decided(1)
    assert screen.desk.gold()[0] == {"label": "question"}


def test_two_browsers_decide_the_same_queue(show: Any) -> None:
    both = desk(6)
    ours = show(both)
    theirs = show(both)
    ours.press("1", "1")
    theirs.press("2")  # the record that it shows was decided meanwhile: the later decision counts
    theirs.press("2", "2", "2", "2")
    ours.press("1")
    assert all(both.gold())
    assert [line["kind"] for line in both.lines] == ["label"] * len(both.lines)


def test_notes_skips_doubts_and_names_of_failures_are_written(show: Any) -> None:
    screen = show(desk(4))
    screen.press("n")
    screen.write("u s x: 1 <b>")
    screen.press("Enter", "1")
    screen.press("m")
    screen.write("wrong tone")
    screen.press("Enter", "Enter", "2", "s", "x")
    first, second, third, fourth = screen.desk.lines
    assert (first["note"], first["value"]) == ("u s x: 1 <b>", {"label": "question"})
    assert (second["modes"], second["note"]) == (["wrong tone"], None)
    assert [third["kind"], fourth["kind"]] == ["skip", "unsure"]
    assert all(line["seconds"] >= 0 for line in screen.desk.lines)


def test_the_arrows_of_the_queue_and_going_to_an_id(show: Any) -> None:
    screen = show(desk(30))
    screen.press("j", "j", "k")
    assert screen.at() == "r1"
    screen.page.keyboard.press("g")
    screen.write("r27")
    screen.page.wait_for_selector("#finder li:only-child")
    screen.press("Enter")
    screen.page.wait_for_selector("html[data-item='27']", state="attached")
    screen.press("3")
    screen.decided(1)
    assert screen.desk.gold()[27] == {"label": "praise"}
    assert screen.at() == "r0"
    screen.press("?")
    text = screen.page.inner_text("#keys")
    assert all(
        word in text for word in ["question", "complaint", "praise", "Undo", "Skip", "Guidelines", "Go to an id"]
    )


def test_what_is_typed_while_the_server_is_away_is_not_lost(show: Any) -> None:
    screen = show(desk(4))
    screen.desk.fail_next = 2
    for key in "123":
        screen.page.keyboard.press(key)
    screen.page.wait_for_selector("#message:has-text('trying again')")
    screen.decided(3)
    screen.settle()
    assert [value and value["label"] for value in screen.desk.gold()] == [*LABELS, None]
    assert len(screen.desk.lines) == 3


def test_a_fault_of_the_server_is_shown_and_not_asked_again(show: Any) -> None:
    screen = show(desk(4))
    screen.desk.fail_next, screen.desk.fail_with = 1, 500
    screen.page.keyboard.press("1")
    screen.page.wait_for_selector("#message:has-text('not now')")
    assert screen.desk.lines == []
    screen.press("1")
    screen.decided(1)


def test_guidelines_are_edited_with_the_record_that_prompted_them(show: Any) -> None:
    screen = show(desk(2))
    screen.press("r")
    screen.page.keyboard.press("Control+End")
    screen.write("\nThanks are praise.")
    screen.page.keyboard.press("Control+Enter")
    screen.page.wait_for_selector("#rules:not([open])", state="attached")
    assert screen.desk.guidelines == {"text": "A place is TOP.\nThanks are praise.", "version": 2, "record": "r0"}
    screen.desk.guidelines = {"text": "Theirs.", "version": 9}
    screen.page.click("#open-rules")
    screen.page.wait_for_selector("#rules textarea")
    screen.page.keyboard.press("Escape")
    screen.press("1")
    screen.decided(1)


def test_the_mouse_does_all_of_it(show: Any) -> None:
    screen = show(desk(3, only="praise"))
    screen.page.click("text=complaint")
    screen.page.click("button:has-text('Accept')")
    screen.page.wait_for_selector("html[data-item='2']", state="attached")
    screen.page.click("button:has-text('Undo')")
    screen.page.wait_for_selector("html[data-item='1']", state="attached")
    screen.page.click("button:has-text('Skip')")
    screen.page.wait_for_selector("html[data-item='2']", state="attached")
    screen.page.click("button:has-text('Back')")
    assert [line["kind"] for line in screen.desk.lines] == ["label", "label", "undo", "skip"]


HOSTILE = "<img src=x onerror=alert(1)></script><b>'\"&{{7*7}}\u202e\0"


def test_hostile_texts_labels_and_ids_stay_text(show: Any) -> None:
    records = [{"id": HOSTILE, "text": HOSTILE, HOSTILE: HOSTILE, "suggestions": {HOSTILE: {"label": HOSTILE}}}]
    screen = show(
        Desk(
            "classification",
            records,
            ["label"],
            labels=["a", HOSTILE],
            modes=[{"name": HOSTILE, "description": HOSTILE}],
            title=HOSTILE,
        )
    )
    assert screen.page.query_selector("main img, main b, header img, aside img") is None
    screen.press("g")
    assert screen.page.query_selector("#finder img") is None
    screen.page.keyboard.press("Escape")
    screen.press("2")
    screen.decided(1)
    assert screen.desk.gold() == [{"label": HOSTILE}]
    assert screen.console == []


FIGURES = {
    "verdict": {
        "sentence": "b is better than a by +0.120.",
        "difference": 0.12,
        "low": 0.03,
        "high": 0.2,
        "p": 0.01,
        "proven": True,
        "labels": 30,
        "more": 0,
    },
    "decided": True,
    "quality": {
        "anchoring": {"shown": 9, "hidden": 3, "value": 0.1, "low": -0.1, "high": 0.3},
        "agreement": [{"name": "kappa", "between": ["ann", "bob"], "value": 0.8, "low": 0.6, "high": 0.9, "units": 9}],
    },
    "judge": {"n": 9, "agreement": [0.8, 0.5, 0.9], "sensitivity": [0.8, 0.5, 0.9], "specificity": None},
}


def test_axe_finds_nothing(show: Any) -> None:
    desk = Desk("classification", drafts(3, a="praise"), ["label"], labels=LABELS, figures=FIGURES)
    screen = show(desk, theme="dark", width=390)
    assert screen.page.evaluate("document.documentElement.dataset.theme") == "dark"
    found = screen.violations()
    for key in ("?", "g", "r"):
        screen.press(key)
        found += screen.violations()
        screen.page.keyboard.press("Escape")
    screen.page.set_viewport_size({"width": 390, "height": 900})
    screen.press("p")
    found += screen.violations()
    assert found == []


def test_the_panel_says_what_is_decided_and_offers_to_go_on(show: Any) -> None:
    screen = show(Desk("classification", drafts(3, a="praise"), ["label"], labels=LABELS, figures=FIGURES))
    text = screen.page.inner_text("#panel")
    assert all(
        part in text for part in ["b is better than a", "This is decided", "kappa, ann and bob", "0.80 [0.50, 0.90]"]
    )
    screen.page.click("#panel button:has-text('Go on')")
    screen.settle()
    assert "This is decided" not in screen.page.inner_text("#panel")
    screen.press("1")
    screen.page.click("#panel button:has-text('Write gold')")
    screen.page.wait_for_selector("#message:has-text('1 records in gold.jsonl')")
