"""Scorecards, gold and judges on the terminal, one function a result; ``--json`` prints the result's own state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from goldassay.reporting import rows
from goldassay.reporting.cells import Value, bounds, estimate, labelled, number, p_value, shortened
from goldassay.reporting.terminal import console, echo, line, print_table, warn

if TYPE_CHECKING:  # a table loads nothing of what it shows
    from goldassay.gold.agreement import Agreement
    from goldassay.gold.audit import Audit
    from goldassay.gold.drafts import Draft
    from goldassay.gold.modes import ModeTable, ReviewedTrace
    from goldassay.gold.splits import Split
    from goldassay.judges.agreement import JudgeAgreement, JudgedRate, LabelPlan, MeanGrade
    from goldassay.judges.audit import JudgeAudit
    from goldassay.judges.modes import ModeAlignment
    from goldassay.scorecard import Scorecard
    from goldassay.statistics import Interval
    from goldassay.statistics.ppi import Corrected

INTERVAL = " [95 %]"
WIDE = 120  # columns of a terminal that has room for conventions
METHODS = {
    "wilson": "Wilson",
    "effective": "Wilson at the effective sample size",
    "t": "Student's t",
    "design, wilson": "by the design of the sample, Wilson",
    "design, t": "by the design of the sample, Student's t",
    "macro": "combined from those of the labels, open for one that does not occur",
}
FINDINGS = 50
DISAGREEMENTS = 20


def scorecard(card: Scorecard) -> None:
    """The values of a scorecard with their intervals, on a wide terminal their conventions, and the breakdowns."""
    wide = console().width >= WIDE
    values = {} if card.no_level else card.values
    last = f"f1{INTERVAL}" if card.intervals else "f1"
    columns = ["convention"] if wide else []
    prefixes = [name.removesuffix("f1") for name in values if name == "f1" or name.endswith("_f1")]
    families = {prefix: [f"{prefix}{rate}" for rate in rows.RATES] for prefix in prefixes}
    families = {prefix: names for prefix, names in families.items() if all(name in values for name in names)}
    in_family = {name for names in families.values() for name in names}
    cells = [_values(card, prefix.rstrip("_") or card.task, names, wide) for prefix, names in families.items()]
    print_table(titled(card), ["", "precision", "recall", last, *columns], cells)
    title = None if families and not card.protocol else titled(card)
    cells = [_values(card, name, [name], wide) for name in values if name not in in_family]
    print_table(title, ["", last.replace("f1", "value"), *columns], cells)
    if card.intervals:
        echo(f"[95 %]: {'; '.join(dict.fromkeys(METHODS.get(name, name) for name in card.methods.values()))}")
    if any(name in card.values for name in card.undefined):
        echo(f"* not defined by the protocol {card.protocol}; goldassay's own")
    for facet, keys in card.by.items():
        if facet == "confusion":
            title = "largest confusions *" if card.undefined else "largest confusions"
            print_table(title, *rows.of_confusions(keys), left=2, most=10)
        else:
            print_table(f"by {facet}{_under(card)}", *rows.of_breakdown(facet, keys), most=30)
    warn(*card.warnings)


def _values(card: Scorecard, label: str, names: Sequence[str], wide: bool) -> list[str]:
    """The row of some values, the last of which has its interval and, on a wide terminal, its convention."""
    last = names[-1]
    lower = last in card.measures and card.measures[last].lower_is_better
    label = labelled(label, lower)
    values = [number(card.values.get(name)) for name in names]
    row = [f"{label} *" if last in card.undefined else label, *values]
    row[-1] += bounds(card.intervals.get(last))
    return [*row, rows.convention(card, last)] if wide else row


def titled(card: Scorecard) -> str:
    """The task, the size, and the official protocol if there is one.

    >>> from goldassay.scorecard import Scorecard
    >>> titled(Scorecard("extraction", 2, protocol="hipe"))
    'extraction, 2 examples, protocol hipe'
    """
    return f"{card.task}, {card.size}{_under(card)}"


def _under(card: Scorecard) -> str:
    return f", protocol {card.protocol}" if card.protocol else ""


def gold_audit(result: Audit) -> None:
    """The findings, and how many there are of each kind."""
    from goldassay.gold.audit import KINDS

    counts = ", ".join(f"{name} {count:,}" for name, count in result.records.items())
    if result.clean:
        line(f"{result.name}: no problems ({counts or 'no records'})")
        return
    findings = [
        [finding.kind, finding.place, finding.message, "{start}:{end}".format(**finding.fix) if finding.fix else ""]
        for finding in result.findings
    ]
    title = f"{result.name}: {len(findings)} finding{'s' if len(findings) != 1 else ''} ({counts})"
    print_table(title, ["kind", "where", "what", "fix"], findings, left=4, most=FINDINGS)
    kinds = sorted(result.kinds.items(), key=lambda item: -item[1])
    meanings: rows.Rows = [[kind, KINDS[kind], n] for kind, n in kinds]
    print_table(None, ["kind", "meaning", "findings"], meanings, left=2)


def gold_stats(result: Mapping[str, Any]) -> None:
    """A line of counts, and a table for each task and facet."""
    for name, task in result["tasks"].items():
        groups = {key: value for key, value in task["counts"].items() if isinstance(value, Mapping)}
        totals = [f"{key} {value:,}" for key, value in task["counts"].items() if key not in groups]
        line(f"{name}  {', '.join(totals)}", style="bold")
        for key, counts in groups.items():
            if key not in ("splits", "languages", "labels"):
                line(f"  {key}: {shortened([f'{group} {count:,}' for group, count in counts.items()], 30)}")
        for facet, keys in task["by"].items():
            columns = [facet, *dict.fromkeys(("records", task["unit"]))]
            cells = [[key, *counts[: len(columns) - 1]] for key, counts in sorted(keys.items())]
            print_table(None, columns, cells, most=FINDINGS)


def gold_split(result: Split) -> None:
    """The sizes, and how far each factor deviates."""
    n = len(result.of)
    sides: rows.Rows = [[side, result.ratios[side], size, size / n] for side, size in result.sizes.items()]
    print_table(f"{n:,} ids, {result.groups:,} groups kept whole", ["side", "target", "ids", "share"], sides)
    factors = [[row[name] for name in ("factor", "at", "mean", "most")] for row in result.deviations]
    print_table("deviation of the shares", ["factor", "largest at", "mean", "largest"], factors, left=2)
    if result.empty:
        line(f"{', '.join(result.empty)} empty: there are fewer groups than sides")


def gold_draft(result: Draft) -> None:
    """The strata with their sizes and records, what counts as agreement, and what the labels will answer."""
    inputs = result.records[0]["sampling"]["population"]
    strata: rows.Rows = [[name, size, result.drafted[name]] for name, size in result.sizes.items()]
    title = f"{inputs:,} inputs, {len(result.records)} drafted to answer: {result.question}"
    print_table(title, ["stratum", "inputs", "drafted"], strata)
    if result.agreement:
        line(f"agreement: {result.agreement}")
    line(f"once they are labelled: {result.answer}")


def modes(result: ModeTable, suggestions: Mapping[str, Sequence[ReviewedTrace]] = {}) -> None:
    """The failure modes with their shares, whether new ones still appear, and modes suggested for notes without one."""
    graded = any(each.cost for each in result.shares)
    cells: rows.Rows = []
    for each in result.shares:
        cost = [each.cost] if graded else []
        cells.append([each.mode.name, each.records, each.share, *cost, ", ".join(each.mode.examples[:3])])
    of_all = f" of {result.population:,}" if result.population else ""
    columns = ["mode", "records", f"share{INTERVAL}", *([f"cost{INTERVAL}"] if graded else []), "examples"]
    if not cells:
        line(f"{result.read}{of_all} traces read, and no failure mode named; name them in the review (key m)")
    else:
        print_table(f"{result.read}{of_all} traces read", columns, cells)
        line(f"no new mode in the last {result.since_new} of {result.read} records")
    if result.untagged:
        line(f"notes without a mode: {result.untagged}")
    names = {each.mode.name for each in result.shares}
    for name, traces in suggestions.items():
        new = "" if name in names else " (new)"
        title = f"suggested: {name}{new}" if name else "no suggestion"
        print_table(title, ["record", "note"], [[trace.id, trace.note or ""] for trace in traces], left=2)
    if suggestions:
        line("These are suggestions, and nothing is written: give modes on the page (goldassay review FOLDER).")


def agreement(result: Agreement) -> None:
    """The figures with their intervals, and the first disagreements."""
    from goldassay.statistics import wilson

    figures: rows.Rows = []
    for figure in result.figures:
        between = "all" if len(figure.between) == len(result.annotators) else " – ".join(figure.between)
        value = number(figure.value) + bounds(figure.interval)
        figures.append([figure.name, between, figure.type or "", figure.units, value])
    title = f"{result.task}, {result.records} records, {', '.join(result.annotators)}"
    print_table(title, ["figure", "between", "type", "units", "value [95 %]"], figures, left=3)
    if any(figure.value == 1.0 and figure.name == "observed" for figure in result.figures):
        n = result.records
        line(f"All {n} records agree, so the bootstrap has no width; Wilson's interval is [{wilson(n, n)[0]:.4f}, 1].")
    if any(figure.name == "word_kappa" for figure in result.figures):
        line("word_kappa counts every word outside of spans as agreement, so it is too high; use F1.")
    cells = []
    for row in result.disagreements:
        labels = [(row.values[name] or "–") if name in row.values else "" for name in result.annotators]
        cells.append([row.record, row.where, *labels])
    columns = ["record", "where", *result.annotators]
    print_table(f"{len(cells)} disagreements", columns, cells, left=len(columns), most=DISAGREEMENTS)
    warn(*result.warnings)


def judged(result: JudgedRate) -> None:
    """A judge's verdicts, and the rate of positive items."""
    rated = result.n - result.unknown
    verdicts: rows.Rows = [[name, n, n / rated if rated else None] for name, n in result.verdicts.items()]
    title = f"{result.question}: {result.n} items, judged by {result.judge}"
    print_table(title, ["verdict", "items", "share"], [*verdicts, ["unknown, left out", result.unknown, ""]])
    _corrected(f"share of {result.positive!r}", result.corrected, result.naive)
    mean_grade(result.mean)
    cached = f", {result.cached} answers from the cache" if result.cached else ""
    text = f"{result.calls} calls{cached}, {result.tokens} tokens."
    if result.disagreement:
        text += f" The panel's members disagree: {result.disagreement:.1%} of their verdicts are not the majority's."
    line(text)


