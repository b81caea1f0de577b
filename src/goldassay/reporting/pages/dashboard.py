"""The folder of runs as pages: a list, the history of each program, and a report of any run or of several.

A server for one person: on the loopback, with a token in the address, for no other host's name.

The token keeps other users of the machine out, the check of the host keeps out pages of the web that point their own
name at the loopback. It answers GET alone and changes nothing.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from collections.abc import Sequence
from html import escape  # plotly reads a few tags in what a mark says
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

from goldassay import __version__
from goldassay.exceptions import GoldassayError
from goldassay.reporting.history import Line, RunEntry, entries, lines
from goldassay.reporting.pages import charts
from goldassay.reporting.pages.document import page
from goldassay.reporting.pages.report import report, sources

MOST = 12  # programs whose history is drawn
BESIDE = 4  # runs of one program on the same gold that the static pages show beside each other


def listing(found: Sequence[RunEntry], title: str, *, live: bool, links: dict[str, str] | None = None) -> str:
    """The page of a folder of runs.

    ``live`` pages ask their server how far running runs are, and compare what is ticked; for static ones ``links``
    names the file of each run's report.
    """
    figures: list[charts.Chart] = []
    histories = []
    for name in list(dict.fromkeys(one.name for one in found))[:MOST]:
        shown = _history(found, name, figures)
        if shown:
            histories.append(shown)
    context: dict[str, Any] = {
        "title": title,
        "version": __version__,
        "entries": found,
        "live": live,
        "links": links or {},
        "histories": histories,
        "measures": {one.key: _main(one) for one in found},
    }
    return page("history.html", context, scripts=["history.js"], charts=figures, connect=live)


def _main(one: RunEntry) -> tuple[float, float] | None:
    """The interval beside the value, where the metric is one measure."""
    measures = [name for name, about in one.about["measures"].items() if about.get("weight", 1)]
    ends = one.about.get("intervals", {}).get(measures[0]) if len(measures) == 1 else None
    return (float(ends[0]), float(ends[1])) if ends else None


def _history(found: Sequence[RunEntry], name: str, figures: list[charts.Chart]) -> dict[str, Any] | None:
    """One program over time: a chart for its first measure, a table of all its values, and where lines break."""
    mine = [one for one in found if one.name == name and one.about.get("values")]
    if len(mine) < 2:
        return None
    measures = list(dict.fromkeys(key for one in mine for key in one.about["values"]))
    drawn = lines(found, name, measures[0])
    models = list(dict.fromkeys(line.model for line in drawn))
    figures.append(
        charts.lines(
            [(line.model, _points(line), models.index(line.model)) for line in drawn],
            measures[0],
            [line.points[0].entry.started for line in drawn if line.why],
        )
    )
    breaks = {
        (line.points[0].entry.key, line.points[0].entry.started): f"{measure}: {line.why}"
        for measure in reversed(measures)
        for line in lines(found, name, measure)
        if line.why
    }
    return {
        "name": name,
        "chart": len(figures) - 1,
        "measures": measures[:6],
        "entries": mine,
        "breaks": sorted((moment, key, why) for (key, moment), why in breaks.items()),
    }


def _points(line: Line) -> list[tuple[str, float, float, float, str]]:
    return [
        (one.entry.started, one.value, one.low, one.high, f"{escape(one.entry.key)}<br>gold {one.entry.gold}")
        for one in line.points
    ]


def dashboard(runs: Path, out: Path) -> list[Path]:
    """Write a folder of runs as static pages: ``index.html``, a report of each run, and of runs that belong together.

    Returns the files, ``index.html`` first.
    """
    found = entries(runs)
    links: dict[str, str] = {}
    texts: dict[str, str] = {}
    for one in found:
        file = f"run-{safe(one.key)}.html"
        try:
            texts[file] = report(sources([one.folder]).runs)
        except GoldassayError:
            continue  # a run that cannot be read stays in the list, without a page
        links[one.key] = file
    for name, group in beside(found).items():
        file = f"compare-{safe(name)}.html"
        try:
            texts[file] = report(sources([one.folder for one in group]).runs, title=f"{name}, {len(group)} runs")
        except GoldassayError:
            continue
        links[f"compare {name}"] = file
    out.mkdir(parents=True, exist_ok=True)
    texts = {"index.html": listing(found, _title(runs), live=False, links=links), **texts}
    for file, text in texts.items():
        (out / file).write_text(text, encoding="utf-8", errors="replace", newline="\n")
    return [out / file for file in texts]


def _title(runs: Path) -> str:
    name = runs.resolve().name
    return "Runs" if name == "runs" else f"Runs in {name}"


def beside(found: Sequence[RunEntry]) -> dict[str, list[RunEntry]]:
    """The runs of each task on the same gold that are worth a look beside each other, the earliest first."""
    groups: dict[tuple[str, str], list[RunEntry]] = {}
    for one in found:
        if one.status == "finished" and one.gold and "/" not in one.key:
            groups.setdefault((one.name.partition("-")[0], one.gold), []).append(one)
    out: dict[str, list[RunEntry]] = {}
    for (task, gold), group in groups.items():
        if len(group) > 1:
            out[f"{task} on gold {gold}"] = sorted(group[:BESIDE], key=lambda one: one.started)
    return out


def safe(text: str) -> str:
    """A name that is a file's name everywhere."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:150] or "run"


