"""What a report shows of a review: the failure modes, their shares over waves, and when prompts were patched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape  # plotly reads a few tags in texts
from pathlib import Path

from goldassay import jsonl
from goldassay.fields import Fields
from goldassay.gold.modes import ModeTable, ReviewedTrace, mode_shares, read_modes, waves
from goldassay.reporting.cells import bounds
from goldassay.reporting.pages import charts
from goldassay.statistics.intervals import Interval

PATCHES = "patches.jsonl"
FIRST = "(first)"  # the wave of a folder that does not say when it was made
DRAWN = 7  # modes of a chart, which has as many colours
Shares = Mapping[str, Interval | None]
"""The share of each mode by its name; None where it is not known."""


def review_of(folder: Path, traces: Sequence[ReviewedTrace]) -> Fields:
    """What the page shows of the folder of a review and the traces that were read there.

    Raises:
        DataError: A file of the folder is broken.
    """
    table = ModeTable.of(traces, read_modes(folder))
    modes = [share.mode for share in table.shares]
    parts = [
        (when or FIRST, len(part), {share.mode.name: share.share for share in mode_shares(part, modes)})
        for when, part in waves(traces).items()
    ]
    log = folder / PATCHES
    patches = list(jsonl.rows(log, what="a change of a prompt", check=_changed)) if log.exists() else []
    figure = _chart([mode.name for mode in modes[:DRAWN]], parts, [str(patch["when"]) for patch in patches])
    return {"name": folder.resolve().stem, "table": table, "waves": parts, "patches": patches, "chart": figure}


def _changed(row: Fields) -> tuple[str, str]:
    return row["when"], row["patch"]


def _chart(
    names: Sequence[str], parts: Sequence[tuple[str, int, Shares]], changes: Sequence[str]
) -> charts.Chart | None:
    """The shares of some modes: over waves, or of the only one."""
    series: list[tuple[str, list[charts.Point]]] = []
    for name in names:
        known = [(when, read, share) for when, read, shares in parts if (share := shares[name])]
        text = escape(name)
        points = [(when, x.value, x.low, x.high, f"{text}, {read} read{bounds(x)}") for when, read, x in known]
        series += [(text, points)] if points else []
    if len(parts) > 1 and series:
        return charts.lines(series, "share of all traces [95 %]", changes)
    return charts.forest(["share"], [(name, [point[1:4] for point in points]) for name, points in series], "share")
