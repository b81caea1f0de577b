"""``goldassay runs``, ``report``, ``view`` and ``dashboard``: what is in a folder of runs, listed and to look at.

``runs`` lists, shows, compares and clears away; ``report`` writes runs, a tuning and judges as one HTML file; ``view``
and ``dashboard`` show a folder of runs in the browser, served or as static pages.
"""

from __future__ import annotations

import json as jsons
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.cli.compare import compare_runs
from goldassay.cli.help import commands
from goldassay.exceptions import GoldassayError

app = commands("What is in a folder of runs.")


@app.command("list")
def listed(
    runs: use.RunsFolder = Path("runs"),
    limit: use.Limit = None,
    json: use.Json = False,
) -> None:
    """List runs, the newest first."""
    from goldassay.reporting import runs as tables
    from goldassay.reporting import terminal
    from goldassay.reporting.history import entries_and_unreadable

    everything, unreadable = entries_and_unreadable(runs)
    found = everything[:limit]
    if json:
        print(jsons.dumps([_state(one) for one in found], ensure_ascii=False))
    else:
        tables.listed(found)
    for folder in unreadable:
        terminal.warn(f"{folder / 'run.json'} cannot be read and is left out; goldassay runs show {folder} says why")


def _state(one: Any) -> dict[str, Any]:
    kept = ("name", "lm", "status", "started", "finished", "value", "values", "intervals", "cost", "gold", "settings")
    return {"run": one.key, "folder": str(one.folder)} | {key: one.about.get(key) for key in kept}


@app.command()
def show(run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")], json: use.Json = False) -> None:
    """Show one run: values with intervals, strata, errors, cost."""
    from goldassay.reporting import runs as tables
    from goldassay.running import Run

    found = Run.load(run)
    if json:
        print(jsons.dumps(found.summary(), ensure_ascii=False))
    else:
        tables.run(found)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="A row an example.")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Values with intervals, for booktabs.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="A test an example and a target, for CI.")] = None,
    label_studio: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tasks with our predictions and errors.")
    ] = None,
    mlflow: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="A tracking store: sqlite:///mlflow.db, http://host:5000 (experiment: MLFLOW_EXPERIMENT_NAME).",
        ),
    ] = None,
    force: use.Force = False,
) -> None:
    """Write a run for other tools: csv, LaTeX, JUnit, Label Studio; MLflow, with the program as it ran."""
    from goldassay.reporting import exports, terminal
    from goldassay.running import Run

    asked = {"csv": csv, "latex": latex, "junit": junit, "label-studio": label_studio}
    if not any(asked.values()) and mlflow is None:
        raise GoldassayError(f"say which form: {', '.join(f'--{form} FILE' for form in asked)} or --mlflow URI")
    for place in filter(None, asked.values()):
        use.free(place, force)
    found = Run.load(run)
    for form, file in asked.items():
        if file is not None:
            try:
                exports.write(found, form, file)
            except OSError as error:
                raise GoldassayError(f"cannot write {file}: {error.strerror}") from None
            terminal.plain(f"{form}: {file}")
    if mlflow is not None:
        program, why = _program(found)
        key = exports.log(
            found, uri=mlflow, experiment=os.environ.get("MLFLOW_EXPERIMENT_NAME") or "goldassay", program=program
        )
        terminal.plain(f"mlflow: {mlflow}, run {key}, {f'without its program: {why}' if why else 'with its program'}")


def _program(run: Any) -> tuple[Any, str]:
    """The program of a run as its file and its tuned state make it, or why it is not the one that ran."""
    from goldassay.running.identity import code_hash, fingerprint
    from goldassay.tuning import load_state

    settings = run.about.get("settings") or {}
    named, state = settings.get("program"), settings.get("state")
    if not isinstance(named, str):
        return None, "the run does not name it"
    try:
        program: Any = workspace.target(named).load()
        made = load_state(program, Path(str(state))) if state else program
    except GoldassayError as error:
        return None, str(error)
    version = fingerprint(made) if hasattr(made, "named_predictors") else None
    if (code_hash(made), version) != (run.about.get("code"), run.about["program"]["version"]):
        return None, f"{named} has changed since"
    return made, ""


app.command("compare")(compare_runs)


@app.command()
def prune(
    runs: use.RunsFolder = Path("runs"),
    keep: Annotated[int | None, typer.Option(metavar="N", min=0, help="Keep the newest N of each program.")] = None,
    older: Annotated[int | None, typer.Option("--older-than", metavar="DAYS", min=0, help="Only older ones.")] = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only those that did not finish.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Delete them; without it they are only listed.")] = False,
    json: use.Json = False,
) -> None:
    """Clear runs away; they are listed first, and deleted with --force. Runs of a tuning stay with it."""
    from goldassay.reporting import terminal
    from goldassay.reporting.history import entries

    if keep is None and older is None and not unfinished:
        raise GoldassayError("say which: --keep N, --older-than DAYS or --unfinished")
    seen: dict[str, int] = {}
    chosen = []
    before = (datetime.now(UTC) - timedelta(days=older or 0)).isoformat(timespec="seconds")
    for one in entries(runs):
        if "/" in one.key or one.key == "." or one.status == "running":
            continue
        seen[one.name] = seen.get(one.name, 0) + 1
        if unfinished and one.status == "finished":
            continue
        if (keep is None or seen[one.name] > keep) and (older is None or one.started < before):
            chosen.append(one)
    for one in chosen if force else ():
        shutil.rmtree(one.folder)
    if json:
        print(jsons.dumps({"runs": [one.key for one in chosen], "deleted": force}))
        return
    for one in chosen:
        terminal.plain(f"{'deleted' if force else 'would go'}  {one.key}")
    terminal.plain(f"{len(chosen)} runs{'' if force or not chosen else '; say --force to delete them'}")


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...",
            help="Run folders, the first is the baseline; a tuning's folder; what `judge align --json` wrote.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")] = Path("report.html"),
    force: use.Force = False,
) -> None:
    """Write one HTML file to look at: values, errors, every example. It opens from disk, offline."""
    from goldassay.reporting import pages, terminal

    use.free(out, force)
    found = pages.sources(runs or [])
    text = pages.report(found.runs, tuning=found.tuning, judges=found.judges)
    write(out, text)
    terminal.line(f"Written: {out}, {len(text.encode()) / 1e6:.1f} MB. Open it in a browser.")


def write(file: Path, text: str) -> None:
    """Write a page; a folder that cannot be written to is an error of one line."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise GoldassayError(f"cannot write {file}: {error.strerror}; choose another place with --out") from None


def view(
    runs: use.RunsFolder = Path("runs"),
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port (default: any free one).")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
) -> None:
    """Look at a folder of runs in the browser: list, history, progress, comparing by ticking. Ctrl-C ends it."""
    import webbrowser

    from goldassay.reporting.pages.dashboard import Server

    with Server(runs, port) as server:
        print(server.address, flush=True)
        if browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print()


def dashboard(
    runs: use.RunsFolder = Path("runs"),
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the pages go.")] = Path("dashboard"),
    force: use.Force = False,
) -> None:
    """Write a folder of runs as static pages: list, history, a report of each run."""
    from goldassay.reporting import terminal
    from goldassay.reporting.pages.dashboard import dashboard as write

    use.free(out, force)
    try:
        files = write(runs, out)
    except OSError as error:
        raise GoldassayError(f"cannot write to {out}: {error.strerror}; choose another place with --out") from None
    terminal.line(f"{len(files)} pages. Open {files[0]}")
