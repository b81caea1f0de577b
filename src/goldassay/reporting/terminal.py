"""Tables and lines that fit the terminal.

Data is shown as data: control characters that would move the cursor or reverse the text are printed as their codes.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import accumulate
from typing import IO, Any, Protocol, TypeAlias

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text
from rich.theme import Theme

from goldassay._support import jsonl
from goldassay._support.options import with_flags
from goldassay._support.progress import bar as progressing
from goldassay._support.progress import heartbeat, watched
from goldassay._support.progress import quiet as is_quiet
from goldassay._support.secrets import redact, scrub
from goldassay.results.view import Cell, Chart, Diff, Note, Sentence, Table, TableRow, Value, Viewable, written

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""``text`` without secrets, and with every character that acts on a terminal replaced by its code.

    These are control characters other than line feed and tab (an escape sequence may clear the screen), line and
    paragraph separators, changes of text direction, and lone surrogates.

    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return ACTS.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), redact(text))


STYLES = {"better": "green", "worse": "red", "open": "bold", "same": "bold", "head": "bold"}
NAME_WIDTH = 24  # the width to which a column of names folds before others move to a table below
NARROW_NAMES = 15  # or to this, if all columns fit then
WIDE = 120  # columns of a terminal that has room for spare columns
COMMAND = "goldassay "  # what begins a line to paste
PADDING = 3  # of a column: a blank on each side, and the line


class Screen(Console):
    """A console that shows data as data: a label such as ``[loc]`` is text, and an escape sequence has no effect."""

    def on_broken_pipe(self) -> None:
        """Called when the reader of the pipe (``| head``) has gone.

        Raises:
            BrokenPipeError: Always, so that the command ends.
        """
        raise BrokenPipeError

    def render_str(self, text: str, *arguments: Any, **options: Any) -> Text:
        """Renders a string: every cell, title and line passes here."""
        return super().render_str(visible(text), *arguments, **{**options, "markup": False})


def console(error: bool = False) -> Console:
    """Where tables go: standard output, or standard error."""
    return Screen(file=sys.stderr if error else sys.stdout, highlight=False, theme=Theme(STYLES))


_answers: IO[str] | None = None


def answer(value: Mapping[str, object]) -> None:
    """Prints the one JSON object of a command under ``--json``, without secrets."""
    text = jsonl.dumps(value)
    text = text if redact(text) == text else jsonl.dumps(scrub(json.loads(text)))
    print(text, file=_answers or sys.stdout, flush=True)


class Stated(Viewable, Protocol):
    """A result of the library that is also printed as JSON."""

    def state(self) -> Mapping[str, object]:
        """The result as JSON."""
        ...


Lines: TypeAlias = "Sequence[str | Sentence | Table | Chart | Note | Diff]"
"""The view of a result; texts are lines of data."""


def output(result: Stated | Mapping[str, object], json: bool, view: Lines | None = None) -> None:
    """Prints a result: as JSON (its state, if it is not a mapping) with its notes as warnings, or what it shows.

    Args:
        result: The result.
        json: Whether it is printed as JSON.
        view: What a mapping shows.
    """
    shown = view or () if isinstance(result, Mapping) else result.view()
    show([item for item in shown if isinstance(item, Note)] if json else shown)
    if json:
        answer(result if isinstance(result, Mapping) else result.state())


def show(view: Lines) -> None:
    """Prints what a result shows of itself: sentences and tables, and notes as warnings; a terminal has no charts."""
    for item in view:
        if isinstance(item, str):
            echo(item)
        elif isinstance(item, Sentence):
            if item.unbroken:
                echo(item.text)
            else:
                line(item.text, style=item.style)
        elif isinstance(item, Table):
            end = len(item.columns) - (0 if console().width >= WIDE else item.spare)
            rows = [row[:end] for row in item.rows]
            print_table(item.title, item.columns[:end], rows, left=item.left, most=item.most)
        elif isinstance(item, Note):
            warn(item.text)
        elif isinstance(item, Diff):
            line(*filter(None, (item.title, item.note)))
            for text in item.lines:
                line(text, style={"+": "green", "-": "red"}.get(text[:1]))


@contextmanager
def answers_alone() -> Iterator[None]:
    """Reserves standard output for `answer`; anything else printed there, in any thread, goes to standard error."""
    global _answers
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(stdout), "w", encoding="utf-8") as _answers:
            yield
    finally:
        _answers = None
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def _text(cell: Value) -> Text:
    text = Text(visible(written(cell)))
    if isinstance(cell, Cell):
        text.stylize(cell.style)
        text.append(f"\n{visible(cell.detail)}" if cell.detail else "", "dim")
    return text


def print_table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[TableRow],
    *,
    left: int = 1,
    most: int | None = None,
) -> None:
    """Prints rows, if any, under a title. Columns that do not fit go into tables below, each after the first columns.

    Args:
        title: Printed above the table, which is at least as wide.
        columns: The heads.
        rows: The cells, as `written` writes them; a `Cell` has a style.
        left: How many columns are aligned left and fold where they are too wide; the others are aligned right, and
            fold only where one alone is wider than the screen.
        most: Print only so many rows; a line below counts the others.
    """
    if not rows:
        return
    screen = console()
    heads = list(map(_text, columns))
    cells = [list(map(_text, row)) for row in rows[:most]]
    measures = [[screen.measure(cell) for cell in column] for column in zip(heads, *cells, strict=True)]
    widths = [PADDING + max(measure.maximum for measure in column) for column in measures]
    words = [PADDING + min(max(measure.minimum for measure in column), screen.width // 2) for column in measures[:left]]
    figures = list(range(left, len(widths)))
    room = screen.width - 1 - max(widths[left:], default=0)
    fixed = 1 + screen.width
    for most_of_names in (NARROW_NAMES, NAME_WIDTH):  # narrow where all columns fit by that
        if fixed + sum(widths[left:]) > screen.width:
            narrow = [
                max(word, min(most_of_names + PADDING, width)) for word, width in zip(words, widths, strict=False)
            ]
            fixed = 1 + sum(_narrowed(narrow, words, max(room, screen.width // 4)))
    widths[left:] = [min(width, max(screen.width - fixed, PADDING + 1)) for width in widths[left:]]
    while True:
        # at least one column is printed, even where it is wider than the screen
        fitting = sum(fixed + width <= screen.width for width in accumulate(widths[at] for at in figures)) or 1
        table = Grid(title=title, title_justify="left", min_width=min(len(title or ""), screen.width))
        places = [*range(len(words)), *figures[:fitting]]
        room = screen.width - 1 - sum(widths[at] for at in figures[:fitting])
        for at, width in enumerate(_narrowed(widths[:left], words, room)):
            table.add_column(heads[at], overflow="fold", width=width - PADDING)
        for at in figures[:fitting]:
            table.add_column(heads[at], justify="right", overflow="fold", max_width=widths[at] - PADDING)
        for row in cells:
            table.add_row(*(row[at] for at in places))
        screen.print(table)
        title = None
        figures = figures[fitting:]
        if not figures:
            break
    if any("↓" in row[0].plain for row in cells):
        echo("↓: lower is better")
    if most and len(rows) > most:
        echo(f"and {len(rows) - most} more (all with --json)")


def _narrowed(widths: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """Widths that fit into a room: the widest gives first, down to its longest word; below it if all must.

    >>> _narrowed([30, 12, 10], [8, 12, 4], 40), _narrowed([30, 12], [20, 12], 24)
    ([18, 12, 10], [12, 12])
    """
    narrowed = list(widths)
    for floors in (words, [PADDING + 1] * len(words)):
        while sum(narrowed) > room:
            wide = [column for column, floor in enumerate(floors) if narrowed[column] > floor]
            if not wide:
                break
            narrowed[max(wide, key=lambda column: narrowed[column])] -= 1
    return narrowed


def line(*texts: str, style: str | None = None) -> None:
    """Prints lines that wrap at the end of the line, if no command is in them, which would be broken when pasted."""
    for text in texts:
        console().print(text, style=style, soft_wrap=COMMAND in text)


def _whole(text: Text | str, *, error: bool = False) -> None:
    """One line however long it is; a terminal breaks it between words, so that no number and no path is cut."""
    screen = console(error)
    unbroken = not screen.is_terminal or COMMAND in str(text)
    screen.print(text, no_wrap=unbroken, overflow="ignore", crop=False)


def echo(*texts: str) -> None:
    """Prints lines of data unwrapped, so that a pipe gets each whole."""
    for text in texts:
        _whole(text)


_warned: set[str] | None = None
"""The warnings that the running command printed; None outside of a command, where each one is printed."""


class _Warnings(logging.Handler):
    """Prints on the standard error of the command, also where `quiet` throws away what others print."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.stream = sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:  # else whoever set logging up decides where it goes
            with redirect_stderr(self.stream):
                warn(record.getMessage())


