"""``goldassay audit``: a table, a verdict in CI, fresh proof of saved programs, and the page."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app

PROGRAM = """
import os
import random
import dspy

class Answer(dspy.Module):
    def __init__(self):
        super().__init__()
        self.predict = dspy.Predict("q -> a")

    def forward(self, q):
        with open("asked.txt", "a") as asked:
            asked.write(q + "\\n")
        if os.path.exists("stop") and os.path.getsize("asked.txt") > 800:
            raise KeyboardInterrupt
        share = 0.9 if "well" in self.predict.signature.instructions else 0.4
        return dspy.Prediction(a=q if random.Random(q + str(share)).random() < share else "")

def right(gold, pred, trace=None):
    return float(gold.q == pred.a)

program = Answer()
"""
KEYS = ["verdict", "gain", "interval", "naive_gain", "candidates", "examples", "clusters", "selection", "needed"]


def run(*words: object) -> Any:
    result = CliRunner().invoke(app, ["audit", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program, two of its states, and a test of 60 questions in 30 documents."""
    monkeypatch.chdir(tmp_path)
    Path("quiz.py").write_text(PROGRAM)
    for name, text in (("before", "Answer."), ("after", "Answer <b>well</b>.")):
        module: Any = dspy.Module()
        module.predict = dspy.Predict(dspy.Signature("q -> a", text))
        module.save(f"{name}.json")
    rng = random.Random(0)
    rows = [{"id": str(i), "q": str(rng.random()) * 2, "document": f"d{i // 2}"} for i in range(60)]
    Path("test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_fresh_proof_of_two_states_with_its_page(folder: Path) -> None:
    words = ("--program", "quiz.py", "--metric", "quiz.py:right", "--gold", "test.jsonl")
    result = run("before.json", "after.json", *words, "--json", "--out", "page.html", "--fail-unless-better")
    body = json.loads(result.stdout)
    assert list(body)[: len(KEYS)] == KEYS
    assert (result.exit_code, body["verdict"], body["selection"], body["clusters"]) == (0, "better", "none", 30)
    assert "+Answer <b>well</b>." in body["diff"]
    assert set(body["costs"]["before"]) == {"calls", "cached", "tokens", "usd", "seconds"}
    page = Path("page.html").read_text()
    assert '<p class="sentence">Better: +' in page
    assert "<b>well</b>" not in page
    again = run(*body["runs"], "--json")  # the same verdict from the runs alone
    assert json.loads(again.stdout)["interval"] == body["interval"]
    gate = run(*body["runs"], "--fail-unless-better")
    assert gate.exit_code == 1
    assert "only with --fresh" in gate.stderr
    assert run(*body["runs"], "--fail-unless-better", "--fresh").exit_code == 0
    back = run("after.json", "before.json", *words, "--fail-unless-better")
    assert back.exit_code == 1
    assert "Worse: " in back.stdout
    single = run("after.json", *words)
    assert "after.json against the program as it is" in " ".join(single.stdout.split())
    with pytest.raises(GoldassayError, match="takes one state"):
        run("before.json", "after.json", "after.json", *words)


def test_an_interrupted_proof_says_how_to_go_on(folder: Path) -> None:
    words = ("before.json", "after.json", "--program", "quiz.py", "--metric", "quiz.py:right", "--gold", "test.jsonl")
    Path("stop").touch()
    (message,) = [line for line in run(*words).stderr.splitlines() if "--resume" in line]
    Path("stop").unlink()
    body = json.loads(run(*words, "--json", "--resume", message.split()[-1]).stdout)
    assert body["verdict"] == "better"
    questions = Path("asked.txt").read_text().splitlines()
    assert len(questions) < 2 * 60 + 20  # the rows before the interruption are not asked again


def test_inputs_without_gold_are_drafted_and_their_labels_give_the_verdict(folder: Path) -> None:
    rng = random.Random(2)
    rows = [{"id": str(i), "q": str(rng.random()) * 2} for i in range(300)]
    Path("inputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    program = ("--program", "quiz.py", "--metric", "quiz.py:right")
    words = ("before.json", "after.json", *program, "--unlabelled", "inputs.jsonl")
    first = json.loads(run(*words, "--json").stdout)
    drafted = [json.loads(line) for line in Path("draft.jsonl").read_text().splitlines()]
    sizes = {name: each["size"] for name, each in first["draft"]["strata"].items()}
    assert (first["verdict"], first["gain"], len(drafted), sum(sizes.values())) == ("open", None, 40, 300)
    assert {row["sampling"]["stratum"] for row in drafted} == {"disagree"}
    assert drafted[0]["suggestions"]["before"] != drafted[0]["suggestions"]["after"]
    assert f"differ on {sizes['disagree']} of 300 inputs" in first["findings"][0]
    assert 6 <= first["labels_needed"]["0.2"] <= sizes["disagree"]
    line = "goldassay review draft.jsonl --task quiz.py"
    assert line in first["findings"][1]
    with pytest.raises(GoldassayError, match=rf"nothing is labelled yet in draft\.jsonl.*{line}\)"):
        run(*words)
    asked = len(Path("asked.txt").read_text().splitlines())
    Path("draft.jsonl").write_text("".join(json.dumps(row | {"a": row["q"]}) + "\n" for row in drafted))
    result = run(*words, "--json", "--fail-unless-better")
    body = json.loads(result.stdout)
    assert (result.exit_code, body["verdict"], body["examples"], body["labels"]["labels"]) == (0, "better", 300, 40)
    truth = sum(row["suggestions"]["after"]["a"] == row["q"] for row in drafted)  # of 40, the others are won by before
    assert body["gain"] == pytest.approx((2 * truth - 40) / 40 * sizes["disagree"] / 300)
    assert len(Path("asked.txt").read_text().splitlines()) == asked  # the labels alone are read
    again = run("before.json", "after.json", *program, "--draft", "draft.jsonl")
    assert "Better: +" in again.stdout


def test_options_of_a_proof_that_nothing_would_use_are_errors(folder: Path) -> None:
    words = ("before.json", "after.json", "--metric", "quiz.py:right")
    with pytest.raises(GoldassayError, match="--fresh is for results that exist"):
        run(*words, "--program", "quiz.py", "--gold", "test.jsonl", "--fresh")
    with pytest.raises(GoldassayError, match="need --program"):
        run(*words, "--unlabelled", "test.jsonl")
    with pytest.raises(GoldassayError, match=r"--draft expects a \.jsonl file, got d\.csv"):
        run(*words, "--program", "quiz.py", "--unlabelled", "test.jsonl", "--draft", "d.csv")
    with pytest.raises(GoldassayError, match=r"no draft at none\.jsonl; name the inputs"):
        run(*words, "--program", "quiz.py", "--draft", "none.jsonl")
    for option in (("--metric", "quiz.py:right"), ("--lm", "x"), ("--repeats", "2")):
        with pytest.raises(GoldassayError, match=rf"{option[0]} needs --program"):
            run("scores.csv", *option)
    with pytest.raises(GoldassayError, match="--split needs --gold"):
        run("scores.csv", "--split", "test")
    with pytest.raises(GoldassayError, match="--baseline is for results that exist"):
        run(*words, "--program", "quiz.py", "--gold", "test.jsonl", "--baseline", "before")


def test_saved_programs_alone_have_no_scores(folder: Path) -> None:
    with pytest.raises(GoldassayError, match="a saved program has no scores"):
        run("before.json", "after.json")


def test_a_table_and_its_validation_gold(folder: Path) -> None:
    rng = random.Random(1)
    scores = [(str(i), name, int(rng.random() < 0.5)) for name in ("base", "x", "y", "z") for i in range(60)]
    lines = [",".join(map(str, row)) for row in [("example", "candidate", "score"), *scores]]
    Path("scores.csv").write_text("\n".join(lines) + "\n")
    plain = json.loads(run("scores.csv", "--json").stdout)
    assert (plain["candidates"], plain["clusters"], plain["baseline"]) == (3, 60, "base")
    with_gold = json.loads(run("scores.csv", "--gold", "test.jsonl", "--task", "quiz", "--json").stdout)
    assert with_gold["clusters"] == 30
    assert run("scores.csv", "--baseline", "x", "--fail-unless-better").exit_code == 1