def judge_agreement(judge: str, result: JudgeAgreement) -> None:
    """A judge's agreement with people, its errors and corrected rates."""
    line(f"{judge} on {result.question}, positive: {result.positive}")
    values: dict[str, Value] = {
        "accuracy": result.accuracy,
        "sensitivity": result.sensitivity,
        "specificity": result.specificity,
        "kappa": result.kappa,
        "alpha": result.alpha,
        "alpha of people": result.people,
    }
    title = f"{result.n} labels with a verdict, {result.unlabelled} items without a label"
    print_table(title, ["value", "estimate [95 %]"], list(values.items()))
    columns = list(next(iter(result.confusion.values())))
    counts: rows.Rows = [[label, *(row[column] for column in columns)] for label, row in result.confusion.items()]
    print_table("people (rows), judge (columns)", ["", *columns], counts)
    _corrected(f"share of {result.positive!r}", result.corrected)
    if result.mean and result.mean.corrected:
        mean_grade(result.mean)
    if result.divided:
        line(f"People disagree on {len(result.divided)}: {shortened([item['id'] for item in result.divided])}")
    warn(*result.warnings)


def mode_judge(result: ModeAlignment) -> None:
    """A judge of a failure mode: its errors on labels that it has not seen, and the share of the mode."""
    title = f"a judge of {result.mode!r}: {result.unseen} labels that it has not seen, {result.with_mode} with it"
    values: rows.Rows = [
        ["sensitivity", result.sensitivity],
        ["specificity", result.specificity],
        ["Youden's J", result.youden],
        [f"share of {result.traces:,} traces, corrected", result.share],
        ["the same by the labels alone", result.labels_only],
        ["verdicts as they are", result.verdicts],
    ]
    print_table(title, ["value", "estimate [95 %]"], values)
    if not result.better_than_chance:
        line("No better than chance (J may be 0): its verdicts are not used. The share is that of the labels alone.")


