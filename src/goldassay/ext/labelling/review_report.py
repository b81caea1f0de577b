"""The part of a report about a review: the failure modes, their shares over waves, and when prompts were patched."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

from goldassay._support import jsonl
from goldassay.ext.labelling import REVIEW
from goldassay.ext.labelling.modes import ModeTable, ReviewedTrace, read_modes
from goldassay.results.view import Chart, Point, Sentence, Table, View, bounds, with_interval


def folder_view(folder: Path) -> View | None:
    """The view of the folder of a review; None if it is not one.

    Raises:
        DataError: A file of the folder is broken.
    """
    if not (folder / REVIEW).is_file():
        return None
    from goldassay.ext.labelling.review.session import reviewed_traces  # which loads a server

    return review_view(folder, reviewed_traces(folder))


def review_view(folder: Path, traces: Sequence[ReviewedTrace]) -> View:
    """The view of the folder of a review, and the traces that were read there.

    Raises:
        DataError: A file of the folder is broken.
    """
    table = ModeTable.of(traces, read_modes(folder))
    log = folder / "patches.jsonl"
    patches = (
        list(jsonl.rows(log, what="a change of a prompt", check=itemgetter("when", "patch"))) if log.exists() else []
    )
    headline = "No failure mode has been named yet"
    for first in table.shares[:1]:
        headline = f"The most frequent failure is “{first.mode.name}”: {first.records} of {table.read} traces read"
        if first.share is not None:
            population = f"{table.population:,}" if table.population else "all"
            estimate = with_interval(first.share, 3)
            headline = f"The most frequent failure is “{first.mode.name}”: {estimate} of {population} traces"
    view: View = [
        Sentence(f"What goes wrong: {folder.resolve().stem}", "head"),
        Sentence(headline, "open"),
        *table.view(described=True),
    ]
    series: list[tuple[str, list[Point]]] = []  # the shares of the most frequent modes: a chart has seven colours
    for name in [share.mode.name for share in table.shares[:7]]:
        points = [
            Point(wave.name, share.value, share.low, share.high, f"{name}, {wave.read} read{bounds(share)}")
            for wave in table.waves
            if (share := wave.share(name))
        ]
        series += [(name, points)] if points else []
    if series and len(table.waves) > 1:
        dates = [str(patch["when"]) for patch in patches]
        view.append(Chart("history", "share of all traces [95 %]", series, breaks=dates))
    elif series:
        alone = [Point(name, point.value, point.low, point.high) for name, (point,) in series]
        view.append(Chart("intervals", "share", [("share", alone)]))
    changes = [
        [str(patch["when"]), str(patch["patch"]), str(patch.get("mode") or ""), str(patch.get("change", "applied"))]
        for patch in patches
    ]
    view.append(Table("Patches: dashed lines in the chart", ["when", "patch", "against", "change"], changes, left=4))
    return view
