"""``goldassay eval --judge-lm``: a judge with a model of its own, its verdicts kept with the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Learner
from typer.testing import CliRunner

from goldassay.cli import app


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    answers = [{"text": "1908", "answer_start": 19}]
    records = [{"id": "q1", "question": "When did the museum open?", "answers": answers}]
    paragraph = {"context": "The museum opened in 1908.", "qas": records}
    file = tmp_path / "gold.json"
    file.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]}))
    return file


@pytest.fixture
def one_word() -> Learner:
    """The engine of the scripted judge: yes, whatever is asked."""
    return Learner("yes")


def test_a_model_judges_and_its_verdicts_stay_with_the_run(small_lm: str, gold: Path, tmp_path: Path) -> None:
    call = ["eval", "answering:baseline", "--gold", str(gold), "--format", "squad", "--runs", str(tmp_path / "runs")]
    done = CliRunner().invoke(app, [*call, "--judge-lm", small_lm, "--json"])
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout.strip().splitlines()[-1])
    folder = Path(body["folder"])
    verdicts = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert verdicts
    assert set(verdicts[0]) == {"key", "fields"}
    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert about["settings"]["judge"] == f"{small_lm}@1"
    assert {"faithfulness", "relevance"} & set(about["measures"])
    again = CliRunner().invoke(app, [*call, "--judge-lm", small_lm, "--resume", str(folder)])
    assert again.exit_code == 0, again.output
    assert f"Judge {small_lm}@1: 0 calls" in again.stdout  # what was said is not asked again


def test_a_task_without_a_judged_metric_says_so(tmp_path: Path) -> None:
    call = ["eval", "classification:baseline", "--limit", "1", "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, [*call, "--judge-lm", "local/smollm2-135m"])
    assert done.exit_code != 0
    assert "has no metric_with(judge)" in str(done.exception)
