"""Judges on the terminal: verdicts, agreement with people, and audits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldassay.judges.agreement import Estimate, Graded, JudgeAgreement, LabelPlan
from goldassay.judges.audit import Check, JudgeAudit
from goldassay.reporting.summary import shortened
from goldassay.reporting.terminal import line, p_value, print_table, warn
from goldassay.statistics.intervals import Interval
from goldassay.statistics.ppi import Corrected

MANY = 10
VALUES = ("accuracy", "sensitivity", "specificity", "kappa", "alpha")


def estimate(result: Estimate, out: Path | None = None) -> None:
    """Verdicts, and the rate of positive items."""
    known = result.n - result.unknown
    rows = [[name, count, f"{count / known:.3f}" if known else "–"] for name, count in result.verdicts.items()]
    title = f"{result.question}: {result.n} items, judged by {result.judge}"
    print_table(title, ["verdict", "items", "share"], [*rows, ["unknown", result.unknown, ""]])
    _estimates(f"share of {result.positive!r}", "share", result.corrected, result.naive)
    if result.mean:
        mean(result.mean)
    cached = f", {result.cached} answers from the cache" if result.cached else ""
    text = f"{result.calls} calls{cached}, {result.tokens} tokens."
    if result.disagreement:
        text += f" The panel's members disagree: {result.disagreement:.1%} of their verdicts are not the majority's."
    line(text + (f" Written: {out}" if out else ""))


def alignment(judge: str, result: JudgeAgreement) -> None:
    """Agreement, errors and corrected rates."""
    line(f"{judge} on {result.question}, positive: {result.positive}")
    values = [[name, _interval(getattr(result, name))] for name in VALUES]
    title = f"{result.n} labels with a verdict, {result.unlabelled} items without a label"
    print_table(title, ["value", "estimate [95 %]"], [*values, ["alpha of people", _interval(result.people)]])
    columns = list(next(iter(result.confusion.values())))
    counts = [[label, *(row[column] for column in columns)] for label, row in result.confusion.items()]
    print_table("people (rows), judge (columns)", ["", *columns], counts)
    _estimates(f"share of {result.positive!r}", "share", result.corrected, None)
    if result.mean and result.mean.corrected:
        mean(result.mean)
    if result.divided:
        line(f"People disagree on {len(result.divided)}: {shortened([item['id'] for item in result.divided], MANY)}")
    for warning in result.warnings:
        warn(warning)


def audit(result: JudgeAudit) -> None:
    """The checks, each with the share it needs to pass."""
    rows = [
        [
            check.name,
            _verdict(check),
            _interval(check.rate, 2),
            check.rate.n if check.rate else 0,
            check.unknown,
            f"{check.mark:.2f}",
        ]
        for check in result.checks
    ]
    title = f"audit of {result.judge}, {result.probes} probes"
    print_table(title, ["check", "", "correct [95 %]", "n", "unknown", "pass mark"], rows, left=2)
    if not result.passed:
        line("Not passed. (?: the interval includes the pass mark, so more probes could change the verdict)")
    elif all(check.rate for check in result.checks):
        line("All checks passed.")
    else:
        line("Every check that could run passed; some could not run.")
    for warning in result.warnings:
        warn(warning)


def _verdict(check: Check) -> str:
    if check.passed is None:
        return "–"
    return ("pass" if check.passed else "FAIL") + ("" if check.sure else "?")


def average(result: Graded) -> None:
    """The mean of grades, and how many there are."""
    unknown = f", {result.unknown} without a verdict" if result.unknown else ""
    line(f"{result.verdicts} items with a verdict, {result.labels} of them with a label{unknown}")
    mean(result)
    if result.corrected is None:
        warn("no correction: it needs 2 labels or more, and an item without a label")


def mean(result: Graded) -> None:
    """A mean grade: corrected, of the verdicts as they are, and of the labels alone."""
    scale = "" if result.low is None or result.high is None else f", from {result.low:g} to {result.high:g}"
    _estimates(f"mean grade{scale}", "mean", result.corrected, result.naive)


def _estimates(title: str, head: str, corrected: Corrected | None, naive: Interval | None) -> None:
    rows: Sequence[tuple[str, Interval | None]] = [("verdicts as they are", naive)] if naive else []
    if corrected:
        rows = [
            (f"corrected (PPI++), λ {corrected.trust:.2f}", corrected.corrected),
            ("corrected (Rogan–Gladen)", corrected.rogan_gladen),
            ("labels by verdict", corrected.by_verdict),
            ("verdicts as they are", corrected.naive),
            ("labels alone", corrected.people_only),
        ]
    if rows:
        print_table(title, ["from", f"{head} [95 %]"], [[name, _interval(value)] for name, value in rows if value])
    if corrected and corrected.why:
        like = f"labelled and other items have the same verdicts: p {p_value(corrected.exchangeable_p)}"
        line(f"The {head} to report: {_interval(corrected.chosen)}, since {corrected.why} ({like}).")


def plan(result: LabelPlan) -> None:
    """The items to label next, and what they are expected to bring."""
    counts = ", ".join(f"{count} judged {name!r}" for name, count in result.verdicts.items())
    line(f"Label next: {', '.join(result.items)}")
    line(
        f"{len(result.items)} items, {counts}. Expect an interval of width {result.width:.3f}; as many items taken at "
        f"random give {result.at_random:.3f}. Read the labels with --origin verdict."
    )


def _interval(value: Interval | None, places: int = 3) -> str:
    if value is None:
        return "–"
    return f"{value.value:.{places}f} [{value.low:.{places}f}, {value.high:.{places}f}]"
