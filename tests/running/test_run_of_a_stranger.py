"""A run folder from a stranger: whatever reads it imports and executes nothing that it names."""

from __future__ import annotations

import json
import urllib.request
from contextlib import chdir
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.measures import extraction
from goldassay.running.evaluate import evaluate

COMMANDS = """
runs list .
runs show RUN
runs export RUN --format csv --out a.csv
runs export RUN --format latex --out a.tex
runs export RUN --format inspect --out a.eval
runs prune . --keep 0
report RUN OTHER --out a.html
report TUNING --out b.html
report . --site pages
compare RUN OTHER
compare RUN OTHER OTHER --out ranked
compare extraction --gold gold.jsonl --pred RUN --pred OTHER
score extraction --gold gold.jsonl --pred RUN
patch patterns RUN
eval mine.py:program --task extraction --gold gold.jsonl --resume RUN
eval mine.py:program --task extraction --gold gold.jsonl --state TUNING
tune mine.py:program --task extraction --gold gold.jsonl --optimizer gepa --resume TUNING
"""
EVIL = """
import dspy, pathlib
pathlib.Path({mark!r}).write_text("ran")
program = metric = dspy.Predict("text -> entities")
"""


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder with runs whose head names code, in all the ways that a run has ever named it, and a tuning."""
    gold = [dspy.Example(id=str(i), text="in 1800", entities=[(3, 7, "TMP")]).with_inputs("text") for i in range(3)]
    records = [{"id": str(i), "text": "in 1800", "entities": [{"start": 3, "end": 7, "type": "TMP"}]} for i in range(3)]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (tmp_path / "mine.py").write_text("import dspy\nprogram = dspy.Predict('text -> entities')\n")
    evil = EVIL.format(mark=str(tmp_path / "ran"))
    spans = {"entities": [{"start": 3, "end": 7, "type": "TMP", "text": "1800"}]}
    for name in ("RUN", "OTHER"):
        folder = tmp_path / name
        evaluate(lambda text: spans, gold, Metric(extraction.SpanF1()), folder=folder, name="x", progress=False)
        for file in ("evil.py", "metrics.py", "extraction.py", "measures.py", "conftest.py"):
            (folder / file).write_text(evil)
        about: dict[str, Any] = json.loads((folder / "run.json").read_text())
        named = dict.fromkeys(("program", "metric", "state", "judge", "task", "profile", "file"), f"{folder}/evil.py")
        about |= {
            **{k: v for k, v in named.items() if k not in about},
            "settings": {**named, "program": f"{folder}/evil.py:program"},
        }
        (folder / "run.json").write_text(json.dumps(about))
    tuning = tmp_path / "TUNING"
    (tuning / "gepa").mkdir(parents=True)
    pickle = f"cos\nsystem\n(S'touch {tmp_path}/ran'\ntR.".encode()
    for file in ("program.pkl", "gepa/gepa_state.bin", "state.pkl"):
        (tuning / file).write_bytes(pickle)
    about = {
        "status": "running",
        "optimizer": "gepa",
        "program": f"{tuning}/evil.py",
        "runs": [],
        "dev": {"runs": ["../RUN"]},
    }
    (tuning / "tuning.json").write_text(json.dumps(about))
    (tuning / "evil.py").write_text(evil)
    (tuning / "metadata.json").write_text('{"dependency_versions": {}}')
    return tmp_path


def test_reading_a_run_runs_nothing(stranger: Path, monkeypatch: pytest.MonkeyPatch, learner: Any) -> None:
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: lm)
    ended = {}
    with chdir(stranger):
        for line in COMMANDS.strip().splitlines():
            done = CliRunner().invoke(app, line.split())
            ended[line] = done.exception
            assert not (stranger / "ran").exists(), line
    refused = {line for line, error in ended.items() if error and not isinstance(error, SystemExit)}
    assert all("--resume" in line or "TUNING" in line for line in refused), ended


@pytest.mark.nightly
def test_logging_a_run_runs_nothing(stranger: Path) -> None:
    with chdir(stranger):
        CliRunner().invoke(app, ["runs", "export", "RUN", "--format", "mlflow", "--out", "sqlite:///mlflow.db"])
    assert not (stranger / "ran").exists()


def test_the_dashboard_runs_nothing(stranger: Path) -> None:
    from goldassay._support.server import LocalServer
    from goldassay.reporting.pages.dashboard import application

    with LocalServer(application(stranger)) as server:
        for page in ("", "progress", "report?run=RUN&run=OTHER"):
            assert urllib.request.urlopen(server.address + page).status == 200
    assert not (stranger / "ran").exists()


@pytest.mark.parametrize(
    ("file", "field", "value"),
    [
        ("run.json", "program.version", {"a": 1}),
        ("run.json", "program.version", 1.5),
        ("run.json", "cost.calls", {}),
        ("rows.jsonl", "prediction", [1]),
        ("rows.jsonl", "errors.0.gold", {"a": 1}),
        ("rows.jsonl", "errors.0.kind", ["a"]),
        ("rows.jsonl", "errors.0.message", 5),
    ],
)
def test_a_value_of_another_type_is_one_line(tmp_path: Path, file: str, field: str, value: Any) -> None:
    gold = [dspy.Example(id="a", text="in 1800", entities=[(3, 7, "TMP")]).with_inputs("text")]
    evaluate(lambda text: {"entities": []}, gold, Metric(extraction.SpanF1()), folder=tmp_path / "run", progress=False)
    state = json.loads((tmp_path / "run" / file).read_text())
    *path, last = [int(name) if name.isdigit() else name for name in field.split(".")]
    inner = state
    for name in path:
        inner = inner[name]
    inner[last] = value
    (tmp_path / "run" / file).write_text(f"{json.dumps(state)}\n")
    with pytest.raises(GoldassayError, match=file):
        CliRunner().invoke(
            app, ["report", str(tmp_path / "run"), "--out", str(tmp_path / "o.html")], catch_exceptions=False
        )
