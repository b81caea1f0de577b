"""Runs on the terminal: one, several side by side, a ranking, the stages of a pipeline, a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from goldassay.measures.answering.ranking import FIVE
from goldassay.reporting import summary
from goldassay.reporting.terminal import (
    Cell,
    bounds,
    echo,
    estimate,
    labelled,
    line,
    number,
    p_value,
    print_table,
    shortened,
    signed,
    warn,
    with_interval,
)
from goldassay.running.comparing import RunComparison
from goldassay.running.run import Run

if TYPE_CHECKING:
    from goldassay.reporting.pages.dashboard import RunEntry
    from goldassay.reporting.ranking import RankedRun
    from goldassay.reporting.verdicts import Difference
    from goldassay.running.waterfall import Waterfall

MANY = 10  # rows of a table of differences
STRATA = 8  # keys of a stratum in a line


def run(run: Run) -> None:
    """A run: the metric, its measures with intervals and targets, strata, failures, cost and folder."""
    model = summary.model_name(run.about.get("lm") or "")
    values, whole = summary.values(run), summary.overall(run)
    combined = whole.convention not in run.values
    columns, rows = value_rows([whole, *values] if combined else values)
    print_table(f"{run.name}: {run.size}{f', {model}' if model else ''}", columns, rows)
    if combined:
        mean = "the weighted mean of " if " + " in whole.convention else ""
        line(f"metric is {mean}{whole.convention}; tuning improves it")
    for stratum, keys in run.by_stratum.items() if run.values else ():
        if len(keys) > 1:  # the largest parts first
            first = next(iter(run.values))
            parts = sorted(keys.items(), key=lambda item: -item[1]["examples"])
            cells = [f"{key} {number(part.get(first))} (n {part['examples']:.0f})" for key, part in parts]
            line(f"{first} by {stratum}: {shortened(cells, STRATA)}")
    corrected(run)
    line(*summary.noise_lines(run))
    warn(*summary.warnings(run))
    echo(f"{summary.spent(run.cost)}. Run folder: {run.folder}")


def value_rows(values: Sequence[summary.ReportedValue]) -> tuple[list[str], list[list[Any]]]:
    """The columns and rows of values with their intervals, precision, recall and targets, as far as there are any."""
    met = {True: Cell("yes", "better"), False: Cell("no", "worse"), None: ""}
    rates, targets = any(v.precision is not None for v in values), any(v.target is not None for v in values)
    columns = ["value", "[95 %]", *["precision", "recall"] * rates, *["target", "met"] * targets]
    rows = []
    for value in values:
        cells: list[Any] = [value.label, number(value.value) + bounds(value.interval)]
        cells += ["" if rate is None else rate for rate in (value.precision, value.recall)] if rates else []
        cells += ["" if value.target is None else f"{value.target:.2f}", met[value.met]] if targets else []
        rows.append(cells)
    return columns, rows


def ranking_rows(systems: Sequence[RankedRun]) -> tuple[list[str], list[list[Any]]]:
    """The columns and rows of a ranking, each system with the ranks that it may have."""
    rows = [
        [
            str(system.ranks),
            system.name,
            system.value,
            f"{100 * system.first:.0f} %",
            number(system.seconds, 1),
            "–" if system.cost is None else f"{system.cost:g}",
        ]
        for system in systems
    ]
    return ["ranks", "system", "value [95 %]", "first", "seconds", systems[0].unit], rows


def ranking(systems: Sequence[RankedRun]) -> None:
    """Systems, the best first."""
    title = f"{len(systems)} systems on {systems[0].run.size}{_under([s.run for s in systems])}"
    print_table(title, *ranking_rows(systems), left=2)
    echo("ranks: the places that paired tests leave open; first: how often it would lead under other weights")


def five(rows: Sequence[Mapping[str, str | float | None]]) -> None:
    """The ranking by the five metrics, the best first."""
    names = list(rows[0])
    cells = [[cell if isinstance(cell, (str, int)) else number(cell, 3) for cell in row.values()] for row in rows]
    heads = [name.lower().replace("_", "\n") for name in names]
    print_table("by five metrics", heads, cells, left=names.index("Model") + 1)
    if rows[0]["Final_Score"] is None:
        missing = [name.lower() for name, value in rows[0].items() if value is None and name.lower() in FIVE]
        line(f"no {' and no '.join(missing)}, because no model for it is installed; so there is no final score")


def waterfall(stages: Waterfall) -> None:
    """What each stage costs, and the value with each set of stages replaced by gold."""
    rows = [[share.stage, signed(share.cost, share, 4)] for share in stages.shares]
    title = f"what each stage costs, {stages.examples} examples, intervals over {stages.unit}"
    print_table(title, ["stage", "loss [95 %]"], [*rows, ["rest", signed(stages.rest, places=4)]])
    echo(f"value {stages.value:.4f}; with every stage's output from gold {stages.perfect:.4f}")
    for names, value in stages.values.items():
        echo(f"  gold for {names}: {value:.4f}")


def run_list(entries: Sequence[RunEntry]) -> None:
    """The runs in a folder, the newest first. The folder stands last and whole, so that it can be copied."""
    if not entries:
        echo("No runs yet: goldassay eval extraction:baseline writes the first.")
        return
    rows = [("value [95 %]", "n", "model", "gold", "status", "run")]
    for entry in entries:
        value = number(entry.value, 3) + bounds(entry.interval)
        status = entry.status if entry.status == "finished" else f"{entry.status}, {entry.done()} of {entry.examples}"
        rows.append((value, str(entry.examples), entry.model, entry.gold_name, status, entry.key))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        echo("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def corrected(run: Run) -> None:
    """Judged values, corrected by people's labels where people have labelled some answers."""
    rows = []
    for name, each in run.corrected.items():
        rows.append([name, each.naive.value, each.corrected, each.people_only, each.people_only.n])
        if each.exchangeable_p < 0.05 and each.chosen:
            valid = f"{estimate(each.chosen)} ({each.chosen.method})"
            warn(f"{name}: the labelled answers are not like the others; valid is {valid}: {each.why}")
    columns = ["value", "as judged", "corrected [95 %]", "labels alone [95 %]", "labels"]
    print_table("judged values, corrected by people's labels", columns, rows)


