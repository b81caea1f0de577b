"""``goldassay compare TASK --program … --lm …``: the best, the cheapest that is not worse, and going on."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.running.folder import locked


def test_the_best_and_the_cheapest_are_named_and_a_comparison_goes_on(tmp_path: Path) -> None:
    call = ["compare", "classification", "--program", "baseline", "--program", "keywords", "--limit", "12"]
    call += ["--margin", "0.9", "--json"]
    done = CliRunner().invoke(app, [*call, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    advice = body["recommendation"]
    values = {run["name"]: run for run in body["runs"]}
    assert advice["best"] in values
    assert advice["unit"] == "seconds"  # neither asks a model
    assert advice["sentences"][0].startswith(f"The best by the metric is {advice['best']}")
    assert "not worse than the best by more than 0.9" in advice["sentences"][1]
    runs = sorted((tmp_path / "runs").iterdir())
    again = CliRunner().invoke(app, [*call, "--resume", str(tmp_path)])
    assert again.exit_code == 0, again.output
    assert sorted((tmp_path / "runs").iterdir()) == runs  # nothing was run again
    with locked(tmp_path):  # as another process has it that compares into it
        second = CliRunner().invoke(app, [*call, "--out", str(tmp_path)])
    assert "is being written by another run" in str(second.exception)
    assert sorted((tmp_path / "runs").iterdir()) == runs
    wrong = CliRunner().invoke(app, ["compare", "a", "b", "--budget", "calls=3"])
    assert isinstance(wrong.exception, GoldassayError)
    assert "--budget is for programs" in str(wrong.exception)
