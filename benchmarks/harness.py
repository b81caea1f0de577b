"""Ours beside the opponent: the same input, equal results first, then CPU seconds in turn in one process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One comparison: median CPU seconds of both, how many times faster ours is, and what was aimed at."""

    job: str
    opponent: str
    theirs: float
    ours: float
    target: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    def __str__(self) -> str:
        met = "" if self.ratio >= self.target else "  (missed)"
        return (
            f"{self.job:<48} {self.opponent:<26} {self.theirs:9.4f} s  ours {self.ours:9.4f} s  "
            f"{self.ratio:7.1f}x  target {self.target:g}x{met}"
        )


def versus(
    job: str,
    opponent: str,
    theirs: Callable[[], Any],
    ours: Callable[[], Any],
    equal: Callable[[Any, Any], bool],
    target: float,
    runs: int = 3,
) -> Row:
    """Compare the results, then time both in turn; prints the row."""
    if not equal(theirs(), ours()):
        raise SystemExit(f"{job}: the results differ from {opponent}; no time is worth measuring")
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for series, run in zip(times, (theirs, ours), strict=True):
            gc.collect()
            before = time.process_time()
            run()
            series.append(time.process_time() - before)
    row = Row(job, opponent, statistics.median(times[0]), max(1e-9, statistics.median(times[1])), target)
    print(row, flush=True)
    return row


def close(a: Any, b: Any, within: float = 1e-9) -> bool:
    """Whether nested numbers are equal."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key], within) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, within) for x, y in zip(a, b, strict=True))
    return abs(float(a) - float(b)) <= within
