"""Runs for the terminal: one, several beside each other, and the demo's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from goldassay.measures.answering.ranking import FIVE
from goldassay.reporting import facts
from goldassay.reporting.facts import ReportedValue
from goldassay.reporting.history import RunEntry
from goldassay.reporting.ranking import RankedRun
from goldassay.reporting.terminal import console, number, p_value, plain, under_title, warn, with_interval
from goldassay.running.comparing import RunComparison
from goldassay.running.run import Run
from goldassay.running.waterfall import Waterfall


def run(done: Run) -> None:
    """A run: the metric's weighted value, its measures with intervals and targets, parts, cost, folder."""
    model = facts.shown_model(done.about.get("lm") or "")
    title = f"{escape(done.name)}: {len(done.rows)} examples{f', {escape(model)}' if model else ''}"
    table = under_title(title)
    found = facts.values(done)
    tasks = {one.name: _task(done, one.name) for one in found}
    several = len(set(tasks.values())) > 1  # a program that retrieves and answers is measured at both
    order = sorted(found, key=lambda one: list(tasks.values()).index(tasks[one.name])) if several else list(found)
    rates = any(one.precision is not None for one in found)
    targets = any(one.target is not None for one in found)
    for head in ("task", "value") if several else ("value",):
        table.add_column(head, no_wrap=True)
    heads = ["[95 %]", *(("precision", "recall") if rates else ()), *(("target", "met") if targets else ())]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    if len([one for one in found if one.weight]) > 1:
        whole = facts.overall(done)
        first = ["metric", _ends(whole)] + [""] * (len(heads) - 1)
        table.add_row(*([""] if several else []), *first, style="bold", end_section=True)
    for place, one in enumerate(order):
        new = place == 0 or tasks[order[place - 1].name] != tasks[one.name]
        if new and place:
            table.add_section()
        cells = [one.name, _ends(one)]
        if rates:
            cells += [number(one.precision), number(one.recall)] if one.precision is not None else ["", ""]
        if targets:
            met = {True: "yes", False: "no", None: ""}[one.met]
            cells += ["" if one.target is None else f"{one.target:.2f}", met]
        table.add_row(*([tasks[one.name] if new else ""] if several else []), *cells)
    out = console()
    out.print(table)
    weighted = [one for one in found if one.weight]
    if len(weighted) > 1:
        said = " + ".join(f"{one.weight:g} {one.name}" for one in weighted)
        out.print(f"metric is what tuning makes better: the weighted mean of {said}", markup=False)
    if found:
        strata(done, found[0].name)
    corrected(done)
    failed = [row for row in done.rows if row.get("error")]
    if failed:
        warn(
            f"{len(failed)} of {len(done.rows)} examples failed, and their gold counts as missed; the first, "
            f"{failed[0]['id']}: {failed[0]['error']}"
        )
    if apart := facts.unknown_types(done):
        warn(apart)
    if again := done.retried:
        theirs, others = again["values"], again["others"]
        pairs = ", ".join(f"{key} {number(theirs.get(key))} beside {number(others.get(key))}" for key in done.values)
        warn(f"{again['rows']} of {len(done.rows)} examples were tried again; theirs beside the others': {pairs}")
    cost = done.cost
    tokens = cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)
    cached = f" and {cost['cached']} cached answers" if cost.get("cached") else ""
    plain(  # a path that is broken over two lines cannot be copied
        f"{cost.get('calls', 0)} calls{cached}, {tokens} tokens, {cost.get('seconds', 0):.1f} s. "
        f"Run folder: {done.folder}"
    )


def _task(done: Run, name: str) -> str:
    return str(done.about.get("measures", {}).get(name, {}).get("measure", "")).partition(".")[0]


def _ends(one: ReportedValue) -> str:
    return number(one.value) + (f" [{one.interval.low:.3f}, {one.interval.high:.3f}]" if one.interval else "")