@contextmanager
def warnings_once() -> Iterator[None]:
    """Prints the warnings of the library's logger as those of a command, and no warning a second time."""
    global _warned
    logger = logging.getLogger("goldassay")
    handler = _Warnings()
    logger.addHandler(handler)
    _warned = set()
    try:
        yield
    finally:
        logger.removeHandler(handler)
        _warned = None


def warn(*texts: str) -> None:
    """Prints warnings on standard error, with the options of the command line for keyword arguments."""
    for text in texts:
        if _warned is not None:
            if text in _warned:
                continue
            _warned.add(text)
        _whole(Text.assemble(("warning: ", "yellow"), visible(with_flags(text))), error=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on standard error while something long runs; lines if that is not a terminal; nothing if quiet."""
    screen = console(error=True)
    if watched(screen.file):
        with screen.status(text):
            yield
        return
    if not is_quiet():
        screen.print(text)
    with heartbeat(lambda: text):
        yield


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on standard error, or lines if that is not a terminal. Call the result with how many steps are done and the
    name of the next."""
    step = what
    completed = 0

    def update(done: int, then: str = what) -> None:
        nonlocal step, completed
        step = then
        completed = done
        bar.update(task, completed=done, description=then)

    with progressing(console(error=True)) as bar, heartbeat(lambda: f"{step}, {completed} of {total}"):
        task = bar.add_task(what, total=total)
        yield update


@contextmanager
def quiet() -> Iterator[None]:
    """Throws away what optimizers print."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield
