"""A folder of runs: what is in it, its server, and its pages: a list, the history of each program, reports of any runs.

A line of a history joins two values only if the model with its settings, the conventions and the gold are the same.
Where one of them changed, the line breaks and says what changed.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from goldassay._support import files
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import JsonObject
from goldassay.reporting.pages import report, sources
from goldassay.reporting.pages.document import page, plotly
from goldassay.reporting.summary import gold_name
from goldassay.results.view import Chart, Point
from goldassay.running.head import RunHead, read_head
from goldassay.running.summary import model_name

LIBRARY = "plotly.js"  # the file that holds the chart library of the static pages
RUN_ERRORS = (GoldassayError, LookupError, TypeError, ValueError, AttributeError, OSError)  # what an odd run raises


class RunEntry:
    """A run as its ``run.json`` describes it; rows are not read. ``key`` is its path inside the folder of runs."""

    def __init__(self, key: str, folder: Path, head: RunHead) -> None:
        self.key = key
        self.folder = folder
        self.head = head
        self.folder_of_tuning = key.rpartition("/")[0]  # empty for a run of its own
        self.name = str(head.name)
        self.started = head.started or ""
        self.status = head.status or "unknown"
        self.model = model_name(head.lm or "no model")
        settings = head.model or {}
        self.settings = ", ".join(f"{name} {value}" for name, value in settings.items() if name != "name")
        self.gold = (head.gold.sha256 or "")[:12]
        self.gold_name = gold_name(head.settings)
        self.examples = head.gold.examples or 0
        measures = head.measures.values()
        self.task = " and ".join(dict.fromkeys(measure.measure.partition(".")[0] for measure in measures))
        self.conventions = ", ".join(measure.conventions for measure in measures if measure.weight)
        self.value = head.value
        self.interval = head.interval

    def done(self) -> int:
        """How many examples have their rows."""
        file = self.folder / "rows.jsonl"
        rows = file.read_bytes().count(b"\n") if file.is_file() else 0
        return min(rows // self.head.repeats, self.examples or rows)

    def progress(self) -> dict[str, str | int]:
        """The status, and how far a run is that is running, for the page that watches it."""
        state: dict[str, str | int] = {"key": self.key, "status": self.status, "examples": self.examples}
        return {**state, "done": self.done()} if self.status == "running" else state


def entries(runs: Path, unreadable: list[Path] | None = None) -> list[RunEntry]:
    """The runs in a folder, the newest first; folders whose ``run.json`` cannot be read are added to ``unreadable``.

    Raises:
        GoldassayError: The folder does not exist.
    """
    if not runs.is_dir():
        raise GoldassayError(f"no folder {runs}; runs are written there by goldassay eval and tune")
    readable = []
    # a tuning folder is in the folder of runs, and holds runs itself
    for folder in [file.parent for depth in range(3) for file in sorted(runs.glob("*/" * depth + "run.json"))]:
        try:
            readable.append(RunEntry(folder.relative_to(runs).as_posix(), folder, read_head(folder)))
        except RUN_ERRORS:
            if unreadable is not None:
                unreadable.append(folder)
    return sorted(readable, key=lambda entry: (entry.started, entry.key), reverse=True)


def lines(runs: Sequence[RunEntry], name: str) -> list[tuple[str, list[RunEntry]]]:
    """The runs of one program over time whose metric may be joined by a line: a line a model, broken where something
    else changed. Each line comes with the change before it, if there was one."""
    drawn: list[tuple[str, list[RunEntry]]] = []
    named = sorted((run for run in runs if run.name == name and run.value is not None), key=lambda run: run.started)
    for model in dict.fromkeys(run.model for run in named):
        earlier = None
        for run in (run for run in named if run.model == model):
            change = _change(earlier, run) if earlier else ""
            if earlier is None or change:
                drawn.append((change, []))
            drawn[-1][1].append(run)
            earlier = run
    return drawn


def _change(earlier: RunEntry, later: RunEntry) -> str:
    """Why two values cannot be joined; empty if they can."""
    changes = []
    if earlier.head.lm != later.head.lm:
        changes.append("the model is another file of the same name")
    if earlier.settings != later.settings:
        changes.append(f"the model's settings changed from {earlier.settings or 'none'} to {later.settings or 'none'}")
    if earlier.conventions != later.conventions:
        changes.append(f"conventions changed from {earlier.conventions} to {later.conventions}")
    if not earlier.gold or earlier.gold != later.gold:
        golds = [f"{run.gold or 'not hashed'}, {run.examples} examples" for run in (earlier, later)]
        changes.append(f"gold changed from {golds[0]} to {golds[1]}")
    return "; ".join(changes)


def listing(
    runs: Sequence[RunEntry], folder: Path, *, live: bool, links: Mapping[str, str] = {}, library: str | None = None
) -> str:
    """The page of a folder of runs.

    Args:
        runs: The runs, the newest first.
        folder: Their folder.
        live: Whether a server answers how far running runs are and compares the ticked ones.
        links: The file of each run's report, for a static page.
        library: The file beside the page that holds the chart library; by default it is in the page.
    """
    histories = []
    for program in list(dict.fromkeys(run.name for run in runs))[:12]:  # programs whose history is drawn
        named = [run for run in runs if run.name == program and run.head.values]
        if len(named) > 1:
            histories.append(_history(program, named, lines(runs, program)))
    counts = Counter(run.folder_of_tuning for run in runs if run.folder_of_tuning)
    first = {run.folder_of_tuning: run.key for run in reversed(runs)}  # a tuning's row comes before its first run
    name = folder.resolve().name
    context: JsonObject = {
        "title": "Runs" if name == "runs" else f"Runs in {name}",
        "entries": runs,
        "live": live,
        "links": links,
        "histories": histories,
        "tunings": {first[folder]: count for folder, count in counts.items()},
    }
    return page("history.html", context, scripts=["history.js"], connect=live, library=library)


def _history(program: str, runs: Sequence[RunEntry], drawn: Sequence[tuple[str, list[RunEntry]]]) -> JsonObject:
    """The history of a program: the chart of its lines, and why they break."""
    series = []
    for _, line in drawn:
        points = []
        for run in line:
            low, high = run.interval or (None, None)
            points.append(Point(run.started, run.value or 0.0, low, high, f"{run.key}\ngold {run.gold}"))
        series.append((line[0].model, points))
    breaks = sorted((line[0].started, line[0].key, change) for change, line in drawn if change)
    return {
        "name": program,
        "chart": Chart("history", "metric", series, breaks=[moment for moment, _, _ in breaks]),
        "measures": list(dict.fromkeys(key for run in runs for key in run.head.values))[:6],
        "entries": runs,
        "breaks": breaks,
    }


def dashboard(runs: Path, out: Path) -> list[Path]:
    """Writes a folder of runs as static pages: ``index.html``, a report of each run, and one of runs on the same gold.

    The pages share one file with the chart library. Returns the pages, ``index.html`` first.
    """
    listed = entries(runs)
    groups = dict[str, list[RunEntry]]()
    for run in reversed(listed):  # the earliest first
        if run.status == "finished" and run.gold and not run.folder_of_tuning:
            groups.setdefault(f"{run.task} on {run.gold_name or 'gold'} {run.gold}", []).append(run)
    pages = {f"run {run.key}": [run] for run in listed}
    pages |= {f"compare {name}": group[-4:] for name, group in groups.items() if len(group) > 1}
    source = plotly()
    library = LIBRARY if source else None
    texts = {"index.html": ""}
    links = {}
    for (key, group), file in zip(pages.items(), file_names(pages), strict=True):
        name = key.removeprefix("compare ")
        title = None if name == key else f"{name}, {len(group)} runs"
        try:
            texts[file] = report(sources([run.folder for run in group])["runs"], title=title, library=library)
        except RUN_ERRORS:
            continue  # a run that cannot be read stays in the list, without a page
        links[key.removeprefix("run ")] = file
    texts["index.html"] = listing(listed, runs, live=False, links=links, library=library)
    library_files = {LIBRARY: source} if source else {}
    return files.save_all({out / file: text for file, text in (texts | library_files).items()})[: len(texts)]


def file_names(texts: Iterable[str]) -> list[str]:
    """A page for each text, whose name works everywhere; of names that would be the same, all but one get a hash.

    >>> file_names(["run x/y", "run x-y"])
    ['run-x-y.html', 'run-x-y-473bc5.html']
    """
    names: list[str] = []
    for text in texts:
        name = re.sub(r"[^\w.-]+", "-", text).strip("-.")[:150]
        taken = f"{name}.html".casefold() in map(str.casefold, names)
        names.append(f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}.html" if taken else f"{name}.html")
    return names


def application(runs: Path) -> Starlette:
    """The application of a folder of runs, for `goldassay._support.server.LocalServer`.

    Raises:
        GoldassayError: The folder does not exist.
    """
    entries(runs)  # a missing folder is an error now, not at the first request

    def show_list(request: Request) -> Response:
        return HTMLResponse(encoded(listing(entries(runs), runs, live=True)))

    def show_progress(request: Request) -> Response:
        return JSONResponse({"runs": [run.progress() for run in entries(runs)]})

    def show_report(request: Request) -> Response:
        folders = {run.key: run.folder for run in entries(runs)}
        keys = request.query_params.getlist("run") or [""]
        if unknown := [key for key in keys if key not in folders]:
            raise GoldassayError(f"no run {unknown[0]!r} in {runs}")
        return HTMLResponse(encoded(report(sources([folders[key] for key in keys])["runs"])))

    routes = [Route("/", show_list), Route("/progress", show_progress), Route("/report", show_report)]
    return Starlette(routes=routes, exception_handlers={GoldassayError: show_error})


def encoded(page: str) -> bytes:
    """A page as UTF-8; half of a character becomes ``?``."""
    return page.encode("utf-8", "replace")


def show_error(request: Request, error: Exception) -> Response:
    """The message of an error of ours; others are reported as usual."""
    return PlainTextResponse(encoded(str(error)), 404)
