"""The columns and rows of results: printed on the terminal, and shown in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from goldassay.reporting.cells import (
    Cell,
    Value,
    bounds,
    labelled,
    number,
    p_value,
    signed,
    with_interval,
)

if TYPE_CHECKING:  # the command line prints without loading what it does not print
    from goldassay.reporting.ranking import RankedRun
    from goldassay.reporting.summary import ReportedValue
    from goldassay.reporting.verdicts import PartDifference
    from goldassay.running.comparing import RunComparison
    from goldassay.running.run import Run
    from goldassay.running.waterfall import Waterfall
    from goldassay.scorecard import Scorecard
    from goldassay.statistics.ppi import Corrected

Rows = list[list["Value"]]
Columns = tuple[list[str], Rows]
"""The heads of the columns, and the rows."""
NamedValues = Mapping[str, float | None]

RATES = ("precision", "recall", "f1")
COUNTS = ("tp", "fp", "fn", "support", "predicted")
MOST_COLUMNS = 6  # of a breakdown


def of_values(values: Sequence[ReportedValue]) -> Columns:
    """Values with their intervals, and with precision, recall and targets if any value has them."""
    with_rates = any(value.precision is not None for value in values)
    with_targets = any(value.target is not None for value in values)
    columns = ["value", "[95 %]"]
    columns += ["precision", "recall"] if with_rates else []
    columns += ["target", "met"] if with_targets else []
    met = {True: Cell("yes", "better"), False: Cell("no", "worse"), None: ""}
    rows: Rows = []
    for value in values:
        row: list[Value] = [value.label, number(value.value) + bounds(value.interval)]
        if with_rates:
            row += ["" if rate is None else rate for rate in (value.precision, value.recall)]
        if with_targets:
            row += ["" if value.target is None else f"{value.target:.2f}", met[value.met]]
        rows.append(row)
    return columns, rows


def of_ranking(systems: Sequence[RankedRun]) -> Columns:
    """Systems, each with the ranks that it may have."""
    rows: Rows = [
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


def of_differences(differences: Sequence[RunComparison]) -> Columns:
    """Paired differences by measure, with their p-values."""
    rows: Rows = []
    for difference in differences:
        test = difference.comparison
        row: list[Value] = [labelled(difference.measure, difference.lower_is_better)]
        row += [Cell(signed(test.difference, test.interval), difference.change)]
        row += [p_value(test.p), p_value(difference.corrected)]
        row += [f"{test.smallest_detectable:.3f}" if test.smallest_detectable else "–"]
        row += [f"{len(difference.won)}:{len(difference.lost)}"]
        rows.append(row)
    return ["value", "difference [95 %]", "p", "p\ncorr.", "detect-\nable", "won:\nlost"], rows


def of_parts(parts: Iterable[PartDifference]) -> Columns:
    """How types and strata moved between two runs; a change that its interval confirms is coloured."""
    rows: Rows = []
    for part in parts:
        change = Cell(signed(part.after - part.before, (part.low, part.high)), part.change)
        rows.append([f"{part.facet} {part.key}", part.n, part.before, part.after, change])
    return ["stratum", "n", "before", "after", "change [95 %]"], rows


def of_corrected(corrected: Mapping[str, Corrected]) -> Columns:
    """Judged values beside the same corrected by people's labels."""
    rows: Rows = [
        [name, each.naive.value, each.corrected, each.people_only, each.people_only.n]
        for name, each in corrected.items()
    ]
    return ["value", "as judged", "corrected [95 %]", "labels alone [95 %]", "labels"], rows


def of_stages(stages: Waterfall) -> Columns:
    """The cost of each stage of a pipeline."""
    rows: Rows = [[share.stage, signed(share.cost, share, 4)] for share in stages.shares]
    return ["stage", "loss [95 %]"], [*rows, ["rest", signed(stages.rest, places=4)]]


def side_by_side(runs: Sequence[Run]) -> Columns:
    """The values of several runs, a column a run."""
    names = {name: labelled(name, name in run.zero.worst) for run in runs for name in run.values}
    rows: Rows = [
        [label, *(with_interval(run, name) if run.available else "not available" for run in runs)]
        for name, label in names.items()
    ]
    return ["value [95 %]", *map(str, range(1, len(runs) + 1))], rows


def of_scorecard(card: Scorecard) -> Columns:
    """Every value of a scorecard with its interval and convention."""
    rows: Rows = [
        [name, number(value) + bounds(card.intervals.get(name)), convention(card, name)]
        for name, value in card.values.items()
    ]
    return ["value", "[95 %]", "convention"], rows


def convention(card: Scorecard, name: str) -> str:
    """The parameters of a value's convention, without its name."""
    return card.conventions.get(name, "").partition("[")[2].removesuffix("]")


def of_breakdown(facet: str, keys: Mapping[str, NamedValues]) -> Columns:
    """The keys of a facet with their values, the largest support first; of the fields of records the worst first."""
    ordered = sorted(keys.items(), key=lambda row: -(row[1].get("support") or 0))
    if facet == "field":  # those without evidence are last
        ordered.sort(key=lambda row: (row[1]["f1"] is None, row[1]["f1"]))
    names = list(dict.fromkeys(name for _, values in ordered for name in values))
    if len(names) > MOST_COLUMNS:
        main = [name for name in names if name.endswith(("f1", "support", "value"))]
        names = (main or names)[:MOST_COLUMNS]
    rows: Rows = [[key, *(_part(name, values.get(name)) for name in names)] for key, values in ordered]
    return [facet, *names], rows


def _part(name: str, value: float | None) -> str:
    """A value of a breakdown; counts are printed as counts, however small.

    >>> _part("support", 1.0), _part("f1", 1.0), _part("pairs", 12.0)
    ('1', '1.0000', '12')
    """
    if value is None:
        return number(value)
    is_count = name in COUNTS or isinstance(value, int) or value > 1
    return f"{value:g}" if is_count else number(value)


def of_confusions(by_gold: Mapping[str, NamedValues]) -> Columns:
    """The wrong predictions, the commonest first."""
    pairs = sorted(
        (-n, gold, label) for gold, row in by_gold.items() for label, n in row.items() if n and gold != label
    )
    sizes = {gold: sum(n or 0 for n in row.values()) for gold, row in by_gold.items() if gold != "SPURIOUS"}
    rows: Rows = []
    for negative, gold, label in pairs:
        share = f"{-negative / sizes[gold]:.0%}" if gold in sizes else "–"
        rows.append([gold, label, f"{-negative:g}", share])
    return ["gold", "predicted", "times", "of gold"], rows


def of_rate(title: str, corrected: Corrected | None, naive: Value = None) -> Columns:
    """A judge's rate or mean: its verdicts as they are, and corrected by people's labels in every way."""
    values: dict[str, Value] = {"verdicts as they are": naive}
    if corrected:
        values = {
            f"corrected (PPI++), λ {corrected.trust:.2f}": corrected.corrected,
            "corrected (Rogan–Gladen)": corrected.rogan_gladen,
            "labels by verdict": corrected.by_verdict,
            "verdicts as they are": corrected.naive,
            "labels alone": corrected.people_only,
        }
    return ["from", f"{title} [95 %]"], [[name, value] for name, value in values.items() if value]
