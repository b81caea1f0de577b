"""``goldassay compare TASK --program A B --lm X Y --tune OPTIMIZER``: every cell is tuned for its model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay.cli import app


@pytest.fixture
def folder(names_workspace: Path, monkeypatch: pytest.MonkeyPatch, learner: Any) -> Path:
    """A workspace with a program, and two models."""

    def resolve(name: str | None = None, **_: Any) -> Any:
        return dspy.LM(f"scripted/{name}", engine=learner, cache=False)

    monkeypatch.setattr("goldassay.models.lm.models.resolve", resolve)
    return names_workspace


def test_every_cell_is_tuned_for_its_model_and_goes_on(folder: Path, learner: Any) -> None:
    call = ["compare", "extraction", "--gold", "gold.jsonl", "--lm", "small", "large", "--tune", "labeled", "--json"]
    plain = CliRunner().invoke(app, [*call[:4], "--program", "program", "--lm", "small", "large", "--json"])
    assert plain.exit_code == 0, plain.output
    done = CliRunner().invoke(app, [*call, "--program", "program", "--out", "cells"])
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    names = [run["name"] for run in body["runs"]]
    assert names == ["extraction on scripted/small", "extraction on scripted/large"]
    untuned = json.loads(plain.stdout)["runs"]
    assert body["runs"][0]["values"]["strict_f1"] > untuned[0]["values"]["strict_f1"]
    usage = body["recommendation"]["usages"][names[0]]
    assert usage["usd_per_1000"] is None  # a scripted model has no price
    assert usage["seconds"] > 0
    tuned = sorted((folder / "cells" / "tuned").iterdir())
    assert [json.loads((each / "tuning.json").read_text())["lm"] for each in tuned] == [
        "scripted/small",
        "scripted/large",
    ]
    asked = learner.calls
    again = CliRunner().invoke(app, [*call, "--program", "program", "--resume", "cells"])
    assert again.exit_code == 0, again.output
    assert learner.calls == asked
    other = CliRunner().invoke(app, [*call, "--program", "program", "--resume", "cells", "--seed", "3"])
    assert "holds a tuning with another seed" in str(other.exception)
    wrong = CliRunner().invoke(app, [*call, "--split", "dev"])
    assert "leave --split out" in str(wrong.exception)


def test_each_program_gets_its_own_inputs(folder: Path) -> None:
    (folder / "gold.jsonl").write_text(
        "".join(json.dumps({"id": str(i), "a": str(i), "b": str(-i), "answer": str(i)}) + "\n" for i in range(20))
    )
    for name, body in (
        ("mine", "def program(a):\n    return {'answer': a}\n"),
        ("two", "def program(a, b):\n    return {'answer': a + b}\n"),
    ):
        (folder / "programs" / f"{name}.py").write_text(body)
    (folder / "metrics" / "mine.py").write_text("def metric(gold, pred):\n    return gold.answer == pred['answer']\n")
    call = ["compare", "mine", "--gold", "gold.jsonl", "--program", "programs/mine.py", "programs/two.py", "--json"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, (done.output, done.exception)
    first, second = json.loads(done.stdout)["runs"]
    assert (first["failed"], second["failed"]) == (0, 0)
    assert first["values"] != second["values"]


def test_without_gold_forty_labels_decide_between_two_programs(folder: Path) -> None:
    rows = [{"id": str(i), "a": str(i), "b": str(-i)} for i in range(80)]
    (folder / "inputs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "programs" / "mine.py").write_text("def program(a):\n    return {'answer': a + '!'}\n")
    (folder / "programs" / "two.py").write_text("def program(a):\n    return {'answer': a}\n")
    (folder / "metrics" / "mine.py").write_text("def metric(gold, pred):\n    return gold.answer == pred['answer']\n")
    call = ["compare", "mine", "--program", "programs/mine.py", "programs/two.py", "--unlabelled", "inputs.jsonl"]
    first = CliRunner().invoke(app, [*call, "--json"])
    assert first.exit_code == 0, (first.output, first.exception)
    assert json.loads(first.stdout)["verdict"] == "open"
    draft = folder / "ranking" / "draft.jsonl"
    drafted = [json.loads(line) for line in draft.read_text().splitlines()]
    assert len(drafted) == 40
    draft.write_text("".join(f"{json.dumps(row | {'answer': row['a']})}\n" for row in drafted))
    again = CliRunner().invoke(app, [*call, "--json"])
    assert again.exit_code == 0, (again.output, again.exception)
    assert json.loads(again.stdout)["verdict"] == "better"
    (folder / "loud.py").write_text("def metric(gold, pred):\n    return pred['answer'].endswith('!')\n")
    loud = CliRunner().invoke(app, [*call, "--json", "--metric", "loud.py"])
    assert json.loads(loud.stdout)["verdict"] == "worse"  # the metric that is named measures the labels
    alone = CliRunner().invoke(app, [*call[:4], *call[5:]])
    assert "not between 1: name two" in str(alone.exception)
