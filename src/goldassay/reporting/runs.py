"""Runs on the terminal: one, several side by side, a ranking, the stages of a pipeline, a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from goldassay.measures.answering.ranking import FIVE
from goldassay.reporting import rows, summary
from goldassay.reporting.cells import (
    bounds,
    estimate,
    number,
    shortened,
)
from goldassay.reporting.terminal import echo, line, print_table, warn
from goldassay.running.comparing import RunComparison
from goldassay.running.run import Run

if TYPE_CHECKING:
    from goldassay.reporting.pages.dashboard import RunEntry
    from goldassay.reporting.ranking import RankedRun
    from goldassay.reporting.verdicts import Difference
    from goldassay.running.waterfall import Waterfall
    from goldassay.statistics.paired import Rank

MANY = 10  # rows of a table of differences
STRATA = 8  # keys of a stratum in a line


def run(run: Run) -> None:
    """A run: the metric, its measures with intervals and targets, strata, failures, cost and folder."""
    model = summary.model_name(run.about.get("lm") or "")
    title = f"{run.name}: {run.size}"
    values = summary.values(run)
    whole = summary.overall(run)
    combined = whole.convention not in run.values and not run.no_level
    columns, cells = rows.of_values([whole, *values] if combined else values)
    print_table(f"{title}, {model}" if model else title, columns, cells)
    if combined:
        mean = "the weighted mean of " if " + " in whole.convention else ""
        line(f"metric is {mean}{whole.convention}; tuning improves it")
    for stratum, keys in run.by_stratum.items() if run.values else ():
        if len(keys) > 1:  # the largest parts first
            first = next(iter(run.values))
            parts = sorted(keys.items(), key=lambda item: -item[1]["examples"])
            shares = [f"{key} {number(part.get(first))} (n {part['examples']:.0f})" for key, part in parts]
            line(f"{first} by {stratum}: {shortened(shares, STRATA)}")
    breakdowns(run)
    corrected(run)
    line(*summary.noise_lines(run))
    warn(*summary.warnings(run))
    echo(f"{summary.spent(run.cost)}. Run folder: {run.folder}")


def breakdowns(run: Run, title: str = "") -> None:
    """The fields of records with precision, recall and F1, the worst first."""
    for facet, keys in run.breakdowns.items():
        print_table(f"{title}by {facet}", *rows.of_breakdown(facet, keys), most=30)


def ranking(systems: Sequence[RankedRun]) -> None:
    """Systems, the best first."""
    title = f"{len(systems)} systems on {systems[0].run.size}{_under([s.run for s in systems])}"
    print_table(title, *rows.of_ranking(systems), left=2)
    echo("ranks: the places that paired tests leave open; first: how often it would lead under other weights")


def five(systems: Sequence[Mapping[str, str | float | None]]) -> None:
    """The ranking by the five metrics, the best first."""
    best = systems[0]
    names = list(best)
    cells = [[cell if isinstance(cell, (str, int)) else number(cell, 3) for cell in row.values()] for row in systems]
    heads = [name.lower().replace("_", "\n") for name in names]
    print_table("by five metrics", heads, cells, left=names.index("Model") + 1)
    if best["Final_Score"] is None:
        missing = [name.lower() for name, value in best.items() if value is None and name.lower() in FIVE]
        line(f"no {' and no '.join(missing)}, because no model for it is installed; so there is no final score")


def waterfall(stages: Waterfall) -> None:
    """The cost of each stage, and the value with each set of stages replaced by gold."""
    title = f"what each stage costs, {stages.examples} examples, intervals over {stages.unit}"
    print_table(title, *rows.of_stages(stages))
    echo(f"value {stages.value:.4f}; with every stage's output from gold {stages.perfect:.4f}")
    for names, value in stages.values.items():
        echo(f"  gold for {names}: {value:.4f}")


def run_list(entries: Sequence[RunEntry]) -> None:
    """The runs in a folder, the newest first. The folder comes last and is never cut, so that it can be copied."""
    if not entries:
        echo("No runs yet: goldassay eval extraction:baseline writes the first.")
        return
    cells = [("value [95 %]", "n", "model", "gold", "status", "run")]
    for entry in entries:
        value = number(entry.value, 3) + bounds(entry.interval)
        status = entry.status if entry.status == "finished" else f"{entry.status}, {entry.done()} of {entry.examples}"
        cells.append((value, str(entry.examples), entry.model, entry.gold_name, status, entry.key))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        echo("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def corrected(run: Run) -> None:
    """Judged values, corrected by people's labels where people have labelled some answers."""
    for name, each in run.corrected.items():
        if each.exchangeable_p < 0.05 and each.chosen:
            valid = f"{estimate(each.chosen)} ({each.chosen.method})"
            warn(f"{name}: the labelled answers are not like the others; valid is {valid}: {each.why}")
    print_table("judged values, corrected by people's labels", *rows.of_corrected(run.corrected))


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
    print_table(f"{len(runs)} runs on the same gold{_under(runs)}", *rows.side_by_side(runs))
    first = next((place for place, run in enumerate(runs, start=1) if run.available), 1)
    for place, run in enumerate(runs, start=1):
        ours = [difference for difference in differences if difference.run is run]
        print_table(f"{place} against {first}, {run.size}{_under(runs)}", *rows.of_differences(ours))
        for difference in ours:
            if difference.won or difference.lost:
                won = shortened(difference.won, STRATA) or "none"
                lost = shortened(difference.lost, STRATA) or "none"
                line(f"{place}, {difference.measure}: won {won}; lost {lost}")
        if not run.available:
            echo(f"not available: the program of {run.folder} failed on every example")


def ranks(by_value: Mapping[str, Sequence[Rank]], places: Sequence[int]) -> None:
    """For each value the ranks that each run may have; ``places`` are the runs' numbers."""
    cells = [[name, *map(str, row)] for name, row in by_value.items()]
    print_table("possible ranks: all pairs tested together, at 95 %", ["value", *map(str, places)], cells)


def moved(difference: Difference, places: tuple[int, int]) -> None:
    """The largest differences between a run and the baseline, by stratum and kind of error.

    Args:
        difference: The difference.
        places: The numbers under which the terminal shows the run and the baseline.
    """
    title = "{} against {}".format(*places)
    print_table(f"{title}, by stratum", *rows.of_parts(difference.moved[:MANY]))
    print_table(f"{title}, errors by type", ["type", "before", "after"], difference.kinds[:MANY])
