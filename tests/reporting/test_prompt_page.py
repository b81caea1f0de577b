"""The page of a prompt: every unit with its bar, keys, nothing for axe, and hostile text stays text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldassay.reporting import pages
from goldassay.tuning.units import PromptProof, Unit, UnitVerdict, write_proof

HOSTILE = "<img src=x onerror=alert(1)> </table><script>alert(2)</script>"
CUT = """[...document.querySelectorAll('[data-chart]')].flatMap((chart) => {
  const { left, right } = chart.getBoundingClientRect();
  const outside = (box) => box.left < left - 1 || box.right > right + 1;
  return [...chart.querySelectorAll('svg text')].filter((text) => outside(text.getBoundingClientRect()));
}).map((text) => text.textContent)"""


def unit(index: int) -> Unit:
    effect = (index % 7 - 3) / 20
    verdict = UnitVerdict.HELPS if effect > 0.05 else UnitVerdict.HURTS if effect < -0.05 else UnitVerdict.OPEN
    text = {1: HOSTILE, 2: "Donaudampfschifffahrt" * 20}.get(index) or f'Rule {index}: "names" of\n  places are labels.'
    shown = (effect, effect - 0.05, effect + 0.05)
    return Unit(text, "item", "self", index, 9, *shown, 200, verdict, halves=shown)


@pytest.mark.parametrize(("units", "axe"), [(21, False), pytest.param(60, True, marks=pytest.mark.nightly)])
def test_a_prompt_of_many_units(opened: Callable[..., Any], tmp_path: Path, units: int, axe: bool) -> None:
    file = tmp_path / "labels.proof.json"
    write_proof(PromptProof("m", [unit(index) for index in range(units)], gold="g", n=200, value=0.7), file)
    html = tmp_path / "prompt.html"
    saved = tmp_path / "labels.json"
    saved.write_text("{}")
    assert pages.sources([saved]) == pages.sources([file])  # a saved program shows the proof that lies beside it
    html.write_text(pages.report(**pages.sources([file])), encoding="utf-8")
    seen = opened(html)
    seen.draw()
    page = seen.page
    assert len(page.query_selector_all("table.bars tbody tr")) == units
    assert len(page.query_selector_all("table.bars svg.effect")) == units
    assert page.query_selector("table.bars img, table.bars script") is None
    assert "&quot;" not in page.inner_text("body")
    assert page.evaluate("document.querySelector('.scroll').scrollWidth") <= 1280  # a long word breaks
    assert HOSTILE in page.inner_text("table.bars tbody tr >> nth=1")
    for key, line in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        rows = "[...document.querySelectorAll('table.bars tbody tr')]"
        assert page.evaluate(f"{rows}.indexOf(document.activeElement)") == line
    assert page.evaluate(CUT) == []
    assert not axe or seen.violations() == []
    assert page.evaluate(CUT) == []
    page.set_viewport_size({"width": 390, "height": 900})
    seen.until(f"{CUT}.length === 0")
    seen.quiet()
