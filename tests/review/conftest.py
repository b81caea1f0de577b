"""The page of `goldassay review` in Chromium, in front of a server that keeps its contract."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from tests.review.desk import Desk


@dataclass
class Screen:
    """The page in a browser, with its keyboard and what its console says."""

    page: Any
    desk: Desk
    console: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Wait until what was pressed is done."""
        self.page.wait_for_selector("html[data-state=ready], html[data-state=finished]", state="attached")

    def press(self, *keys: str) -> None:
        """Press keys one after another, as Playwright names them."""
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def at(self) -> str:
        """The id of the record on the screen; empty at the end."""
        item = self.page.evaluate("document.documentElement.dataset.item")
        return str(self.desk.records[int(item)]["id"]) if item else ""

    def decided(self, n: int) -> None:
        """Wait until so many decisions are written."""
        for _ in range(100):
            if len(self.desk.decisions()) == n:
                return
            time.sleep(0.02)
        raise AssertionError(f"{len(self.desk.decisions())} decisions instead of {n}")

    def violations(self) -> list[Any]:
        """What axe finds, and whether the page scrolls sideways."""
        sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: axe-playwright-python")
        response = sync.Axe().run(self.page).response
        rules = [(each["id"], each["nodes"][0]["html"][:160]) for each in response["violations"]]
        wide = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return [*rules, *(["it scrolls sideways"] if wide else [])]


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
