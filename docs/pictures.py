"""The pictures of the README and the docs: a report, lists of runs, a tuning, a review and its modes, in Chromium.

    python docs/pictures.py BASELINE RUN TUNING RUNS
    python docs/pictures.py DRAFT REVIEWED

BASELINE and RUN are runs on the same gold, TUNING is the folder of a tuning, RUNS a folder of runs: those that
`goldassay demo` and `goldassay tune extraction --optimizer patches` write will do. DRAFT is one of `gold draft`,
REVIEWED the folder of a review in which failure modes were named.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from goldassay import review
from goldassay.reporting import pages
from goldassay.reporting.pages.served import application
from goldassay.serving import LocalServer

IMAGES = Path(__file__).parent / "images"
WIDTH = 1180
HEIGHTS = {"report": 820, "tuning": 820, "runs": 560, "review": 560, "modes": 640}
KEYS = {"modes": ("f", "ArrowDown", "ArrowRight", "Space")}


def main() -> None:
    """Takes the pictures."""
    if len(sys.argv) == 3:
        draft, reviewed = map(Path, sys.argv[1:])
        with review(draft) as first, review(reviewed) as second, sync_playwright() as play:
            take(play, {"review": first.url, "modes": second.url})
        return
    baseline, run, tuning, runs = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, LocalServer(application(runs)) as server, sync_playwright() as play:
        addresses = {"runs": server.address}
        for name, places in (("report", [baseline, run]), ("tuning", [tuning])):
            file = Path(folder) / f"{name}.html"
            file.write_text(pages.report(**pages.sources(places)), encoding="utf-8")
            addresses[name] = file.as_uri()
        take(play, addresses)


def take(play: Playwright, addresses: Mapping[str, str]) -> None:
    """Take a picture of each address."""
    place = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    browser = play.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-gpu"])
    for name, address in addresses.items():
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHTS[name]}, color_scheme="light")
        page.goto(address)
        page.evaluate("globalThis.goldassay?.charts()")
        page.wait_for_timeout(500)
        for key in KEYS.get(name, ()):
            page.keyboard.press(key)
            page.wait_for_timeout(200)
        page.screenshot(path=IMAGES / f"{name}.png")
    browser.close()


if __name__ == "__main__":
    main()
