"""``goldassay tune`` and ``eval --errors`` on the command line, with the local model where one is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Learner
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app


def test_errors_have_patterns_and_the_costliest_stands_first(tmp_path: Path) -> None:
    call = ["eval", "extraction:baseline", "--errors", "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, [*call, "--json"])
    assert done.exit_code == 0, done.output
    patterns = json.loads(done.stdout)["patterns"]
    assert [row["loss"] for row in patterns] == sorted((row["loss"] for row in patterns), reverse=True)
    assert all(row["errors"] >= 1 and row["examples"] for row in patterns)
    output = CliRunner().invoke(app, call, env={"COLUMNS": "80"})
    assert f"{patterns[0]['kind']} {patterns[0]['gold_type']}" in output.stdout
    assert max(len(line) for line in output.stdout.splitlines() if "Run folder" not in line) <= 80


@pytest.fixture
def one_word() -> Learner:
    """The engine of the scripted model: any institution is a museum."""
    return Learner("Museum")


def test_a_tuned_program_is_tuned_further(small_lm: str, tmp_path: Path) -> None:
    runner, small = CliRunner(), ["tune", "classification", "--limit", "3", "--lm", small_lm]
    first = runner.invoke(app, [*small, "--optimizer", "labeled", "--out", str(tmp_path / "first")])
    assert first.exit_code == 0, first.output
    more = ["--optimizer", "patches", "--budget", "calls=6", "--state", str(tmp_path / "first")]
    second = runner.invoke(app, [*small, *more, "--out", str(tmp_path / "second")])
    assert second.exit_code == 0, second.output
    states = [json.loads((tmp_path / name / "state.json").read_text(encoding="utf-8")) for name in ("first", "second")]
    demos = [next(iter(state.values()))["demos"] for state in states]
    assert demos[0]
    assert demos[1][: len(demos[0])] == demos[0]  # what the first tuning found is where the second begins


def test_a_state_that_is_not_there_and_an_optimizer_that_is_none(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tune", "classification", "--state", str(tmp_path / "none")])
    assert isinstance(done.exception, GoldassayError)
    assert "no saved program at" in str(done.exception)
    done = CliRunner().invoke(app, ["tune", "classification", "--optimizer", "magic"])
    assert "no optimizer 'magic'; there are labeled" in str(done.exception)
    done = CliRunner().invoke(app, ["tune", "classification", "--no-review"])
    assert "--no-review is for the page of --modes" in str(done.exception)


@pytest.mark.parametrize("what", ["def program(text): return text", "program = dspy.Module()"])
@pytest.mark.parametrize("call", [["tune"], ["patch", "list"]])
def test_a_program_without_a_prompt_cannot_be_tuned(tmp_path: Path, what: str, call: list[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"import dspy\n{what}\n", encoding="utf-8")
    done = CliRunner().invoke(app, [*call, str(file), *(["--task", "classification"] if call == ["tune"] else [])])
    assert isinstance(done.exception, GoldassayError), done.output
    then = "; put the predictors of a function into a dspy.Module" if what.startswith("def") else ""
    assert str(done.exception) == f"program in {file} has no predictor, so there is no prompt to tune{then}"


def test_several_optimizers_share_a_budget_and_have_a_table(small_lm: str, tmp_path: Path) -> None:
    call = [
        "tune",
        "classification",
        "--lm",
        small_lm,
        "--limit",
        "3",
        "--optimizer",
        "labeled,knn",
        "--budget",
        "calls=20",
    ]
    done = CliRunner().invoke(app, [*call, "--out", str(tmp_path / "arena"), "--json"])
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)
    assert [arm["optimizer"] for arm in about["arms"]] == ["labeled", "knn"]
    assert about["chosen"] in (None, "labeled", "knn")
    assert json.loads((tmp_path / "arena" / "tuning.json").read_text()) == about
    done = CliRunner().invoke(app, [*call, "--resume", str(tmp_path / "arena")])
    assert "is finished" in str(done.exception)
    done = CliRunner().invoke(app, [*call, "--setting", "k=2"])
    assert "named OPTIMIZER.k" in str(done.exception)
