"""Tables and lines that fit the terminal.

Data is shown as data: control characters that would move the cursor or reverse the text are printed as their codes.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.errors import MarkupError
from rich.markup import escape
from rich.table import Table
from rich.text import Text

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


TAG = re.compile(r"(\\*)\[([a-z#/@][^\[]*?)\]")  # what Rich reads as markup
OURS = {"bold", "dim", "italic", "yellow", "/"}


class Screen(Console):
    """A console that shows data as data.

    A label such as ``[loc]`` or ``[/LOC]`` is text, not markup, and an escape sequence is visible and has no effect.
    Only the few tags that goldassay itself writes are markup.
    """

    def on_broken_pipe(self) -> None:
        """The reader of the pipe (``| head``) has gone."""
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        """Renders a string: every cell, title and line passes here."""
        text = visible(text)
        if options.get("markup") is False:
            return super().render_str(text, **options)
        try:
            return super().render_str(TAG.sub(_literal, text), **options)
        except MarkupError:  # a closing tag without an opening one
            return super().render_str(text, **{**options, "markup": False})


def _literal(match: re.Match[str]) -> str:
    slashes, tag = match.groups()
    return match[0] if tag in OURS or len(slashes) % 2 else f"{slashes}\\[{tag}]"


def console(error: bool = False) -> Console:
    """Where tables go: standard output, or standard error."""
    return Screen(file=sys.stderr if error else sys.stdout, highlight=False, soft_wrap=False)


def pieces(value: object) -> Iterator[str]:
    """The JSON of a value piece by piece: a large mapping that is not a dict is written row by row.

    >>> import types
    >>> "".join(pieces({"by": {"query": types.MappingProxyType({"q": [1], "p": []})}, "n": 2}))
    '{"by": {"query": {"q": [1], "p": []}}, "n": 2}'
    """
    if not isinstance(value, Mapping) or not _has_large(value):
        text = jsonl.dumps(value)
        yield text if redact(text) == text else jsonl.dumps(scrub(json.loads(text)))
        return
    yield "{"
    for place, (key, item) in enumerate(value.items()):
        yield f"{', ' if place else ''}{jsonl.dumps(str(key))}: "
        yield from pieces(item)
    yield "}"


def _has_large(value: Any) -> bool:
    return any(map(_has_large, value.values())) if isinstance(value, dict) else isinstance(value, Mapping)


_answers: IO[str] | None = None


def answer(value: object) -> None:
    """Prints the one JSON object of a command under ``--json``."""
    for piece in pieces(value):
        print(piece, end="", file=_answers or sys.stdout)
    print(file=_answers or sys.stdout)


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


def under_title(title: str | None, **options: Any) -> Table:
    """A table that is at least as wide as its title, so that the title does not wrap."""
    return Table(title=title, title_justify="left", min_width=min(len(title or ""), console().width), **options)


def print_table(
    title: str | None, columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1, markup: bool = False
) -> None:
    """Prints rows under a title.

    Args:
        title: Stands above the table, which is at least as wide.
        columns: The heads.
        rows: The cells; None is an empty cell.
        left: So many columns are aligned left and fold where they are too wide; the others are aligned right.
        markup: Whether cells may hold goldassay's own tags; otherwise they are data.
    """
    table = under_title(title and escape(title))
    for place, column in enumerate(columns):
        if place < left:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    arrow = False
    for row in rows:
        cells = ["" if cell is None else str(cell) for cell in row]
        table.add_row(*cells if markup else map(escape, cells))
        arrow = arrow or "↓" in cells[0]
    console().print(table)
    if arrow:
        plain("↓: lower is better")


def number(value: float | None, places: int = 4) -> str:
    """A value with four places; a dash without evidence."""
    return "–" if value is None else f"{value:.{places}f}"


def bounds(interval: Any, sign: str = "") -> str:
    """The ends of an interval, `` [0.471, 0.765]``, with a blank before; empty for None, and if it has none."""
    ends = interval and interval.low is not None
    return f" [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]" if ends else ""


def prose(text: str) -> None:
    """Prints data that wraps at the end of the line."""
    console().print(text, markup=False)


def line(text: str) -> None:
    """Prints one line of prose."""
    console().print(text, markup=True)


def plain(text: str) -> None:
    """Prints one line of data as it stands, however long it is."""
    console().print(text, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Prints one line about progress on standard error."""
    console(error=True).print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Prints one warning on standard error, in one line however long it is."""
    console(error=True).print(f"[yellow]warning:[/] {escape(text)}", markup=True, soft_wrap=True)


def hint(text: str) -> None:
    """Prints on standard error what a person may want to know next."""
    console(error=True).print(f"[dim]hint:[/] {escape(text)}", markup=True, soft_wrap=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on standard error while something long runs; lines if that is no terminal; nothing if quiet."""
    out = console(error=True)
    if watched(out.file):
        with out.status(escape(text)):
            yield
        return
    if not asked_to_be_quiet():
        out.print(text, markup=False)
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


def with_interval(run: Run, name: str) -> str:
    """A value with its 95 % interval: ``0.6176 [0.471, 0.765]``."""
    return number(run.values.get(name)) + bounds(run.intervals.get(name))


def p_value(p: float) -> str:
    """A p-value with three places.

    >>> p_value(0.0314), p_value(0.0001)
    ('0.031', '<.001')
    """
    return f"{p:.3f}" if p >= 0.001 else "<.001"
