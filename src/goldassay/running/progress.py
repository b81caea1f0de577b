"""The progress bar of a run: how far, the corpus value so far, how long."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def standard_error() -> Console:
    """Where bars go: standard error, also while what others print there is thrown away (`terminal.quiet`)."""
    thrown_away = getattr(sys.stderr, "name", "") == os.devnull
    return Console(file=sys.__stderr__ if thrown_away else sys.stderr)


class Bar:
    """On standard error, when that is a terminal; otherwise silent."""

    def __init__(self, total: int, done: int = 0, shown: bool = True) -> None:
        console = standard_error()
        self.shown = shown and console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not self.shown,
            transient=True,
        )
        self._task = self._progress.add_task("evaluating", total=total, completed=done)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, done: int, evidence: Any) -> None:
        """Redraw, with the corpus value so far."""
        if self.shown:
            text = f"value {float(evidence.value):.3f}" if done else "evaluating"
            self._progress.update(self._task, completed=done, description=text)
