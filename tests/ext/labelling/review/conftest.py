"""Drafts of several tasks, and a client of the page's HTTP interface."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import uvicorn
from tests.ext.labelling.review.desk import Desk
from tests.ext.labelling.review.screen import PATIENCE, Screen

from goldassay.ext.labelling.review import Review
from goldassay.ext.labelling.review import review as open_review

Fields = dict[str, Any]
LABELS = ("museum", "archive", "library")


def sampling(position: int, size: int, systems: Sequence[str] = ("a", "b"), **more: Any) -> Fields:
    fixed = {"question": "compare", "stratum": "disagree", "size": size, "population": 10 * size, "seed": 7}
    fixed |= {"agreement": "the same labels"}
    return {**fixed, "position": position, "systems": list(systems), **more}


def text_of(number: int) -> str:
    """A text that is near no other."""
    rng = random.Random(number)
    return " ".join("".join(rng.choices("abcdefgiklmnoprstuvwz", k=6)) for _ in range(8))


def classification(n: int = 40, **more: Any) -> list[Fields]:
    """Records whose systems disagree: a says the label of the number, b the next one."""
    return [
        {
            "id": f"r{number}",
            "text": text_of(number),
            "suggestions": {name: {"label": LABELS[(number + step) % 3]} for step, name in enumerate(("a", "b"))},
            "sampling": sampling(number, n, **more),
        }
        for number in range(n)
    ]


def extraction(n: int = 40) -> list[Fields]:
    return [
        {
            "id": f"d{number}",
            "text": f"Museum 🙂 {text_of(number)}.",
            "suggestions": {
                "a": {"entities": [{"start": 0, "end": 6, "type": "ORG", "text": "Museum", "confidence": 0.5}]}
            },
            "sampling": sampling(number, n, ["a"], question="level", stratum="all", population=n),
        }
        for number in range(n)
    ]


class Client:
    """One page: a reviewer, a sitting, and what the page would send."""

    def __init__(self, address: str, who: str = "ann") -> None:
        self.parts = urlsplit(address)
        self.who = who
        self.sitting = str(uuid.uuid4())

    def send(self, method: str, place: str, value: object = None, **headers: str) -> tuple[int, Any]:
        query = urlencode({"who": self.who, "sitting": self.sitting})
        joined = "&" if "?" in place else "?"
        body = None if value is None else json.dumps(value)
        own = {"Origin": f"http://{self.parts.netloc}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(self.parts.netloc, timeout=30)) as connection:
            connection.request(method, f"{self.parts.path}{place}{joined}{query}", body, {**own, **headers})
            response = connection.getresponse()
            content = response.read()
        return response.status, json.loads(content) if response.headers[
            "content-type"
        ] == "application/json" else content

    def get(self, place: str) -> Any:
        status, answer = self.send("GET", place)
        assert status == 200, answer
        return answer

    def post(self, place: str, value: object) -> Any:
        status, answer = self.send("POST", place, value)
        assert status == 200, answer
        return answer

    def record(self, item: str) -> Any:
        return self.post("records", {"items": [item]})["records"][0]

    def decide(self, item: str, **fields: Any) -> Any:
        return self.post("decisions", decision(item, **fields))

    def undo(self) -> Any:
        return self.decide("", kind="undo")


def decision(item: str, **fields: Any) -> Fields:
    return {"decision": str(uuid.uuid4()), "item": item, "kind": "label", "seconds": 1.5, **fields}


def write_draft(file: Path, records: Sequence[Fields]) -> Path:
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return file


Start = Callable[..., Review]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Opens a review of records, or goes on with its folder."""
    opened: list[Review] = []

    def run(records: Sequence[Fields] | None = None, **settings: Any) -> Review:
        source = tmp_path / "draft.jsonl"
        if records is not None:
            write_draft(source, records)
        opened.append(open_review(source, **settings))
        return opened[-1]

    yield run
    for review in opened:
        review.close()


Show = Callable[..., Screen]


@pytest.fixture
def show(chromium: Any) -> Iterator[Show]:
    """Serves a desk and opens its page: ``show(desk, theme="dark", width=390)``; the same desk again is another tab."""
    servers: dict[int, tuple[uvicorn.Server, threading.Thread]] = {}
    contexts = []

    def serve(desk: Desk) -> int:
        if id(desk) not in servers:
            server = uvicorn.Server(uvicorn.Config(desk.app(), port=0, log_level="error", lifespan="off"))
            thread = threading.Thread(target=server.run, daemon=True)
            thread.start()
            while not server.started:
                time.sleep(0.01)
            servers[id(desk)] = (server, thread)
        return int(servers[id(desk)][0].servers[0].sockets[0].getsockname()[1])

    def open_desk(desk: Desk, *, theme: str = "light", width: int = 1440, height: int = 900) -> Screen:
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        screen = Screen(context.new_page(), desk)
        screen.page.on("console", lambda message: screen.console.append(message.text))
        screen.page.on("pageerror", lambda error: screen.console.append(str(error)))
        screen.page.goto(f"http://127.0.0.1:{serve(desk)}/token/")
        screen.settle()
        return screen

    yield open_desk
    for context in contexts:
        context.close()
    for server, thread in servers.values():
        server.should_exit = True
        thread.join()


@pytest.fixture
def browse(chromium: Any) -> Iterator[Any]:
    """Opens the page at an address: ``browse(url, "ann", poll=200)``, where it asks for news every 200 milliseconds."""
    contexts = []

    def open_page(url: str, who: str = "", theme: str = "light", width: int = 1440, poll: int = 4000) -> Screen:
        def with_poll(route: Any) -> None:
            script = route.fetch().text()
            assert "const POLL = 4000" in script
            script = script.replace("const POLL = 4000", f"const POLL = {poll}")
            route.fulfill(body=script, content_type="text/javascript")

        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        if who:
            context.add_init_script(f"localStorage.setItem('goldassay-reviewer', {who!r})")
        screen = Screen(context.new_page(), Desk("none", [], []))
        screen.page.on("console", lambda message: screen.console.append(message.text))
        screen.page.on("pageerror", lambda error: screen.console.append(str(error)))
        if poll != 4000:
            screen.page.route("**/review.js", with_poll)
        screen.page.goto(url)
        screen.settle()
        return screen

    yield open_page
    for context in contexts:
        context.close()
