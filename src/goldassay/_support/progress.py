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
from typing import IO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

QUIET_VARIABLE = "GOLDASSAY_QUIET"
"""The environment variable that ``--quiet`` sets, so that worker processes see it too."""
EVERY = 10.0  # seconds between two lines of progress if there is no terminal
_last_line = 0.0  # when any thread printed one

SLOW_ANSWER = 10.0  # seconds without an answer, retries included, after which progress says so
WAITING: dict[str, float] = {}
"""When each call of a model began that has no answer yet, by its id."""


def waiting() -> str:
    """How many calls wait for an answer, for a line of progress; empty if none does for long."""
    started = list(WAITING.values())
    longest = time.monotonic() - min(started, default=time.monotonic())
    if longest < SLOW_ANSWER:
        return ""
    if len(started) == 1:
        return f"; 1 call has waited for the model for {longest:.0f} s"
    return f"; {len(started)} calls wait for the model, the first for {longest:.0f} s"


def quiet() -> bool:
    """Whether to print no progress."""
    return bool(os.environ.get(QUIET_VARIABLE))


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


def bar(console: Console, visible: bool = True) -> Progress:
    """A bar with the number done, the time taken and the time left; gone when it ends, silent without a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16 if console.width >= 80 else 4),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not (visible and watched(console.file)),
        transient=True,
    )


@contextmanager
def heartbeat(text: Callable[[], str]) -> Iterator[None]:
    """While something long runs, lines of progress where standard error is not a terminal.

    A run inside says more in its own lines, so that this waits half as long again for one of them.
    """
    stream = standard_error().file
    done = threading.Event()
    started = time.monotonic()
    if quiet() or stream.isatty():
        yield
        return

    def beat() -> None:
        while not done.wait(EVERY / 10):
            _print_line(f"{text()}: {time.monotonic() - started:.0f} s{waiting()}", stream, started, 1.5 * EVERY)

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _print_line(text: str, stream: IO[str], started: float, silence: float) -> None:
    """Prints a line of progress if there was none for so many seconds."""
    global _last_line
    now = time.monotonic()
    if now >= max(_last_line, started) + silence:
        print(text, file=stream, flush=True)
        _last_line = now


@contextmanager
def run_progress(
    total: int, done: int, *, shown: bool, name: str, measure: str
) -> Iterator[Callable[[int, float, int], None]]:
    """How far a run is: program, value so far, done, elapsed, left; a bar, or a line every `EVERY` s elsewhere.

    Yields a function that shows how many examples are done, their value, and how many failed.

    Args:
        total: How many examples there are.
        done: How many of them are done before it begins.
        shown: Whether to show anything.
        name: The program.
        measure: What its value is called.
    """
    console = standard_error()
    measure = measure[:16]
    room = max(8, console.width - 56 - len(measure))  # the numbers stay whole on a narrow terminal
    name = name if len(name) <= room else f"{name[: room - 1]}…"
    started = time.monotonic()

    def show(count: int, value: float, failed: int) -> None:
        result = f" {measure} {value:.3f}" if count else ""
        if not progress.disable:
            progress.update(task, completed=count, description=escape(name + result))
        elif shown and not quiet():
            seconds = time.monotonic() - started
            per_row = seconds / (count - done) if count > done else 0.0
            left = f", {per_row * (total - count):.0f} s left" if per_row else ""
            failures = f", {failed} failed" if failed else ""
            how_far = f"evaluated {count} of {total}{failures}, {seconds:.0f} s{left}{waiting()}"
            _print_line(f"{name or 'run'}{result and ','}{result}, {how_far}", console.file, started, EVERY)

    with bar(console, shown) as progress:
        task = progress.add_task(escape(name), total=total, completed=done)
        yield show
