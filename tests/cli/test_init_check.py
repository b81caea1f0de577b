"""``goldassay init --check``: the contract between a program and goldassay, as every command sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app

PROGRAM = """
from typing import Literal
import dspy


class Triage(dspy.Signature):
    subject: str = dspy.InputField()
    body: str = dspy.InputField()
    team: Literal["billing", "shipping"] = dspy.OutputField()
    urgency: int = dspy.OutputField()


class Loose(dspy.Module):
    def forward(self, **fields):
        return fields


program = dspy.ChainOfThought(Triage)
loose = Loose()
"""
STEPS = """
import dspy


class Desk(dspy.Module):
    def __init__(self):
        super().__init__()
        self.summarize = dspy.Predict("body -> summary")
        self.route = dspy.Predict("summary -> team")

    def forward(self, body):
        return self.route(summary=self.summarize(body=body).summary)


program = Desk()
"""
METRIC = """
from goldassay import Metric
from goldassay.measures.classification import Accuracy

metric = Metric(Accuracy(), columns={"label": "team"})
"""

RUN = CliRunner(env={"COLUMNS": "100"})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "triage.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


def run(*words: str) -> Any:
    return RUN.invoke(app, words)


def test_the_contract_of_a_program_is_printed(file: Path) -> None:
    contract = json.loads(run("init", "--check", "triage.py", "--json").stdout)
    assert contract == {
        "program": f"{file}:program",
        "inputs": ["subject", "body"],
        "optional": [],
        "outputs": ["team", "urgency"],
        "intermediate": [],
        "scored": ["team", "urgency"],
        "notes": ["reasoning"],
        "text": ["body", "subject"],
        "choices": {"team": ["billing", "shipping"]},
    }
    lines = run("init", "--check", "triage.py").stdout.splitlines()[1:]
    assert [line.split(maxsplit=1) for line in lines] == [
        ["inputs", "subject, body"],
        ["outputs", "team, urgency"],
        ["scored", "team, urgency"],
        ["notes", "reasoning"],
        ["text", "body, subject"],
        ["choices", "team is billing | shipping"],
    ]


def test_what_the_metric_of_a_workspace_reads_is_scored(file: Path) -> None:
    for folder, text in (("programs", PROGRAM), ("metrics", METRIC)):
        Path(folder).mkdir()
        (Path(folder) / "triage.py").write_text(text, encoding="utf-8")
    assert json.loads(run("init", "--check", "triage", "--json").stdout)["scored"] == ["team"]


@pytest.mark.parametrize(
    ("body", "scored"),
    [
        ("return example.team == prediction.team.lower()", ["team"]),
        ('return prediction["team"] == example["team"] and "x" in prediction.reasoning', ["team"]),
        (
            'return getattr(prediction, "team", None) == example.get("urgency") + prediction.get("urgency")',
            ["team", "urgency"],
        ),
        ("return compare(example, prediction)", ["team", "urgency"]),  # handed on as a whole: not known
        ("return prediction.team == str(prediction)", ["team", "urgency"]),
        ("return {**example} == {**prediction.toDict()}", ["team", "urgency"]),
    ],
)
def test_what_a_function_reads_of_the_prediction_is_scored(file: Path, body: str, scored: list[str]) -> None:
    file.write_text(f"{PROGRAM}\ndef metric(example, prediction, trace=None):\n    {body}\n", encoding="utf-8")
    assert json.loads(run("init", "--check", "triage.py", "--json").stdout)["scored"] == scored


def test_what_one_step_hands_to_the_next_is_no_output(file: Path) -> None:
    file.write_text(STEPS, encoding="utf-8")
    contract = json.loads(run("init", "--check", "triage.py", "--json").stdout)
    names = ("inputs", "outputs", "intermediate", "scored", "notes")
    assert [contract[name] for name in names] == [["body"], ["team"], ["summary"], ["team"], []]
    assert "  intermediate summary (counts if the program returns it)" in run("init", "--check", "triage.py").stdout


def test_what_is_not_known_is_one_question_with_the_line_that_answers_it(file: Path) -> None:
    with pytest.raises(GoldassayError, match=r'Write the answer into .*triage.py as a line: inputs = \["FIELD"\]$'):
        RUN.invoke(app, ["init", "--check", "triage.py:loose"], catch_exceptions=False)
    answered = file.with_name("answered.py")
    answered.write_text(f'{PROGRAM}\ninputs = ["subject"]\n', encoding="utf-8")
    assert json.loads(run("init", "--check", "answered.py:loose", "--json").stdout)["inputs"] == ["subject"]


def test_a_function_declares_no_outputs_and_its_metric_says_what_is_scored(file: Path) -> None:
    function = "def sort(body):\n    return {'team': body}\n"
    file.write_text(f"{function}\ndef metric(gold, pred):\n    return gold['team'] == pred['team']\n", encoding="utf-8")
    contract = json.loads(run("init", "--check", "triage.py:sort", "--json").stdout)
    assert (contract["outputs"], contract["scored"]) == ([], ["team"])
