"""Progress on standard error: a bar on a terminal, a line now and then elsewhere, nothing with ``--quiet``.

Standard output holds nothing but a command's answer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

QUIET = "GOLDASSAY_QUIET"
"""The environment variable that ``--quiet`` sets, so that worker processes see it too."""
EVERY = 15.0  # seconds between two lines of progress if there is no terminal


SLOW = 10.0  # seconds without an answer, retries included, after which progress says so
WAITING: dict[str, float] = {}
"""When each call of a model began that has no answer yet, by its id."""


def waiting() -> str:
    """How many calls wait for an answer, for a line of progress; empty if none does for long."""
    started = list(WAITING.values())
    longest = time.monotonic() - min(started, default=time.monotonic())
    return f"; {len(started)} calls wait for the model, one for {longest:.0f} s" if longest >= SLOW else ""


def quiet() -> bool:
    """Whether to print no progress."""
    return bool(os.environ.get(QUIET))


def watched(stream: IO[str]) -> bool:
    """Whether to show bars on a stream: on a terminal, without ``--quiet``.

    >>> import io
    >>> watched(io.StringIO())
    False
    """
    return not quiet() and stream.isatty()


def standard_error() -> Console:
    """The console of bars: standard error, also while other output to it is thrown away (`terminal.quiet`)."""
    thrown_away = getattr(sys.stderr, "name", "") == os.devnull
    return Console(file=sys.__stderr__ if thrown_away else sys.stderr)


def bar(console: Console, shown: bool = True) -> Progress:
    """A bar with the number done, the time taken and the time left; gone when it ends, silent without a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16 if console.width >= 80 else 4),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not (shown and watched(console.file)),
        transient=True,
    )


@contextmanager
def heartbeat(text: Callable[[], str]) -> Iterator[None]:
    """While something long runs, lines of progress where standard error is not a terminal, at least every `EVERY` s."""
    stream, done, started = standard_error().file, threading.Event(), time.monotonic()
    if quiet() or stream.isatty():
        yield
        return

    def beat() -> None:
        while not done.wait(EVERY / 2):
            print(f"{text()}: {time.monotonic() - started:.0f} s{waiting()}", file=stream, flush=True)

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        done.set()


class Bar:
    """How far a run is: program, value so far, done, elapsed, left; a bar, or a line every `EVERY` s elsewhere.

    Args:
        total: How many examples there are.
        done: How many of them are done before it begins.
        shown: Whether to show anything.
        name: The program.
        measure: What its value is called.
    """

    def __init__(self, total: int, done: int = 0, shown: bool = True, *, name: str = "", measure: str = "") -> None:
        self._console = standard_error()
        self._measure = measure[:16]
        room = max(8, self._console.width - 56 - len(self._measure))  # the numbers stay whole on a narrow terminal
        self._name = name if len(name) <= room else f"{name[: room - 1]}…"
        self._progress = bar(self._console, shown)
        self.shown = not self._progress.disable
        self._lines = shown and not self.shown and not quiet()
        self._total, self._before, self._started = total, done, time.monotonic()
        self._next = self._started + EVERY
        self._task = self._progress.add_task(escape(self._name), total=total, completed=done)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, done: int, evidence: Any, failed: int = 0) -> None:
        """Redraw, with the corpus value so far; or print a line if it is time."""
        if self.shown:
            value = f" {self._measure} {float(evidence.value):.3f}" if done else ""
            self._progress.update(self._task, completed=done, description=escape(self._name + value))
        elif self._lines and time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY
            print(self._line(done, evidence, failed) + waiting(), file=self._console.file, flush=True)

    def _line(self, done: int, evidence: Any, failed: int) -> str:
        elapsed = time.monotonic() - self._started
        value = f", {self._measure} {float(evidence.value):.3f}" if done else ""
        each = elapsed / (done - self._before) if done > self._before else 0.0
        left = f", {each * (self._total - done):.0f} s left" if each else ""
        failures = f", {failed} failed" if failed else ""
        return f"{self._name or 'run'}{value}, evaluated {done} of {self._total}{failures}, {elapsed:.0f} s{left}"
