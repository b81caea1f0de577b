"""``goldassay runs …`` and ``goldassay report``: list, show, export and prune runs, and look at them in a browser."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Annotated

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal

app = use.commands("Run folders: list, show, export, prune.")
RunsFolder = Annotated[Path, use.argument("[RUNS]", "The folder of runs.")]
LISTED = ("name", "lm", "status", "started", "finished", "value", "values", "intervals", "cost", "gold", "settings")


@use.command(app, "list")
def list_(runs: RunsFolder = Path("runs"), json: bool = False) -> None:
    """List runs, the newest first."""
    from goldassay.reporting import runs as tables
    from goldassay.reporting.pages.dashboard import entries

    unreadable: list[Path] = []
    listed = entries(runs, unreadable)
    rows = [
        {"run": entry.key, "folder": str(entry.folder)} | {name: entry.about.get(name) for name in LISTED}
        for entry in listed
    ]
    terminal.output({"runs": rows}, json, lambda _: tables.run_list(listed))
    terminal.warn(
        *(
            f"skipped {folder / 'run.json'}, which cannot be read; goldassay runs show {folder} says why"
            for folder in unreadable
        )
    )


@use.command(app)
def show(run: use.Run, json: bool = False) -> None:
    """Show a run: values with intervals, strata, errors, cost."""
    from goldassay.reporting import runs as tables
    from goldassay.running import Run

    loaded = Run.load(run)
    terminal.output(loaded.summary(), json, lambda _: tables.run(loaded))


@use.command(app)
def export(
    run: use.Run,
    format: Annotated[
        str,
        use.option(
            "NAME",
            "csv (a row an example), latex (values with intervals), junit, inspect (for inspect view) or mlflow.",
        ),
    ],
    out: Annotated[str, use.option("FILE|URI", "The file, or MLflow's tracking store, as sqlite:///mlflow.db.")],
    force: bool = False,
) -> None:
    """Write a run for other tools (MLflow's experiment: MLFLOW_EXPERIMENT_NAME)."""
    from goldassay.reporting import exports
    from goldassay.running import Run

    forms = [*exports.FORMS, "mlflow"]
    if format not in forms:
        raise GoldassayError(f"no format {format!r}{workspace.nearest(format, forms)}")
    if format == "mlflow":
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "goldassay"
        out += f", run {exports.log(Run.load(run), uri=out, experiment=experiment)}"
    else:
        use.new_place(Path(out), force)
        exports.write(Run.load(run), format, Path(out))
    terminal.echo(f"{format}: {out}")


@use.command(app)
def prune(
    keep: Annotated[int, use.option("N", "Keep the newest N of each program.", min=0)],
    runs: RunsFolder = Path("runs"),
    delete: bool = use.flag("--delete", "Delete them."),
    json: bool = False,
) -> None:
    """List runs to delete, and delete them with --delete. The runs of a tuning are kept with it."""
    from goldassay.reporting.pages.dashboard import entries

    newer = Counter[str]()
    chosen = []
    for entry in entries(runs):
        if entry.folder_of_tuning or entry.key == "." or entry.status == "running":
            continue
        newer[entry.name] += 1
        chosen += [entry] if newer[entry.name] > keep else []
    for entry in chosen if delete else ():
        shutil.rmtree(entry.folder)
    if json:
        terminal.answer({"runs": [entry.key for entry in chosen], "deleted": delete})
        return
    for entry in chosen:
        terminal.echo(f"{'deleted' if delete else 'would delete'}  {entry.key}")
    terminal.echo(f"{len(chosen)} runs{'' if delete or not chosen else '; add --delete to delete them'}")


def report(
    runs: list[Path] | None = use.argument(
        "RUN...",
        "Run folders or logs of other tools, the baseline first; the folder of a tuning; the output of judge "
        "align --json; the folder of a review. With --serve and --site a folder of runs (default: runs).",
    ),
    out: Path = use.option("FILE", "The page to write.", default=Path("report.html")),
    serve: bool = use.flag("--serve", "Show a folder of runs in the browser, with its history. Ctrl-C ends it."),
    site: Path | None = use.option("DIR", "Write a folder of runs as static pages."),
    force: bool = False,
) -> None:
    """Write runs as one HTML page that opens offline, or show a folder of runs."""
    from goldassay.reporting import pages
    from goldassay.reporting.pages.dashboard import dashboard

    if (serve or site) and len(runs or ()) > 1:
        raise GoldassayError("--serve and --site take one folder of runs")
    folder = runs[0] if runs else Path("runs")
    if serve:
        import webbrowser

        from goldassay.reporting.pages.served import application
        from goldassay.serving import LocalServer

        with LocalServer(application(folder)) as server:
            print(server.address, flush=True)
            webbrowser.open(server.address)
            server.wait()
        return
    use.new_place(site or out, force)
    if site:
        site_pages = dashboard(folder, site)
        terminal.line(f"{len(site_pages)} pages. Open {site_pages[0]}")
        return
    text = pages.report(**pages.sources(runs or []))
    files.save_all({out: text})
    terminal.line(f"Written: {out}, {len(text.encode()) / 1e6:.1f} MB. Open it in a browser.")
