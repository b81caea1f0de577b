"""``goldassay runs …`` and ``goldassay report``: list, show, export and prune runs, and look at them in a browser."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal

app = use.commands("Run folders: list, show, export, prune.")
RunsFolder = Annotated[Path, typer.Argument(metavar="[RUNS]", help="The folder of runs.")]
LISTED = ("name", "lm", "status", "started", "finished", "value", "values", "intervals", "cost", "gold", "settings")


@use.command(app, "list")
def list_(runs: RunsFolder = Path("runs"), limit: use.Limit = None, json: bool = False) -> None:
    """List runs, the newest first."""
    from goldassay.reporting import runs as tables
    from goldassay.reporting.history import entries_and_unreadable

    entries, unreadable = entries_and_unreadable(runs)
    if json:
        rows = [{"run": each.key, "folder": str(each.folder)} | _about(each) for each in entries[:limit]]
        terminal.answer({"runs": rows})
    else:
        tables.run_list(entries[:limit])
    for folder in unreadable:
        terminal.warn(f"skipped {folder / 'run.json'}, which cannot be read; goldassay runs show {folder} says why")


def _about(entry: Any) -> dict[str, Any]:
    return {name: entry.about.get(name) for name in LISTED}


@use.command(app)
def show(run: use.Run, json: bool = False) -> None:
    """Show a run: values with intervals, strata, errors, cost."""
    from goldassay.reporting import runs as tables
    from goldassay.running import Run

    loaded = Run.load(run)
    if json:
        terminal.answer(loaded.summary())
    else:
        tables.run(loaded)


@use.command(app)
def export(
    run: use.Run,
    format: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="csv (a row an example), latex (values with intervals), junit (a test an example and a target), "
            "label-studio (predictions and errors as tasks), inspect (a log for inspect view) or mlflow.",
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="FILE|URI", help="The file, or MLflow's tracking store, as sqlite:///mlflow.db.")
    ],
    program: Annotated[
        str | None,
        typer.Option("--program", metavar="TASK|FILE", help="The program that ran, for MLflow to log as a model."),
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", metavar="FILE", help="The program's saved state.")] = None,
    force: bool = False,
) -> None:
    """Write a run for other tools (MLflow's experiment: MLFLOW_EXPERIMENT_NAME)."""
    from goldassay.reporting import exports
    from goldassay.running import Run

    if format != "mlflow":
        if format not in exports.FORMS:
            raise GoldassayError(f"no format {format!r}{workspace.nearest(format, [*exports.FORMS, 'mlflow'])}")
        use.new_place(Path(out), force)
    loaded = Run.load(run)
    if format == "mlflow":
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "goldassay"
        module = _program(loaded, program, state) if program else None
        key = exports.log(loaded, uri=out, experiment=experiment, program=module)
        terminal.plain(f"mlflow: {out}, run {key}{', with its program' if program else ''}")
        return
    try:
        exports.write(loaded, format, Path(out))
    except OSError as error:
        raise GoldassayError(f"cannot write {out}: {error.strerror}") from None
    terminal.plain(f"{format}: {out}")


def _program(run: Any, name: str, state: Path | None) -> Any:
    """The program that the user names, if it is the one that ran. What ``run.json`` names is never loaded."""
    from goldassay.cli.evaluate import prepared
    from goldassay.running.identity import code_hash, fingerprint

    program: Any = prepared(workspace.target(name), [], state)
    version = fingerprint(program) if hasattr(program, "named_predictors") else None
    if (code_hash(program), version) != (run.about.get("code"), run.about["program"]["version"]):
        raise GoldassayError(f"{name} is not the program that ran: its code or its prompts are others")
    return program


@use.command(app)
def prune(
    runs: RunsFolder = Path("runs"),
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=0, help="Keep the newest N of each program.")
    ] = None,
    older: Annotated[
        int | None, typer.Option("--older-than", metavar="DAYS", min=0, help="Only runs that are older.")
    ] = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only runs that did not finish.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete them.")] = False,
    json: bool = False,
) -> None:
    """List runs to delete, and delete them with --delete. The runs of a tuning are kept with it."""
    from goldassay.reporting.history import entries

    if keep is None and older is None and not unfinished:
        raise GoldassayError("choose runs with --keep N, --older-than DAYS or --unfinished")
    newer: dict[str, int] = {}
    chosen = []
    before = (datetime.now(UTC) - timedelta(days=older or 0)).isoformat(timespec="seconds")
    for entry in entries(runs):
        if "/" in entry.key or entry.key == "." or entry.status == "running":
            continue
        newer[entry.name] = newer.get(entry.name, 0) + 1
        if unfinished and entry.status == "finished":
            continue
        if (keep is None or newer[entry.name] > keep) and (older is None or entry.started < before):
            chosen.append(entry)
    for entry in chosen if delete else ():
        shutil.rmtree(entry.folder)
    if json:
        terminal.answer({"runs": [entry.key for entry in chosen], "deleted": delete})
        return
    for entry in chosen:
        terminal.plain(f"{'deleted' if delete else 'would delete'}  {entry.key}")
    terminal.plain(f"{len(chosen)} runs{'' if delete or not chosen else '; add --delete to delete them'}")


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...",
            help="Run folders or logs of other tools, the baseline first; the folder of a tuning; the output of judge "
            "align --json. With --serve and --site a folder of runs (default: runs).",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The page to write.")] = Path("report.html"),
    serve: Annotated[
        bool, typer.Option("--serve", help="Show a folder of runs in the browser, with its history. Ctrl-C ends it.")
    ] = False,
    site: Annotated[
        Path | None, typer.Option("--site", metavar="DIR", help="Write a folder of runs as static pages.")
    ] = None,
    force: bool = False,
) -> None:
    """Write runs as one HTML page that opens offline, or show a folder of runs."""
    from goldassay.reporting import pages
    from goldassay.reporting.pages.dashboard import dashboard

    if (serve or site) and len(runs or ()) > 1:
        raise GoldassayError("--serve and --site take one folder of runs")
    folder = runs[0] if runs else Path("runs")
    if serve:
        _serve(folder)
        return
    use.new_place(site or out, force)
    try:
        if site:
            files = dashboard(folder, site)
            terminal.line(f"{len(files)} pages. Open {files[0]}")
            return
        sources = pages.sources(runs or [])
        text = pages.report(sources.runs, tuning=sources.tuning, judges=sources.judges)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise GoldassayError(f"cannot write {site or out}: {error.strerror}; choose another place") from None
    terminal.line(f"Written: {out}, {len(text.encode()) / 1e6:.1f} MB. Open it in a browser.")


def _serve(folder: Path) -> None:
    import webbrowser

    from goldassay.reporting.pages.dashboard import Server

    with Server(folder) as server:
        print(server.address, flush=True)
        webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print()
