"""A program in a file of one's own says which fields are inputs and which are answers, for every kind of source."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.conftest import Fields, Shell, write
from tests.journeys.test_traces import PROGRAM, WORDS, tickets
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.ext.labelling.sources import pool_of

ROW = tickets(1, 0)[0]
FLAT = {"id": "t0", "subject": ROW["ticket"]["title"], "body": ROW["ticket"]["text"], **ROW["answer"], "ms": 0}


@pytest.fixture(autouse=True)
def project(shell: Shell) -> None:
    write("words_of_triage.py", WORDS)
    write("triage.py", PROGRAM)


def save(name: str) -> Path:
    if not name.endswith(".csv"):
        return write(name, [FLAT])
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, FLAT)
        table.writeheader()
        table.writerow(FLAT)
    return Path(name)


@pytest.mark.parametrize("name", ["traces.jsonl", "traces.csv"])
@pytest.mark.parametrize("program", ["triage.py", "triage.py:program"])
def test_inputs_answers_and_what_is_beside_them_are_told_apart(name: str, program: str) -> None:
    pool = pool_of([save(name)], program)
    assert pool.task == "triage"
    inputs: Fields = dict(pool.inputs["t0"])
    assert {key: str(value) for key, value in inputs.pop("meta").items()} == {"ms": "0"}
    assert inputs == {name: FLAT[name] for name in ("id", "subject", "body")}
    assert pool.answers["traces"]["t0"] == ROW["answer"]


def test_another_trajectory_of_the_same_answer_is_the_same_answer() -> None:
    files = [write(f"{name}.jsonl", [{**FLAT, "reasoning": name}]) for name in "ab"]
    with pytest.raises(GoldassayError, match="agree on all 1 inputs: the same team"):
        CliRunner().invoke(
            app,
            ["gold", "draft", *map(str, files), "--task", "triage.py", "--out", "d.jsonl"],
            catch_exceptions=False,
        )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"id": "1", "text": "x", "team": "billing"},
            'a prediction without its input; .* or name its column .`map=."subject": ',
        ),
        ({"id": "1", "subject": "x", "team": "billing"}, r"no input has body; there are subject"),
    ],
)
def test_an_input_under_another_name_is_one_line_with_the_option(row: Fields, message: str) -> None:
    with pytest.raises(GoldassayError, match=message):
        pool_of([write("odd.jsonl", [row])], "triage.py")


def test_without_a_program_it_is_one_question() -> None:
    with pytest.raises(GoldassayError, match=r"which of subject, body, .* are inputs\? Name the file .*`task=sort.py`"):
        pool_of([save("traces.jsonl")], "sort")


@pytest.mark.parametrize("question", ["level", "tuning"])
def test_a_program_without_a_metric_is_not_sent_to_a_command_that_needs_one(
    question: str, shell: Shell, reviewer: Any
) -> None:
    save("traces.jsonl")
    shell(f"goldassay gold draft traces.jsonl --task triage.py --for {question} --out d.jsonl")
    report = "goldassay report d.review --out d.html"
    assert shell.advised("goldassay report") == report
    reviewer(lambda record: {"value": {"team": "returns"}})
    shell(shell.advised("goldassay review"))
    shell(report)


def test_the_review_of_a_draft_counts_as_its_labels(shell: Shell, reviewer: Any) -> None:
    """Whatever is printed works when it is pasted: review, then score the same draft."""
    truth = {"t0": "returns"}
    write("triage.py", PROGRAM + "\ndef metric(gold, pred):\n    return gold.team == pred.team\n")
    save("traces.jsonl")
    shell("goldassay gold draft traces.jsonl --task triage.py --for level --out d.jsonl")
    line = shell.advised("goldassay review")
    score = shell.advised("goldassay score")
    page = reviewer(lambda record: {"value": {"team": truth[record["id"]]}})
    shell(line)
    assert page.then == [score.replace("d.jsonl", "d.review")]
    for printed in (score, page.then[0]):
        assert shell.json(printed)["values"]["score"] == float(FLAT["team"] == truth["t0"])
    shell("goldassay review traces.jsonl --task triage.py --for level")
    assert page.then == ["goldassay score triage.py --gold traces.review --pred traces.jsonl"]
    assert shell.json(page.then[0])["values"]["score"] == float(FLAT["team"] == truth["t0"])


def test_fields_under_other_names_stay_so_in_the_line_that_takes_the_labels(shell: Shell, reviewer: Any) -> None:
    write("triage.py", PROGRAM + "\ndef metric(gold, pred):\n    return gold.team == pred.team\n")
    write("traces.jsonl", [{"nr": name, "answer": FLAT, **FLAT, "team": "press"} for name in ("t0", "t1")])
    names = "--map id=nr,team=answer.team"
    shell(f"goldassay gold draft traces.jsonl --task triage.py --for level --out d.jsonl {names}")
    score = shell.advised("goldassay score")
    assert score == f"goldassay score triage.py --gold d.jsonl --pred traces.jsonl {names}"
    page = reviewer(lambda record: {"value": {"team": "billing" if record["id"] == "t0" else "returns"}})
    shell(shell.advised("goldassay review"))
    assert shell.json(score)["values"]["score"] == 0.5
    shell(f"goldassay review traces.jsonl --task triage.py --for level {names}")
    assert page.then == [score.replace("d.jsonl", "traces.review")]


def test_a_file_of_inputs_is_no_answer_in_the_line_that_takes_the_labels(shell: Shell, reviewer: Any) -> None:
    rows = [{"id": f"t{number}", "text": f"message {number * number}"} for number in range(12)]
    write("inputs.jsonl", rows)
    for name in ("museum", "archive"):
        write(f"{name}.jsonl", [{"id": row["id"], "label": name} for row in rows])
    files = "inputs.jsonl museum.jsonl archive.jsonl"
    shell(f"goldassay gold draft {files} --task classification --for compare --out d.jsonl")
    page = reviewer(lambda record: {"value": {"label": "museum"}})
    shell(shell.advised("goldassay review"))
    assert page.then == ["goldassay compare classification --gold d.review --pred museum.jsonl --pred archive.jsonl"]
    assert shell.json(page.then[0])["verdicts"][0]["verdict"] == "worse"


def test_the_level_of_two_systems_has_a_line_for_each(shell: Shell, reviewer: Any) -> None:
    rows = [{"id": f"t{number}", "text": f"message {number * number}"} for number in range(12)]
    for name in ("museum", "archive"):
        write(f"{name}.jsonl", [{**row, "label": name} for row in rows])
    shell("goldassay gold draft museum.jsonl archive.jsonl --task classification --for level --out d.jsonl")
    page = reviewer(lambda record: {"value": {"label": "museum"}})
    shell(shell.advised("goldassay review"))
    lines = [f"goldassay score classification --gold d.review --pred {name}.jsonl" for name in ("museum", "archive")]
    assert page.then == lines
    assert [shell.json(line)["values"]["accuracy"] for line in lines] == [1, 0]
