"""A scorecard on the terminal: values with intervals and conventions, breakdowns, definitions."""

from __future__ import annotations

from collections.abc import Mapping

from goldassay.reporting.summary import labelled
from goldassay.reporting.terminal import bounds, console, number, plain, print_table, warn
from goldassay.scorecard import Scorecard

RATES = ("precision", "recall", "f1")
WIDE = 120  # columns from which a value's convention stands beside it
COUNTS = ("tp", "fp", "fn", "support", "predicted")
METHODS = {
    "wilson": "Wilson",
    "effective": "Wilson at the effective sample size",
    "t": "Student's t",
    "macro": "combined from those of the labels, open for one that does not occur",
}
NamedValues = Mapping[str, float | None]


def show(card: Scorecard) -> None:
    """The values of a scorecard with their intervals, its breakdowns and its warnings.

    On a wide terminal each value's convention stands beside it.
    """
    wide = console().width >= WIDE
    title = titled(card)
    families = [name.removesuffix("f1") for name in card.values if name == "f1" or name.endswith("_f1")]
    families = [prefix for prefix in families if all(f"{prefix}{rate}" in card.values for rate in RATES)]
    in_family = {f"{prefix}{rate}" for prefix in families for rate in RATES}
    interval = " [95 %]" if card.intervals else ""
    convention = ["convention"] if wide else []
    if families:
        rows = []
        for prefix in families:
            *rates, f1 = (f"{prefix}{rate}" for rate in RATES)
            name = _label(card, f1, prefix.rstrip("_") or card.task)
            rows.append([name, *(number(card.values[rate]) for rate in rates), *_value(card, f1, wide)])
        print_table(title, ["", *RATES[:2], f"f1{interval}", *convention], rows)
    rows = [[_label(card, name, name), *_value(card, name, wide)] for name in card.values if name not in in_family]
    if rows:
        print_table(None if families and not card.protocol else title, ["", f"value{interval}", *convention], rows)
    if card.intervals:
        plain(f"[95 %]: {'; '.join(dict.fromkeys(METHODS.get(name, name) for name in card.methods.values()))}")
    if any(name in card.values for name in card.undefined):
        plain(f"* not defined by the protocol {card.protocol}; goldassay's own")
    for facet, keys in card.by.items():
        if facet == "confusion":
            confusions(keys, f"largest confusions{' *' if card.undefined else ''}")
        else:
            breakdown(f"by {facet}{_under(card)}", facet, keys)
    for warning in card.warnings:
        warn(warning)


def titled(card: Scorecard) -> str:
    """What was scored, and under which official protocol.

    >>> titled(Scorecard("extraction", 2, protocol="hipe"))
    'extraction, 2 examples, protocol hipe'
    """
    return f"{card.task}, {card.size}{_under(card)}"


def _under(card: Scorecard) -> str:
    return f", protocol {card.protocol}" if card.protocol else ""


def _label(card: Scorecard, name: str, text: str) -> str:
    """A value's name; an arrow if lower is better, a star if the protocol does not define it."""
    lower = name in card.measures and card.measures[name].lower_is_better
    return labelled(text, lower) + " *" * (name in card.undefined)


def _value(card: Scorecard, name: str, wide: bool) -> list[str]:
    """A value with its interval and, on a wide terminal, its convention."""
    cell = number(card.values[name]) + bounds(card.intervals.get(name))
    return [cell, convention(card, name)] if wide else [cell]


def convention(card: Scorecard, name: str) -> str:
    """The parameters of a value's convention, without its name."""
    return card.conventions.get(name, "").partition("[")[2].removesuffix("]")


def breakdown(title: str, facet: str, keys: Mapping[str, NamedValues], most: int = 30) -> None:
    """A facet's keys and their values, one row a key; the largest support first where there is one."""
    rows = sorted(keys.items(), key=lambda row: -(row[1].get("support") or 0))
    names = list(dict.fromkeys(name for _, values in rows for name in values))
    if len(names) > 6:
        names = [name for name in names if name.endswith(("f1", "support", "value"))][:6] or names[:6]
    cells = [[key, *(_cell(name, values.get(name)) for name in names)] for key, values in rows]
    if cells:
        print_table(title, [facet, *names], cells, most=most)


def confusions(rows: Mapping[str, NamedValues], title: str, most: int = 10) -> None:
    """The commonest wrong predictions."""
    pairs = sorted((-(n or 0), gold, label) for gold, row in rows.items() for label, n in row.items() if gold != label)
    of_gold = {gold: sum(n or 0 for n in row.values()) for gold, row in rows.items() if gold != "SPURIOUS"}
    cells = [
        [gold, label, f"{-n:g}", f"{-n / of_gold[gold]:.0%}" if gold in of_gold else "–"]
        for n, gold, label in pairs
        if n
    ]
    if cells:
        print_table(title, ["gold", "predicted", "times", "of gold"], cells, left=2, most=most)


def _cell(name: str, value: float | None) -> str:
    """A value of a breakdown; counts are printed as counts, however small.

    >>> _cell("support", 1.0), _cell("f1", 1.0), _cell("pairs", 12.0)
    ('1', '1.0000', '12')
    """
    count = name in COUNTS or isinstance(value, int)
    return f"{value:g}" if value is not None and (count or value > 1) else number(value)
