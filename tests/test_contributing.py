"""CONTRIBUTING's recipes, followed on a copy: what they say to write works, and touches five files at most."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (Add .*?)\n(.*?)(?=^## |\Z)", TEXT, flags=re.DOTALL | re.MULTILINE))
STEP = re.compile(
    r"^(?:New file `([^`]+)`|In `([^`]+)`, (?:after `([^`]+)`|at the end)):\n\n```(?:python)?\n(.*?)```", re.S | re.M
)

PROOF = {
    "Add a measure": """
        from goldassay.measures import classification as c
        measure = next(m for m in c.MEASURES if m.key == "all_labels")
        gold = [{"label": "M", "secondary_labels": ["A"]}, {"label": "L"}]
        pred = [{"label": "M"}, {"label": "L"}]
        assert sum((measure(*pair).tally for pair in zip(gold, pred)), measure.zero).value == 0.5
        from goldassay.core.measure import parse, stored
        assert parse(stored(measure)) == measure
        from goldassay import Metric
        assert Metric(measure)(gold[1], pred[1]).score == 1.0
    """,
    "Add a gold format": """
        import pathlib
        from goldassay.gold import convert, load, read, write
        file = pathlib.Path("gold.txt"); file.write_text("M | Rijksmuseum\\nA | Stadsarchief\\n")
        gold = load(file, format="lines", task="classification").classification
        assert [record["label"] for record in gold.records] == ["M", "A"]
        assert not convert(file, "out.jsonl", task="classification", source_format="lines").lost
        write("back.txt", read("out.jsonl", task="classification"), format="lines", task="classification")
        assert pathlib.Path("back.txt").read_text() == file.read_text()
        from goldassay.gold.audit import audit
        file.write_text("no bar\\nM | x\\n")
        (found,) = audit(file, format="lines", task="classification").findings
        assert found.message == "expected LABEL | TEXT, got 'no bar'", found.message
    """,
    "Add a question for judges": """
        import dspy
        from goldassay.judges.judge import Judge
        from goldassay.judges.questions import question
        from goldassay.judges.labels import poll, read
        from goldassay.judges.agreement import estimate
        import json, pathlib
        rows = [{"id": str(n), "question": "q", "answer": "a", "label": "rude" if n else "polite"} for n in range(4)]
        pathlib.Path("people.jsonl").write_text("".join(json.dumps(r) + "\\n" for r in rows))
        labels = read(pathlib.Path("people.jsonl"), question("tone"))
        model = dspy.utils.DummyLM([{"reason": "", "verdict": "polite"}] * 9)
        votes = poll(Judge(model), labels.question, labels.items)
        assert [vote.label for vote in votes] == ["polite"] * 4
        assert estimate(labels, votes, "judge").state()
    """,
    "Add an optimizer": """
        import dspy
        from goldassay.tuning import tune
        from goldassay import Metric
        def example(word):
            return dspy.Example(text=word, label=word.upper()).with_inputs("text")
        gold = {"train": [example(w) for w in ("sunflower", "oak", "elm", "willow", "ash")], "dev": [example("beech")]}
        model = dspy.utils.DummyLM([{"label": "BEECH"}] * 20)
        metric = Metric.of(lambda gold, pred: gold["label"] == pred["label"])
        tuned = tune(dspy.Predict("text -> label"), gold, metric, "shortest", lm=model, settings={"k": 2})
        assert [demo["text"] for demo in tuned.program.demos] == ["oak", "elm"]
    """,
    "Add a command": """
        import pathlib
        from typer.testing import CliRunner
        from goldassay.cli import app
        pathlib.Path("t.csv").write_text("text,year\\nx,1784\\n")
        done = CliRunner().invoke(app, ["fields", "t.csv"])
        assert done.output == "text: str\\nyear: int\\n", done.output
        assert CliRunner().invoke(app, ["fields", "t.csv", "--json"]).output.startswith("{")
    """,
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    half_written = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(ROOT / "src", folder / "src", ignore=half_written)  # with byte-code, which is valid for a copy
    return folder


def follow(recipe: str, folder: Path) -> None:
    """Do what the recipe's steps say; an anchor that does not stand exactly once is a recipe out of date."""
    for new, place, anchor, code in STEP.findall(recipe):
        file = folder / (new or place)
        if new:
            assert not file.exists(), new
            file.write_text(code, encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        if not anchor:
            file.write_text(f"{text}\n\n{code}", encoding="utf-8")
            continue
        assert text.split("\n").count(anchor) == 1, f"{place} has not one line {anchor!r}"
        file.write_text(text.replace(f"{anchor}\n", f"{anchor}\n{code}", 1), encoding="utf-8")


def test_the_recipes_are_these() -> None:
    assert set(RECIPES) == set(PROOF)


@pytest.mark.parametrize("title", PROOF)
def test_a_recipe_works_on_a_copy(title: str, source: Path, tmp_path: Path) -> None:
    shutil.copytree(source / "src", tmp_path / "src")
    follow(RECIPES[title], tmp_path)
    script = tmp_path / "proof.py"
    lines = PROOF[title].strip("\n").split("\n")
    script.write_text("\n".join(line[8:] for line in lines), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [sys.executable, "-W", "error::SyntaxWarning", str(script)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("title", PROOF)
def test_a_recipe_touches_five_files_at_most(title: str) -> None:
    named = set(re.findall(r"`((?:src|tests)/[\w/.]+|[A-Z]+\.md)`", RECIPES[title]))
    assert 3 <= len(named) <= 5, named
