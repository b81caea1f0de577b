"""``goldassay explain`` in a workspace, with a scripted model that obeys the rules of its prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from tests.simulations.planted_units import LINES, Obedient, World, examples
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app

PROGRAM = f"""
import dspy
program = dspy.Predict(dspy.Signature("text -> label", {chr(10).join(LINES)!r}))
"""
METRIC = """
def metric(gold, pred, trace=None):
    return gold.label == pred.label
"""


def run(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == code, done.output or done.exception
    return done.stdout


def test_a_check_takes_no_option_of_what_it_does_not_do() -> None:
    with pytest.raises(GoldassayError, match="explain --check calls no model and takes no --prune"):
        CliRunner().invoke(app, ["explain", "labels", "--check", "--prune"], catch_exceptions=False)


@pytest.mark.parametrize("words", [["explain", "tone.py", "--check"], ["patch", "test", "tone.py"]])
def test_gold_is_read_by_its_mapping(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tone.py").write_text("import dspy\nprogram = dspy.Predict('text -> label')\n", encoding="utf-8")
    (tmp_path / "gold.csv").write_text("text,mood\nDelft,happy\nGouda,sad\n", encoding="utf-8")
    call = [*words, "--task", "classification", "--gold", "gold.csv"]
    with pytest.raises(GoldassayError, match="no column label"):
        CliRunner().invoke(app, call, catch_exceptions=False)
    with pytest.raises(GoldassayError, match="proof|no patches"):
        CliRunner().invoke(app, [*call, "--map", "label=mood"], catch_exceptions=False)


@pytest.mark.nightly
def test_explained_pruned_applied_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file, text in (("programs/labels.py", PROGRAM), ("metrics/labels.py", METRIC)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    (tmp_path / "gold" / "labels").mkdir(parents=True)
    rows: list[Any] = []
    for number, split in enumerate(("dev", "test"), start=1):
        for example in examples(World(0.16, 80, seed=number)):
            rows.append({**example.toDict(), "id": f"{split}-{example.id}", "split": split})
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "gold" / "labels" / "labels.jsonl").write_text(lines)
    monkeypatch.chdir(tmp_path)
    named = {name: dspy.LM(f"scripted/{name}", engine=Obedient(), cache=False) for name in ("old", "new")}
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: named[name or "old"])

    result = json.loads(run("explain", "labels", "--lm", "old", "--margin", "0.1", "--prune", "--json"))
    assert [unit["verdict"] for unit in result["units"]][:3] == ["helps"] * 3
    assert result["pruned"]["proven"]
    assert run("explain", "labels", "--lm", "old", "--check").strip() == "The proof holds."
    assert "the proof is of scripted/old" in run("explain", "labels", "--lm", "new", "--check", code=1)
    programs = tmp_path / "programs"
    (programs / "edited.py").write_text(PROGRAM.replace("Museums are places", "Museums are no places"))
    (programs / "edited.proof.json").write_bytes((programs / "labels.proof.json").read_bytes())
    edited = ("programs/edited.py", "--task", "labels")
    assert "no proof of: Museums are no places." in run("explain", *edited, "--lm", "old", "--check", code=1)
    assert "the gold changed" in run("explain", "labels", "--lm", "old", "--limit", 20, "--check", code=1)
    for written in result["pruned"]["files"]:
        run("patch", "apply", "labels", Path(written).stem)
    state = "programs/patches/labels"
    shorter = json.loads(
        run("explain", "labels", "--state", state, "--lm", "old", "--lm", "new", "--margin", "0.1", "--json")
    )
    assert len(shorter["units"]) == 4
    assert shorter["change"]["lost"] == []
    assert (tmp_path / state / "state.proof.json").is_file()
    assert "Take a deep breath." in run("explain", "labels", "--limit", "20")


def test_the_proof_of_a_tuning_holds_on_gold_without_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file, text in (("programs/labels.py", PROGRAM), ("metrics/labels.py", METRIC)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    rows = [example.toDict() for example in examples(World(0.16, 60, seed=0))]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    model = dspy.LM("scripted/old", engine=Obedient(), cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: model)
    gold = ("--gold", "gold.jsonl")
    run("tune", "labels", *gold, "--optimizer", "labeled", "--out", "tuned", "--seed", 3)
    check = ("explain", "labels", *gold, "--state", "tuned", "--check")
    assert run(*check).strip() == "The proof holds."
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows[:30]))
    assert "the gold changed" in run(*check, code=1)


def test_a_saved_program_that_is_pruned_is_saved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.py").write_text(f"{PROGRAM}{METRIC}")
    rows = [example.toDict() | {"split": "dev"} for example in examples(World(0.16, 12, seed=0))]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    model = dspy.LM("scripted/old", engine=Obedient(), cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: model)
    saved = dspy.Predict("text -> label")
    saved.signature = saved.signature.with_instructions("Of the saved program.\nAnother line of it.")
    saved.save("saved.json")
    told = ("--gold", "gold.jsonl", "--metric", "labels.py:metric", "--state", "saved.json", "--margin", 1, "--json")
    result = json.loads(run("explain", "labels.py:program", *told, "--prune"))
    shorter = dspy.Predict("text -> label")
    name = Path(result["pruned"]["files"][-1]).name
    assert name == "saved.pruned.json"  # its own name, so that a pruned program is not written over when it is pruned
    shorter.load(name)
    assert shorter.signature.instructions == dspy.Signature("text -> label").instructions
