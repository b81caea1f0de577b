"""Tables and lines that fit the terminal.

Data is shown as data: control characters that would move the cursor or reverse the text are printed as their codes.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import accumulate
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from goldassay import jsonl
from goldassay.progress import bar as progressing
from goldassay.progress import heartbeat, watched
from goldassay.progress import quiet as asked_to_be_quiet
from goldassay.secrets import redact, scrub

if TYPE_CHECKING:  # the command line prints without loading what runs programs
    from goldassay.running.run import Run

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""``text`` without secrets, and with every character that acts on a terminal replaced by its code.

    These are control characters other than line feed and tab (an escape sequence may clear the screen), line and
    paragraph separators, changes of text direction, and lone surrogates.

    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return ACTS.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), redact(text))


COLOURS = {"better": "green", "worse": "red"}
NAME = 24  # the width to which a column of names folds before others move to a table below
PADDING = 3  # of a column: a blank on each side, and the line


class Screen(Console):
    """A console that shows data as data: a label such as ``[loc]`` is text, and an escape sequence has no effect."""

    def on_broken_pipe(self) -> None:
        """The reader of the pipe (``| head``) has gone."""
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        """Renders a string: every cell, title and line passes here."""
        return super().render_str(visible(text), **{**options, "markup": False})


def console(error: bool = False) -> Console:
    """Where tables go: standard output, or standard error."""
    return Screen(file=sys.stderr if error else sys.stdout, highlight=False, theme=Theme(COLOURS))


_answers: IO[str] | None = None


def answer(value: object) -> None:
    """Prints the one JSON object of a command under ``--json``, without secrets."""
    text = jsonl.dumps(value)
    text = text if redact(text) == text else jsonl.dumps(scrub(json.loads(text)))
    print(text, file=_answers or sys.stdout)


def output(result: Any, json: bool, table: Callable[[Any], None]) -> None:
    """Prints a result: as JSON (its state, if it is no mapping), or as a table."""
    if json:
        answer(result if isinstance(result, Mapping) else result.state())
    else:
        table(result)


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


class Cell(str):
    """Data in a cell: ``better``, ``worse`` or another style of Rich's, and a dim line of detail below."""

    style: str
    detail: str

    def __new__(cls, text: object, style: str = "", detail: str = "") -> Cell:
        cell = super().__new__(cls, text)
        cell.style, cell.detail = style, detail
        return cell


def written(cell: object) -> str:
    """A cell as text: an interval with its value, numbers with four places, counts with commas, a dash for None.

    >>> written(0.61764), written(12000), written(None)
    ('0.6176', '12,000', '–')
    """
    if isinstance(cell, int):
        return f"{cell:,}"
    if hasattr(cell, "value"):
        return estimate(cell)
    return number(cell) if cell is None or isinstance(cell, float) else str(cell)


def _text(cell: object) -> Text:
    text = Text(visible(written(cell)))
    if isinstance(cell, Cell):
        text.stylize(cell.style)
        text.append(f"\n{visible(cell.detail)}" if cell.detail else "", "dim")
    return text


def print_table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    left: int = 1,
    most: int | None = None,
) -> None:
    """Prints rows, if any, under a title. Columns that do not fit stand in tables below, each after the first columns.

    Args:
        title: Stands above the table, which is at least as wide.
        columns: The heads.
        rows: The cells, as `written` writes them; a `Cell` has a style.
        left: So many columns are aligned left and fold where they are too wide; the others are aligned right, and
            nothing in them is ever cut.
        most: Only so many rows; a line below says how many there are more.
    """
    if not rows:
        return
    screen = console()
    heads, *cells = [list(map(_text, row)) for row in (columns, *rows[:most])]
    widths = [
        PADDING + max(screen.measure(cell).maximum for cell in column) for column in zip(heads, *cells, strict=True)
    ]
    fixed = 1 + sum(min(NAME + PADDING, width) for width in widths[:left])
    first, rest = range(len(widths))[:left], range(len(widths))[left:]
    while True:
        fitting = sum(fixed + width <= screen.width for width in accumulate(widths[place] for place in rest))
        table = Table(title=title, title_justify="left", min_width=min(len(title or ""), screen.width))
        places = [*first, *rest[: max(1, fitting)]]
        for place in places:
            options: Any = {"overflow": "fold"} if place < left else {"justify": "right", "no_wrap": True}
            table.add_column(heads[place], **options)
        for row in cells:
            table.add_row(*(row[place] for place in places))
        screen.print(table)
        rest, title = rest[max(1, fitting) :], None
        if not rest:
            break
    if any("↓" in row[0].plain for row in cells):
        echo("↓: lower is better")
    if most and len(rows) > most:
        echo(f"and {len(rows) - most} more (all with --json)")


