"""Runs on the terminal: several side by side, a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from goldassay._support.exceptions import clipped
from goldassay.measures.answering.ranking import FINAL_SCORE_VALUES
from goldassay.reporting.terminal import echo, line, print_table
from goldassay.results.comparison import METRIC
from goldassay.results.comparisons import Comparisons, difference_rows, formula
from goldassay.results.view import Cell, TableRow, bounds, labelled, number, shortened, signed
from goldassay.running.run import Run
from goldassay.running.summary import noise_lines, run_value, under_protocol

if TYPE_CHECKING:
    from goldassay.reporting.pages.dashboard import RunEntry
    from goldassay.reporting.verdicts import Difference

MOST_DIFFERENCES = 10  # rows of a table of differences
STRATA = 8  # keys of a stratum in a line


def five(systems: Sequence[Mapping[str, str | float | None]]) -> None:
    """The ranking by the five metrics, the best first."""
    best = systems[0]
    cells = [[cell if isinstance(cell, (str, int)) else number(cell, 3) for cell in row.values()] for row in systems]
    heads = [name.lower().replace("_", "\n") for name in best]
    print_table("by five metrics", heads, cells, left=heads.index("model") + 1)
    if best["Final_Score"] is None:
        missing = [name.lower() for name, value in best.items() if value is None and name.lower() in FINAL_SCORE_VALUES]
        line(f"no {' and no '.join(missing)}, because no model for it is installed; there is no final score")


def run_list(entries: Sequence[RunEntry]) -> list[str]:
    """The runs in a folder, the newest first. The folder comes last and is never cut, so that it can be copied."""
    if not entries:
        return ["No runs yet: goldassay eval extraction:baseline writes the first."]
    cells = [("value [95 %]", "n", "model", "gold", "status", "run")]
    for entry in entries:
        value = number(entry.value, 3) + bounds(entry.interval)
        status = entry.status if entry.status == "finished" else f"{entry.status}, {entry.done()} of {entry.examples}"
        cells.append((value, str(entry.examples), entry.model, entry.gold_name, status, entry.key))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def comparison(
    runs: Sequence[Run],
    comparisons: Comparisons,
    verdicts: Sequence[Difference] = (),
    brief: bool = False,
    usages: Sequence[Mapping[str, float | None]] = (),
) -> None:
    """Values side by side with what an example costs, and if not ``brief`` the paired differences, ranks and strata.

    Args:
        runs: The runs.
        comparisons: Those that have values, against the first of them.
        verdicts: The same with strata and kinds of error.
        brief: Whether the values are all.
        usages: What an example of each run with values costs, in every unit.
    """
    for position, run in enumerate(runs, start=1):
        echo(f"{position}  {run.name}  {run.folder or ''}".rstrip())
    columns = ["value [95 %]", *map(str, range(1, len(runs) + 1))]
    labels = {name: labelled(name, name in run.zero.worst) for run in runs for name in run.values}
    cells = [
        [label, *(run_value(run, name) if run.available else "not available" for run in runs)]
        for name, label in labels.items()
    ]
    compared = {}
    for result, group, overall in zip(comparisons.results[1:], comparisons.groups, comparisons.overall, strict=True):
        # a metric that is a weighted sum of measures has a row of its own
        is_sum = overall is not None and overall.measure == METRIC and " + " in formula(result.zero)
        compared[id(result)] = ([overall] if overall and is_sum else [], group)
    if any(weighted for weighted, _ in compared.values()):
        of_metric = [number(run.value) + bounds(run.interval) if run.available else "not available" for run in runs]
        cells.insert(0, [METRIC, *of_metric])
    for unit in usages[0] if usages else ():
        if any(used[unit] for used in usages):
            amounts = iter("–" if used[unit] is None else f"{used[unit]:.4g}" for used in usages)
            cells.append([unit.replace("_", " "), *(next(amounts) if run.available else "–" for run in runs)])
    title = f"{len(runs)} runs on the same gold" if len(runs) > 1 else "1 run"
    print_table(f"{title}{under_protocol(runs)}", columns, cells)
    places = {id(run): position for position, run in enumerate(runs, start=1) if run.available}
    first = next(iter(places.values()), 1)
    for position, run in enumerate(runs, start=1):
        weighted, group = compared.get(id(run.result), ([], ()))
        if not brief:
            title = f"{position} against {first}, {run.size}{under_protocol(runs)}"
            print_table(title, *difference_rows([*weighted, *group]))
            for difference in group:
                if difference.won or difference.lost:
                    won = shortened(difference.won, STRATA) or "none"
                    lost = shortened(difference.lost, STRATA) or "none"
                    line(f"{position}, {difference.measure}: won {won}; lost {lost}")
        if not run.available:
            why = "has no rows: it was stopped before the first"
            if len(run.rows):
                why = f"failed on every example; the first error: {clipped(str(run.rows[0].error), 200)}"
            echo(f"not available: {run.folder or run.name} {why}")
    if brief:
        return
    ranks = comparisons.ranks if len(places) > 2 else {}
    cells = [[name, *map(str, row)] for name, row in ranks.items()]
    title = "possible ranks: all pairs tested together, at 95 %"
    print_table(title, ["value", *map(str, places.values())], cells)
    for run in runs:
        if run.available:
            for text in noise_lines(run)[:2]:
                line(f"{run.name}: {text}")
    for verdict in verdicts:
        moved(verdict, (places[id(verdict.run)], first))


def moved(difference: Difference, places: tuple[int, int]) -> None:
    """The largest differences between a run and the baseline, by stratum and kind of error.

    Args:
        difference: The difference.
        places: The numbers under which the terminal shows the run and the baseline.
    """
    title = "{} against {}".format(*places)
    rows: list[TableRow] = []
    for moved in difference.moved[:MOST_DIFFERENCES]:
        change = Cell(signed(moved.after - moved.before, (moved.low, moved.high)), moved.change)
        rows.append([f"{moved.facet} {moved.key}", moved.n, moved.before, moved.after, change])
    print_table(f"{title}, by stratum", ["stratum", "n", "before", "after", "change [95 %]"], rows)
    print_table(f"{title}, errors by type", ["type", "before", "after"], difference.kinds[:MOST_DIFFERENCES])
