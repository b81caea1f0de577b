"""What a report shows of a review: the failure modes, their shares over waves, and when prompts were patched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape  # plotly reads a few tags in texts
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.gold.modes import ModeTable, ReviewedTrace, mode_shares, read_modes, waves
from goldassay.reporting.cells import bounds, number
from goldassay.reporting.pages import charts
from goldassay.statistics.intervals import Interval

PATCHES = "patches.jsonl"
FIRST = "(first)"  # the wave of a folder that does not say when it was made
DRAWN = 7  # modes of a chart, which has as many colours


@dataclass(frozen=True)
class Wave:
    """A wave: when it was drafted, how many of its traces were read, and the share of each mode by its name."""

    when: str
    read: int
    shares: dict[str, Interval | None]


@dataclass(frozen=True)
class ReviewSummary:
    """A review as a report shows it.

    Args:
        name: Its name.
        table: The modes, over all waves.
        waves: The waves, the oldest first.
        patches: When patches were applied or reverted: ``when``, ``patch``, ``mode``, ``change``.
    """

    name: str
    table: ModeTable
    waves: list[Wave]
    patches: list[dict[str, Any]]

    @classmethod
    def of(cls, folder: Path, traces: Sequence[ReviewedTrace]) -> ReviewSummary:
        """The summary of the folder of a review and the traces that were read there.

        Raises:
            DataError: A file of the folder is broken.
        """
        modes = read_modes(folder)
        table = ModeTable.of(traces, modes)
        every = [share.mode for share in table.shares]
        parts = [
            Wave(when or FIRST, len(part), {share.mode.name: share.share for share in mode_shares(part, every)})
            for when, part in waves(traces).items()
        ]
        log = folder / PATCHES
        patches = list(jsonl.rows(log, what="a patch that was applied", check=_applied)) if log.exists() else []
        return cls(folder.resolve().stem, table, parts, patches)

    @property
    def sentence(self) -> str:
        """The most frequent failure, in a sentence."""
        if not self.table.shares:
            return f"{self.name}: {self.table.read} traces read, and no failure has a name yet"
        first = self.table.shares[0]
        if first.share is None:
            return (
                f"the most frequent failure, {first.mode.name}, is in {first.records} of {self.table.read} traces read"
            )
        size = f"{self.table.population:,} traces" if self.table.population else "all traces"
        share = f"{number(first.share.value, 3)}{bounds(first.share)}"
        return f"the most frequent failure, {first.mode.name}, is in a share of {share} of {size}"

    @property
    def chart(self) -> charts.Chart | None:
        """The shares of the most frequent modes: over waves, or of the only one."""
        drawn = self.table.shares[:DRAWN]
        if len(self.waves) < 2:
            shares = [(escape(each.mode.name), each.share) for each in drawn]
            rows = [(name, [(share.value, share.low, share.high)]) for name, share in shares if share]
            return charts.forest(["share"], rows, "share of all traces")
        series = [(escape(each.mode.name), self._points(each.mode.name)) for each in drawn]
        series = [(name, points) for name, points in series if points]
        breaks = [str(patch["when"]) for patch in self.patches]
        return charts.lines(series, "share of all traces [95 %]", breaks) if series else None

    def _points(self, name: str) -> list[charts.Point]:
        """The share of a mode in each wave that tells it."""
        shares = [(wave, wave.shares[name]) for wave in self.waves]
        return [
            (wave.when, share.value, share.low, share.high, f"{escape(name)}, {wave.read} read{bounds(share)}")
            for wave, share in shares
            if share
        ]


def _applied(row: dict[str, Any]) -> tuple[str, str]:
    return row["when"], row["patch"]
