"""Steps in a review, in front of the real server: read by keys, the first wrong one marked, continuations compared."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.conftest import Start, sampling
from tests.ext.labelling.review.screen import PATIENCE
from tests.nightly import by_day

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def steps(calls: int, wrong: int) -> list[dict[str, Any]]:
    """An agent that searches and reads in turns; one call is another than it should be."""
    found: list[dict[str, Any]] = [{"kind": "module", "name": "agent"}]
    for number in range(calls):
        found.append({"kind": "model", "name": "plan", "parent": 0, "tokens": 30})
        args = {"id": number + 10 * (number == wrong)} if number % 2 else {"query": f"archive {number}"}
        name = "read" if number % 2 else "search"
        found.append({"kind": "tool", "name": name, "args": args, "output": HOSTILE, "seconds": 0.2, "parent": 0})
    return found


def draft(question: str, systems: dict[str, int], n: int = 4, calls: int = 4) -> list[dict[str, Any]]:
    stratum = "disagree" if question == "compare" else "rest"
    return [
        {
            "id": f"t{number}",
            "question": f"Where is archive {number}?",
            "suggestions": {
                name: {"answer": "Gouda", "trajectory": steps(150 if number == 3 and n > 3 else calls, wrong)}
                for name, wrong in systems.items()
            },
            "sampling": sampling(number, n, list(systems), question=question, stratum=stratum, population=n),
        }
        for number in range(n)
    ]


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def test_one_key_marks_the_first_wrong_step_and_modes_belong_to_it(start: Start, browse: Any, tmp_path: Path) -> None:
    review = start(draft("errors", {"a": 1}), task="trajectories")
    screen = browse(review.url)
    page = screen.page
    assert page.eval_on_selector_all(".steps > li", "(all) => all.length") == 9
    assert not page.query_selector(".steps dl")
    screen.press("h")
    assert "Choose a step" in page.inner_text("#message")
    screen.press(".", ".", ".", ".", ".", "l")
    assert HOSTILE in page.inner_text(".step.active dl")
    assert not page.query_selector(".steps script, .steps img")
    screen.press("h")
    assert page.inner_text(".step.wrong .num") == "2"
    assert "wrong from: read" in page.inner_text("#named")
    assert "Wrong" in page.inner_text("#actions button:first-child")
    screen.press("m")
    page.wait_for_selector("#finder input:focus")
    page.keyboard.type("wrong passage")
    screen.press("Enter", "Escape", "Enter")
    screen.press(".", ".", ".", "h", "Enter")  # a step without a mode is a failure, too
    screen.press("Enter")
    decisions = lines(tmp_path / "draft.review")
    assert [line.get("step") for line in decisions] == [4, 2, None]
    assert [line.get("good") for line in decisions] == [False, False, None]
    assert decisions[0]["modes"] == ["wrong passage"]
    screen.press("k", "k")
    assert page.inner_text(".step.wrong .num") == "1"
    screen.press("f")
    tables = page.inner_text("#modes")
    assert "search → read" in tables
    assert "start → search" in tables
    assert screen.console == []
    traces = review.session.journal.save_modes()
    assert [(trace.step, trace.transition) for trace in traces] == [
        (4, ("search", "read")),
        (2, ("start", "search")),
        (None, None),
    ]


def test_two_systems_are_compared_blindly_from_where_they_part(start: Start, browse: Any, tmp_path: Path) -> None:
    review = start(draft("compare", {"secret-a": 1, "secret-b": 3}), task="trajectories")
    screen = browse(review.url)
    page = screen.page
    assert "secret" not in page.content()
    assert page.inner_text("details.common > summary") == "The first 4 steps are the same"
    assert page.eval_on_selector_all(".beside >> nth=1 >> .pair.differs", "(all) => all.length") == 2
    assert "Left goes on better" in page.inner_text("#record")
    for _ in range(3):
        shown = [
            side["system"]
            for side in review.session.record(page.get_attribute("html", "data-item"), "me")["suggestions"]
        ]
        assert shown == [None, None]
        screen.press("1")
    decisions = lines(tmp_path / "draft.review")
    assert [(line["choice"], line.get("value")) for line in decisions] == [("1", None)] * 3
    waited = time.monotonic() + PATIENCE
    verdict: Any = None
    while verdict is None and time.monotonic() < waited:  # the page asks for it too, and one request computes it
        verdict = review.session.progress("me", "s", fresh=True)["verdict"]
        time.sleep(0.1)
    assert verdict is not None
    assert verdict["measure"] == "share of better continuations"
    screen.press("m")
    page.keyboard.press("Escape")
    assert "secret" not in page.content()
    assert screen.console == []


def test_hundreds_of_steps_open_at_once(start: Start, browse: Any) -> None:
    review = start(draft("errors", {"a": 1}, 1, calls=150), task="trajectories")
    began = browse(review.url)
    assert began.busy() < 30.0
    assert began.page.eval_on_selector_all(".steps > li", "(all) => all.length") == 301
    assert (
        began.page.eval_on_selector_all(".steps > li", "(all) => all.filter((each) => each.offsetParent).length") == 150
    )


def test_the_steps_of_any_task_are_shown(start: Start, browse: Any) -> None:
    rows = [
        {**row, "suggestions": {"a": row["suggestions"]["a"] | {"answer": "x"}}} for row in draft("errors", {"a": 1}, 2)
    ]
    page = browse(start(rows, task="answering").url).page
    assert page.eval_on_selector_all(".steps > li", "(all) => all.length") == 9


@pytest.mark.parametrize("question", by_day(("errors", "compare")))
def test_axe_finds_nothing(start: Start, browse: Any, question: str) -> None:
    systems = {"a": 1, "b": 3} if question == "compare" else {"a": 1}
    screen = browse(start(draft(question, systems, 1), task="trajectories").url)
    screen.press(".", ".", "l", *("h" * (question == "errors")))
    assert screen.violations() == []
