"""A scorecard as tables: values with their intervals and conventions, breakdowns, definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from goldassay.reporting.terminal import NamedValues, console, number, under_title, warn
from goldassay.scorecard import Scorecard

RATES = ("precision", "recall", "f1")
WIDE = 120  # columns from which a value's convention stands beside it


def show(card: Scorecard) -> None:
    """The values of a scorecard with their intervals, its breakdowns and its warnings.

    Where the terminal is wide, each value's convention stands beside it.
    """
    out = console()
    wide = out.width >= WIDE
    title = titled(card)
    rows = {prefix: keys for prefix, keys in _rates(card) if all(key in card.values for key in keys)}
    if rows:
        table = _table(title, *RATES[:2], "f1 [95 %]" if card.intervals else "f1", wide=wide)
        for prefix, keys in rows.items():
            cells = [number(card.values[key]) for key in keys]
            name = (prefix or card.task) + _mark(card, keys[2])
            table.add_row(name, *cells[:2], cells[2] + _ends(card, keys[2]), *_how(card, keys[2], wide))
        out.print(table)
    shown = {key for keys in rows.values() for key in keys}
    single = {name: value for name, value in card.values.items() if name not in shown}
    if single:
        table = _table(
            None if rows and not card.protocol else title, "value [95 %]" if card.intervals else "value", wide=wide
        )
        for name, value in single.items():
            shown_as = name + _mark(card, name)
            table.add_row(shown_as, number(value) + _ends(card, name), *_how(card, name, wide))
        out.print(table)
    if card.intervals:
        out.print(f"[95 %]: {_methods(card)}", markup=False)
    if any(name in card.values for name in card.undefined):
        out.print(f"* not defined by the protocol {card.protocol}: ours", markup=False)
    for facet, found in card.by.items():
        if facet == "confusion":
            confusions(found, out, title=f"largest confusions{' *' if card.undefined else ''}")
        else:
            breakdown(f"{facet}{_under(card)}", facet, found, out)
    for warning in card.warnings:
        warn(warning)


def titled(card: Scorecard) -> str:
    """What was scored, and under which official protocol.

    >>> titled(Scorecard("extraction", 2, protocol="hipe"))
    'extraction, 2 examples, protocol hipe'
    """
    return f"{card.task}, {card.examples} examples{_under(card)}"


def _under(card: Scorecard) -> str:
    return f", protocol {card.protocol}" if card.protocol else ""


def _mark(card: Scorecard, name: str) -> str:
    """A star where the protocol does not define the value."""
    return " *" if name in card.undefined else ""


def _rates(card: Scorecard) -> Iterator[tuple[str, list[str]]]:
    """What stands before ``f1`` in names of values, with the names of precision, recall and F1: one row each."""
    for name in card.values:
        if name == "f1" or name.endswith("_f1"):
            prefix = name.removesuffix("f1")
            yield prefix.rstrip("_"), [f"{prefix}{rate}" for rate in RATES]


def _table(title: str | None, *columns: str, wide: bool) -> Table:
    table = under_title(title)
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    if wide:
        table.add_column("convention")
    return table


def _ends(card: Scorecard, name: str) -> str:
    ends = card.intervals.get(name)
    return f" [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""


WORDS = {
    "wilson": "Wilson's",
    "effective": "Wilson's at the number of examples that the value is worth",
    "t": "Student's",
}


def _methods(card: Scorecard) -> str:
    """How the intervals were made: for one method its name, for several each with its values."""
    by: dict[str, list[str]] = {}
    for name, method in card.methods.items():
        by.setdefault(WORDS.get(method, method), []).append(name)
    if len(by) == 1:
        return next(iter(by))
    most = max(by, key=lambda method: len(by[method]))
    return "; ".join([most, *(f"{method} ({', '.join(by[method])})" for method in by if method != most)])


def _how(card: Scorecard, name: str, wide: bool) -> list[str]:
    """The convention of a value, without its name."""
    return [card.conventions.get(name, "").partition("[")[2].removesuffix("]")] if wide else []


def breakdown(title: str, facet: str, keys: Mapping[str, NamedValues], out: Console, most: int = 30) -> None:
    """A facet's keys and their values, one row a key; the largest support first where there is one.

    Args:
        title: The heading.
        out: The console.
        most: The most rows.
    """
    if not keys:
        return
    rows = list(keys.items() if isinstance(keys, dict) else islice(keys.items(), most))  # a row an example: alike all
    names = list(dict.fromkeys(name for _, values in rows for name in values))
    if "support" in names:
        rows.sort(key=lambda row: -(row[1].get("support") or 0))
    if len(names) > 6:
        names = [name for name in names if name.endswith(("f1", "support", "value"))][:6] or names[:6]
    table = under_title(f"by {title}")
    table.add_column(facet, no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for key, values in rows[:most]:
        table.add_row(key, *(_cell(name, values.get(name)) for name in names))
    out.print(table)
    _more(len(keys) - most, out)


def confusions(
    rows: Mapping[str, NamedValues], out: Console, most: int = 10, title: str = "largest confusions"
) -> None:
    """What was most often taken for what; what is right stands in the other tables."""
    found = [(count, gold, pred) for gold, row in rows.items() for pred, count in row.items() if count and gold != pred]
    if not found:
        return
    found.sort(key=lambda cell: (-cell[0], cell[1], cell[2]))
    table = under_title(title)
    for name in ("gold", "predicted"):
        table.add_column(name, no_wrap=True)
    table.add_column("times", justify="right")
    table.add_column("of gold", justify="right")
    for count, gold, pred in found[:most]:
        all_of = sum(one or 0 for one in rows[gold].values())
        table.add_row(gold, pred, f"{count:g}", "–" if gold == "SPURIOUS" else f"{count / all_of:.0%}")
    out.print(table)
    _more(len(found) - most, out)


def _more(n: int, out: Console) -> None:
    if n > 0:
        out.print(f"… and {n} more (all with --json)")


COUNTS = ("tp", "fp", "fn", "support", "predicted")


def _cell(name: str, value: float | None) -> str:
    """A value of a part; a count is no rate, however small.

    >>> _cell("support", 1.0), _cell("f1", 1.0), _cell("pairs", 12.0)
    ('1', '1.0000', '12')
    """
    count = name in COUNTS or isinstance(value, int)
    return f"{value:g}" if value is not None and (count or value > 1) else number(value)


def explanations(card: Scorecard) -> None:
    """Each value's definition, convention and source."""
    out = console()
    for name in card.values:
        out.print(f"[bold]{name}[/]  {escape(card.conventions.get(name, ''))}", markup=True)
        if name in card.explain:
            out.print(Padding(escape(card.explain[name]), (0, 0, 0, 4), expand=False))


def hint(text: str) -> None:
    """What a person may want to know next, on standard error."""
    console(error=True).print(f"[dim]hint:[/] {escape(text)}", markup=True, soft_wrap=True)
