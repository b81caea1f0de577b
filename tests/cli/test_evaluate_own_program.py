"""``goldassay eval`` of a program of the user's own: gold never reaches it, whatever the program and the gold are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.ext.labelling.sources import pool_of
from goldassay.workspace import target

METRIC = "def metric(gold, pred): return float(gold.team == pred.get('team'))\n"
ECHO = "import dspy\ndef program(**inputs): return dspy.Prediction(**inputs)\n" + METRIC


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"ticket {n} about {'money' * n},{'AB'[n % 2]}\n" for n in range(6))
    Path("gold.csv").write_text("body,team\n" + rows, encoding="utf-8")
    return tmp_path


def evaluated(*words: str) -> Any:
    done = CliRunner().invoke(app, ["eval", *words, "--gold", "gold.csv", "--json"])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.output)


def inputs_of_run(run: Any) -> list[dict[str, Any]]:
    lines = next(Path("runs").glob("*/rows.jsonl")).read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["inputs"] for line in lines]


def test_an_echo_does_not_score_one(here: Path) -> None:
    Path("echo.py").write_text(ECHO, encoding="utf-8")
    with pytest.raises(GoldassayError) as question:
        evaluated("echo.py", "--metric", "echo.py")
    assert "which of body are its inputs?" in str(question.value), "the metric reads team"
    assert not list(Path().glob("runs/*"))
    line = str(question.value).rpartition("as a line: ")[2]
    Path("echo.py").write_text(f"{line}\n{ECHO}", encoding="utf-8")
    Path("again.py").write_text(f"{line}\n{ECHO}", encoding="utf-8")  # a file is loaded once a process
    run = evaluated("again.py", "--metric", "again.py")
    assert run["values"]["score"] == 0.0
    assert [list(row) for row in inputs_of_run(run)] == [["body"]] * 6


@pytest.mark.parametrize("module", ["ChainOfThought", "Predict"])
def test_a_chain_of_thought_gets_the_inputs_of_its_signature(here: Path, module: str) -> None:
    answers = 'DummyLM([{"reasoning": "r", "team": "A"}] * 6)'
    text = f"import dspy\nfrom dspy.utils import DummyLM\nprogram = dspy.{module}('body -> team')\n"
    Path("cot.py").write_text(f"{text}program.set_lm({answers})\n{METRIC}", encoding="utf-8")
    run = evaluated("cot.py", "--metric", "cot.py")
    assert run["values"]["score"] == 0.5
    assert [list(row) for row in inputs_of_run(run)] == [["body"]] * 6


def test_predictions_are_measured_by_a_metric_that_is_named(here: Path) -> None:
    """Without a metric in the file of the program: both lines of the message work."""
    Path("bare.py").write_text("inputs = ['body']\ndef program(body): return {'team': 'A'}\n", encoding="utf-8")
    Path("same.py").write_text(METRIC, encoding="utf-8")
    for name, team in (("a", "A"), ("b", "B")):
        rows = "".join(json.dumps({"id": str(n + 1), "team": team}) + "\n" for n in range(6))
        Path(f"{name}.jsonl").write_text(rows, encoding="utf-8")
    words = ["bare.py", "--gold", "gold.csv", "--pred", "a.jsonl"]
    with pytest.raises(GoldassayError, match="of predictions that exist `measures=FILE`"):
        CliRunner().invoke(app, ["score", *words], catch_exceptions=False)
    done = CliRunner().invoke(app, ["score", *words, "--measure", "same.py", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["values"]["score"] == 0.5
    words += ["--pred", "b.jsonl", "--metric", "same.py", "--json"]
    compared = json.loads(CliRunner().invoke(app, ["compare", *words], catch_exceptions=False).stdout)
    assert compared["comparisons"][0]["difference"] == 0.0


def test_runs_of_any_task_are_compared_by_a_metric_that_is_named(here: Path) -> None:
    """Run folders in place of files were taken for programs: there was no such task."""
    Path("bare.py").write_text("inputs = ['body']\ndef program(body): return {'team': 'A'}\n", encoding="utf-8")
    Path("same.py").write_text(METRIC, encoding="utf-8")
    folder = evaluated("bare.py", "--metric", "same.py")["folder"]
    words = [
        "compare",
        "own",
        "--gold",
        "gold.csv",
        "--pred",
        folder,
        "--pred",
        folder,
        "--metric",
        "same.py",
        "--json",
    ]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert json.loads(done.stdout)["comparisons"][0]["difference"] == 0.0


def test_the_metric_of_a_programs_file_comes_before_ours(here: Path) -> None:
    """Outside of a workspace a task that was named had the metric that comes with the package."""
    text = "def program(text): return {'label': 'A'}\ndef metric(gold, pred): return 0.25\n"
    Path("quarter.py").write_text(text, encoding="utf-8")
    Path("labels.csv").write_text("id,text,label\n1,x,A\n2,y,B\n", encoding="utf-8")
    words = ["eval", "quarter.py", "--task", "classification", "--gold", "labels.csv", "--json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert json.loads(done.stdout)["values"] == {"score": 0.25}


def test_inputs_may_be_called_id_and_language(here: Path) -> None:
    text = "import dspy\ndef program(id, language): return dspy.Prediction(team='A')\n" + METRIC
    Path("odd.py").write_text(text, encoding="utf-8")
    rows = [{"id": f"t{n}", "language": "nl en de fr"[3 * n :][:2], "team": "AB"[n % 2]} for n in range(4)]
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = CliRunner().invoke(app, ["eval", "odd.py", "--gold", "gold.jsonl", "--json"], catch_exceptions=False)
    run = json.loads(done.stdout)
    assert run["values"]["score"] == 0.5
    pool = pool_of([run["folder"]], "odd.py")
    assert pool.inputs["t1"]["language"] == "en"


def test_the_file_of_a_program_may_be_called_almost_as_a_task(here: Path) -> None:
    """`answer.py` was taken for a misspelt `answering`, and there was no way round it."""
    text = "import dspy\ndef program(body): return dspy.Prediction(team='A')\n" + METRIC
    Path("answer.py").write_text(text, encoding="utf-8")
    assert evaluated("answer.py")["values"]["score"] == 0.5
    Path("gold.jsonl").write_text('{"id": "a", "label": "A"}\n', encoding="utf-8")
    words = ["score", "classificaton", "--gold", "gold.jsonl", "--pred", "gold.jsonl"]
    with pytest.raises(GoldassayError, match="no task 'classificaton'; did you mean 'classification'"):
        CliRunner().invoke(app, words, catch_exceptions=False)


def test_working_notes_of_a_function_are_not_scored_though_the_metric_reads_them(here: Path) -> None:
    text = "def program(body): return {'team': 'A', 'reasoning': body}\n"
    text += "def metric(gold, pred): return {'score': gold.team == pred.team, 'length': len(pred.reasoning) < 9}\n"
    Path("noted.py").write_text(text, encoding="utf-8")
    assert target("noted.py").shape.scored(["team", "reasoning"]) == ["team"]
