"""Tables that fit the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import IO, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from goldassay import jsonl

Values = Mapping[str, float | None]


def console(error: bool = False) -> Console:
    """Where tables go: standard output, or standard error."""
    return Console(file=sys.stderr if error else sys.stdout, highlight=False, soft_wrap=False)


_answers: IO[str] | None = None


def answer(value: Any) -> None:
    """The one JSON object that a command prints under ``--json``."""
    print(jsonl.dumps(value), file=_answers or sys.stdout)


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


def number(value: float | None, earlier: float | None = None) -> str:
    """Four places; a dash where there is no evidence; the change since ``earlier`` in brackets."""
    if value is None:
        return "–"
    text = f"{value:.4f}"
    return text if earlier is None else f"{text} ({value - earlier:+.4f})"


def line(text: str) -> None:
    """One line of prose."""
    console().print(text, markup=True)


def plain(text: str) -> None:
    """One line as it stands, however long it is: data is data."""
    console().print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """One warning on standard error, in one line however long it is."""
    console(error=True).print(f"[yellow]warning:[/] {escape(text)}", markup=True, soft_wrap=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on standard error while something long runs."""
    out = console(error=True)
    if not out.is_terminal:
        out.print(text)
        yield
        return
    with out.status(text):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what optimizers print on standard output out of the tables."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def with_interval(run: Any, name: str) -> str:
    """A value with its 95 % interval: ``0.6176 [0.4706, 0.7647]``."""
    interval = run.intervals.get(name)
    return number(run.values.get(name)) + (f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else "")


def p_value(p: float) -> str:
    """Three places; the smallest ones say no more than how many resamples were drawn.

    >>> p_value(0.0314), p_value(0.0001)
    ('0.031', '<.001')
    """
    return f"{p:.3f}" if p >= 0.001 else "<.001"


def conformance(results: Sequence[Any]) -> None:
    """How many official numbers came out the same, by suite, with the first differences."""
    title = "official numbers reproduced"
    table = Table(title=title, title_justify="left", min_width=len(title))
    table.add_column("suite")
    table.add_column("reproduced", justify="right")
    for result in results:
        table.add_row(result.name, f"{result.reproduced} of {result.total}")
    out = console()
    out.print(table)
    for result in results:
        for difference in result.differences:
            out.print(f"  {result.name}: {difference}", markup=False)
    done, total = sum(r.reproduced for r in results), sum(r.total for r in results)
    out.print(f"{done} of {total} official numbers reproduced.")
