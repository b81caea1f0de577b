"""The steps of a program on the report: a tree, two runs side by side, keys, hundreds of steps, hostile outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.measures import answering, classification, trajectories
from goldassay.reporting import pages
from goldassay.reporting.pages.report_page import example, shown_steps
from goldassay.reporting.summary import step_view
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

Open = Callable[..., Any]
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202e"
MANY = 300
METRIC = Metric({trajectories.CallF1(): 0.5, answering.ExactMatch(): 0.5})


def search(query: str) -> list[str]:
    return [HOSTILE, query]


def read(id: int) -> str:
    if id == 4:
        raise ConnectionError("the archive is down")
    return "A long text. " * 400


def size(question: str) -> int:
    return MANY if question.endswith(" 0?") else 6


def ideal(question: str) -> list[dict[str, Any]]:
    """Searching and reading in turns."""
    return [
        {"name": "read", "args": {"id": number}} if number % 2 else {"name": "search", "args": {"query": f"{number}"}}
        for number in range(size(question))
    ]


class Agent(dspy.Module):  # type: ignore[misc]
    """Goes the ideal way, but at one call, which it gets wrong."""

    def __init__(self, wrong: int) -> None:
        super().__init__()
        self.wrong = wrong
        self.tools = {tool.name: tool for tool in (dspy.Tool(search), dspy.Tool(read))}

    def forward(self, question: str) -> Any:
        steps = ideal(question)
        for number, step in enumerate(steps):
            if number == self.wrong:
                step["args"] = {"id": 4} if step["name"] == "read" else {"query": "something else"}
            try:
                step["output"] = self.tools[step["name"]](**step["args"])
            except ConnectionError as error:
                step["error"] = str(error)
        return dspy.Prediction(trajectory=steps, answer="Delft")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("agents")
    gold = [
        dspy.Example(id=f"q{i}", question=question, answers=["Gouda"], calls=ideal(question)).with_inputs("question")
        for i in range(8)
        for question in [f"Where is archive {i}?"]
    ]
    found = []
    for name, wrong in (("before", 3), ("after", 4)):
        evaluate(Agent(wrong), gold, METRIC, folder=folder / name, name=name, progress=False)
        found.append(Run.load(folder / name))
    return found


@pytest.fixture(scope="module")
def page(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The report of both runs, and that of the first alone."""
    folder = tmp_path_factory.mktemp("steps")
    files = (folder / "two.html", folder / "one.html")
    files[0].write_text(pages.report(runs), encoding="utf-8")
    files[1].write_text(pages.report(runs[:1]), encoding="utf-8")
    return files