def number(value: float | None, places: int = 4) -> str:
    """A value with four places; a dash without evidence."""
    return "–" if value is None else f"{value:.{places}f}"


def bounds(interval: Any, sign: str = "") -> str:
    """The ends of an interval, with a blank before; empty for None, and if it has none.

    >>> bounds((0.4713, 0.7654)), bounds(None)
    (' [0.471, 0.765]', '')
    """
    ends: Any = interval if isinstance(interval, tuple) else interval and (interval.low, interval.high)
    return f" [{ends[0]:{sign}.3f}, {ends[1]:{sign}.3f}]" if ends and ends[0] is not None else ""


def estimate(value: Any, places: int = 4) -> str:
    """A value with its 95 % interval, ``0.6176 [0.471, 0.765]``; a dash for None."""
    return number(value and value.value, places) + bounds(value)


def with_interval(run: Run, name: str) -> str:
    """The same of a run's measure."""
    return number(run.values.get(name)) + bounds(run.intervals.get(name))


def p_value(p: float | None) -> str:
    """A p-value with three places; a dash for None.

    >>> p_value(0.0314), p_value(0.0001), p_value(None)
    ('0.031', '<0.001', '–')
    """
    return "<0.001" if p is not None and p < 0.001 else number(p, 3)


def signed(value: float, interval: Any = None, places: int = 3) -> str:
    """A difference with its sign, and with its interval if it has one.

    >>> signed(0.05), signed(-0.2, (-0.31, -0.1))
    ('+0.050', '-0.200 [-0.310, -0.100]')
    """
    return f"{value:+.{places}f}{bounds(interval, '+')}"


def labelled(name: str, lower_is_better: bool) -> str:
    """A value's name in a table: with an arrow if lower is better."""
    return f"{name} ↓" if lower_is_better else name


def shortened(names: Sequence[object], most: int = 10) -> str:
    """The first names of a list, and how many more there are.

    >>> shortened(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def line(*texts: str, style: str | None = None) -> None:
    """Prints lines that wrap at the end of the line."""
    for text in texts:
        console().print(text, style=style)


def _whole(text: Text | str, *, error: bool = False) -> None:
    """One line however long it is; a terminal breaks it between words, so that no number and no path is cut."""
    out = console(error)
    out.print(text, no_wrap=not out.is_terminal, overflow="ignore", crop=False)


def echo(*texts: str) -> None:
    """Prints lines of data unwrapped, so that a pipe gets each whole."""
    for text in texts:
        _whole(text)


def warn(*texts: str) -> None:
    """Prints warnings on standard error."""
    for text in texts:
        _whole(Text.assemble(("warning: ", "yellow"), visible(text)), error=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on standard error while something long runs; lines if that is no terminal; nothing if quiet."""
    out = console(error=True)
    if watched(out.file):
        with out.status(text):
            yield
        return
    if not asked_to_be_quiet():
        out.print(text)
    with heartbeat(lambda: text):
        yield


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on standard error, or lines if that is no terminal. Call the result with how much is done and what comes
    next."""
    out, state = console(error=True), [0, what]

    def update(done: int, then: str = what) -> None:
        state[:] = done, then
        bar.update(task, completed=done, description=then)

    with progressing(out) as bar, heartbeat(lambda: f"{state[1]}, {state[0]} of {total}"):
        task = bar.add_task(what, total=total)
        yield update


@contextmanager
def quiet() -> Iterator[None]:
    """Throws away what optimizers print."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield
