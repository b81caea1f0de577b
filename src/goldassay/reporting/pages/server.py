"""A local server of a folder of runs: the list, reports of any runs, and the progress of those that are running.

The server is for one person. It listens on the loopback only and requires a token in the address, which keeps other
users out; it checks the Host header, which keeps out web pages that point their own name at the loopback. It answers
GET only and changes nothing.
"""

from __future__ import annotations

import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from goldassay.exceptions import GoldassayError
from goldassay.reporting.pages import report, sources
from goldassay.reporting.pages.dashboard import entries, listing

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Answer(NamedTuple):
    """The body of a response with its media type and status."""

    text: str
    kind: str = "text/plain"
    status: int = 200


class Server(ThreadingHTTPServer):
    """Serves a folder of runs; open ``address``."""

    daemon_threads = True

    def __init__(self, runs: Path) -> None:
        entries(runs)  # a missing folder is an error now, not at the first request
        self.runs = runs
        self.token = secrets.token_urlsafe(18)
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: tuple[str, int]) -> None:
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
        try:
            answer = self._refusal() or self._page()
        except GoldassayError as error:
            answer = Answer(str(error), status=404)
        body = answer.text.encode("utf-8", "replace")
        self.send_response(answer.status)
        self.send_header("Content-Type", f"{answer.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _refusal(self) -> Answer | None:
        """Why the request comes from somebody else, if it does."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return Answer("this server answers on the loopback only", status=403)
        token = self.path.strip("/").partition("/")[0]
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            return Answer("the address lacks its token; open the address that goldassay printed", status=403)
        return None

    def _page(self) -> Answer:
        url = urlsplit(self.path)
        runs = entries(self.server.runs)
        place = url.path.removeprefix(f"/{self.server.token}/")
        if place == "progress":
            return Answer(json.dumps({"runs": [run.progress() for run in runs]}), "application/json")
        if place == "report":
            folders = {run.key: run.folder for run in runs}
            keys = parse_qs(url.query).get("run", [""])
            if unknown := [key for key in keys if key not in folders]:
                raise GoldassayError(f"no run {unknown[0]!r} in {self.server.runs}")
            return Answer(report(sources([folders[key] for key in keys])["runs"]), "text/html")
        if place:
            raise GoldassayError(f"no such page; open {self.server.address}")
        return Answer(listing(runs, self.server.runs, live=True), "text/html")

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing, because the address holds the token."""
