"""Judges for the terminal: what one says, what it is worth beside people, how an audit came out."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from goldassay.judges.agreement import Estimate, Graded, JudgeAgreement
from goldassay.judges.audit import Check, JudgeAudit
from goldassay.reporting.terminal import console, under_title
from goldassay.statistics.intervals import Interval
from goldassay.statistics.ppi import Corrected

MOST = 10


def warn(text: str) -> None:
    """A warning on standard error."""
    console(error=True).print(f"[yellow]warning:[/] {escape(text)}", markup=True)


def estimate(found: Estimate, out: Path | None = None) -> None:
    """Verdicts, and the rate of positive items."""
    table = _table(f"{found.question}: {found.n} items, judged by {found.judge}", "verdict", "items", "share")
    known = found.n - found.unknown
    for name, count in found.verdicts.items():
        table.add_row(name, str(count), f"{count / known:.3f}" if known else "–")
    table.add_row("unknown", str(found.unknown), "")
    console().print(table)
    _rate(found.positive, found.corrected, found.naive)
    if found.mean:
        graded(found.mean)
    cached = f", {found.cached} answers from the cache" if found.cached else ""
    cost = f"{found.calls} calls{cached}, {found.tokens} tokens"
    told = [f"{cost}.", _apart(found.disagreement), f"Written: {out}" if out else ""]
    console().print(" ".join(one for one in told if one), markup=False)


def _apart(disagreement: float) -> str:
    """How far the members of a panel disagree; nothing for one judge, or where they never do."""
    said = f"The panel's members disagree: {disagreement:.1%} of their verdicts are not the majority's."
    return said if disagreement else ""


def alignment(judge: str, found: JudgeAgreement) -> None:
    """Agreement, errors, calibration, rates, and what more labels would bring."""
    out = console()
    out.print(f"{judge} on {found.question}, positive: {found.positive}", markup=False)
    table = _table(
        f"{found.n} labels with a verdict, {found.unlabelled} items without a label",
        "value",
        "estimate [95 %]",
        f"labels for ±{found.width / 2:g}",
    )
    rows = [("accuracy", found.accuracy), ("sensitivity", found.rates.sensitivity)]
    rows += [("specificity", found.rates.specificity), ("kappa", found.kappa), ("alpha", found.alpha)]
    rows.append(("alpha of people", found.people))
    for name, one in rows:
        table.add_row(name, _interval(one), _count(found.needed.get(name)))
    out.print(table)
    _confusion(found)
    _fitted(found)
    _rate(found.positive, found.corrected, None)
    if found.mean and found.mean.corrected:
        graded(found.mean)
    for name in ("rate, corrected", "rate, people only"):
        if name in found.needed:
            out.print(f"labels for ±{found.width / 2:g} of the {name}: {found.needed[name]:,}")
    if found.divided:
        out.print(f"People disagree on {len(found.divided)}: {_names([one.id for one in found.divided])}", markup=False)
    if found.next:
        out.print(f"Label next: {_names(found.next)}", markup=False)
        out.print("These tell calibration most. Rates and agreement need labels of items taken at random.")
    for warning in found.warnings:
        warn(warning)


def audit(found: JudgeAudit) -> None:
    """The checks, with the share from which each passes."""
    title = f"audit of {found.judge}, {found.probes} probes"
    table = _table(title, "check", "went well [95 %]", "n", "unknown", "passes from", "")
    for check in found.checks:
        n = str(check.rate.n) if check.rate else "0"
        shown = _interval(check.rate, 2)
        table.add_row(check.name, shown, n, str(check.unknown), f"{check.mark:.2f}", _verdict(check))
    out = console()
    out.print(table)
    out.print(_conclusion(found))
    for warning in found.warnings:
        warn(warning)


def _conclusion(found: JudgeAudit) -> str:
    if not found.passed:
        return "Not passed. (?: more probes could turn it: the interval reaches both sides of the pass mark)"
    tested = all(check.rate for check in found.checks)
    return "All checks passed." if tested else "What could be tested passed; not everything could."


def _verdict(check: Check) -> str:
    if check.passed is None:
        return "–"
    return ("pass" if check.passed else "FAIL") + ("" if check.sure else "?")


def _confusion(found: JudgeAgreement) -> None:
    columns = list(next(iter(found.confusion.values())))
    table = _table("people (rows), judge (columns)", "", *columns)
    for label, row in found.confusion.items():
        table.add_row(label, *(str(row[column]) for column in columns))
    console().print(table)


def _fitted(found: JudgeAgreement) -> None:
    fitted = found.fitted
    if fitted is None:
        return
    title = f"with a threshold learnt from {fitted.fitted} labels, tested on the other {fitted.held_out}"
    table = _table(title, "", "sensitivity [95 %]", "specificity [95 %]", "Brier (0 is best)")
    before, after = fitted.before, fitted.after
    table.add_row(
        "verdicts as they are",
        _interval(before.sensitivity),
        _interval(before.specificity),
        f"{fitted.brier_before:.4f}",
    )
    name = f"positive from score {fitted.threshold:.2f}"
    table.add_row(name, _interval(after.sensitivity), _interval(after.specificity), f"{fitted.brier_after:.4f}")
    console().print(table)


def average(found: Graded) -> None:
    """The mean of numbers, and how many there are."""
    unknown = f", {found.unknown} without a verdict" if found.unknown else ""
    console().print(f"{found.verdicts} items with a verdict, {found.labels} of them with a label{unknown}")
    graded(found)
    if found.corrected is None:
        warn("nothing to correct with: that takes 2 labels or more, and an item without one")


def graded(found: Graded) -> None:
    """A mean grade: corrected, as the verdicts are, and of the labels alone."""
    ends = "" if found.low is None or found.high is None else f", from {found.low:g} to {found.high:g}"
    _estimates(f"mean grade{ends}", "mean", found.corrected, found.naive)


def _rate(positive: str, corrected: Corrected | None, naive: Interval | None) -> None:
    _estimates(f"share of {positive!r}", "share", corrected, naive)


def _estimates(title: str, head: str, corrected: Corrected | None, naive: Interval | None) -> None:
    rows = [("verdicts as they are", corrected.naive if corrected else naive)]
    if corrected:
        mended = f"corrected (PPI++), λ {corrected.trust:.2f}"
        rows = [(mended, corrected.corrected), *rows, ("labels alone", corrected.people_only)]
    if rows[-1][1] is None:
        return
    table = _table(title, "from", f"{head} [95 %]")
    for name, one in rows:
        table.add_row(name, _interval(one))
    console().print(table)


def _table(title: str, *heads: str) -> Table:
    table = under_title(escape(title))
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", overflow="fold")
    return table


def _interval(found: Interval | None, places: int = 3) -> str:
    if found is None:
        return "–"
    return "{:.{p}f} [{:.{p}f}, {:.{p}f}]".format(found.value, found.low, found.high, p=places)


def _count(labels: int | None) -> str:
    return "" if labels is None else f"{labels:,}"


def _names(ids: object) -> str:
    named = [str(one) for one in ids] if isinstance(ids, (list, tuple)) else []
    return ", ".join(named[:MOST]) + (f" and {len(named) - MOST} more" if len(named) > MOST else "")
