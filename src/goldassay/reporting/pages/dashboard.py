"""A folder of runs as pages: a list, the history of each program, and a report of any run or of several.

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
from collections.abc import Iterable, Sequence
from html import escape  # plotly reads a few tags in hover texts
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

from goldassay.exceptions import GoldassayError
from goldassay.reporting.history import RunEntry, entries, lines
from goldassay.reporting.pages import charts
from goldassay.reporting.pages.document import page, plotly
from goldassay.reporting.pages.report import report, sources
from goldassay.reporting.summary import gold_name

PROGRAMS = 12  # programs whose history is drawn
SIDE_BY_SIDE = 4  # runs on the same gold that the static pages show in one report
LIBRARY = "plotly.js"  # the file that holds the chart library of the static pages
UNREADABLE = (GoldassayError, LookupError, TypeError, ValueError, AttributeError)  # what an odd run raises
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def listing(
    runs: Sequence[RunEntry],
    folder: Path,
    *,
    live: bool,
    links: dict[str, str] | None = None,
    library: str | None = None,
) -> str:
    """The page of a folder of runs.

    Args:
        runs: The runs, the newest first.
        folder: Their folder.
        live: Whether a server answers how far running runs are and compares the ticked ones.
        links: The file of each run's report, for a static page.
        library: The file beside the page that holds the chart library; by default it is in the page.
    """
    name = folder.resolve().name
    programs = list(dict.fromkeys(run.name for run in runs))[:PROGRAMS]
    context: dict[str, Any] = {
        "title": "Runs" if name == "runs" else f"Runs in {name}",
        "entries": runs,
        "live": live,
        "links": links or {},
        "histories": [history for program in programs if (history := _history(runs, program))],
        "tunings": _tunings(runs),
    }
    return page("history.html", context, scripts=["history.js"], connect=live, library=library)


def _tunings(runs: Sequence[RunEntry]) -> dict[str, int]:
    """How many runs each tuning's folder holds, by the key of the run before which its row stands."""
    folders = Counter(run.folder_of_tuning for run in runs if run.folder_of_tuning)
    first = {folder: next(run.key for run in runs if run.folder_of_tuning == folder) for folder in folders}
    return {first[folder]: count for folder, count in folders.items()}


def _history(runs: Sequence[RunEntry], program: str) -> dict[str, Any] | None:
    """One program over time: a chart of its metric, a table of all values, and where lines break."""
    named = [run for run in runs if run.name == program and run.about.get("values")]
    if len(named) < 2:
        return None
    drawn = lines(runs, program)
    series = []
    for _, line in drawn:
        points = []
        for run in line:
            value = run.value or 0.0
            low, high = run.interval or (value, value)
            points.append((run.started, value, low, high, f"{escape(run.key)}<br>gold {run.gold}"))
        series.append((line[0].model, points))
    breaks = sorted((line[0].started, line[0].key, change) for change, line in drawn if change)
    return {
        "name": program,
        "chart": charts.lines(series, "metric", [moment for moment, _, _ in breaks]),
        "measures": list(dict.fromkeys(key for run in named for key in run.about["values"]))[:6],
        "entries": named,
        "breaks": breaks,
    }


def dashboard(runs: Path, out: Path) -> list[Path]:
    """Writes a folder of runs as static pages: ``index.html``, a report of each run, and one of runs on the same gold.

    The pages share one file with the chart library. Returns the pages, ``index.html`` first.
    """
    listed = entries(runs)
    pages: dict[str, tuple[list[RunEntry], str | None]] = {f"run {run.key}": ([run], None) for run in listed}
    for name, group in side_by_side(listed).items():
        pages[f"compare {name}"] = (group, f"{name}, {len(group)} runs")
    texts, links, files = {}, {}, file_names(pages)
    source = plotly()
    library = LIBRARY if source else None
    for key, (group, title) in pages.items():
        file = files[key]
        try:
            texts[file] = report(sources([run.folder for run in group]).runs, title=title, library=library)
        except UNREADABLE:
            continue  # a run that cannot be read stays in the list, without a page
        links[key.removeprefix("run ")] = file
    out.mkdir(parents=True, exist_ok=True)
    texts = {"index.html": listing(listed, runs, live=False, links=links, library=library), **texts}
    for file, text in texts.items():
        (out / file).write_text(text, encoding="utf-8", errors="replace", newline="\n")
    if source:
        (out / LIBRARY).write_text(source, encoding="utf-8")
    return [out / file for file in texts]


def side_by_side(runs: Sequence[RunEntry]) -> dict[str, list[RunEntry]]:
    """The finished runs of each task on the same gold, the earliest first."""
    groups: dict[str, list[RunEntry]] = {}
    for run in runs:
        if run.status == "finished" and run.gold and "/" not in run.key:
            groups.setdefault(f"{run.task} on {gold_name(run.about) or 'gold'} {run.gold}", []).append(run)
    return {
        name: sorted(group[:SIDE_BY_SIDE], key=lambda run: run.started)
        for name, group in groups.items()
        if len(group) > 1
    }


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A page for each text, whose name works everywhere; of names that would be the same, all but one get a hash.

    >>> list(file_names(["run x/y", "run x-y"]).values())
    ['run-x-y.html', 'run-x-y-473bc5.html']
    """
    names: dict[str, str] = {}
    for text in texts:
        name = re.sub(r"[^\w.-]+", "-", text).strip("-.")[:150]
        taken = name.casefold() in map(str.casefold, names.values())
        names[text] = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}" if taken else name
    return {text: f"{name}.html" for text, name in names.items()}


class Server(ThreadingHTTPServer):
    """Serves a folder of runs; open ``address``."""

    daemon_threads = True

    def __init__(self, runs: Path, port: int = 0, token: str | None = None) -> None:
        entries(runs)  # a missing folder is an error now, not at the first request
        self.runs, self.token = runs, token or secrets.token_urlsafe(18)
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except OSError as error:
            raise GoldassayError(f"port {port} cannot be used: {error.strerror}; choose another port") from None

    @property
    def address(self) -> str:
        """The address with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def report(self, keys: list[str]) -> str:
        """The report of some runs of the folder."""
        folders = {run.key: run.folder for run in entries(self.runs)}
        for key in keys or [""]:
            if key not in folders:
                raise GoldassayError(f"no run {key!r} in {self.runs}")
        return report(sources([folders[key] for key in keys]).runs)

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
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return self._answer(403, "this server answers on the loopback only")
        url = urlsplit(self.path)
        token, _, place = url.path.strip("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            return self._answer(403, "the address lacks its token; open the address that goldassay printed")
        try:
            if place == "progress":
                return self._answer(200, json.dumps({"runs": self._progress()}), "application/json")
            if place == "report":
                return self._answer(200, self.server.report(parse_qs(url.query).get("run", [])), "text/html")
            if not place and url.path.endswith("/"):
                return self._answer(200, listing(entries(self.server.runs), self.server.runs, live=True), "text/html")
        except GoldassayError as error:
            return self._answer(404, str(error))
        return self._answer(404, f"nothing there; open {self.server.address}")

    def _progress(self) -> list[dict[str, object]]:
        return [  # pyright: ignore[reportReturnType]
            {"key": run.key, "status": run.status, "examples": run.examples}
            | ({"done": run.done()} if run.status == "running" else {})
            for run in entries(self.server.runs)
        ]

    def _answer(self, code: int, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing, because the address holds the token."""
