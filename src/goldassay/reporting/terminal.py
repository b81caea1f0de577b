"""Tables that fit the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from goldassay.scorecard import Scorecard

RATES = ("precision", "recall", "f1")
Values = Mapping[str, float | None]


def console(error: bool = False) -> Console:
    """Where tables go: standard output, or standard error."""
    return Console(file=sys.stderr if error else sys.stdout, highlight=False, soft_wrap=False)


def number(value: float | None, earlier: float | None = None) -> str:
    """Four places; a dash where there is no evidence; the change since ``earlier`` in brackets."""
    if value is None:
        return "–"
    text = f"{value:.4f}"
    return text if earlier is None else f"{text} ({value - earlier:+.4f})"


def scorecard(card: Scorecard, earlier: Values | None = None) -> None:
    """The values of a scorecard, its breakdowns and its warnings."""
    out = console()
    before = earlier or {}
    triples = {
        name.removesuffix("_f1").removesuffix("f1")
        for name in card.values
        if (name == "f1" or name.endswith("_f1")) and all(f"{name[:-2]}{rate}" in card.values for rate in RATES)
    }
    if triples:
        table = Table(title=f"{card.task}, {card.examples} examples", title_justify="left")
        table.add_column("", no_wrap=True)
        for rate in RATES:
            table.add_column(rate, justify="right")
        for prefix in (name.removesuffix("f1").rstrip("_") for name in card.values if name.endswith("f1")):
            keys = [f"{prefix}_{rate}" if prefix else rate for rate in RATES]
            if all(key in card.values for key in keys):
                table.add_row(prefix or card.task, *(number(card.values[key], before.get(key)) for key in keys))
        out.print(table)
    shown = {f"{prefix}_{rate}" if prefix else rate for prefix in triples for rate in RATES}
    single = {name: value for name, value in card.values.items() if name not in shown}
    if single:
        table = Table(title=None if triples else f"{card.task}, {card.examples} examples", title_justify="left")
        table.add_column("value", no_wrap=True)
        table.add_column("", justify="right")
        for name, value in single.items():
            table.add_row(name, number(value, before.get(name)))
        out.print(table)
    for facet, found in card.by.items():
        breakdown(facet, found, out)
    for warning in card.warnings:
        console(error=True).print(f"[yellow]warning:[/] {escape(warning)}", markup=True)


def breakdown(facet: str, keys: Mapping[str, Values], out: Console, most: int = 30) -> None:
    """A facet's keys and their values, one row a key."""
    if not keys:
        return
    names = list(dict.fromkeys(name for values in keys.values() for name in values))
    if len(names) > 6:
        names = [name for name in names if name.endswith(("f1", "support", "value"))][:6] or names[:6]
    table = Table(title=f"by {facet}", title_justify="left")
    table.add_column(facet, no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for key, values in list(keys.items())[:most]:
        table.add_row(key, *(_cell(values.get(name)) for name in names))
    out.print(table)
    if len(keys) > most:
        out.print(f"… and {len(keys) - most} more (all with --json)")


def _cell(value: float | None) -> str:
    return f"{value:g}" if isinstance(value, int) or (value is not None and value > 1) else number(value)


def explanations(card: Scorecard) -> None:
    """Each value's definition, convention and source."""
    out = console()
    for name in card.values:
        out.print(f"[bold]{name}[/]  {escape(card.conventions.get(name, ''))}", markup=True)
        if name in card.explain:
            out.print(f"    {card.explain[name]}", markup=False)


def line(text: str) -> None:
    """One line of prose."""
    console().print(text, markup=True)


def warn(text: str) -> None:
    """One warning on standard error."""
    console(error=True).print(f"[yellow]warning:[/] {escape(text)}", markup=True)


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


def conformance(results: Sequence[Any]) -> None:
    """How many official numbers came out the same, by suite, with the first differences."""
    table = Table(title="official numbers reproduced", title_justify="left")
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
