"""A folder of runs: list, prune, pages."""

from __future__ import annotations

import shutil
import webbrowser
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from goldassay._support import files
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay._support.server import LocalServer
from goldassay.reporting import pages, terminal
from goldassay.reporting import runs as tables
from goldassay.reporting.pages.dashboard import application, dashboard, entries

RunsFolder = Annotated[Path, use.argument("[RUNS]", "The folder of runs.")]


def list_(runs: RunsFolder = Path("runs"), json: bool = False) -> None:
    """List runs, the newest first."""
    unreadable: list[Path] = []
    listed = entries(runs, unreadable)
    names = ["name", "lm", "status", "started", "finished", "value", "values", "intervals", "cost", "gold", "settings"]
    rows = []
    for entry in listed:
        head = asdict(entry.head)
        rows.append({"run": entry.key, "folder": str(entry.folder)} | {name: head[name] for name in names})
    terminal.output({"runs": rows}, json, tables.run_list(listed))
    for folder in unreadable:
        terminal.warn(
            f"skipped {folder / 'run.json'}, which cannot be read; {shell_line('goldassay runs show', folder)} says why"
        )


def prune(
    keep: Annotated[int, use.option("N", "Keep the newest N of each program.", min=0)],
    runs: RunsFolder = Path("runs"),
    delete: Annotated[bool, use.flag("Delete them.")] = False,
    json: bool = False,
) -> None:
    """List runs to delete, and delete them with --delete. The runs of a tuning are kept with it."""
    newer = Counter[str]()
    chosen = []
    for entry in entries(runs):
        if entry.folder_of_tuning or entry.key == "." or entry.status == "running":
            continue
        newer[entry.name] += 1
        chosen += [entry] if newer[entry.name] > keep else []
    for entry in chosen if delete else ():
        shutil.rmtree(entry.folder)
    lines = [f"{'deleted' if delete else 'would delete'}  {entry.key}" for entry in chosen]
    lines.append(f"{len(chosen)} runs{'' if delete or not chosen else '; add --delete to delete them'}")
    terminal.output({"runs": [entry.key for entry in chosen], "deleted": delete}, json, lines)


def report(
    runs: Annotated[
        list[Path] | None,
        use.argument(
            "RUN...",
            "Run folders or logs of other tools, the baseline first; the folder of a tuning; the output of judge "
            "eval --json; the proof of a prompt; the folder of a review. With --serve and --site a folder of runs "
            "(default: runs).",
        ),
    ] = None,
    out: Annotated[Path, use.option("FILE", "The page to write.")] = Path("report.html"),
    serve: Annotated[bool, use.flag("Show a folder of runs in the browser, with its history. Ctrl-C ends it.")] = False,
    site: Annotated[Path | None, use.option("DIR", "Write a folder of runs as static pages.")] = None,
    force: bool = False,
) -> None:
    """Write runs as one HTML page that opens offline, or show a folder of runs."""
    if (serve or site) and len(runs or ()) > 1:
        raise GoldassayError("--serve and --site take one folder of runs")
    folder = runs[0] if runs else Path("runs")
    if serve:
        with LocalServer(application(folder)) as server:
            print(server.address, flush=True)
            webbrowser.open(server.address)
            server.wait()
        return
    use.check_new(site or out, force)
    if site:
        site_pages = dashboard(folder, site)
        terminal.line(f"{len(site_pages)} pages. Open {site_pages[0]}")
        return
    text = pages.report(**pages.sources(runs or []))
    files.save_all({out: text})
    terminal.line(f"Written: {out}, {len(text.encode()) / 1e6:.1f} MB. Open it in a browser.")
