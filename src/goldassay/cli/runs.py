"""Run folders: list, show, export, prune; one of them, or all, as a page (goldassay report)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay.ext.interop import exports
from goldassay.reporting import terminal
from goldassay.running import Run


def show(run: use.Run, json: bool = False) -> None:
    """Show a run: values with intervals, strata, errors, cost."""
    loaded = Run.load(run)
    terminal.output(loaded.summary(), json, loaded.view())


def export(
    run: use.Run,
    format: Annotated[
        str,
        use.option(
            "NAME",
            "csv (a row for each example), latex (values with intervals), junit, inspect (for inspect view) or mlflow.",
        ),
    ],
    out: Annotated[str, use.option("FILE|URI", "The file, or MLflow's tracking store, as sqlite:///mlflow.db.")],
    force: bool = False,
) -> None:
    """Write a run for other tools (MLflow's experiment: MLFLOW_EXPERIMENT_NAME)."""
    forms = [*exports.FORMS, "mlflow"]
    if format not in forms:
        raise GoldassayError(f"no format {format!r}{workspace.nearest(format, forms)}")
    if format == "mlflow":
        if force:
            raise GoldassayError("--force writes over a file; MLflow keeps each export as a run of its own")
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "goldassay"
        out += f", run {exports.log(Run.load(run), uri=out, experiment=experiment)}"
    else:
        use.check_new(Path(out), force)
        exports.write(Run.load(run), format, Path(out))
    terminal.echo(f"{format}: {out}")
