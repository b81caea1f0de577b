"""A real HTTP server on the loopback that plays MediaWiki and the Wikidata Query Service, with a store behind it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests import wikibase_rdf as rdf

from goldassay.ext.wikidata.client import Item, ItemStatement
from goldassay.ext.wikidata.web import Web

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
ADAMS = Item(
    "Q42",
    {"en": "Douglas Adams", "nl": "Douglas Adams"},
    {"en": ["DNA", "Douglas Noel Adams"]},
    {"enwiki": "Douglas Adams", "ruwiki": "Адамс, Дуглас"},
    (
        ItemStatement("P31", "Q5", "wikibase-item"),
        ItemStatement("P569", {"time": "+1952-03-11T00:00:00Z", "precision": 11, "calendarmodel": GREGORIAN}, "time"),
        ItemStatement("P2048", {"amount": "1.96", "unit": "Q11573"}, "quantity"),
        ItemStatement("P551", "Q61", "wikibase-item", "deprecated"),
        ItemStatement(
            "P625", {"latitude": 52.5, "longitude": 4.25, "precision": 0.01, "globe": "Q2"}, "globe-coordinate"
        ),
        ItemStatement("P1559", {"text": "Douglas", "language": "en"}, "monolingualtext"),
        ItemStatement("P40", None, "wikibase-item"),
        ItemStatement("P214", "113230702", "external-id"),
        ItemStatement("P18", "Adams.jpg", "commonsMedia"),
    ),
)
MOSCOW = Item(
    "Q649",
    {"en": "Moscow"},
    {},
    {"ruwiki": "Москва"},
    tuple(ItemStatement("P190", f"Q{1000 + n}", "wikibase-item") for n in range(30)),
)
NAMES = (Item("Q5", {"en": "human", "nl": "mens"}), Item("Q61", {"en": "Washington"}))


class Answers:
    """What the server does: normal answers, unless a behaviour is queued for a path."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.queued: dict[str, list[str]] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.limit = 10_000
        self.pages: dict[str, str] = {}
        self.redirects: dict[str, str] = {}

    def behave(self, path: str, *how: str) -> None:
        self.queued.setdefault(path, []).extend(how)

    def asked(self, path: str) -> int:
        return sum(seen == path for seen, _ in self.seen)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing on standard error."""

    def do_GET(self) -> None:
        self.answer("")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

    def answer(self, body: str) -> None:
        answers: Answers = self.server.answers  # type: ignore[attr-defined]
        path = unquote(urlsplit(self.path).path)
        answers.seen.append((path, {key.lower(): value for key, value in self.headers.items()}))
        queue = answers.queued.get(path, [])
        how = queue.pop(0) if queue else ""
        if how.isdecimal():
            return self.send(int(how), "busy", "text/plain")
        if how.startswith("retry "):
            return self.send(429, "busy", "text/plain", {"Retry-After": how.removeprefix("retry ")})
        if how == "slow":
            time.sleep(0.6)
        if how == "type":
            return self.send(200, "<p>log in</p>", "text/html")
        if how == "garbled":
            return self.send(200, '{"results": {"bindings": [', "application/json")
        status, text, headers = self.wiki(answers, path) if "/page/" in path else self.sparql(answers, body)
        self.send(status, text, "application/json", headers, cut=how == "cut")

    def wiki(self, answers: Answers, path: str) -> tuple[int, str, dict[str, str]]:
        title = path.split("/page/")[1].removesuffix("/with_html").replace("_", " ")
        if title in answers.redirects:
            target = answers.redirects[title].replace(" ", "_")
            return 307, "", {"Location": f"/w/rest.php/v1/page/{target}/with_html"}
        if title not in answers.pages:
            return 404, '{"httpCode": 404}', {}
        page = {"title": title, "latest": {"id": 7}, "html": answers.pages[title]}
        return 200, json.dumps(page), {}

    def sparql(self, answers: Answers, body: str) -> tuple[int, str, dict[str, str]]:
        """The server's own limit is applied after the query's."""
        import pyoxigraph

        found = answers.store.query(parse_qs(body)["query"][0])
        rows = json.loads(found.serialize(format=pyoxigraph.QueryResultsFormat.JSON))["results"]["bindings"]
        return 200, json.dumps({"results": {"bindings": rows[: answers.limit]}}), {}

    def send(self, status: int, text: str, kind: str, headers: dict[str, str] | None = None, cut: bool = False) -> None:
        raw = text.encode()
        self.send_response(status)
        for key, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        try:
            self.wfile.write(raw[: len(raw) // 2] if cut else raw)
        except BrokenPipeError:  # whoever asked did not wait
            self.close_connection = True
        if cut:
            self.close_connection = True


class Server:
    """The server's address, and what it does."""

    def __init__(self, answers: Answers) -> None:
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.answers = answers  # type: ignore[attr-defined]
        self.answers, self.url = answers, f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def sparql(self) -> str:
        return f"{self.url}/sparql"


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items as N-Triples."""
    file = tmp_path_factory.mktemp("kb") / "items.nt"
    rdf.write([ADAMS, MOSCOW, *NAMES], file)
    return file


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[Path], Server]]:
    """Starts a server of a file of statements."""
    pyoxigraph = pytest.importorskip(
        "pyoxigraph", reason="the SPARQL service of this server is pyoxigraph (extra wikidata)"
    )
    servers: list[Server] = []

    def start(file: Path) -> Server:
        store = pyoxigraph.Store()
        store.bulk_load(path=str(file))
        servers.append(Server(Answers(store)))
        return servers[-1]

    yield start
    for server in servers:
        server.http.shutdown()
        server.http.server_close()


@pytest.fixture
def server(frozen: Path, serve: Callable[[Path], Server]) -> Server:
    return serve(frozen)


@pytest.fixture
def web() -> Iterator[Web]:
    """A client that does not wait long."""
    client = Web(pause=0.0, wait=0.01, timeout=0.3, retries=2)
    yield client
    client.client.close()
