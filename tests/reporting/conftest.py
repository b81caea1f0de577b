"""A real browser, without a network, that records the messages and requests of a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
import pytest
from tests.axe import violations

from goldassay import Metric
from goldassay.judges.agreement import JudgeAgreement
from goldassay.measures import extraction
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.statistics import Interval
from goldassay.statistics.ppi import Corrected

PATIENCE = 90_000  # milliseconds: a machine that does much else is no failure


@dataclass
class Opened:
    """A page that is open, with the messages of its console and its requests."""

    page: Any
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def count(self) -> str:
        """How many examples the list shows, when a search is done."""
        self.page.wait_for_selector("#list:not([aria-busy])", state="attached")
        return str(self.page.inner_text("#count"))

    def busy(self) -> float:
        """Seconds of processor time that the page's process has used, whatever else the machine does."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime"))

    def until(self, condition: str) -> None:
        """Wait until a JavaScript condition holds; the page's own policy forbids Playwright to poll one."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, condition
            time.sleep(0.05)

    def draw(self) -> None:
        """Draw all charts, those of closed tabs, too; each takes a while, and else is drawn when it is seen."""
        self.page.evaluate("goldassay.charts()")

    def search(self, words: str) -> str:
        """Type into the search field; how many examples are left."""
        self.page.fill("#search", words)
        return self.count()

    def violations(self, *tabs: str) -> list[Any]:
        """What axe reports in both looks with all charts drawn, on the tabs or on those alone that are named."""
        self.draw()
        every = self.page.evaluate("[...document.querySelectorAll('section.tab')].map((tab) => tab.id)") or [""]
        return violations(self.page, tabs or tuple(every))

    def quiet(self) -> None:
        """The console is empty, and only the file itself was requested."""
        assert self.console == []
        assert len(self.requests) == 1, self.requests


@pytest.fixture
def opened(chromium: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a file offline: ``opened(file, theme="dark", width=390)``; without its charts where they do not matter."""
    contexts = []

    def open_file(
        file: Path, *, theme: str = "light", width: int = 1280, hash: str = "", charts: bool = True
    ) -> Opened:
        if not charts:  # their library takes a second to start, and each of them half of one
            html = file.read_text(encoding="utf-8").replace('id="charts-data"', 'id="no-charts"')
            file = file.with_name(f"plain-{file.name}")
            file.write_text(html, encoding="utf-8")
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, offline=True)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        opened_page = Opened(context.new_page())
        opened_page.page.on("console", lambda message: opened_page.console.append(message.text))
        opened_page.page.on("pageerror", lambda error: opened_page.console.append(str(error)))
        opened_page.page.on("request", lambda request: opened_page.requests.append(request.url))
        opened_page.page.goto(f"{file.resolve().as_uri()}{hash}")
        if opened_page.page.query_selector("#list"):
            opened_page.page.wait_for_selector("html[data-ready=yes]")
        return opened_page

    yield open_file
    for context in contexts:
        context.close()


METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3}, targets={"strict_f1": 0.5})


class Years(dspy.Module):  # type: ignore[misc]
    """Finds years; every third one with a wrong end, and raises on the seventh."""

    def __init__(self, every: int = 3) -> None:
        super().__init__()
        self.every = every

    def forward(self, text: str) -> Any:
        number = int(text[3:7])
        if number % 7 == 0:
            raise ValueError("cannot read sevens")
        end = 6 if number % self.every == 0 else 7
        return dspy.Prediction(entities=[{"start": 3, "end": end, "type": "TMP", "text": text[3:end]}])


def examples(n: int = 40) -> list[Any]:
    """Texts with a year and a place each."""
    return [
        dspy.Example(
            id=f"e{i}",
            text=f"in {1500 + i} stond er een molen bij Delft",
            language="nl" if i % 2 else "en",
            strata={"half": "low" if i < n / 2 else "high"},
            entities=[{"start": 3, "end": 7, "type": "TMP", "text": str(1500 + i)}],
        ).with_inputs("text")
        for i in range(n)
    ]


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs on the same gold, on disk."""
    folder = tmp_path_factory.mktemp("runs")
    runs = []
    for name, every in (("thirds", 3), ("fifths", 5)):
        evaluate(Years(every), examples(), METRIC, folder=folder / name, name=name, progress=False)
        runs.append(Run.load(folder / name))
    return runs


def judged(name: str) -> JudgeAgreement:
    """A judge that agrees with people on 13 of 16 items."""

    def of(value: float) -> Interval:
        return Interval(value, 0.25, 0.75)

    return JudgeAgreement(
        judge=name,
        question="support",
        positive="supported",
        n=16,
        unlabelled=4,
        unknown=0,
        no_majority=0,
        annotators=1,
        accuracy=of(0.8125),
        sensitivity=of(0.75),
        specificity=of(0.875),
        kappa=None,
        alpha=None,
        people=None,
        confusion={
            "supported": {"supported": 6, "refuted": 1, "unknown": 0},
            "refuted": {"supported": 2, "refuted": 7, "unknown": 0},
        },
        corrected=Corrected(of(0.4666), of(0.5454), of(0.4375), trust=0.5),
        divided=[],
        warnings=["16 labels are few"],
        mean=None,
    )
