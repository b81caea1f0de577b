"""What axe finds on a page: in light on a narrow screen, and in dark on a wide one."""

from __future__ import annotations

from typing import Any

import pytest

OF_LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
"""The rules of which the answer depends on theme and width."""


def violations(page: Any, tabs: tuple[str, ...] = ("",)) -> list[tuple[str, ...]]:
    """The violations on each tab in both looks, and whether it scrolls sideways; the second look stays."""
    sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: axe-playwright-python")
    page.evaluate(sync.Axe().axe_script)
    rules: list[tuple[str, ...]] = []
    for theme, width in (("light", 390), ("dark", 1440)):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        options = {"resultTypes": ["violations"], **({"runOnly": OF_LOOKS} if theme == "dark" else {})}
        for tab in tabs:
            if tab:
                page.evaluate("(tab) => goldassay.open(tab)", tab)
            for rule in page.evaluate("(options) => axe.run(options)", options)["violations"]:
                rules.append((theme, tab, rule["id"], rule["nodes"][0]["html"][:160]))
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                rules.append((theme, tab, "it scrolls sideways"))
    return rules