def judge_audit(result: JudgeAudit) -> None:
    """The checks of a judge, each with the share it needs to pass."""
    verdicts = {None: "–", True: "pass", False: "FAIL"}
    checks: rows.Rows = []
    for check in result.checks:
        verdict = verdicts[check.passed]
        if check.passed is not None and not check.sure:
            verdict += "?"
        rated = check.rate.n if check.rate else 0
        checks.append([check.name, verdict, check.rate, rated, check.unknown, check.mark])
    title = f"audit of {result.judge}, {result.probes} probes"
    print_table(title, ["check", "", "correct [95 %]", "n", "unknown", "pass mark"], checks, left=2)
    if not result.passed:
        line("Not passed. (?: the interval includes the pass mark, so more probes could change the verdict)")
    elif all(check.rate for check in result.checks):
        line("All checks passed.")
    else:
        line("Every check that could run passed; some could not run.")
    warn(*result.warnings)


def mean_grade(result: MeanGrade | None) -> None:
    """A mean grade: corrected, of the verdicts as they are, and of the labels alone."""
    if result is None:
        return
    scale = "" if result.low is None or result.high is None else f", from {result.low:g} to {result.high:g}"
    unknown = f", {result.unknown} without a verdict" if result.unknown else ""
    line(f"{result.verdicts} items with a verdict, {result.labels} of them with a label{unknown}")
    _corrected(f"mean grade{scale}", result.corrected, result.naive)
    if result.labels and result.corrected is None:
        warn("no correction: it needs 2 labels or more, and an item without a label")


def _corrected(title: str, corrected: Corrected | None, naive: Interval | None = None) -> None:
    """A judge's rate or mean, as it is and corrected by people's labels."""
    head = title.split()[0]
    print_table(title, *rows.of_rate(head, corrected, naive))
    if corrected and corrected.why:
        like = f"labelled and other items have the same verdicts: p {p_value(corrected.exchangeable_p)}"
        line(f"The {head} to report: {estimate(corrected.chosen)}, since {corrected.why} ({like}).")


def label_plan(result: LabelPlan) -> None:
    """The items to label next, and what they are expected to bring."""
    counts = ", ".join(f"{count} judged {name!r}" for name, count in result.verdicts.items())
    line(f"Label next: {', '.join(result.items)}")
    line(
        f"{len(result.items)} items, {counts}. Expect an interval of width {result.width:.3f}; as many items taken at "
        f"random give {result.at_random:.3f}. Read the labels with --origin verdict."
    )
