"""A run in a real MLflow store on disk: values, intervals, rows, the report. By day `make interop` tries it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.ext.interop import exports as tracking
from goldassay.running import Run

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy"),  # MLflow's, from SQLAlchemy 2.1
]


@pytest.fixture(scope="module", autouse=True)
def mlflow() -> Any:
    return pytest.importorskip("mlflow", reason="no MLflow: pip install 'goldassay[mlflow]'")


@pytest.fixture(scope="module")
def tables(mlflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store: to make its tables takes MLflow seconds."""
    file = tmp_path_factory.mktemp("store") / "mlflow.db"
    mlflow.MlflowClient(tracking_uri=f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def store(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # MLflow puts artefacts beside the current folder
    shutil.copy(tables, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def test_a_run_is_logged_with_intervals_rows_and_its_report(two: list[Run], mlflow: Any, store: str) -> None:
    run = two[0]
    key = tracking.log(run, uri=store)
    client = mlflow.MlflowClient(tracking_uri=store)
    logged = client.get_run(key)
    ends = run.intervals["strict_f1"]
    metrics = logged.data.metrics
    assert (metrics["strict_f1"], metrics["strict_f1.low"], metrics["strict_f1.high"]) == (
        run.values["strict_f1"],
        ends.low,
        ends.high,
    )
    assert metrics["metric"] == run.value
    assert (metrics["examples"], metrics["failed"]) == (40.0, 5.0)
    assert logged.data.params["gold.sha256"] == run.head.gold.sha256
    assert logged.data.tags["convention.strict_f1"] == run.head.measures["strict_f1"].conventions
    assert logged.info.status == "FINISHED"
    names = {artifact.path for artifact in client.list_artifacts(key)}
    assert names == {"rows.json", "run.json", "report.html"}
    table = client.load_table(logged.info.experiment_id, "rows.json", [key])
    assert table["id"].tolist() == [row.id for row in run.rows]
    assert table["score"].tolist() == pytest.approx([row.score for row in run.rows])
    page = Path(client.download_artifacts(key, "report.html")).read_text(encoding="utf-8")
    assert f'data-value="{run.values["strict_f1"]}"' in page


def test_faults_are_mlflows(two: list[Run]) -> None:
    with pytest.raises(GoldassayError, match="MLflow: .*nosuch"):
        tracking.log(two[0], uri="nosuch://place")


@pytest.mark.parametrize("uri", ["sqlite:///{}/below/mlflow.db", "sqlite:///{}"])
def test_a_store_that_cannot_be_written_is_one_line(two: list[Run], tmp_path: Path, uri: str) -> None:
    file = tmp_path / "file"
    file.write_text("not a data base" * 99)
    with pytest.raises(GoldassayError, match="^MLflow: ") as fault:
        tracking.log(two[0], uri=uri.format(file))
    assert "\n" not in str(fault.value)


def test_a_run_whose_artefacts_cannot_be_written_is_deleted(two: list[Run], mlflow: Any, store: str) -> None:
    Path("mlruns").write_text("not a folder")
    with pytest.raises(GoldassayError, match="^MLflow: .*mlruns"):
        tracking.log(two[0], uri=store)
    client = mlflow.MlflowClient(tracking_uri=store)
    experiments = [each.experiment_id for each in client.search_experiments()]
    assert client.search_runs(experiments) == []
