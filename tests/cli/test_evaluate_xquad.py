"""``goldassay eval answering`` over XQuAD: retrieval over its paragraphs and answering, scored in one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.nightly import by_day
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.gold import load


def evaluated(gold: Path, tmp_path: Path, *more: str) -> tuple[dict[str, float], list[dict[str, Any]]]:
    call = ["eval", "answering:baseline", "--gold", str(gold), "--format", "squad", "--json", "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, [*call, *more])
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout.strip().splitlines()[-1])
    rows = (Path(body["folder"]) / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return body["values"], [json.loads(row) for row in rows]


TOWNS = (
    "Delft", "Gouda", "Leiden", "Utrecht", "Zwolle", "Kampen", "Breda", "Tilburg", "Assen", "Emmen", "Sneek", "Hoorn",
    "Edam", "Goes", "Veere",
)  # fmt: skip
HOUSES = ["museum", "archive", "library", "mill"]


def questions(file: Path) -> Path:
    """60 questions over 60 paragraphs in the form of SQuAD: in each a house of a town, and the year when it opened."""
    paragraphs = []
    for number, (town, house) in enumerate((town, house) for town in TOWNS for house in HOUSES):
        context = f"The {house} of {town} opened in {1800 + number}. It stands by the water of {town}."
        answer = {"text": f"{1800 + number}", "answer_start": context.index("18")}
        questions = {"id": f"{number}", "question": f"When did the {house} of {town} open?", "answers": [answer]}
        paragraphs.append({"context": context, "qas": [questions]})
    file.write_text(json.dumps({"version": "1.1", "data": [{"title": "Houses", "paragraphs": paragraphs}]}))
    return file


@pytest.fixture(params=by_day(("houses", "xquad"), "houses"))
def gold(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The own file, at night XQuAD's."""
    if request.param == "houses":
        return questions(tmp_path / "houses.json")
    return Path(request.getfixturevalue("shared_data")) / "xquad" / "xquad.en.json"


def test_retrieval_searches_the_paragraphs_of_the_file(gold: Path, tmp_path: Path) -> None:
    values, rows = evaluated(gold, tmp_path, "--limit", "60")
    assert len(rows) == 60
    assert {"exact_match", "f1", "R@1", "R@5", "lost_by_retrieval"} <= set(values)
    assert 0.7 < values["R@1"] <= values["R@5"]  # BM25 over all paragraphs; over another collection it would be 0
    lost = [row for row in rows if row["tallies"]["exact_match"]["total"] == 0]
    missed = [row for row in lost if row["tallies"]["lost_by_retrieval"]["total"] == 1]
    assert values["lost_by_retrieval"] == (len(missed) / len(lost) if lost else None)


def test_a_paragraph_that_only_another_question_has_is_searched_too(tmp_path: Path) -> None:
    """Two paragraphs, the first asked with the second's words: retrieval loses it, and the run says so."""
    text = ["The mill of Gouda burnt down.", "The museum of Delft opened in 1908."]
    questions = ["When did the museum of Delft open?", "When did the museum of Delft open its doors?"]
    answers: list[Any] = [[{"text": "Gouda", "answer_start": 12}], [{"text": "1908", "answer_start": 30}]]
    paragraphs = [
        {"context": context, "qas": [{"id": question, "question": question, "answers": answer}]}
        for context, question, answer in zip(text, questions, answers, strict=True)
    ]
    gold = tmp_path / "two.json"
    gold.write_text(
        json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}), encoding="utf-8"
    )
    values, _ = evaluated(gold, tmp_path)
    assert values["R@1"] == 0.5  # the second paragraph answers both to BM25
    assert values["exact_match"] == 0.5


def test_one_report_shows_two_tasks_in_eighty_columns(
    gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = ["--gold", str(gold), "--format", "squad", "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, ["eval", "answering:baseline", *options, "--limit", "20"])
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.replace(str(tmp_path), "").splitlines())) <= 80
    values = [line.split("│")[1].strip() for line in done.output.splitlines() if line.startswith("│")]
    assert {"exact_match", "R@1", "R@5"} <= set(values)
    assert "…" not in done.output
    result = CliRunner().invoke(app, ["eval", "retrieval:baseline", *options, "--limit", "20"])
    assert result.exit_code == 0, result.output


def test_retrieval_by_itself_searches_the_same_paragraphs(gold: Path, tmp_path: Path) -> None:
    options = ["--gold", str(gold), "--format", "squad", "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, ["eval", "retrieval:baseline", *options, "--limit", "60", "--json"])
    assert done.exit_code == 0, done.output
    alone = json.loads(done.stdout.strip().splitlines()[-1])["values"]
    assert alone["RR"] > 0.7  # in another collection no paragraph of this file is found


def test_a_paragraph_that_nobody_asked_about_is_searched_too(tmp_path: Path) -> None:
    question = {"id": "q", "question": "Which mill?", "answers": [{"text": "Gouda", "answer_start": 12}]}
    paragraphs: list[Any] = [
        {"context": "The mill of Gouda burnt down.", "qas": [question]},
        {"context": "A museum.", "qas": []},
    ]
    gold = tmp_path / "g.json"
    gold.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}))
    for task in ("answering", "retrieval"):
        part = load(str(gold), format="squad", task=task).task(task)
        assert [passage["id"] for passage in part.passages] == ["t/0", "t/1"]
