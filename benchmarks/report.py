"""A report of two runs with 100,000 rows each: processor seconds to write it, and how fast Chromium shows it.

``GOLDASSAY_EXAMPLES=20000`` sets another number of rows. The rows carry inputs, gold, prediction, errors and one call
with its prompt, as those of `goldassay eval` do.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import dspy

from goldassay import Metric
from goldassay.measures import extraction
from goldassay.reporting import pages
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

WORDS = "in {year} stond er een molen bij {town}, die het Rijksmuseum nu bewaart; daarna kwam er een archief"
TOWNS = ("Delft", "Gouda", "Leiden", "Haarlem", "Zwolle", "Arnhem", "Assen")


class Years(dspy.Module):  # type: ignore[misc]
    """Finds the year; every so many-th one with a wrong end."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every

    def forward(self, text: str) -> dspy.Prediction:
        """The year of a text."""
        end = 6 if hash(int(text[3:7]) * 7919) % self.every == 0 else 7
        return dspy.Prediction(entities=[{"start": 3, "end": end, "type": "TMP", "text": text[3:end]}])


def example(number: int) -> dspy.Example:
    """One gold example."""
    text = WORDS.format(year=1000 + number % 1000, town=TOWNS[number % len(TOWNS)])
    return dspy.Example(
        id=f"e{number}",
        text=text,
        language="nl" if number % 2 else "en",
        strata={"half": str(number % 2), "town": TOWNS[number % len(TOWNS)]},
        entities=[{"start": 3, "end": 7, "type": "TMP", "text": text[3:7]}],
    ).with_inputs("text")


def two_runs(folder: Path, examples: int) -> list[Path]:
    """Two runs on the same gold."""
    gold = [example(number) for number in range(examples)]
    metric = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3}, targets={"strict_f1": 0.5})
    for name, every in (("thirds", 3), ("fifths", 5)):
        evaluate(Years(every), gold, metric, folder=folder / name, name=name, progress=False, threads=1)
        rows = [json.loads(line) for line in (folder / name / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
        with (folder / name / "rows.jsonl").open("w", encoding="utf-8") as file:
            for row in rows:
                prompt = [{"role": "system", "content": "Find the entities. " * 20}, {"role": "user", "content": WORDS}]
                row["calls"] = [{"lm": "scripted", "prompt": prompt, "answer": json.dumps(row["prediction"])}]
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return [folder / "thirds", folder / "fifths"]


CLICK = """(selector) => new Promise((done) => {
    const start = performance.now();
    document.querySelector(selector).click();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
})"""
"""How long a click takes until its result has been drawn, in milliseconds."""
FILTERS = ("wrong", "right", "different", "won", "lost", "all")


def in_browser(page: str, folder: Path) -> str:
    """The fastest of three openings and the slowest of the filters, in Chromium; nothing without it."""
    place = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if place is None or find_spec("playwright") is None:
        return "no Chromium with playwright here, so nothing was opened"
    from playwright.sync_api import sync_playwright

    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    ready, filters = [], dict.fromkeys(FILTERS, float("inf"))
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(3):
            tab = browser.new_page(viewport={"width": 1440, "height": 900})
            tab.goto(f"{file.as_uri()}#examples")
            tab.wait_for_selector("html[data-ready=yes]", timeout=60_000)
            ready.append(float(tab.evaluate("goldassay.ready")) / 1000)
            for name in FILTERS:
                filters[name] = min(filters[name], float(tab.evaluate(CLICK, f"[data-show={name}]")))
            tab.close()
        browser.close()
    timings = ", ".join(f"{name} {took:.0f}" for name, took in filters.items())
    return f"ready after {' / '.join(f'{each:.2f}' for each in ready)} s; filters in ms: {timings}"


def main() -> None:
    """Times each step."""
    examples = int(os.environ.get("GOLDASSAY_EXAMPLES", "100000"))
    with tempfile.TemporaryDirectory() as place:
        folders = two_runs(Path(place), examples)
        start = time.process_time()
        runs = [Run.load(folder) for folder in folders]
        loaded = time.process_time()
        page = pages.report(runs)
        written = time.process_time()
        browser = in_browser(page, Path(place))
    print(
        f"report of 2 × {examples:,} rows: reading {loaded - start:.1f} s, writing {written - loaded:.1f} s "
        f"of processor time, {len(page) / 1e6:.1f} MB"
    )
    print(f"in Chromium: {browser}")


if __name__ == "__main__":
    main()
