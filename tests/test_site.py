"""The documentation as a site: opened from disk in a real browser at two widths, and searched without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.axe import LOOKS, violations
from tests.nightly import by_day

WIDTHS = (390, 1400)


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly; the one of `make docs` if nothing has changed since."""
    pytest.importorskip("mkdocs", reason="no mkdocs: make docs installs it")
    built = root / "build" / "site" / "reference" / "python.html"
    sources = [root / "mkdocs.yml", *(file for room in ("docs", "src") for file in (root / room).rglob("*.[pm]*"))]
    sources = [file for file in sources if file.parent.name != "__pycache__"]  # which this very process may write
    if built.is_file() and all(file.stat().st_mtime < built.stat().st_mtime for file in sources if file.is_file()):
        return root / "build" / "site"
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", str(folder)],
        cwd=root, env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_reference_shows_options_as_they_are_typed(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "<code>--gold</code>" in text
    assert "<code>--fail-under</code>" in text


def test_every_public_name_has_its_place_in_the_reference(site: Path, root: Path) -> None:
    whole = (site / "reference" / "python.html").read_text(encoding="utf-8")
    listed = dict(re.findall(r'<span id="(goldassay\.[\w.]+)"></span><a href="(\w+)\.html#', whole))
    pages = {name: (site / "reference" / f"{name}.html").read_text(encoding="utf-8") for name in set(listed.values())}
    documented = {place for place, page in listed.items() if f'id="{place}"' in pages[page]}
    for line in (root / "tests" / "api.txt").read_text(encoding="utf-8").splitlines():
        package, names = line.split(": ")
        for thing in (getattr(import_module(package), name) for name in names.split()):
            assert not hasattr(thing, "__name__") or f"{thing.__module__}.{thing.__name__}" in documented


def test_no_page_takes_long_to_open(site: Path) -> None:
    assert [page.name for page in site.rglob("*.html") if page.stat().st_size > 300_000] == []


def test_every_link_has_a_target(site: Path) -> None:
    """mkdocs checks the links of pages, but not those to files that it leaves out."""
    pages = {
        file.resolve(): file.read_text(encoding="utf-8") for file in site.rglob("*.html") if file.name != "404.html"
    }
    places = {file: set(re.findall(r'\bid="([^"]+)"', text)) for file, text in pages.items()}
    dead = []
    for file, text in pages.items():
        for link in set(re.findall(r'\b(?:href|src)="(?!https?:|mailto:|data:)([^"]+)"', text)):
            path, _, anchor = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            if not target.exists() or (anchor and target in places and anchor not in places[target]):
                dead.append(f"{file.name}: {link}")
    assert dead == []


@pytest.mark.parametrize("name", by_day(("index", "how-to/reports", "reference/records")))
@pytest.mark.parametrize(
    ("look", "scheme"), [(LOOKS[0], "default"), pytest.param(LOOKS[1], "slate", marks=pytest.mark.nightly)]
)
def test_axe_finds_nothing(site: Path, chromium: Any, look: tuple[str, int], scheme: str, name: str) -> None:
    context = chromium.new_context(color_scheme=look[0], offline=True)
    try:
        page = context.new_page()
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_selector(".md-search[aria-label]", state="attached")
        assert page.evaluate("document.body.dataset.mdColorScheme") == scheme
        assert violations(page, looks=(look,)) == []
    finally:
        context.close()


def test_the_site_is_read_and_searched_from_disk(site: Path, chromium: Any) -> None:
    messages: list[str] = []
    requests: list[str] = []
    context = chromium.new_context(offline=True)
    try:
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        for name in ("tutorials/own-task", "reference/examples"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.inner_text("h1")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing runs out of the page
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto((site / "index.html").as_uri())
            commands = "[...document.querySelectorAll('pre code')].filter(code => !code.innerText.startsWith('$'))"
            assert page.evaluate(f"{commands}.filter(code => code.scrollWidth > code.clientWidth).length") == 0
            if width < 960:
                page.click(".md-header label[for=__search]")
            else:
                page.click("input.md-search__input")
            page.keyboard.type("Wilson")
            page.wait_for_selector(".md-search-result__item")
            assert "Wilson" in page.inner_text(".md-search-result__list")
        assert messages == []
        assert [address for address in requests if not address.startswith("file:")] == []
    finally:
        context.close()