def test_of_repeats_the_steps_of_one_answer_are_shown_with_its_own_errors(tmp_path: Path) -> None:
    class Fickle(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.names = iter(["search", "look", "look", "search"])

        def forward(self, question: str) -> Any:
            return dspy.Prediction(calls=[{"name": next(self.names)}])

    gold = [dspy.Example(id=str(i), question=str(i), calls=[{"name": "search"}]).with_inputs("question") for i in "ab"]
    metric = Metric(trajectories.CallF1())
    run = evaluate(Fickle(), gold, metric, threads=1, repeats=2, folder=tmp_path / "run", progress=False)
    assert [len(row.errors) for row in run.rows] == [1, 1]
    for at, row in enumerate(run.rows):
        answers: Any = example([run], at, [row])["runs"]
        (answer,) = answers
        is_wrong = answer["steps"][0]["name"] == "look"
        assert (answer["repeats"], answer["wrong_step"], "errors" in answer) == (2, 0 if is_wrong else None, is_wrong)


def test_the_first_wrong_step_is_that_of_the_recorded_calls(runs: list[Run]) -> None:
    steps, wrong = shown_steps(runs[0].rows[1])
    assert [step.kind for step in steps] == ["module", *["tool"] * 6]
    assert (wrong, steps[4].error) == (4, "ConnectionError: the archive is down")
    row = replace(runs[0].rows[1], steps=())  # nothing was recorded: the steps are those that the prediction names
    assert [step.name for step in shown_steps(row)[0]] == ["search", "read"] * 3
    assert shown_steps(row)[1] == 3


def test_an_answer_called_history_is_shown_beside_the_steps(runs: list[Run]) -> None:
    row = runs[0].rows[1]
    turns = {"messages": [{"tool_calls": {"tool_calls": [{"name": "search", "args": {"query": "0"}}]}}]}
    for history, names in (("Founded in 1885.", ["history", "answer"]), (turns, ["answer"])):
        changed = replace(row, prediction={"history": history, "answer": "Delft"})
        shown: Any = example(runs[:1], 1, [changed])["runs"]
        (answer,) = shown
        assert list(answer["prediction"]) == names
        assert answer["steps"]


def test_the_steps_are_a_tree_whose_texts_stay_texts(page: tuple[Path, Path], opened: Open) -> None:
    seen = opened(page[1], hash="#example=q1", charts=False)
    seen.page.wait_for_selector(".steps-box")
    lines = seen.page.eval_on_selector_all(".steps > li", "(all) => all.map((each) => each.className)")
    assert [line.split()[1:3] for line in lines] == [["inner", "d0"], *[["call", "d1"]] * 6]
    assert seen.page.eval_on_selector_all(".step.wrong", "(all) => all.map((each) => each.innerText)")[0].split()[
        :3
    ] == ["4", "tool", "read"]
    assert not seen.page.query_selector(".steps dl")  # arguments and outputs are folded
    seen.page.keyboard.press(".")
    seen.page.keyboard.press(".")
    seen.page.keyboard.press("l")
    seen.page.wait_for_selector(".step.active dl")
    assert HOSTILE.replace('"', '\\"') in seen.page.inner_text(".step.active dl")
    assert not seen.page.query_selector(".steps script, .steps img")
    assert "owned" not in seen.page.title()
    seen.page.keyboard.press("l")
    assert not seen.page.query_selector(".step.active details[open]")
    seen.page.keyboard.press("h")
    assert "first wrong step" in seen.page.inner_text(".step.active")
    seen.page.keyboard.press(",")
    assert seen.page.inner_text(".step.active .num") == "3"
    seen.quiet()


def test_steps_of_other_types_are_shown_all_the_same(page: tuple[Path, Path], opened: Open) -> None:
    seen = opened(page[1], charts=False)
    odd = [
        {"kind": "constructor", "name": 3, "seconds": "slow", "tokens": "many", "error": {"a": 1}, "parent": 9},
        {"kind": "tool", "name": HOSTILE, "args": {"": [None]}, "output": {"deep": [1]}, "tokens": -1, "parent": 0},
        {"kind": None, "name": None, "args": None, "parent": "x"},
    ]
    text = seen.page.evaluate("(odd) => goldassay.steps.tree(odd, { wrong: 7 }).textContent", odd)
    assert HOSTILE in text
    assert "too early" in text
    times = "(all) => goldassay.steps.tree(all.map((seconds) => ({ name: 'x', seconds }))).textContent"
    assert seen.page.evaluate(times, [0.001, 0.25]).count("0.") == 1  # 0.00 s says nothing
    assert seen.page.evaluate(
        "(odd) => goldassay.steps.sideBySide([{ name: 1, steps: odd }, { name: 2, steps: [] }])", odd
    )
    seen.quiet()


def test_hundreds_of_steps_are_there_at_once_and_only_calls_at_first(page: tuple[Path, Path], opened: Open) -> None:
    seen = opened(page[1], hash="#example=q1", charts=False)
    seen.page.wait_for_selector(".steps-box")
    began = seen.busy()
    seen.page.keyboard.press("k")
    seen.page.wait_for_selector(f".steps > li:nth-child({MANY + 1})", state="attached")
    assert seen.busy() - began < 2.0
    assert (
        seen.page.eval_on_selector_all(".steps > li", "(all) => all.filter((each) => each.offsetParent).length") == MANY
    )
    seen.page.click("text=Show all steps")
    assert seen.page.is_visible(".steps > li:first-child")
    seen.page.keyboard.press("h")
    assert seen.page.inner_text(".step.active .num") == "4"
    box = seen.page.evaluate("document.querySelector('.steps').clientHeight <= innerHeight")
    assert box, "the list scrolls by itself"


def test_two_runs_are_aligned_and_the_first_divergence_is_marked(page: tuple[Path, Path], opened: Open) -> None:
    seen = opened(page[0], hash="#example=q1", charts=False)
    seen.page.wait_for_selector(".steps-box")
    assert seen.page.inner_text("details.common > summary") == "The first 4 steps are the same"
    rows = seen.page.eval_on_selector_all(".divergence + .beside > li", "(all) => all.map((each) => each.className)")
    assert rows == ["pair differs", "pair differs", "pair"]
    seen.page.keyboard.press(".")
    assert seen.page.inner_text(".step.active .num") == "4", "keys pass over what is folded"
    seen.page.evaluate("document.querySelector('.step.active').classList.remove('active')")
    seen.page.keyboard.press("h")
    assert seen.page.inner_text(".step.active b") == "read"
    seen.page.evaluate("document.querySelector('.common .step').classList.add('wrong')")
    seen.page.keyboard.press("h")
    assert seen.page.is_visible(".common .step.active"), "a wrong step in what is folded is shown"
    align = """(pair) => goldassay.steps.align(
        ...pair.map((side) => [...side].map((name) => ({ kind: "tool", name, args: {} })))).pairs"""
    assert seen.page.evaluate(align, ["abcde", "abxde"]) == [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]]
    assert seen.page.evaluate(align, ["abc", "acd"]) == [[0, 0], [1, None], [2, 1], [None, 2]]
    assert seen.page.evaluate(align, ["", "a"]) == [[None, 0]]
    assert seen.page.evaluate(align, ["aaaa", "aaaaaa"])[-1] == [None, 5]
    seen.quiet()


