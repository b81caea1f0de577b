"""A run in a real MLflow store on disk: values, intervals, rows, the report, and a program that loads again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import Metric, workspace
from goldassay.cli import app
from goldassay.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.reporting import exports as tracking
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

mlflow = pytest.importorskip("mlflow", reason="no MLflow: pip install 'goldassay[mlflow]'")
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")  # MLflow's, from SQLAlchemy 2.1

CLI = CliRunner()
PROGRAM = '''
import re

import dspy


class Years(dspy.Module):
    """Finds years."""

    def __init__(self):
        super().__init__()
        self.unused = dspy.Predict("text -> years")

    def forward(self, text):
        found = [(m.start(), m.end()) for m in re.finditer(r"\\d{4}", text)]
        return dspy.Prediction(entities=[{"start": a, "end": b, "type": "TMP", "text": text[a:b]} for a, b in found])


program = Years()
'''
LOADED = """
import sys, warnings, mlflow
warnings.simplefilter("ignore")
mlflow.set_tracking_uri(sys.argv[1])
print([one["text"] for one in mlflow.dspy.load_model(sys.argv[2])(text="in 1784 and 1913").entities])
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # MLflow puts artefacts beside the current folder
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def test_a_run_is_logged_with_intervals_rows_and_its_report(two: list[Run], store: str) -> None:
    run = two[0]
    key = tracking.log(run, uri=store, tags={"why": "a test"})
    client = mlflow.MlflowClient(tracking_uri=store)
    found = client.get_run(key)
    ends = run.intervals["strict_f1"]
    shown = found.data.metrics
    assert (shown["strict_f1"], shown["strict_f1.low"], shown["strict_f1.high"]) == (
        run.values["strict_f1"],
        ends.low,
        ends.high,
    )
    assert shown["metric"] == run.value
    assert (shown["examples"], shown["failed"]) == (40.0, 5.0)
    assert found.data.params["gold.sha256"] == run.about["gold"]["sha256"]
    assert found.data.tags["convention.strict_f1"] == run.about["measures"]["strict_f1"]["conventions"]
    assert found.data.tags["why"] == "a test"
    assert found.info.status == "FINISHED"
    names = {one.path for one in client.list_artifacts(key)}
    assert names == {"rows.json", "run.json", "report.html"}
    table = client.load_table(found.info.experiment_id, "rows.json", [key])
    assert table["id"].tolist() == [row["id"] for row in run.rows]
    assert table["score"].tolist() == pytest.approx([row["score"] for row in run.rows])
    page = Path(client.download_artifacts(key, "report.html")).read_text(encoding="utf-8")
    assert f'data-value="{run.values["strict_f1"]}"' in page


def test_the_command_logs_the_program_and_another_process_runs_it(two: list[Run], store: str, tmp_path: Path) -> None:
    file = tmp_path / "programs" / "extraction.py"
    file.parent.mkdir()
    file.write_text(PROGRAM)
    target = workspace.target(f"{file}:program")
    gold = [dspy.Example(id="1", text="in 1784", entities=[]).with_inputs("text")]
    settings = {"program": f"{file}:program"}
    metric = Metric(extraction.SpanF1())
    evaluate(target.load(), gold, metric, folder=tmp_path / "run", settings=settings, progress=False)
    call = ["runs", "export", str(tmp_path / "run"), "--format", "mlflow", "--out", store]
    done = CLI.invoke(app, [*call, "--program", f"{file}:program"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "with its program" in done.output
    client = mlflow.MlflowClient(tracking_uri=store)
    place = client.get_experiment_by_name("goldassay").experiment_id
    model = client.search_logged_models([place])[0]
    file.unlink()  # the model stands for itself
    told = subprocess.run(
        [sys.executable, "-c", LOADED, store, f"models:/{model.model_id}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert told.stdout.strip() == "['1784', '1913']"
    file.write_text(PROGRAM.replace("4}", "3}"))
    sys.modules.pop(type(target.load()).__module__)
    again = CLI.invoke(app, [*call, "--program", f"{file}:program"])
    assert "is not the program that ran" in str(again.exception)


def test_names_and_faults_are_mlflows(two: list[Run], tmp_path: Path) -> None:
    with pytest.raises(GoldassayError, match="MLflow: .*nosuch"):
        tracking.log(two[0], uri="nosuch://place")
    with pytest.raises(GoldassayError, match=r"takes a dspy.Module"):
        tracking.log(two[0], uri=f"sqlite:///{tmp_path / 'm.db'}", program=print, report=False)
