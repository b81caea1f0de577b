"""Programs that ``program.save`` wrote: evaluated, compared in one command, tuned on, and tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import workspace
from goldassay.cli import app
from goldassay.tuning.systems import MarkedTest


@pytest.fixture
def folder(names_workspace: Path, monkeypatch: pytest.MonkeyPatch, learner: Any) -> Path:
    """A workspace whose program was saved in two states: b knows numbers, a does not."""
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: lm)
    program: Any = workspace.target("extraction").tunable()
    program.save("a.json")
    program.extract.signature = program.extract.signature.with_instructions("Find names. A number is TMP.")
    (names_workspace / "other").mkdir()
    program.save("other/a.json")
    program.save("b.json")
    return names_workspace


def answer(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*words, "--gold", "gold.jsonl", "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def test_two_states_are_compared_in_one_command(folder: Path) -> None:
    call = ["compare", "extraction", "--program", "programs/extraction.py"]
    body = answer(*call, "--state", "a.json", "--state", "b.json")
    assert [run["name"] for run in body["runs"]] == ["extraction-a", "extraction-b"]
    assert body["comparisons"][0]["difference"] > 0
    alone = answer("compare", "extraction", "--state", "b.json", "--out", "second")
    assert [run["name"] for run in alone["runs"]] == ["extraction", "extraction-b"]
    same = answer(*call, "--state", "a.json", "--state", "other/a.json", "--out", "third")
    names = [run["name"] for run in same["runs"]]
    assert names == [f"extraction-{folder.name}-a", "extraction-other-a"]


def test_programs_are_compared_in_one_table_and_only_their_runs_are_kept(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    call = ["compare", "extraction", "--state", "a.json", "--state", "b.json", "--gold", "gold.jsonl"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    files = {file for file in folder.rglob("*") if "__pycache__" not in file.parts}
    runs = folder / "ranking" / "runs"  # with which --resume goes on
    assert [file for file in files - set(before) if file != runs.parent and runs not in (file, *file.parents)] == []
    assert done.stdout.count("[95 %]") == 1
    assert "--all" in done.stdout
    assert CliRunner().invoke(app, [*call, "--all"]).stdout.count("[95 %]") > 1


def test_a_state_is_evaluated_and_tuned_further(folder: Path) -> None:
    plain, state = answer("eval", "extraction"), answer("eval", "extraction", "--state", "b.json")
    assert (plain["name"], state["name"]) == ("extraction", "extraction-b")
    assert state["value"] > plain["value"]
    tuned = ["tune", "extraction", "--gold", "gold.jsonl", "--state", "b.json", "--optimizer", "labeled", "--out", "t"]
    assert CliRunner().invoke(app, tuned).exit_code == 0
    assert "A number is TMP" in (folder / "t" / "state.json").read_text()
    assert answer("eval", "extraction", "--state", "t")["name"] == "extraction-t"


def test_what_is_no_state_is_one_line(folder: Path) -> None:
    (folder / "saved").mkdir()
    (folder / "saved" / "program.pkl").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    for words in (["eval", "extraction"], ["compare", "extraction"], ["tune", "extraction"]):
        done = CliRunner().invoke(app, [*words, "--gold", "gold.jsonl", "--state", "saved"])
        assert "a pickle can run any code" in str(done.exception)
    assert not (folder / "ran").exists()


def test_a_case_takes_a_state(folder: Path) -> None:
    run = MarkedTest("extraction", gold="gold.jsonl", state="b.json", floors={"strict_f1": 0.0}).run(None)
    assert (run.name, run.head.settings["state"]) == ("extraction-b", "b.json")
