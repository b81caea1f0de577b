"""The tables of a result: its values, and what they are by type, label, property or kind of confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from goldassay.results.view import Note, Sentence, Table, TableRow, View, bounds, labelled, number

if TYPE_CHECKING:
    from goldassay.results.result import Result

METHOD_TITLES = {
    "wilson": "Wilson",
    "effective": "Wilson at the effective sample size",
    "t": "Student's t",
    "design, wilson": "by the design of the sample, Wilson",
    "design, t": "by the design of the sample, Student's t",
    "macro": "combined from those of the labels, open for one that does not occur",
}
KeyedValues = Mapping[str, Mapping[str, float | None]]
"""Values by name, by the key of a facet."""


LEADING = {
    "extraction": ("strict_f1", "partial_f1"),
    "classification": ("accuracy", "macro_f1"),
    "linking": ("hits@1", "MRR", "nil_f1"),
    "retrieval": ("nDCG@10", "RR"),
    "answering": ("exact_match", "f1"),
    "triples": ("f1",),
    "records": ("field_f1", "record_accuracy"),
    "trajectories": ("call_f1",),
}
"""The values of a task that are shown first."""


def headline_view(result: Result, more: str) -> View:
    """The values that lead, with their intervals, and the first breakdown.

    Args:
        result: The result.
        more: What shows all values (`result_view`).
    """
    leading = [name for name in LEADING.get(result.task, ()) if name in result.values]
    names = leading or list(result.values)[:3]
    if result.why_no_estimate or len(names) == len(result.values):
        return result_view(result)
    ends = " [95 %]" if result.intervals else ""
    rows = [_row(result, name, [name]) for name in names]
    view: View = [Table(f"{result.task}, {result.size}", ["", f"value{ends}", "convention"], rows, spare=1)]
    facet = next((facet for facet in result.by if facet != "confusion"), "")
    if facet:
        view.append(Table(f"by {facet}", *of_breakdown(facet, result.by[facet]), most=10))
    hidden = len(result.values) - len(names)
    view.append(Sentence(f"{hidden} more values, how intervals are made, and every breakdown: {more}", unbroken=True))
    return [*view, *map(Note, result.warnings)]


def result_view(result: Result) -> View:
    """The values with their intervals and conventions, those with precision and recall first; then the breakdowns."""
    protocol = f", protocol {result.protocol}" if result.protocol else ""
    title = f"{result.task}, {result.size}{protocol}"
    values = {} if result.why_no_estimate else result.values
    prefixes = [name.removesuffix("f1") for name in values if name == "f1" or name.endswith("_f1")]
    families = {prefix: [f"{prefix}{rate}" for rate in ("precision", "recall", "f1")] for prefix in prefixes}
    families = {prefix: names for prefix, names in families.items() if all(name in values for name in names)}
    in_family = {name for names in families.values() for name in names}
    ends = " [95 %]" if result.intervals else ""
    rows = [_row(result, prefix.rstrip("_") or result.task, names) for prefix, names in families.items()]
    singles = [_row(result, name, [name]) for name in values if name not in in_family]
    second = None if families and not result.protocol else title
    view: View = [
        Table(title, ["", "precision", "recall", f"f1{ends}", "convention"], rows, spare=1),
        Table(second, ["", f"value{ends}", "convention"], singles, spare=1),
    ]
    if result.intervals:
        methods = dict.fromkeys(interval.method for interval in result.intervals.values())
        titles = "; ".join(dict.fromkeys(METHOD_TITLES.get(method, method) for method in methods))
        view.append(Sentence(f"[95 %]: {titles}", unbroken=True))
    if any(name in result.values for name in result.undefined):
        view.append(Sentence(f"* not defined by the protocol {result.protocol}; goldassay's own", unbroken=True))
    for facet, keys in result.by.items():
        if facet == "confusion":
            heading = "largest confusions *" if result.undefined else "largest confusions"
            view.append(Table(heading, *of_confusions(keys), left=2, most=10))
        else:
            view.append(Table(f"by {facet}{protocol}", *of_breakdown(facet, keys), most=30))
    return [*view, *map(Note, result.warnings)]


def _row(result: Result, label: str, names: Sequence[str]) -> TableRow:
    """The row of some values, the last of which has its interval, and the parameters of its convention."""
    last = names[-1]
    label = labelled(label, last in result.measures and result.measures[last].lower_is_better)
    row = [f"{label} *" if last in result.undefined else label]
    row += [number(result.values.get(name)) for name in names]
    row[-1] += bounds(result.intervals.get(last))
    return [*row, result.conventions.get(last, "").partition("[")[2].removesuffix("]")]


def of_breakdown(facet: str, keys: KeyedValues) -> tuple[list[str], list[TableRow]]:
    """The keys of a facet with their values, the largest support first; of the fields of records the worst first."""
    ordered = sorted(keys.items(), key=lambda row: -(row[1].get("support") or 0))
    if facet == "field":  # those without evidence are last
        ordered.sort(key=lambda row: (row[1]["f1"] is None, row[1]["f1"]))
    most = 6  # columns
    names = list(dict.fromkeys(name for _, values in ordered for name in values))
    if len(names) > most:
        main = [name for name in names if name.endswith(("f1", "support", "value"))]
        names = (main or names)[:most]
    rows: list[TableRow] = [
        [key, *(count_or_rate(name, values.get(name)) for name in names)] for key, values in ordered
    ]
    return [facet, *names], rows


def count_or_rate(name: str, value: float | None) -> str:
    """A value of a breakdown; counts are printed as counts, however small.

    >>> count_or_rate("support", 1.0), count_or_rate("f1", 1.0), count_or_rate("pairs", 12.0)
    ('1', '1.0000', '12')
    """
    if value is None:
        return number(value)
    is_count = name in ("tp", "fp", "fn", "support", "predicted") or isinstance(value, int) or value > 1
    return f"{value:g}" if is_count else number(value)


def of_confusions(by_gold: KeyedValues) -> tuple[list[str], list[TableRow]]:
    """The wrong predictions, the commonest first."""
    pairs = sorted(
        (-n, gold, label) for gold, row in by_gold.items() for label, n in row.items() if n and gold != label
    )
    sizes = {gold: sum(n or 0 for n in row.values()) for gold, row in by_gold.items() if gold != "SPURIOUS"}
    rows: list[TableRow] = []
    for negative, gold, label in pairs:
        share = f"{-negative / sizes[gold]:.0%}" if gold in sizes else "–"
        rows.append([gold, label, f"{-negative:g}", share])
    return ["gold", "predicted", "times", "of gold"], rows