def test_the_table_from_step_to_step_is_on_the_page(page: tuple[Path, Path], opened: Open) -> None:
    seen = opened(page[0], charts=False)
    tables = seen.page.inner_text("#verdict")
    assert "before: where trajectories first go wrong" in tables
    rows = seen.page.eval_on_selector_all(".view >> nth=0 >> tbody tr", "(all) => all.map((each) => each.innerText)")
    assert rows[3].split() == ["step", "4", "8", "8", "1.000", "[0.676,", "1.000]", "100%"]
    assert "search → read" in tables


def test_of_many_steps_those_are_listed_at_which_one_goes_wrong() -> None:
    calls = [{"name": "read", "args": {"id": number}} for number in range(40)]
    gold = [{"id": "a", "question": "?", "calls": calls}, {"id": "b", "question": "?", "calls": calls[:2]}]
    pred = [{"calls": [*calls[:35], calls[0]]}, {"calls": calls[:2]}]
    tables = trajectories.scorecard(gold, pred).by
    view: Any = step_view("run", tables)
    assert [row[:3] for row in view[1].rows] == [["step 36", 1, 1]]
    assert len(tables["step"]) == 36
    view = step_view("run", trajectories.scorecard(gold[1:], [{"calls": calls[:1]}]).by)
    assert len(view[1].rows) == 2


@pytest.mark.nightly
@pytest.mark.parametrize("number", [0, 1])
def test_axe_finds_nothing(page: tuple[Path, Path], opened: Open, number: int) -> None:
    seen = opened(page[number], hash="#example=q1")
    seen.page.wait_for_selector(".steps-box")
    for key in ("h", "l"):
        seen.page.keyboard.press(key)
    assert seen.violations("examples", *([] if number else ["verdict"])) == []


def test_a_picture_of_an_input_is_shown(opened: Open, tmp_path: Path) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    scan = dspy.Image(f"data:image/png;base64,{pixel}")
    gold = [dspy.Example(id="a", scan=scan, label="map").with_inputs("scan")]

    def program(scan: object) -> dict[str, str]:
        return {"label": "map"}

    evaluate(program, gold, Metric(classification.Accuracy()), folder=tmp_path / "run", progress=False)
    file = tmp_path / "scans.html"
    file.write_text(pages.report([Run.load(tmp_path / "run")]), encoding="utf-8")
    assert Run.load(tmp_path / "run").rows[0].inputs == {"scan": {"url": scan.url}}
    seen = opened(file, hash="#example=a", charts=False)
    seen.page.wait_for_function("document.querySelector('img.picture')?.naturalWidth === 1")
    assert "base64" not in seen.page.inner_text("body")
