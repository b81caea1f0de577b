"""``goldassay report``, ``waterfall``, ``view`` and ``dashboard``: pages to look at.

``report`` writes runs, a tuning and judges as one HTML file; ``waterfall`` measures what each stage of a pipeline costs
and draws it; ``view`` and ``dashboard`` show a folder of runs in the browser, served or as static pages.
"""

from __future__ import annotations

import json as jsons
from pathlib import Path
from typing import Annotated

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...",
            help="Run folders, the first is the baseline; a tuning's folder; what `judge align --json` wrote.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")] = Path("report.html"),
    seed: use.Seed = 0,
    force: use.Force = False,
) -> None:
    """Write one HTML file to look at: values, errors, every example. It opens from disk, offline."""
    from goldassay.reporting import pages, terminal

    use.free(out, force)
    found = pages.sources(runs or [])
    text = pages.report(found.runs, tuning=found.tuning, judges=found.judges, seed=seed)
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


def waterfall(
    program: use.Program,
    gold: use.Gold = None,
    split: use.Split = "dev",
    format: use.Format = None,
    task: use.OfTask = None,
    metric: use.Metric = None,
    lm: use.Lm = None,
    limit: use.Limit = None,
    threads: use.Threads = 1,
    seed: use.Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.html", help="A page with the picture.")] = None,
    force: use.Force = False,
    json: use.Json = False,
) -> None:
    """Replace each stage of a program by gold and run the rest again: what does each stage cost?"""
    from goldassay.cli.evaluate import examples, prepared
    from goldassay.lm import for_program
    from goldassay.reporting import runs as tables
    from goldassay.reporting import terminal
    from goldassay.reporting.pages.report import waterfall as page
    from goldassay.running.waterfall import waterfall as measure

    if out is not None:
        use.free(out, force)
    target = workspace.target(program, task)
    data = examples(gold, target, split, format=format)
    chosen = data.examples[:limit] if limit else data.examples
    made = prepared(target, data.train, None, data.passages)
    model = for_program(made, lm)
    measured = workspace.metric(target.task, metric)
    found = measure(
        made, chosen, measured, lm=model.lm, adapter=model.adapter, threads=threads, seed=seed, progress=not json
    )
    if out is not None:
        write(out, page(found, f"{target.label}{f' on {model.name}' if model.name else ''}"))
    if json:
        print(jsons.dumps(found.state(), ensure_ascii=False))
        return
    tables.waterfall(found)
    if out is not None:
        terminal.plain(f"Written: {out}")
