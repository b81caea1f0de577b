"""Tables of gold: what an audit found, what a set holds, how a split and an agreement came out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from goldassay.gold.agreement import Agreement
from goldassay.gold.audit import KINDS, Audit
from goldassay.gold.splits import Split
from goldassay.gold.stats import UNITS
from goldassay.reporting.terminal import console, number, under_title
from goldassay.statistics import wilson

MOST = 50
NUMERIC = (
    "records",
    "ids",
    "findings",
    "units",
    "value",
    "share",
    "wanted",
    "mean",
    "most",
    *(unit for unit, _ in UNITS.values()),
)


def audit(found: Audit) -> None:
    """The findings, and how many there are of each kind."""
    out = console()
    looked = ", ".join(f"{name} {count:,}" for name, count in found.records.items())
    if found.clean:
        out.print(f"{escape(found.name)}: nothing is off ({looked or 'no records'})")
        return
    shown, size = found.findings[:MOST], len(found.findings)
    mend = ["mend"] if any(one.fix for one in shown) else []
    title = f"{found.name}: {size} finding{'s' if size != 1 else ''} ({looked})"
    table = _table(title, "kind", "where", "what", *mend)
    for one in shown:
        fix = "" if not one.fix else f"{one.fix['start']}:{one.fix['end']}"
        table.add_row(one.kind, escape(one.place), escape(one.message), *([fix] if mend else []))
    out.print(table)
    if len(found.findings) > MOST:
        out.print(f"… and {len(found.findings) - MOST} more (all with --json)")
    kinds = _table(None, "kind", "findings", "what it is")
    for kind, count in sorted(found.kinds.items(), key=lambda item: -item[1]):
        kinds.add_row(kind, str(count), KINDS[kind])
    out.print(kinds)


def stats(found: Mapping[str, Any]) -> None:
    """A table of counts, and one for each task and facet."""
    out = console()
    for task, one in found["tasks"].items():
        single = {name: value for name, value in one["counts"].items() if not isinstance(value, Mapping)}
        out.print(f"[bold]{task}[/]  " + ", ".join(f"{name} {value:,}" for name, value in single.items()), markup=True)
        for name, groups in one["counts"].items():
            if isinstance(groups, Mapping) and name not in ("splits", "languages", "labels"):
                shown = ", ".join(f"{key} {count:,}" for key, count in list(groups.items())[:30])
                more = f", … {len(groups) - 30} more" if len(groups) > 30 else ""
                out.print(f"  {name}: {shown}{more}", markup=False)
        for facet, keys in one["by"].items():
            units = [one["unit"]] if one["unit"] != "records" else []
            table = _table(None, facet, "records", *units)
            for key, counts in sorted(keys.items())[:MOST]:
                table.add_row(escape(key), *(f"{count:,}" for count in counts[: 1 + len(units)]))
            out.print(table)


def split(made: Split, records: int, out_folder: Path | None) -> None:
    """The sizes, and how far each factor is off."""
    out = console()
    table = _table(
        f"{records:,} records with {len(made.of):,} ids, {made.groups:,} groups kept whole",
        "side",
        "wanted",
        "ids",
        "share",
    )
    for side, share in made.ratios.items():
        size = made.sizes[side]
        table.add_row(side, f"{share:.3f}", f"{size:,}", f"{size / len(made.of):.3f}")
    out.print(table)
    off = _table("how far the shares are off", "factor", "mean", "most", "at")
    for one in made.deviations:
        off.add_row(one.factor, f"{one.mean:.3f}", f"{one.most:.3f}", escape(one.at))
    out.print(off)
    if made.empty:
        out.print(f"{', '.join(made.empty)} empty: there are fewer groups than sides")
    out.print(
        "nothing written; --out FOLDER writes it" if out_folder is None else f"written to {escape(str(out_folder))}"
    )


def agreement(found: Agreement, most: int = 20) -> None:
    """The figures with their intervals, and the first disagreements."""
    out = console()
    several = len(found.annotators) > 2
    title = f"{found.task}, {found.records} records, {', '.join(found.annotators)}"
    table = _table(title, "figure", *(["between"] if several else []), "type", "units", "value", "95 % interval")
    for one in found.figures:
        between = "all" if len(one.between) == len(found.annotators) else " – ".join(one.between)
        bounds = f"{one.interval.low:.4f} – {one.interval.high:.4f}" if one.interval else ""
        pair = [escape(between)] if several else []
        table.add_row(one.name, *pair, escape(one.type or ""), f"{one.units:,}", number(one.value), bounds)
    out.print(table)
    if any(one.value == 1.0 and one.name == "observed" for one in found.figures):
        low = wilson(found.records, found.records)[0]
        out.print(
            f"A bootstrap has no width where all are alike: Wilson's 95 % interval of {found.records} alike of "
            f"{found.records} records is {low:.4f} – 1."
        )
    if any(one.name == "word_kappa" for one in found.figures):
        out.print("word_kappa counts all the words outside of spans as agreement and is too high; F1 is the figure.")
    if found.disagreements and most:
        where = _table(f"{len(found.disagreements)} disagreements", "record", "where", *map(escape, found.annotators))
        for other in found.disagreements[:most]:
            said = [escape(other.values[name] or "–") if name in other.values else "" for name in found.annotators]
            where.add_row(escape(other.record), escape(other.where), *said)
        out.print(where)
        if len(found.disagreements) > most:
            out.print(f"… and {len(found.disagreements) - most} more (all with --json)")
    for warning in found.warnings:
        console(error=True).print(f"[yellow]warning:[/] {escape(warning)}", markup=True)


def _table(title: str | None, *columns: str) -> Table:
    table = under_title(title and escape(title))
    for name in columns:
        numeric = name in NUMERIC
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    return table
