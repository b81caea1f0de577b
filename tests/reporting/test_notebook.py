"""In a notebook a run, a comparison, a ranking, an audit and a scorecard show a card: the verdict and the values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import goldassay
from goldassay.measures import extraction
from goldassay.reporting.ranking import rank
from goldassay.running import Run
from goldassay.running.summary import run_sentence
from goldassay.tuning.verdict import judge


@pytest.fixture(scope="module")
def results(two: list[Run]) -> dict[str, Any]:
    """One of each, with names that are markup."""
    runs = [Run(replace(run.head, name=f"<b>{run.name}</b>"), run.rows, run.zero) for run in two]
    gold = [{**(row.gold or {}), **(row.inputs or {})} for row in runs[0].rows]
    card = extraction.scorecard(gold, [row.prediction or {"entities": []} for row in runs[0].rows])
    audit = judge(np.array([[0.5], [0.25], [1.0], [0.5]] * 5), selection="none", chosen="<b>after</b>")
    return {
        "run": runs[0],
        "comparison": goldassay.compare(*runs),
        "ranking": rank(runs),
        "audit": audit,
        "scorecard": card,
    }


def test_each_has_a_sentence_and_its_numbers_and_a_short_text(results: dict[str, Any]) -> None:
    html = {name: result._repr_html_() for name, result in results.items()}
    run = results["run"]
    first = results["comparison"][0]
    assert run_sentence(run, "x").removeprefix("x").removesuffix(".") in html["run"]
    assert f"{run.values['strict_f1']:.4f} [" in html["run"]
    assert "It is open whether" in html["comparison"]
    assert f"{first.difference:+.3f} [" in html["comparison"]
    assert "No clear winner: &lt;b&gt;fifths&lt;/b&gt; leads" in html["ranking"]
    assert '<p class="verdict better">Better: +0.5' in html["audit"]
    assert ">convention</th>" in html["scorecard"]
    for name, text in html.items():
        assert "<b>" not in text, name
        assert "http" not in text, name
        assert text.count('<p class="verdict') == 1, name
        assert 0 < len(repr(results[name])) < 1000, name


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_it_is_readable_on_light_and_dark(theme: str, results: dict[str, Any], chromium: Any) -> None:
    sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
    colours = "color: #eee; background: #111" if theme == "dark" else "color: #111; background: #fff"
    cards = "".join(result._repr_html_() for result in results.values())
    page = chromium.new_page(viewport={"width": 800, "height": 900})
    page.set_content(
        f'<html lang="en"><title>t</title><body style="{colours}"><main><h1>t</h1>{cards}</main></body></html>'
    )
    rules = [(each["id"], each["nodes"][0]["html"][:120]) for each in sync.Axe().run(page).response["violations"]]
    page.close()
    assert rules == []
