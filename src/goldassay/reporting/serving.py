"""A server for one person: on the loopback, with a token in the address, for no other host's name.

The token keeps other users of the machine out, the check of the host keeps out pages of the web that point their own
name at the loopback. It answers GET alone and changes nothing.
"""

from __future__ import annotations

import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from goldassay.exceptions import GoldassayError
from goldassay.reporting.history import entries
from goldassay.reporting.pages.dashboard import listing
from goldassay.reporting.pages.report import report, sources

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
            raise GoldassayError(f"port {port} cannot be used: {error.strerror}; choose another with --port") from None

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

    def handle_error(self, request: Any, client_address: Any) -> None:
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
            return self._answer(403, "the address lacks its token; open the one that goldassay view printed")
        try:
            if not place:
                if not found.path.endswith("/"):
                    return self._answer(404, f"open {self.server.address}")
                title = f"Runs in {self.server.runs.resolve().name}"
                return self._answer(200, listing(entries(self.server.runs), title, live=True), "text/html")
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

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address holds the token."""
