"""A task of one's own goes through the commands like the six: from a table to a run that can be compared."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay import workspace
from goldassay.cli import app
from goldassay.exceptions import GoldassayError
from goldassay.gold import load
from goldassay.running import Run

RUN = CliRunner(env={"COLUMNS": "100"})
PLACES = ("Delft", "Gouda", "Breda", "Hoorn", "Venlo", "Assen", "Tiel", "Goes", "Weert", "Emmen", "Zwolle", "Kampen")


def run(*words: object) -> Any:
    return RUN.invoke(app, [str(word) for word in words])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace made from a table of 36 lines whose columns are called otherwise than the task's fields."""
    monkeypatch.chdir(tmp_path)
    with Path("mine.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["note", "when", "place"])
        for n in range(36):
            place = PLACES[n % 12]
            table.writerow(
                [f"{place * (n // 12 + 1)}: {'built' if n % 2 else 'burned'} in {1650 + 10 * n}", 17 + n // 9, place]
            )
    done = run(
        "init",
        "proj",
        "--task",
        "dating",
        "--from",
        "mine.csv",
        "--map",
        "text=note,century=when",
        "--outputs",
        "century",
    )
    assert done.exit_code == 0, done.exception
    monkeypatch.chdir(tmp_path / "proj")
    return tmp_path / "proj"


def test_the_fields_and_types_come_from_the_data(project: Path) -> None:
    program = (project / "programs" / "dating.py").read_text(encoding="utf-8")
    assert "text: str = dspy.InputField()" in program
    assert "century: int = dspy.OutputField()" in program
    gold = load("dating", task="dating").task("dating")
    assert len(gold.train) + len(gold.dev) + len(gold.test) == len(gold) == 36
    assert gold.train[0].inputs().keys() == ["text"]


def test_what_init_wrote_passes_its_own_test(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_journey(project: Path) -> None:
    assert "36" in run("gold", "validate", "gold/dating", "--near", "100").output
    stats = json.loads(run("gold", "stats", "dating", "--json").output)
    assert stats["tasks"]["dating"]["counts"]["century"] == {"17": 9, "18": 9, "19": 9, "20": 9}
    assert run("gold", "split", "dating", "--out", "again").exit_code == 0
    assert "--force" in str(run("gold", "split", "dating", "--out", "again").exception)
    for threads in (1, 2):
        assert run("eval", "dating:baseline", "--split", "test", "--threads", threads).exit_code == 0
    runs = sorted(Path("runs").iterdir())
    loaded = Run.load(runs[0])
    assert loaded.values == {"score": pytest.approx(loaded.value)}
    assert {"score"} == set(loaded.intervals)
    assert all(row["errors"][0]["kind"] == "wrong_value" for row in loaded.rows if row["score"] < 1)
    compared = json.loads(run("compare", *runs, "--json").output)
    assert compared["comparisons"][0]["difference"] == 0
    assert run("patch", "list", "dating").exit_code == 0


def test_foreign_gold_is_read_as_it_is(project: Path) -> None:
    done = run("eval", "dating:baseline", "--gold", "../mine.csv", "--map", "text=note,century=when")
    assert done.exit_code == 0, done.exception
    wrong = run("eval", "dating:baseline", "--gold", "../mine.csv")
    assert (
        str(wrong.exception) == "../mine.csv: no record has text, which the program takes; there are note, when, place"
    )
    wrong = run("eval", "dating:baseline", "--gold", "../mine.csv", "--map", "text=notes")
    assert "no field 'notes'; it has note, when, place; the mapping asks for it as 'text'" in str(wrong.exception)


METRICS = {
    "number": "def metric(gold, pred): return 0.25",
    "bool": "def metric(gold, pred): return gold['century'] == pred['century']",
    "dict": "def metric(gold, pred): return {'right': gold['century'] == pred['century'], 'near': 0.5}",
    "prediction": "import dspy\n"
    "def metric(gold, pred): return dspy.Prediction(score=0.5, feedback='Look at the year.')",
    "counts": (
        "from goldassay import Counts\ndef metric(gold, pred) -> Counts:\n"
        "    right = gold['century'] == pred['century']\n    return Counts(tp=right, fp=not right, fn=not right)"
    ),
}


@pytest.mark.parametrize("kind", METRICS)
def test_any_function_is_a_metric(project: Path, kind: str) -> None:
    Path("mine.py").write_text(METRICS[kind] + "\n", encoding="utf-8")
    done = run("eval", "dating:baseline", "--split", "all", "--metric", "mine.py", "--json")
    assert done.exit_code == 0, done.exception
    found = json.loads(done.output)
    share = 9 / 36  # the commonest century of four equal ones
    wanted = {
        "number": {"score": 0.25},
        "bool": {"score": share},
        "dict": {"score": (share + 0.5) / 2, "right": share, "near": 0.5},
        "prediction": {"score": 0.5},
        "counts": {"score": share},
    }[kind]
    assert found["values"] == pytest.approx(wanted)
    assert set(found["intervals"]) == set(wanted)
    again = Run.load(found["folder"])
    assert again.values == pytest.approx(wanted)
    if kind == "prediction":
        assert again.rows[0]["errors"][0]["message"] == "Look at the year."


def test_what_is_missing_is_one_line(project: Path) -> None:
    assert "no task 'datng'; did you mean 'dating'?" in str(run("eval", "datng").exception)
    (project / "metrics" / "dating.py").unlink()
    assert "the task dating has no metric: write `metric` in" in str(run("eval", "dating:baseline").exception)
    again = run("init", ".", "--task", "dating", "--inputs", "a", "--outputs", "b")
    assert "exists already; name another task or folder, or say --force" in str(again.exception)
    assert "is one of the six tasks" in str(run("init", "x", "--task", "linking").exception)
    assert "is no name for a task or a field" in str(run("init", "x", "--task", "a b", "--inputs", "c").exception)


def test_without_data_the_gold_is_examples_to_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("init", "new", "--task", "tone", "--inputs", "title,body", "--outputs", "tone,reason")
    assert done.exit_code == 0, done.exception
    monkeypatch.chdir(tmp_path / "new")
    assert workspace.inputs("tone") == ["title", "body"]
    assert "examples to replace" in Path("gold/tone/card.yaml").read_text(encoding="utf-8")
    found = json.loads(run("eval", "tone:baseline", "--json").output)
    assert set(found["values"]) == {"score", "tone", "reason"}


def test_a_file_is_its_own_task(tmp_path: Path) -> None:
    file = tmp_path / "shout.py"
    file.write_text("import dspy\nprogram = dspy.Predict('text -> loud')\n", encoding="utf-8")
    target = workspace.target(f"{file}:program")
    assert (target.task, target.label) == ("shout", "shout")
    assert workspace.taken(target.load()) == ["text"]
    with pytest.raises(GoldassayError, match="no such file"):
        workspace.target("nothing.py:program")
