"""Tables that fit the terminal.

Data on a screen is data: what would move the cursor or turn the writing is shown as its number.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.errors import MarkupError
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from goldassay import jsonl
from goldassay.progress import bar as progressing
from goldassay.progress import quiet as asked_to_be_quiet
from goldassay.progress import watched

if TYPE_CHECKING:  # the command line prints without loading what runs programs
    from goldassay.running.run import Run

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""``text`` with everything that acts on a terminal written as its number.

    Those are control characters but line feed and tab (an escape sequence may clear the screen or set a window's
    title), line and paragraph separators, changes of the direction of writing, and halves of surrogate pairs.

    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return ACTS.sub(lambda found: _number(ord(found[0])), text)


def _number(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


NamedValues = Mapping[str, float | None]


TAG = re.compile(r"(\\*)\[([a-z#/@][^\[]*?)\]")  # what Rich takes for its markup
OURS = {"bold", "dim", "italic", "yellow", "/"}


class Screen(Console):
    """A console on which data is data.

    A type or a label such as ``[loc]`` or ``[/LOC]`` is text and no markup, and an escape sequence is seen and does
    nothing. Of Rich's markup only the few tags that goldassay itself writes are taken.
    """

    def on_broken_pipe(self) -> None:
        """Who reads on the other side (``| head``) has enough."""
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        """The text of a string, as every cell, title and line is made of."""
        seen = visible(text)
        if options.get("markup") is False:
            return super().render_str(seen, **options)
        try:
            return super().render_str(TAG.sub(_literal, seen), **options)
        except MarkupError:  # an end without a beginning
            return super().render_str(seen, **{**options, "markup": False})


def _literal(found: re.Match[str]) -> str:
    slashes, tag = found.groups()
    return found[0] if tag in OURS or len(slashes) % 2 else f"{slashes}\\[{tag}]"


def console(error: bool = False) -> Console:
    """Where tables go: standard output, or standard error."""
    return Screen(file=sys.stderr if error else sys.stdout, highlight=False, soft_wrap=False)


def pieces(value: object) -> Iterator[str]:
    """What `dumps` gives, piece by piece: a large mapping that is no dict is written row by row and never held whole.

    >>> import types
    >>> "".join(pieces({"by": {"query": types.MappingProxyType({"q": [1], "p": []})}, "n": 2}))
    '{"by": {"query": {"q": [1], "p": []}}, "n": 2}'
    """
    if not isinstance(value, Mapping) or not _by_rows(value):
        yield jsonl.dumps(value)
        return
    yield "{"
    for place, (key, one) in enumerate(value.items()):
        yield f"{', ' if place else ''}{jsonl.dumps(str(key))}: "
        yield from pieces(one)
    yield "}"


def _by_rows(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and any(map(_by_rows, value.values()))
    return isinstance(value, Mapping)


_answers: IO[str] | None = None


def answer(value: object) -> None:
    """The one JSON object that a command prints under ``--json``."""
    for piece in pieces(value):
        print(piece, end="", file=_answers or sys.stdout)
    print(file=_answers or sys.stdout)


@contextmanager
def answers_alone() -> Iterator[None]:
    """Keep standard output for `answer`: what else prints there, also in other threads and processes, goes to error."""
    global _answers
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8") as _answers:
            yield
    finally:
        _answers = None
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def under_title(title: str | None, **options: Any) -> Table:
    """A table under its title, at least as wide as that: a title wraps where its table ends."""
    return Table(title=title, title_justify="left", min_width=min(len(title or ""), console().width), **options)


def number(value: float | None) -> str:
    """Four places; a dash where there is no evidence."""
    return "–" if value is None else f"{value:.4f}"


def line(text: str) -> None:
    """One line of prose."""
    console().print(text, markup=True)


def plain(text: str) -> None:
    """One line as it stands, however long it is: data is data."""
    console().print(text, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """One line on standard error, about what was done."""
    console(error=True).print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """One warning on standard error, in one line however long it is."""
    console(error=True).print(f"[yellow]warning:[/] {escape(text)}", markup=True, soft_wrap=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on standard error while something long runs; a line where that is no terminal; nothing if quiet."""
    out = console(error=True)
    if watched(out.file):
        with out.status(escape(text)):
            yield
        return
    if not asked_to_be_quiet():
        out.print(text, markup=False)
    yield


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on standard error, where that is a terminal: call what it gives with how much is done, and what follows."""
    out = console(error=True)
    with progressing(out) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, then=what: bar.update(task, completed=done, description=then)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what optimizers print on standard output out of the tables."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def with_interval(run: Run, name: str) -> str:
    """A value with its 95 % interval: ``0.6176 [0.4706, 0.7647]``."""
    interval = run.intervals.get(name)
    return number(run.values.get(name)) + (f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else "")


def p_value(p: float) -> str:
    """Three places; the smallest ones say no more than how many resamples were drawn.

    >>> p_value(0.0314), p_value(0.0001)
    ('0.031', '<.001')
    """
    return f"{p:.3f}" if p >= 0.001 else "<.001"