KEPT = 8  # reports that are kept, since they take a while


class Server(ThreadingHTTPServer):
    """Serves a folder of runs; ``address`` is what to open."""

    daemon_threads = True

    def __init__(self, runs: Path, port: int = 0, token: str | None = None) -> None:
        entries(runs)  # a folder that is not there is said now
        self.runs, self.token = runs, token or secrets.token_urlsafe(18)
        self.kept: dict[Any, str] = {}
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except OSError as error:
            raise GoldassayError(f"port {port} cannot be used: {error.strerror}") from None

    @property
    def address(self) -> str:
        """The address with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def report(self, keys: list[str]) -> str:
        """The report of some runs of the folder, made again when one of them changed."""
        known = {one.key: one for one in entries(self.runs)}
        unknown = [key for key in keys if key not in known]
        if unknown or not keys:
            raise GoldassayError(f"no run {unknown[0]!r} in {self.runs}" if unknown else "no run is named")
        folders = [known[key].folder for key in keys]
        stamp = tuple((str(one), *(_changed(one / name) for name in ("run.json", "rows.jsonl"))) for one in folders)
        if stamp not in self.kept:
            while len(self.kept) >= KEPT:
                self.kept.pop(next(iter(self.kept)))
            self.kept[stamp] = report(sources(folders).runs)
        return self.kept[stamp]

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Whoever closes the page or goes on before it has come is no error; anything else is told as it is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _changed(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version = "goldassay"
    sys_version = ""

    def do_GET(self) -> None:
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return self._answer(403, "this server answers on the loopback alone")
        found = urlsplit(self.path)
        token, _, place = found.path.strip("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            return self._answer(403, "the address lacks its token; open the one that goldassay report --serve printed")
        try:
            if not place:
                if not found.path.endswith("/"):
                    return self._answer(404, f"open {self.server.address}")
                return self._answer(
                    200, listing(entries(self.server.runs), _title(self.server.runs), live=True), "text/html"
                )
            if place == "progress":
                runs = [
                    {"key": one.key, "status": one.status, "examples": one.examples}
                    | ({"done": one.done()} if one.status == "running" else {})
                    for one in entries(self.server.runs)
                ]
                return self._answer(200, json.dumps({"runs": runs}), "application/json")
            if place == "report":
                return self._answer(200, self.server.report(parse_qs(found.query).get("run", [])), "text/html")
        except GoldassayError as error:
            return self._answer(404, str(error))
        return self._answer(404, "nothing there")

    def _answer(self, code: int, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(code)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the address holds the token."""
