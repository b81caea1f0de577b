"""Gold on the terminal: the findings of an audit, the counts of a set, a split, an agreement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldassay.gold.agreement import Agreement, Corrections
from goldassay.gold.audit import KINDS, Audit
from goldassay.gold.splits import Split
from goldassay.reporting.summary import shortened
from goldassay.reporting.terminal import bounds, line, number, print_table, warn
from goldassay.statistics import wilson

MANY = 50


def audit(result: Audit) -> None:
    """The findings, and how many there are of each kind."""
    counts = ", ".join(f"{name} {count:,}" for name, count in result.records.items())
    if result.clean:
        line(f"{result.name}: no problems ({counts or 'no records'})")
        return
    rows = []
    for finding in result.findings:
        fix = f"{finding.fix['start']}:{finding.fix['end']}" if finding.fix else ""
        rows.append([finding.kind, finding.place, finding.message, fix])
    title = f"{result.name}: {len(rows)} finding{'s' if len(rows) != 1 else ''} ({counts})"
    print_table(title, ["kind", "where", "what", "fix"], rows, left=4, most=MANY)
    kinds = sorted(result.kinds.items(), key=lambda item: -item[1])
    print_table(None, ["kind", "meaning", "findings"], [[kind, KINDS[kind], n] for kind, n in kinds], left=2)


def stats(result: Mapping[str, Any]) -> None:
    """A table of counts, and one for each task and facet."""
    for name, task in result["tasks"].items():
        totals = [f"{key} {value:,}" for key, value in task["counts"].items() if not isinstance(value, Mapping)]
        line(f"{name}  {', '.join(totals)}", "bold")
        for key, groups in task["counts"].items():
            if isinstance(groups, Mapping) and key not in ("splits", "languages", "labels"):
                cells = [f"{group} {count:,}" for group, count in groups.items()]
                line(f"  {key}: {shortened(cells, 30)}")
        for facet, keys in task["by"].items():
            columns = [facet, "records", *([task["unit"]] if task["unit"] != "records" else [])]
            rows = [[key, *(f"{n:,}" for n in counts[: len(columns) - 1])] for key, counts in sorted(keys.items())]
            print_table(None, columns, rows, most=MANY)


def split(result: Split, records: int, out_folder: Path | None) -> None:
    """The sizes, and how far each factor deviates."""
    n = len(result.of)
    sides = result.sizes.items()
    rows = [[side, f"{result.ratios[side]:.3f}", f"{size:,}", f"{size / n:.3f}"] for side, size in sides]
    title = f"{records:,} records with {n:,} ids, {result.groups:,} groups kept whole"
    print_table(title, ["side", "target", "ids", "share"], rows)
    rows = [[row.factor, row.at, f"{row.mean:.3f}", f"{row.most:.3f}"] for row in result.deviations]
    print_table("deviation of the shares", ["factor", "largest at", "mean", "largest"], rows, left=2)
    if result.empty:
        line(f"{', '.join(result.empty)} empty: there are fewer groups than sides")
    line("nothing written; --out FOLDER writes it" if out_folder is None else f"written to {out_folder}")


def corrections(result: Corrections, most: int = 20) -> None:
    """What was changed in a draft: by stratum, the figures, and the warning."""
    rows = [[name, f"{changed:,}", f"{n:,}", number(value)] for name, (changed, n, value) in result.strata.items()]
    print_table("suggestions", ["stratum", "changed", "records", "kappa or F1"], rows, left=1)
    agreement(result.agreement, most)
    warn(result.summary)


def agreement(result: Agreement, most: int = 20) -> None:
    """The figures with their intervals, and the first disagreements."""
    rows = []
    for figure in result.figures:
        between = "all" if len(figure.between) == len(result.annotators) else " – ".join(figure.between)
        value = number(figure.value) + bounds(figure.interval)
        rows.append([figure.name, between, figure.type or "", f"{figure.units:,}", value])
    title = f"{result.task}, {result.records} records, {', '.join(result.annotators)}"
    print_table(title, ["figure", "between", "type", "units", "value [95 %]"], rows, left=3)
    if any(figure.value == 1.0 and figure.name == "observed" for figure in result.figures):
        n = result.records
        line(f"All {n} records agree, so the bootstrap has no width; Wilson's interval is [{wilson(n, n)[0]:.4f}, 1].")
    if any(figure.name == "word_kappa" for figure in result.figures):
        line("word_kappa counts every word outside of spans as agreement, so it is too high; use F1.")
    rows = [
        [row.record, row.where, *(row.values.get(name, "") or "–" * (name in row.values) for name in result.annotators)]
        for row in result.disagreements
    ]
    if rows:
        columns = ["record", "where", *result.annotators]
        print_table(f"{len(rows)} disagreements", columns, rows, left=len(columns), most=most)
    for warning in result.warnings:
        warn(warning)
