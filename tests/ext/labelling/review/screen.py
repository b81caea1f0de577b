"""The page of `goldassay review` in a browser, as tests press its keys."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from tests.axe import violations
from tests.ext.labelling.review.desk import Desk

PATIENCE = 90.0  # seconds: a machine that does much else is no failure
SETTLED = (
    "html:is([data-state=ready], [data-state=finished]):not(:has(dialog[open] [aria-busy]))"
    ":is(:not([data-busy]), :has(dialog[open]))"
)


@dataclass
class Screen:
    """The page in a browser, with its keyboard and what its console says."""

    page: Any
    desk: Desk
    console: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Wait until what was pressed is done, or a dialog waits for more."""
        self.page.wait_for_selector(SETTLED, state="attached")

    def press(self, *keys: str) -> None:
        """Press keys one after another, as Playwright names them."""
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def write(self, text: str) -> None:
        """Type into the field that a key opened."""
        self.page.wait_for_selector(":is(input, textarea, select):focus")
        self.page.keyboard.type(text)

    def at(self) -> str:
        """The id of the record on the screen; empty at the end."""
        item = self.page.evaluate("document.documentElement.dataset.item")
        return str(self.desk.records[int(item)]["id"]) if item else ""

    def decided(self, n: int) -> None:
        """Wait until so many decisions are written."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if len(self.desk.decisions()) == n:
                return
            time.sleep(0.02)
        raise AssertionError(f"{len(self.desk.decisions())} decisions instead of {n}")

    def busy(self) -> float:
        """Seconds of processor time that the page's process has used, whatever else the machine does."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime"))

    def violations(self) -> list[Any]:
        """What axe finds in both looks, and whether the page scrolls sideways."""
        return violations(self.page)
