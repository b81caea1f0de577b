"""The folder of runs as pages: a list, the history of each program, and a report of any run or of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape  # plotly reads a few tags in what a mark says
from pathlib import Path
from typing import Any

from goldassay import __version__
from goldassay.exceptions import GoldassayError
from goldassay.reporting.history import Entry, Line, entries, lines
from goldassay.reporting.pages import charts
from goldassay.reporting.pages.document import page
from goldassay.reporting.pages.report import report, sources

MOST = 12  # programs whose history is drawn
BESIDE = 4  # runs of one program on the same gold that the static pages show beside each other


def listing(found: Sequence[Entry], title: str, *, live: bool, links: dict[str, str] | None = None) -> str:
    """The page of a folder of runs.

    ``live`` pages ask their server how far running runs are, and compare what is ticked; for static ones ``links``
    names the file of each run's report.
    """
    figures: list[charts.Figure] = []
    histories = []
    for name in list(dict.fromkeys(one.name for one in found))[:MOST]:
        shown = _history(found, name, figures)
        if shown:
            histories.append(shown)
    context: dict[str, Any] = {
        "title": title,
        "version": __version__,
        "entries": found,
        "live": live,
        "links": links or {},
        "histories": histories,
        "measures": {one.key: _main(one) for one in found},
    }
    return page("history.html", context, scripts=["history.js"], charts=figures, connect=live)


def _main(one: Entry) -> tuple[float, float] | None:
    """The interval beside the value, where the metric is one measure."""
    measures = [name for name, about in one.about["measures"].items() if about.get("weight", 1)]
    ends = one.about.get("intervals", {}).get(measures[0]) if len(measures) == 1 else None
    return (float(ends[0]), float(ends[1])) if ends else None


def _history(found: Sequence[Entry], name: str, figures: list[charts.Figure]) -> dict[str, Any] | None:
    """One program over time: a chart for its first measure, a table of all its values, and where lines break."""
    mine = [one for one in found if one.name == name and one.about.get("values")]
    if len(mine) < 2:
        return None
    measures = list(dict.fromkeys(key for one in mine for key in one.about["values"]))
    drawn = lines(found, name, measures[0])
    models = list(dict.fromkeys(line.model for line in drawn))
    figures.append(
        charts.lines(
            [(line.model, _points(line), models.index(line.model)) for line in drawn],
            measures[0],
            [line.points[0].entry.started for line in drawn if line.why],
        )
    )
    breaks = {
        (line.points[0].entry.key, line.points[0].entry.started): f"{measure}: {line.why}"
        for measure in reversed(measures)
        for line in lines(found, name, measure)
        if line.why
    }
    return {
        "name": name,
        "chart": len(figures) - 1,
        "measures": measures[:6],
        "entries": mine,
        "breaks": sorted((moment, key, why) for (key, moment), why in breaks.items()),
    }


def _points(line: Line) -> list[tuple[str, float, float, float, str]]:
    return [
        (one.entry.started, one.value, one.low, one.high, f"{escape(one.entry.key)}<br>gold {one.entry.gold}")
        for one in line.points
    ]


def dashboard(runs: Path, out: Path) -> list[Path]:
    """Write a folder of runs as static pages: ``index.html``, a report of each run, and of runs that belong together.

    Returns the files, ``index.html`` first.
    """
    found = entries(runs)
    links: dict[str, str] = {}
    texts: dict[str, str] = {}
    for one in found:
        file = f"run-{safe(one.key)}.html"
        try:
            texts[file] = report(sources([one.folder]).runs)
        except GoldassayError:
            continue  # a run that cannot be read stays in the list, without a page
        links[one.key] = file
    for name, group in beside(found).items():
        file = f"compare-{safe(name)}.html"
        try:
            texts[file] = report(sources([one.folder for one in group]).runs, title=f"{name}, {len(group)} runs")
        except GoldassayError:
            continue
        links[f"compare {name}"] = file
    out.mkdir(parents=True, exist_ok=True)
    texts = {"index.html": listing(found, f"Runs in {runs.name}", live=False, links=links), **texts}
    for file, text in texts.items():
        (out / file).write_text(text, encoding="utf-8", errors="replace", newline="\n")
    return [out / file for file in texts]


def beside(found: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The runs of each task on the same gold that are worth a look beside each other, the earliest first."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for one in found:
        if one.status == "finished" and one.gold and "/" not in one.key:
            groups.setdefault((one.name.partition("-")[0], one.gold), []).append(one)
    out: dict[str, list[Entry]] = {}
    for (task, gold), group in groups.items():
        if len(group) > 1:
            out[f"{task} on gold {gold}"] = sorted(group[:BESIDE], key=lambda one: one.started)
    return out


def safe(text: str) -> str:
    """A name that is a file's name everywhere."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:150] or "run"
