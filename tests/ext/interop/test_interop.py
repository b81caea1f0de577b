"""The other tools themselves, in the environment of ``make interop``: they write the logs we read and read ours."""

# mypy: ignore-errors
from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from goldassay.ext.interop import exports
from goldassay.ext.interop.logs import read_log
from goldassay.running import Run

pytest.importorskip("inspect_ai", reason="make interop installs the other tools")
pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).resolve().parents[3]
FILES = ROOT / "tests/ext/interop/logs/files"
EXAMPLES = ROOT / "examples/interop"


@pytest.mark.timeout(400)  # MLflow makes a database and starts slowly on a busy machine
@pytest.mark.parametrize("tool", ["inspect", "mlflow"])
def test_the_present_version_writes_what_is_read(tool: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, FILES / "make.py", tool, tmp_path], check=True, capture_output=True)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {file.name for file in FILES.glob(f"{tool}_*")}
    for name in names:
        before, after = (sorted(read_log(folder / name), key=lambda run: -run.value) for folder in (FILES, tmp_path))
        assert [run.values for run in after] == [pytest.approx(run.values, rel=1e-12) for run in before]
        assert [(run.unit, run.warnings, run.failed) for run in after] == [
            (run.unit, run.warnings, run.failed) for run in before
        ]


@pytest.mark.parametrize("name", ["dspy_bad.json", "inspect_good.eval"])
def test_inspect_reads_and_shows_our_export(name: str, tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

    run = Run.load(FILES / name)
    file = tmp_path / "logs" / "run.eval"
    exports.write(run, "inspect", file)
    log = read_eval_log(str(file))
    assert (log.status, log.eval.task, len(log.samples or ())) == ("success", run.name, len(run.answers))
    own = {score.name: score.metrics["corpus"].value for score in log.results.scores}  # type: ignore[union-attr]
    assert own == run.values
    errors = [sample.error.message for sample in log.samples or () if sample.error]
    assert errors == [row.error for row in run.rows if row.error]
    assert len(read_eval_log_sample_summaries(str(file))) == len(run.answers)
    assert len(list_eval_logs(str(tmp_path / "logs"))) == 1  # which inspect view lists
    again = Run.load(file)
    assert (again.values, again.repeats, again.unit) == (run.values, run.repeats, run.unit)


def test_inspect_takes_a_metric_as_scorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import inspect_ai
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def answers() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            texts = {"in 1784": '[[3, 7, "TMP"]]', "Geen naam": "[]"}
            state.output = ModelOutput.from_content("mockllm/model", texts.get(state.input_text, '[[19, 24, "TOP"]]'))
            return state

        return solve

    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(EXAMPLES / "inspect_scorer.py"))
    task = example["entities"](answers())
    (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
    assert log.results.scores[0].metrics["corpus"].value == 2 * 2 / (2 * 2 + 1)  # two found, one missed
    (run,) = read_log(tmp_path / Path(log.location).name)
    assert {row.id: row.score for row in run.rows}["Het Rijksmuseum in Delft"] == pytest.approx(2 / 3)


def test_mlflow_takes_a_metric_as_scorer(tmp_path: Path) -> None:
    more = {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path / 'm.db'}", "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "mlflow_scorer.py"],
        cwd=tmp_path,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "mean of the examples 0.6667, corpus F1 0.5000" in done.stdout  # 1784 of three; an example without evidence
