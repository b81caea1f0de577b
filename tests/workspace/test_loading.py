"""Files of a user's project are loaded as Python loads them: with what is beside them, and errors with the spelling."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import dspy
import pytest

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError


def project(folder: Path, word: str) -> Path:
    """A program beside a module that it imports, as every project has one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "goldassay_neighbour.py").write_text(f"WORD = {word!r}\n", encoding="utf-8")
    file = folder / "agent.py"
    file.write_text(
        "from goldassay_neighbour import WORD\n\n\nclass Answer:\n    pass\n\n\ndef _private():\n    pass\n\n\n"
        "def program(text):\n    return {'answer': WORD}\n\n\ndef shout(text):\n    import goldassay_neighbour\n"
        "    return {'answer': goldassay_neighbour.WORD.upper()}\n",
        encoding="utf-8",
    )
    return file


def test_each_program_imports_the_module_beside_it_not_that_of_another(tmp_path: Path) -> None:
    files = [project(tmp_path / name, name) for name in ("before", "after")]
    programs = [workspace.target(str(file)).load() for file in files]
    assert [program("x") for program in programs] == [{"answer": "before"}, {"answer": "after"}]
    metric = files[1].with_name("metric.py")
    metric.write_text("import goldassay_neighbour as words\n", encoding="utf-8")
    assert workspace.load(metric).words is sys.modules["goldassay_neighbour"]
    assert workspace.target(f"{files[1]}:shout").load()("x") == {"answer": "AFTER"}


def test_a_program_inside_a_package_imports_relatively(tmp_path: Path) -> None:
    file = project(tmp_path / "goldassay_pack" / "inner", "packed")
    for folder in (file.parent, file.parents[1]):
        (folder / "__init__.py").touch()
    text = file.read_text(encoding="utf-8").replace("from goldassay_neighbour", "from .goldassay_neighbour")
    file.write_text(text, encoding="utf-8")
    assert workspace.target(str(file)).load()("x") == {"answer": "packed"}


def test_a_name_that_a_file_lacks_gets_its_spelling_or_what_can_be_run(tmp_path: Path) -> None:
    file = project(tmp_path, "x")
    with pytest.raises(GoldassayError, match=r"has no 'progam'; did you mean 'program'\?$"):
        workspace.target(f"{file}:progam").load()
    with pytest.raises(GoldassayError, match=r"has no 'zebra'; there are program, shout$"):
        workspace.target(f"{file}:zebra").load()
    agent = tmp_path / "react.py"
    agent.write_text("import dspy\ndef search(): ...\nagent = dspy.Predict('a -> b')\n", encoding="utf-8")
    with pytest.raises(GoldassayError, match=r"has no 'program'; did you mean react\.py:agent\?$"):
        workspace.target(str(agent)).load()


def test_a_workspace_of_ones_own_has_the_tasks_of_goldassay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path / "programs", "x")
    monkeypatch.chdir(tmp_path)
    assert "agent" in workspace.tasks()
    assert workspace.target("extraction:baseline").shape.inputs == ("text",)
    assert workspace.metric("extraction").measures


def test_a_judge_is_given_to_the_metric_of_the_program_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "replies.py"
    file.write_text("def program(letter): ...\ndef metric_with(judge): return judge\n", encoding="utf-8")
    assert workspace.judged(workspace.target("replies.py"), "a judge") == "a judge"
    file = tmp_path / "none.py"
    file.write_text("def program(letter): ...\n", encoding="utf-8")
    with pytest.raises(GoldassayError, match=r"none\.py has no metric_with"):
        workspace.judged(workspace.target("none.py"), "a judge")


def test_an_edited_metric_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    for value in ("0.5", "0.125"):
        file.write_text(f"def metric(gold, pred):\n    return {value}\n", encoding="utf-8")
        assert workspace.metric("own", str(file))({"label": "M"}, {"label": "M"}).score == float(value)


def test_the_only_output_of_a_module_of_dspy_is_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "tickets.py"
    file.write_text(
        "import dspy\n"
        "one = dspy.ChainOfThought('text -> team')\n"
        "two = dspy.Predict('text -> team, sure: float')\n"
        "class Own(dspy.Module):\n"
        "    def forward(self, text):\n"
        "        return dspy.Prediction(label='a', team='b')\n"
        "own = Own()\n",
        encoding="utf-8",
    )
    columns = [
        workspace.metric(workspace.target(f"{file}:{name}", "classification")).columns for name in ("one", "two", "own")
    ]
    assert columns == [{"pred.label": "team"}, {}, {}]
    agent = workspace.metric(workspace.target(f"{file}:one", "trajectories"))
    assert not agent.columns  # the trajectory of a ReAct is what it notes, not its output
    gold = dspy.Example(text="?", label="a")
    assert (
        workspace.metric(workspace.target(f"{file}:one", "classification"))(gold, dspy.Prediction(team="a")).score == 1
    )


def test_a_function_without_parameters_makes_the_program(tmp_path: Path) -> None:
    """It was called as the program, and the advice was to add inputs to the gold."""
    file = tmp_path / "mine.py"
    file.write_text("import dspy\n\n\ndef build():\n    return dspy.Predict('text -> label')\n", encoding="utf-8")
    target = workspace.target(f"{file}:build")
    assert (target.shape.inputs, target.shape.outputs) == (("text",), ("label",))
    assert target.tunable().predictors()


def test_a_saved_program_is_told_with_the_line_that_loads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dspy.Predict("text -> label").save("saved", save_program=True)
    with pytest.raises(GoldassayError, match=r"^saved is a saved program: ") as error:
        workspace.target("saved")
    (tmp_path / "loads.py").write_text(str(error.value).partition(" the line ")[2], encoding="utf-8")
    if version("dspy") >= "3.1":  # whose load asks for allow_pickle
        assert workspace.target("loads.py").shape.outputs == ("label",)
    with pytest.raises(GoldassayError, match=r"with `state=saved\.json`$"):
        workspace.target("saved.json")
