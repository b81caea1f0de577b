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
from goldassay.testing import MarkedTest

METRIC = (
    "from goldassay import Metric\nfrom goldassay.measures import extraction\nmetric = Metric(extraction.SpanF1())\n"
)


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_gold: list[Any], names_source: str, learner: Any
) -> Path:
    """A workspace whose program was saved in two states: b knows numbers, a does not."""
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    monkeypatch.setattr("goldassay.lm.models.resolve", lambda name=None, **_: lm)
    monkeypatch.chdir(tmp_path)
    for file, text in (("programs/extraction.py", names_source), ("metrics/extraction.py", METRIC)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    rows = [{**example.toDict(), "split": ("train", "dev", "test")[i % 3]} for i, example in enumerate(names_gold)]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    program: Any = workspace.target("extraction").tunable()
    program.save("a.json")
    program.extract.signature = program.extract.signature.with_instructions("Find names. A number is TMP.")
    (tmp_path / "other").mkdir()
    program.save("other/a.json")
    program.save("b.json")
    return tmp_path


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
    assert (run.name, run.about["settings"]["state"]) == ("extraction-b", "b.json")