def strata(done: Run, measure: str, most: int = 8) -> None:
    """A measure's value in each part of the gold, one line a stratum, the largest parts first."""
    for stratum, keys in done.by_stratum.items():
        if len(keys) < 2:
            continue
        parts = sorted(keys.items(), key=lambda item: -item[1]["examples"])
        shown = [f"{key} {number(one.get(measure))} (n {one['examples']:.0f})" for key, one in parts[:most]]
        more = f", and {len(parts) - most} more" if len(parts) > most else ""
        console().print(f"{measure} by {stratum}: {', '.join(shown)}{more}", markup=False)


def ranking(found: Sequence[RankedRun]) -> None:
    """Systems, the best first, with the ranks that each may have; their places are the rows."""
    under = _under(protocol([one.run for one in found]))
    table = under_title(f"{len(found)} systems on {len(found[0].run.rows)} examples{under}")
    table.add_column("ranks", justify="right", no_wrap=True)
    table.add_column("system", overflow="fold")
    for head in ("value [95 %]", "leads", "seconds", found[0].unit):
        table.add_column(head, justify="right", no_wrap=True)
    shared = {one.name.partition("-")[0] for one in found}  # the task, where all of them say it
    for one in found:
        value = f"{one.value.value:.4f} [{one.value.low:.3f}, {one.value.high:.3f}]"
        name = one.name.partition("-")[2] or one.name if len(shared) == 1 else one.name
        spent = ["–" if one.seconds is None else f"{one.seconds:.1f}", "–" if one.cost is None else f"{one.cost:g}"]
        table.add_row(str(one.ranks), escape(name), value, f"{100 * one.first:.0f} %", *spent)
    console().print(table)
    plain("The best first. ranks: the places that it may have, by paired tests;")
    plain("value: the weighted mean of the measures; leads: how often it would be first under other weights")
    if any(one.cached for one in found):
        plain("Answers from a cache took no time and no tokens; --force asks again, for seconds that can be compared.")


