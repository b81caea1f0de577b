"""The pictures of the README and the docs, in Chromium: a prompt, a report, runs, a tuning, a review and its modes.

    python docs/pictures.py PROOF
    python docs/pictures.py BASELINE RUN TUNING RUNS
    python docs/pictures.py DRAFT REVIEWED

BASELINE and RUN are runs on the same gold, TUNING is the folder of a tuning, RUNS a folder of runs: those that
`goldassay demo` and `goldassay tune extraction --optimizer patches` write will do. DRAFT is one of `gold draft`,
REVIEWED the folder of a review in which failure modes were named. PROOF is what `goldassay explain` writes.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from goldassay import review
from goldassay._support.server import LocalServer
from goldassay.reporting import pages
from goldassay.reporting.pages.dashboard import application

IMAGES = Path(__file__).parent / "images"
WIDTH = 1180
HEIGHTS = {"prompt": 900, "report": 820, "tuning": 820, "runs": 560, "review": 560, "modes": 640}
KEYS = {"modes": ("f", "ArrowDown", "ArrowRight", "Space")}


def main() -> None:
    """Takes the pictures."""
    places = list(map(Path, sys.argv[1:]))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        if len(places) == 1:
            take(play, {"prompt": written(Path(folder) / "prompt.html", places)})
        elif len(places) == 2:
            with review(places[0]) as first, review(places[1]) as second:
                take(play, {"review": first.url, "modes": second.url})
        else:
            *compared, tuning, runs = places
            with LocalServer(application(runs)) as server:
                report = written(Path(folder) / "report.html", compared)
                tuned = written(Path(folder) / "tuning.html", [tuning])
                take(play, {"runs": server.address, "report": report, "tuning": tuned})


def written(file: Path, places: list[Path]) -> str:
    """The address of a report, which is written to the file."""
    file.write_text(pages.report(**pages.sources(places)), encoding="utf-8")
    return file.as_uri()


def take(play: Playwright, addresses: Mapping[str, str]) -> None:
    """Take a picture of each address."""
    browsers = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
    place = next(filter(None, map(shutil.which, browsers)), None)
    browser = play.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-gpu"])
    for name, address in addresses.items():
        width = 980 if name == "prompt" else WIDTH
        page = browser.new_page(viewport={"width": width, "height": HEIGHTS[name]}, color_scheme="light")
        page.goto(address)
        page.evaluate("globalThis.goldassay?.charts()")
        page.wait_for_timeout(2000)
        for key in KEYS.get(name, ()):
            page.keyboard.press(key)
            page.wait_for_timeout(200)
        bottom = page.evaluate("document.querySelector('table.bars')?.getBoundingClientRect().bottom")
        height = bottom + 24 if bottom else HEIGHTS[name]
        page.screenshot(path=IMAGES / f"{name}.png", clip={"x": 0, "y": 0, "width": width, "height": height})
    browser.close()


if __name__ == "__main__":
    main()
