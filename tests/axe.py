"""What axe finds on a page: in light on a narrow screen, and in dark on a wide one."""

from __future__ import annotations

from typing import Any

import pytest

LOOKS = (("light", 390), ("dark", 1440))
OF_LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
"""The rules of which the answer depends on theme and width."""

STILL = """() => new Promise(requestAnimationFrame).then(() => Promise.allSettled(document.getAnimations()
  .filter((one) => one.effect.getComputedTiming().endTime < Infinity).map((one) => one.finished))).then(() => null)"""
"""Waits until colours have changed that change slowly."""


def violations(
    page: Any, tabs: tuple[str, ...] = ("",), looks: tuple[tuple[str, int], ...] = LOOKS
) -> list[tuple[str, ...]]:
    """The violations on each tab in each look, and whether it scrolls sideways; the last look stays."""
    sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: axe-playwright-python")
    page.evaluate(sync.Axe().axe_script)
    rules: list[tuple[str, ...]] = []
    for theme, width in looks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        page.evaluate(STILL)
        options = {"resultTypes": ["violations"], **({"runOnly": OF_LOOKS} if theme == "dark" else {})}
        for tab in tabs:
            if tab:
                page.evaluate("(tab) => goldassay.open(tab)", tab)
            for rule in page.evaluate("(options) => axe.run(options)", options)["violations"]:
                rules.append((theme, tab, rule["id"], rule["nodes"][0]["html"][:160]))
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                rules.append((theme, tab, "it scrolls sideways"))
    return rules
