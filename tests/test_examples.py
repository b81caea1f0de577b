"""The examples run as they stand: each script is short and prints its value, each notebook runs from top to bottom."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TASKS = ("answering", "classification", "extraction", "linking", "records", "retrieval", "trajectories", "triples")
NOTEBOOKS = ("judging", "own-task", "tuning-with-patches")


def test_there_is_one_script_for_each_task_and_nothing_that_is_not_run() -> None:
    assert tuple(sorted(file.stem for file in EXAMPLES.glob("*.py"))) == TASKS
    assert tuple(sorted(file.stem for file in EXAMPLES.glob("*.ipynb"))) == NOTEBOOKS


@pytest.mark.parametrize("task", TASKS)
def test_a_script_is_short_and_prints_a_value_with_its_interval_and_an_error(
    task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = EXAMPLES / f"{task}.py"
    assert len(file.read_text(encoding="utf-8").splitlines()) < 40
    runpy.run_path(str(file), run_name="__main__")
    value, error = capsys.readouterr().out.splitlines()
    match = re.search(r" (\d\.\d{3}) \[(\d\.\d{3}), (\d\.\d{3})\] on \d+ ", value)
    assert match is not None, value
    middle, low, high = map(float, match.groups())
    assert 0 <= low <= middle <= high <= 1
    assert len(error.removeprefix("An error: ").split()) > 2


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_and_prints_what_it_promises(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = EXAMPLES / f"{name}.ipynb"
    book = json.loads(file.read_text(encoding="utf-8"))
    monkeypatch.chdir(EXAMPLES)
    before = {path.name for path in EXAMPLES.iterdir()}
    space: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(book["cells"]):
        if cell["cell_type"] != "code":
            continue
        code = "".join(cell["source"])
        capsys.readouterr()
        exec(compile(code, f"{file.name}, cell {number}", "exec"), space)
        printed = capsys.readouterr().out
        for promised in re.findall(r"# → (.+)", code):
            assert promised.strip() in printed, printed
    assert {path.name for path in EXAMPLES.iterdir()} - {"__pycache__"} == before - {"__pycache__"}  # leaves no files