def five(rows: Sequence[Mapping[str, str | float | None]]) -> None:
    """The ranking by the five metrics, the best first."""
    table = Table(title="by five metrics", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    short = {"Rank": "place", "Final_Score": "score", "Accuracy": "accu-\nracy", "Confidence": "confi-\ndence"}
    short |= {"Robustness": "robust-\nness"}  # so that names of models have room
    for name in rows[0]:
        if name == "Model":
            table.add_column("model", overflow="fold")
        else:
            table.add_column(short.get(name, name.lower()), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(escape(one) if isinstance(one, str) else _cell(one) for one in row.values()))
    console().print(table)
    if rows[0]["Final_Score"] is None:
        lacking = [name.lower() for name, value in rows[0].items() if value is None and name.lower() in FIVE]
        plain(
            f"no {' and no '.join(lacking)}: no model for it is here, so there is no final score (or weigh without it)"
        )


def _cell(value: float | None) -> str:
    return str(value) if isinstance(value, int) else "–" if value is None else f"{value:.3f}"


def waterfall(found: Waterfall) -> None:
    """What each stage costs, and the value with each set of stages replaced by gold."""
    table = under_title(f"what each stage costs, {found.examples} examples")
    table.add_column("stage", overflow="fold")
    table.add_column("costs [95 %]", justify="right", no_wrap=True)
    for one in found.shares:
        table.add_row(escape(one.stage), f"{one.cost:+.4f} [{one.low:+.3f}, {one.high:+.3f}]")
    table.add_row("rest", f"{found.rest:+.4f}")
    console().print(table)
    plain(f"value {found.value:.4f}; with every stage's output from gold {found.perfect:.4f}")
    for names, value in found.values.items():
        plain(f"  gold for {' and '.join(names) or 'nothing'}: {value:.4f}")


def listed(found: Sequence[RunEntry]) -> None:
    """Runs in a folder, the newest first; a run's name stands last in its line and whole, so that it can be copied."""
    if not found:
        console().print("No runs yet: goldassay eval extraction:baseline writes the first.")
        return
    rows = [("metric", "n", "status", "run")]
    for one in found:
        status = one.status if one.status == "finished" else f"{one.status}, {one.done()} of {one.examples}"
        parts = [one.name, *([one.model] if one.about.get("lm") else [])]
        made = " on ".join(parts)
        named = all(re.sub(r"[^\w.-]+", "-", part.rpartition("/")[2]) in one.key for part in parts)
        rows.append((number(one.value), str(one.examples), status, one.key if named else f"{one.key}  ({made})"))
    wide = [max(len(row[at]) for row in rows) for at in range(3)]
    for row in rows:
        said = f"{row[0]:>{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:{wide[2]}}  {row[3]}"
        console().print(said, markup=False, soft_wrap=True)


def corrected(done: Run) -> None:
    """What people would find, beside what the judge says, where people have labelled some answers."""
    if not done.corrected:
        return
    title = "values that a judge gives, corrected by people's labels"
    table = under_title(title)
    for place, head in enumerate(("value", "as judged", "corrected [95 %]", "labels alone [95 %]", "labels")):
        table.add_column(head, justify="right" if place else "left")
    for name, found in done.corrected.items():
        ends = [f"{one.value:.4f} [{one.low:.3f}, {one.high:.3f}]" for one in (found.corrected, found.people_only)]
        table.add_row(name, f"{found.naive.value:.4f}", *ends, str(found.people_only.n))
    console().print(table)


def protocol(runs: Sequence[Run]) -> str:
    """The official protocol under which files of predictions were counted, if they were."""
    return next((str(found) for made in runs if (found := (made.about.get("settings") or {}).get("protocol"))), "")


def _under(name: str) -> str:
    return f", protocol {name}" if name else ""


def comparison(runs: Sequence[Run], found: Sequence[RunComparison], missing: Sequence[str]) -> None:
    """Values side by side, the paired differences, and which examples were won and lost."""
    out, under = console(), _under(protocol(runs))
    for place, made in enumerate(runs, start=1):
        out.print(f"{place}  {made.name}  {made.folder or ''}".rstrip(), markup=False, soft_wrap=True)
    table = under_title(f"{len(runs)} runs on the same gold{under}")
    table.add_column("value [95 %]", no_wrap=True)
    for place in range(1, len(runs) + 1):
        table.add_column(str(place), justify="right")
    for name in dict.fromkeys(name for made in runs for name in made.values):
        table.add_row(name, *("not available" if str(m.folder) in missing else with_interval(m, name) for m in runs))
    out.print(table)
    first = next((place for place, made in enumerate(runs, start=1) if str(made.folder) not in missing), 1)
    for place, made in enumerate(runs, start=1):
        ours = [one for one in found if one.run is made]
        if ours:
            names = made.name, runs[first - 1].name
            title = " against ".join(names if len(set(names)) == 2 else (f"{place}", f"{first}"))
            out.print(_against(title, under, ours))
        for one in ours:
            if one.won or one.lost:
                out.print(f"{place}, {one.measure}: won {_some(one.won)}; lost {_some(one.lost)}", markup=False)
        for how, why in next((one.examples for one in ours if one.examples), {}).items():
            out.print(f"  {how}: {why}", markup=False)
    for folder in missing:
        out.print(f"not available: the program of {folder} failed on every example", markup=False)


def ranks(found: Mapping[str, Sequence[object]], places: Sequence[int], protocol: str = "") -> None:
    """For each value the set of ranks that each run may have; ``places`` are the runs' numbers."""
    if not found:
        return
    out = console()
    out.print(f"[italic]ranks that each may have: all pairs tested together, at 95 %{_under(protocol)}[/]")
    table = Table()
    table.add_column("value")
    for place in places:
        table.add_column(f"{place}", justify="right")
    for name, each in found.items():
        table.add_row(name, *map(str, each))
    out.print(table)


def parts(
    by: Mapping[str, Mapping[str, Mapping[str, Sequence[float | None]]]],
    errors: Mapping[str, Sequence[int | None]],
    value: str,
    most: int = 10,
    protocol: str = "",
) -> None:
    """Where runs differ most: strata by a value times their examples, types by their number of errors.

    Args:
        by: Strata, then keys, then values: one a run.
        errors: Types, then how many errors each run has.
        value: The value that strata are compared by.
        most: The most rows of a table.
        protocol: The official protocol under which files were counted, if they were.
    """
    under = _under(protocol)
    apart: list[tuple[float, list[str]]] = []
    for stratum, keys in by.items():
        for key, values in keys.items():
            n = max(one for one in values["examples"] if one is not None)
            known = [one for one in values.get(value, ()) if one is not None]
            if known and max(known) > min(known):
                row = [f"{stratum} {key}", f"{n:.0f}", *(number(one) for one in values[value])]
                apart.append(((max(known) - min(known)) * n, row))
    kinds: list[tuple[float, list[str]]] = []
    for kind, counts in errors.items():
        some = [count for count in counts if count is not None]
        if max(some) > min(some):
            kinds.append((float(max(some) - min(some)), [kind, *("–" if n is None else str(n) for n in counts)]))
    for title, heads, rows in (
        (f"{value} by stratum{under}, where the runs differ most", ["stratum", "n"], apart),
        (f"errors by type{under}, where the runs differ most", ["type"], kinds),
    ):
        if rows:
            _numbered(title, heads, [row for _, row in sorted(rows, key=lambda one: -one[0])[:most]])


def _numbered(title: str, heads: list[str], rows: list[list[str]]) -> None:
    """A table whose last columns are the runs by number."""
    out = console()
    out.print(f"[italic]{title}[/]")  # as a table's own title it would be broken where the table is narrow
    table = Table()
    for place, head in enumerate([*heads, *map(str, range(1, len(rows[0]) - len(heads) + 1))]):
        table.add_column(head, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def _against(title: str, under: str, found: Sequence[Any]) -> Table:
    """One run's paired differences from the first."""
    n = len(found[0].run.rows)
    table = under_title(f"{title}, {n} examples{under}", pad_edge=False)
    table.add_column("value", overflow="fold")
    for head in ("difference [95 %]", "p", "p\ncorr.", "detect-\nable", "won:\nlost"):
        table.add_column(head, justify="right", no_wrap=True)
    for one in found:
        f = one.comparison
        table.add_row(
            one.measure,
            f"{f.difference:+.3f} [{f.interval.low:+.3f}, {f.interval.high:+.3f}]",
            p_value(f.p),
            p_value(one.corrected),
            f"{f.smallest_detectable:.3f}" if f.smallest_detectable else "–",  # pairs that do not vary say nothing
            f"{len(one.won)}:{len(one.lost)}",
        )
    return table


def _some(names: Sequence[str], most: int = 8) -> str:
    return (", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")) or "none"


@dataclass(frozen=True)
class NamedRun:
    """A program in a table of programs."""

    name: str
    run: Any


def demo_table(task: str, value: str, rows: Sequence[NamedRun], on_dev: Mapping[str, float]) -> None:
    """What each program is worth on test and what it cost; what the candidates were worth on dev."""
    table = under_title(f"{task} on test")
    table.add_column("program", no_wrap=True)
    table.add_column(f"{value} [95 %]", justify="right")
    for name in ("calls", "tokens", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        cost = row.run.cost
        tokens = cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)
        seconds = f"{cost.get('seconds', 0):.1f}"
        table.add_row(row.name, with_interval(row.run, value), f"{cost.get('calls', 0)}", f"{tokens}", seconds)
    out = console()
    out.print(table)
    if on_dev:
        out.print(f"Chosen on dev by the metric: {', '.join(f'{name} {value:.3f}' for name, value in on_dev.items())}.")
