"""Progress on a terminal: a bar where somebody watches, and nothing where ``--quiet`` was said.

Bars go to standard error, so that what a command answers on standard output stays alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

QUIET = "GOLDASSAY_QUIET"
"""The variable of the environment that ``--quiet`` sets, so that worker processes see it too."""


def quiet() -> bool:
    """Whether nothing is to be said of progress."""
    return bool(os.environ.get(QUIET))


def watched(stream: IO[str]) -> bool:
    """Whether progress is shown on a stream: it is a terminal, and quiet was not asked for.

    >>> import io
    >>> watched(io.StringIO())
    False
    """
    return not quiet() and stream.isatty()


def standard_error() -> Console:
    """Where bars go: standard error, also while what others print there is thrown away (`terminal.quiet`)."""
    thrown_away = getattr(sys.stderr, "name", "") == os.devnull
    return Console(file=sys.__stderr__ if thrown_away else sys.stderr)


def bar(console: Console, shown: bool = True) -> Progress:
    """A bar with how many are done, the time it took and the time that is left; gone when it ends.

    It is silent where nobody watches, and where it is not to be ``shown``.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not (shown and watched(console.file)),
        transient=True,
    )


class Bar:
    """How far a run is, with the corpus value so far."""

    def __init__(self, total: int, done: int = 0, shown: bool = True) -> None:
        self._progress = bar(standard_error(), shown)
        self.shown = not self._progress.disable
        self._task = self._progress.add_task("evaluating", total=total, completed=done)

    @contextmanager
    def starting(self, what: str) -> Iterator[None]:
        """Say what goes on before anything is counted."""
        self._progress.update(self._task, description=f"starting {what}")
        with self:
            yield
        self._progress.update(self._task, description="evaluating")

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