def protocol(runs: Sequence[Run]) -> str:
    """The official protocol under which files of predictions were scored, if any."""
    return next((str(name) for run in runs if (name := (run.about.get("settings") or {}).get("protocol"))), "")


def _under(runs: Sequence[Run]) -> str:
    name = protocol(runs)
    return f", protocol {name}" if name else ""


def comparison(runs: Sequence[Run], differences: Sequence[RunComparison]) -> None:
    """Values side by side, the paired differences, and the examples won and lost."""
    for place, run in enumerate(runs, start=1):
        echo(f"{place}  {run.name}  {run.folder or ''}".rstrip())
    names = {name: labelled(name, name in run.zero.worst) for run in runs for name in run.values}
    rows = [
        [label, *(with_interval(run, name) if run.available else "not available" for run in runs)]
        for name, label in names.items()
    ]
    title = f"{len(runs)} runs on the same gold{_under(runs)}"
    print_table(title, ["value [95 %]", *map(str, range(1, len(runs) + 1))], rows)
    first = next((place for place, run in enumerate(runs, start=1) if run.available), 1)
    for place, run in enumerate(runs, start=1):
        ours = [difference for difference in differences if difference.run is run]
        print_table(f"{place} against {first}, {run.size}{_under(runs)}", *difference_rows(ours))
        for difference in ours:
            if difference.won or difference.lost:
                won, lost = (shortened(ids, STRATA) or "none" for ids in (difference.won, difference.lost))
                line(f"{place}, {difference.measure}: won {won}; lost {lost}")
        if not run.available:
            echo(f"not available: the program of {run.folder} failed on every example")


def difference_rows(differences: Sequence[RunComparison]) -> tuple[list[str], list[list[str]]]:
    """The columns and rows of paired differences."""
    rows = []
    for each in differences:
        test = each.comparison
        rows.append(
            [
                labelled(each.measure, each.lower_is_better),
                Cell(signed(test.difference, test.interval), each.change),
                p_value(test.p),
                p_value(each.corrected),
                f"{test.smallest_detectable:.3f}" if test.smallest_detectable else "–",
                f"{len(each.won)}:{len(each.lost)}",
            ]
        )
    return ["value", "difference [95 %]", "p", "p\ncorr.", "detect-\nable", "won:\nlost"], rows


def ranks(by_value: Mapping[str, Sequence[object]], places: Sequence[int]) -> None:
    """For each value the ranks that each run may have; ``places`` are the runs' numbers."""
    rows = [[name, *row] for name, row in by_value.items()]
    print_table("possible ranks: all pairs tested together, at 95 %", ["value", *map(str, places)], rows)


def moved(difference: Difference, places: tuple[int, int]) -> None:
    """What moved most between a run and the baseline, by stratum and kind of error; ``places`` are their numbers."""
    title = "{} against {}".format(*places)
    rows: list[list[Any]] = []
    for part in difference.moved[:MANY]:
        style = "better" if part.low > 0 else "worse" if part.high < 0 else ""
        change = Cell(signed(part.after - part.before, (part.low, part.high)), style)
        rows.append([f"{part.facet} {part.key}", part.n, part.before, part.after, change])
    print_table(f"{title}, by stratum", ["stratum", "n", "before", "after", "change [95 %]"], rows)
    print_table(f"{title}, errors by type", ["type", "before", "after"], difference.kinds[:MANY])
