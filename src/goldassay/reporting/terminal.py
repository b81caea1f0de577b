"""Tables that fit the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
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
        if name == "f1" or (name.endswith("_f1") and all(f"{name[:-2]}{rate}" in card.values for rate in RATES))
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


@dataclass(frozen=True)
class Row:
    """A program in a table of programs."""

    name: str
    run: Any


def demo_table(task: str, value: str, rows: Sequence[Row], on_dev: Mapping[str, float]) -> None:
    """What each program is worth on test and what it cost; what the candidates were worth on dev."""
    names = list(rows[0].run.values)
    table = Table(title=f"{task} on test", title_justify="left")
    table.add_column("program")
    for name in names:
        table.add_column(f"{name} [95 %]", justify="right")
    for name in ("calls", "tokens", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        cost = row.run.cost
        tokens = cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)
        seconds = f"{cost.get('seconds', 0):.1f}"
        table.add_row(
            row.name, *(with_interval(row.run, name) for name in names), f"{cost.get('calls', 0)}", f"{tokens}", seconds
        )
    out = console()
    out.print(table)
    out.print(f"Chosen on dev by the metric: {', '.join(f'{name} {value:.3f}' for name, value in on_dev.items())}.")


def run(done: Any, metric: Any) -> None:
    """A run: its values with intervals and targets, its cost, its folder."""
    table = Table(title=f"{done.name}: {len(done.rows)} examples", title_justify="left")
    table.add_column("value")
    table.add_column("[95 %]", justify="right")
    table.add_column("target", justify="right")
    table.add_column("met", justify="center")
    met = metric.met(done.values)
    for name in done.values:
        target = metric.targets.get(name)
        table.add_row(
            name,
            with_interval(done, name),
            "" if target is None else f"{target:.2f}",
            {True: "yes", False: "no"}.get(met.get(name), ""),
        )
    out = console()
    out.print(table)
    failed = sum(1 for row in done.rows if row.get("error"))
    if failed:
        console(error=True).print(
            f"[yellow]warning:[/] {failed} of {len(done.rows)} examples failed; their gold counts as missed"
        )
    cost = done.cost
    tokens = cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)
    out.print(
        f"{cost.get('calls', 0)} calls, {tokens} tokens, {cost.get('seconds', 0):.1f} s. Run folder: {done.folder}"
    )


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


def comparison(runs: Sequence[Any], found: Sequence[Any], missing: Sequence[str]) -> None:
    """Values side by side, the paired differences, and which examples were won and lost."""
    out = console()
    table = Table(title=f"{len(runs)} runs on the same gold", title_justify="left")
    table.add_column("value [95 %]")
    for made in runs:
        table.add_column(f"{made.name}\n{made.folder.name if made.folder else ''}", justify="right")
    for name in dict.fromkeys(name for made in runs for name in made.values):
        table.add_row(name, *("not available" if str(m.folder) in missing else with_interval(m, name) for m in runs))
    out.print(table)
    table = Table(title=f"against {runs[0].name}", title_justify="left")
    for head in ("run", "value", "difference [95 %]", "p", "p corrected", "n", "smallest detectable", "won", "lost"):
        table.add_column(head, justify="left" if head in ("run", "value") else "right")
    for one in found:
        f = one.found
        table.add_row(
            one.run.name,
            one.measure,
            f"{f.difference:+.4f} [{f.interval.low:+.3f}, {f.interval.high:+.3f}]",
            f"{f.p:.4f}",
            f"{one.corrected:.4f}",
            str(f.n),
            f"{f.smallest_detectable:.3f}",
            str(len(one.won)),
            str(len(one.lost)),
        )
    if found:
        out.print(table)
    for one in found:
        if one.won or one.lost:
            out.print(f"{one.run.name}, {one.measure}: won {_some(one.won)}; lost {_some(one.lost)}", markup=False)
    for folder in missing:
        out.print(f"not available: the program of {folder} failed on every example", markup=False)


def _some(names: Sequence[str], most: int = 8) -> str:
    return (", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")) or "none"


def tuned(done: Any, folder: Any) -> None:
    """What tuning brought on dev and on test, what it cost, where it is."""
    table = Table(title=f"tuned with {done.optimizer}", title_justify="left")
    for head in ("split", "value", "before", "after", "difference [95 %]", "p"):
        table.add_column(head, justify="left" if head in ("split", "value") else "right")
    for split, trial in (("dev", done.dev), ("test", done.test)):
        if trial is None:
            continue
        f = trial.difference
        table.add_row(
            split,
            "metric",
            number(trial.before.value),
            number(trial.after.value),
            f"{f.difference:+.4f} [{f.interval.low:+.3f}, {f.interval.high:+.3f}]",
            f"{f.p:.4f}",
        )
        for name in trial.after.values:
            table.add_row("", name, with_interval(trial.before, name), with_interval(trial.after, name), "", "")
    out = console()
    out.print(table)
    if done.stopped:
        out.print(f"Stopped early: {done.stopped}.")
    cost = done.cost
    out.print(f"{cost['calls']} calls, {cost['tokens']} tokens, {cost['seconds']:.0f} s to tune. Folder: {folder}")


def patterns(found: Sequence[Any]) -> None:
    """Error patterns, most costly first."""
    table = Table(title="error patterns", title_justify="left")
    for head in ("kind", "gold", "predicted", "errors", "examples", "loss", "such as"):
        table.add_column(head, justify="right" if head in ("errors", "examples", "loss") else "left")
    for one in found:
        table.add_row(
            one.kind,
            one.gold_type,
            one.pred_type,
            str(one.count),
            str(len(one.documents)),
            f"{one.loss:.4f}",
            escape("; ".join(one.surfaces[:4])),
        )
    console().print(table if found else "No errors.")


def patches(found: Sequence[tuple[Any, Any]]) -> None:
    """Patches with what they change, what they measured and the verdict."""
    table = Table(title="patches", title_justify="left")
    for head in ("id", "status", "effect [95 %]", "p", "edit"):
        table.add_column(head, overflow="fold" if head in ("edit", "id") else "ellipsis")
    for _, patch in found:
        effect = patch.effects[-1] if patch.effects else None
        shown = (
            f"{effect.difference:+.4f} [{effect.low:+.3f}, {effect.high:+.3f}] {effect.split}"
            if effect
            else "not tested"
        )
        table.add_row(patch.id, patch.status, shown, f"{effect.p:.4f}" if effect else "", escape(patch.edit[:160]))
    console().print(table if found else "No patches yet.")


def patch(one: Any, diff: Sequence[str]) -> None:
    """One patch: why, what it measured, and the prompt's diff."""
    out = console()
    out.print(f"[bold]{one.id}[/] {one.status} {escape(one.reason)}", markup=True)
    out.print(f"why: {one.rationale}", markup=False)
    for effect in one.effects:
        out.print(
            f"on {effect.split}: {effect.before:.4f} → {effect.after:.4f}, {effect.difference:+.4f} "
            f"[{effect.low:+.3f}, {effect.high:+.3f}], p {effect.p:.4f}, n {effect.n}, {effect.calls} calls",
            markup=False,
        )
    for row in diff:
        out.print(row, markup=False, style="green" if row.startswith("+") else "red" if row.startswith("-") else None)
