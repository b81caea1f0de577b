"""A folder of runs: what is in it, and its pages: a list, the history of each program, reports of any runs.

A line of a history joins two values only if the model with its settings, the conventions and the gold are the same.
Where one of them changed, the line breaks and says what changed.

The server is for one person. It listens on the loopback only and wants a token in the address, which keeps other users
out; it checks the Host header, which keeps out web pages that point their own name at the loopback. It
answers GET only and changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape  # plotly reads a few tags in hover texts
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

from goldassay.exceptions import GoldassayError
from goldassay.reporting.pages import charts, report, sources
from goldassay.reporting.pages.document import page, plotly
from goldassay.reporting.summary import gold_name, model_name
from goldassay.running.folder import read_about

DEPTH = 3  # a tuning folder holds its runs and stands in the folder of runs itself
PROGRAMS = 12  # programs whose history is drawn
SIDE_BY_SIDE = 4  # runs on the same gold that the static pages show in one report
LIBRARY = "plotly.js"  # the file that holds the chart library of the static pages
UNREADABLE = (GoldassayError, LookupError, TypeError, ValueError, AttributeError, OSError)  # what an odd run raises
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RunEntry:
    """A run as its ``run.json`` describes it; rows are not read. ``key`` is its path inside the folder of runs."""

    def __init__(self, key: str, folder: Path, about: Mapping[str, Any]) -> None:
        gold, model, measures = about.get("gold") or {}, about.get("model") or {}, about["measures"].values()
        tasks = [str(each.get("measure", "")).partition(".")[0] for each in measures]
        self.key, self.folder, self.about = key, folder, about
        self.folder_of_tuning = key.rpartition("/")[0]  # empty for a run of its own
        self.name, self.model = str(about.get("name", "run")), model_name(about.get("lm") or "no model")
        self.settings = ", ".join(f"{name} {value}" for name, value in model.items() if name != "name")
        self.started, self.status = str(about.get("started") or ""), str(about.get("status") or "unknown")
        self.examples, self.gold = int(gold.get("examples") or 0), str(gold.get("sha256") or "")[:12]
        self.gold_name, self.task = gold_name(about), " and ".join(dict.fromkeys(filter(None, tasks)))
        self.conventions = ", ".join(str(each.get("conventions")) for each in measures if each.get("weight", 1))
        self.value = None if about.get("value") is None else float(about["value"])
        low, high = about.get("interval") or (None, None)
        self.interval = (float(low), float(high)) if low is not None and high is not None else None

    def done(self) -> int:
        """How many examples have their rows."""
        file = self.folder / "rows.jsonl"
        rows = file.read_bytes().count(b"\n") if file.is_file() else 0
        return min(rows // int(self.about.get("repeats", 1)), self.examples or rows)


def entries(runs: Path, unreadable: list[Path] | None = None) -> list[RunEntry]:
    """The runs in a folder, the newest first; folders whose ``run.json`` cannot be read are added to ``unreadable``."""
    if not runs.is_dir():
        raise GoldassayError(f"no folder {runs}; runs are written there by goldassay eval and tune")
    readable = []
    for folder in [file.parent for depth in range(DEPTH) for file in sorted(runs.glob("*/" * depth + "run.json"))]:
        try:
            about = read_about(folder)
            if "measures" in about:
                readable.append(RunEntry(folder.relative_to(runs).as_posix(), folder, about))
        except UNREADABLE:
            if unreadable is not None:
                unreadable.append(folder)
    return sorted(readable, key=lambda entry: (entry.started, entry.key), reverse=True)


def lines(runs: Sequence[RunEntry], name: str) -> list[tuple[str, list[RunEntry]]]:
    """The runs of one program over time whose metric may be joined by a line: a line a model, broken where something
    else changed. Each line stands behind what changed before it, if anything."""
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
    runs = earlier, later
    texts = {
        "the model's settings": [run.settings or "none" for run in runs],
        "conventions": [run.conventions for run in runs],
        "gold": [f"{run.gold or 'not hashed'}, {run.examples} examples" for run in runs],
    }
    changed = {what: before != after for what, (before, after) in texts.items()}
    changed["gold"] = not earlier.gold or earlier.gold != later.gold
    changes = [f"{what} changed from {before} to {after}" for what, (before, after) in texts.items() if changed[what]]
    other = earlier.about.get("lm") != later.about.get("lm")
    return "; ".join([*["the model is another file of the same name"] * other, *changes])


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
    for program in list(dict.fromkeys(run.name for run in runs))[:PROGRAMS]:
        named = [run for run in runs if run.name == program and run.about.get("values")]
        if len(named) < 2:
            continue
        drawn, series = lines(runs, program), []
        for _, line in drawn:
            values = [(run.value, *(run.interval or (run.value, run.value))) for run in line]
            texts = [f"{escape(run.key)}<br>gold {run.gold}" for run in line]
            points = [(run.started, *ends, text) for run, ends, text in zip(line, values, texts, strict=True)]
            series.append((line[0].model, points))
        breaks = sorted((line[0].started, line[0].key, change) for change, line in drawn if change)
        histories.append(
            {
                "name": program,
                "chart": charts.lines(series, "metric", [moment for moment, _, _ in breaks]),
                "measures": list(dict.fromkeys(key for run in named for key in run.about["values"]))[:6],
                "entries": named,
                "breaks": breaks,
            }
        )
    counts = Counter(run.folder_of_tuning for run in runs if run.folder_of_tuning)
    first = {run.folder_of_tuning: run.key for run in reversed(runs)}  # a tuning's row stands before its first run
    name = folder.resolve().name
    context: dict[str, Any] = {
        "title": "Runs" if name == "runs" else f"Runs in {name}",
        "entries": runs,
        "live": live,
        "links": links,
        "histories": histories,
        "tunings": {first[folder]: count for folder, count in counts.items()},
    }
    return page("history.html", context, scripts=["history.js"], connect=live, library=library)


def dashboard(runs: Path, out: Path) -> list[Path]:
    """Writes a folder of runs as static pages: ``index.html``, a report of each run, and one of runs on the same gold.

    The pages share one file with the chart library. Returns the pages, ``index.html`` first.
    """
    listed, groups = entries(runs), dict[str, list[RunEntry]]()
    for run in reversed(listed):  # the earliest first
        if run.status == "finished" and run.gold and not run.folder_of_tuning:
            groups.setdefault(f"{run.task} on {run.gold_name or 'gold'} {run.gold}", []).append(run)
    pages = {f"run {run.key}": [run] for run in listed}
    pages |= {f"compare {name}": group[-SIDE_BY_SIDE:] for name, group in groups.items() if len(group) > 1}
    texts, links, source = {"index.html": ""}, {}, plotly()
    library = LIBRARY if source else None
    for (key, group), file in zip(pages.items(), file_names(pages), strict=True):
        name = key.removeprefix("compare ")
        title = None if name == key else f"{name}, {len(group)} runs"
        try:
            texts[file] = report(sources([run.folder for run in group])["runs"], title=title, library=library)
        except UNREADABLE:
            continue  # a run that cannot be read stays in the list, without a page
        links[key.removeprefix("run ")] = file
    texts["index.html"] = listing(listed, runs, live=False, links=links, library=library)
    out.mkdir(parents=True, exist_ok=True)
    for file, text in {**texts, **({LIBRARY: source} if source else {})}.items():
        (out / file).write_text(text, encoding="utf-8", errors="replace", newline="\n")
    return [out / file for file in texts]


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


class Server(ThreadingHTTPServer):
    """Serves a folder of runs; open ``address``."""

    daemon_threads = True

    def __init__(self, runs: Path) -> None:
        entries(runs)  # a missing folder is an error now, not at the first request
        self.runs, self.token = runs, secrets.token_urlsafe(18)
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """A client that closes the page early is no error; anything else is reported as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version = "goldassay"
    sys_version = ""

    def do_GET(self) -> None:
        """Answers with a page, a report, the progress, or a line that says what is wrong."""
        kind, port = "text/plain", self.server.server_address[1]
        try:
            if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
                code, text = 403, "this server answers on the loopback only"
            elif not secrets.compare_digest(
                self.path.strip("/").partition("/")[0].encode(), self.server.token.encode()
            ):
                code, text = 403, "the address lacks its token; open the address that goldassay printed"
            else:
                code, text, kind = self._page()
        except GoldassayError as error:
            code, text = 404, str(error)
        body = text.encode("utf-8", "replace")
        self.send_response(code)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            **HEADERS,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _page(self) -> tuple[int, str, str]:
        url, runs = urlsplit(self.path), entries(self.server.runs)
        place = url.path.removeprefix(f"/{self.server.token}/")
        if place == "progress":
            fields = [{"key": run.key, "status": run.status, "examples": run.examples} for run in runs]
            done = [{"done": run.done()} if run.status == "running" else {} for run in runs]
            return 200, json.dumps({"runs": [a | b for a, b in zip(fields, done, strict=True)]}), "application/json"
        if place == "report":
            folders = {run.key: run.folder for run in runs}
            keys = parse_qs(url.query).get("run", [""])
            if unknown := [key for key in keys if key not in folders]:
                raise GoldassayError(f"no run {unknown[0]!r} in {self.server.runs}")
            return 200, report(sources([folders[key] for key in keys])["runs"]), "text/html"
        if place:
            raise GoldassayError(f"nothing there; open {self.server.address}")
        return 200, listing(runs, self.server.runs, live=True), "text/html"

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing, because the address holds the token."""
