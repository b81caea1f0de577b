"""The summary of a run: its values with intervals and targets, a sentence, warnings, its own noise, its view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from goldassay.core.fields import Record
from goldassay.core.measure import target_met
from goldassay.core.tally import Counts
from goldassay.results.comparison import title
from goldassay.results.comparisons import formula, headline
from goldassay.results.tables import of_breakdown
from goldassay.results.view import (
    Cell,
    Note,
    Sentence,
    Table,
    TableRow,
    Value,
    View,
    bounds,
    labelled,
    number,
    shortened,
    with_interval,
)
from goldassay.statistics import Interval

if TYPE_CHECKING:
    from goldassay.running.run import Run

GGUF = re.compile(r"local:(?:(?!\.gguf)[^\"\n])*?[/\\]([^/\\\"\n]+?\.gguf)")  # a model file by its path


@dataclass(frozen=True)
class ReportedValue:
    """One value of a run with its interval, convention, weight in the metric and target."""

    name: str
    value: float
    interval: Interval | None
    convention: str = ""
    weight: float = 1.0
    target: float | None = None
    precision: float | None = None
    recall: float | None = None
    lower_is_better: bool = False
    judged: float | None = None
    """The judge's own value, where people's labels correct it."""

    @property
    def label(self) -> str:
        """Its name, with an arrow if lower is better."""
        return labelled(self.name, self.lower_is_better)

    @property
    def ends(self) -> tuple[float, float, float] | None:
        """The value with the ends of its interval, if it has one."""
        return (self.value, self.interval.low, self.interval.high) if self.interval else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target."""
        if self.target is None:
            return None
        return target_met(self.value, self.target, lower_is_better=self.lower_is_better)


def run_view(run: Run) -> View:
    """A run: its sentence, the metric, its measures, strata, breakdowns, failures, cost and folder."""
    model = model_name(run.head.lm or "")
    name = f"{run.name}: {run.size}"
    reported = values(run)
    weighted = overall(run)
    combined = weighted.convention not in run.values and not run.why_no_estimate
    columns, rows = value_rows([weighted, *reported] if combined else reported)
    view: View = [Sentence(run_sentence(run, run.name), "open")] if run.rows else []
    view.append(Table(f"{name}, {model}" if model else name, columns, rows))
    if combined:
        view.append(Sentence(f"metric is {weighted.convention}; it is what tuning improves"))
    for stratum, keys in run.by_stratum.items() if run.values else ():
        if len(keys) > 1:  # the largest parts first
            first = next(iter(run.values))
            ordered = sorted(keys.items(), key=lambda item: -item[1]["examples"])
            shares = [
                f"{key} {number(key_values.get(first))} (n {key_values['examples']:.0f})" for key, key_values in ordered
            ]
            view.append(Sentence(f"{first} by {stratum}: {shortened(shares, 8)}"))
    view += breakdown_tables(run)
    cells: list[TableRow] = []
    for key, estimate in run.corrected.items():
        if estimate.exchangeable_p < 0.05 and estimate.chosen:
            valid = f"{with_interval(estimate.chosen)} ({estimate.chosen.method})"
            view.append(Note(f"{key}: the labelled answers are not like the others; valid is {valid}: {estimate.why}"))
        people = estimate.people_only
        cells.append([key, estimate.naive.value, estimate.corrected, people, people.n])
    heads = ["value", "as judged", "corrected [95 %]", "labels alone [95 %]", "labels"]
    view.append(Table("judged values, corrected by people's labels", heads, cells))
    view += [*map(Sentence, noise_lines(run)), *map(Note, doubts(run))]
    return [*view, Sentence(f"{spent(run.cost)}. Run folder: {run.folder}", unbroken=True)]


def breakdown_tables(run: Run, name: str = "") -> list[Table]:
    """The values by field or tool with precision, recall and F1, the worst fields first."""
    return [Table(f"{name}by {facet}", *of_breakdown(facet, keys), most=30) for facet, keys in run.breakdowns.items()]


def value_rows(values: Sequence[ReportedValue]) -> tuple[list[str], list[TableRow]]:
    """Values with their intervals, and with what a judge alone says, precision, recall and targets if any has them."""
    with_rates = any(value.precision is not None for value in values)
    with_targets = any(value.target is not None for value in values)
    with_judge = any(value.judged is not None for value in values)
    columns = ["value", "[95 %]"]
    columns += ["as judged"] if with_judge else []
    columns += ["precision", "recall"] if with_rates else []
    columns += ["target"] if with_targets else []
    rows: list[TableRow] = []
    for value in values:
        row: list[Value] = [value.label, number(value.value) + bounds(value.interval)]
        row += [value.judged] if with_judge else []
        if with_rates:
            row += ["" if rate is None else rate for rate in (value.precision, value.recall)]
        if with_targets:
            mark = "✓" if value.met else "✗"
            target = "" if value.target is None else f"{value.target:.2f} {mark}"
            row.append(Cell(target, "better" if value.met else "worse"))
        rows.append(row)
    return columns, rows


def overall(run: Run) -> ReportedValue:
    """The metric's weighted value, which tuning maximises, with its interval; its convention is its formula.

    A metric of one judged measure is corrected as its measure is.
    """
    convention = formula(run.zero)
    if run.zero.weighted == [convention] and (valid := corrected_value(run, convention)):
        return ReportedValue("metric", valid.value, valid, convention, judged=run.values[convention])
    return ReportedValue("metric", run.value, run.interval, convention)


def corrected_value(run: Run, name: str) -> Interval | None:
    """A judged value as people's labels correct it, by the estimate that is valid for these labels; None without."""
    estimate = run.corrected.get(name)
    if estimate is None or name not in run.values:
        return None
    return estimate.chosen if estimate.exchangeable_p < 0.05 and estimate.chosen else estimate.corrected


def noise_lines(run: Run) -> list[str]:
    """The program's own noise as repeats show it: flips, pass@k, and whether examples or repeats help more."""
    noise = run.noise
    if noise is None:
        return []
    passes = [f"pass@{k} {with_interval(value, 3)}" for k, value in noise.pass_at.items()]
    passes += [f"pass^{k} {with_interval(value, 3)}" for k, value in noise.pass_every.items()]
    failed = f"; {noise.failed} of {len(run.answers)} answers failed" if noise.failed else ""
    lines = [
        f"{run.repeats} repeats of each example: {with_interval(noise.flips, 3)} of the examples flip between right "
        f"and wrong, {noise.varies.value:.3f} change their score; {', '.join(passes)}{failed}"
    ]
    for name, parts in noise.variance.items():
        examples = parts.narrower(2)
        repeats = parts.narrower(1, 2)
        advice = "more repeats help as much" if repeats > 0.8 * examples else "more examples help more"
        lines.append(
            f"{name}: {parts.share:.0%} of its variance is between repeats; twice the examples would narrow the "
            f"interval by {examples:.0%}, twice the repeats by {repeats:.0%}: {advice}"
        )
    return lines


def values(run: Run) -> list[ReportedValue]:
    """Each measure's value, with precision and recall if it is an F1."""
    reported = []
    for name, value in run.values.items():
        measure = run.head.measures.get(name)
        tally = run.total[name]
        counts = tally if type(tally) is Counts else None
        valid = corrected_value(run, name)
        reported.append(
            ReportedValue(
                name,
                valid.value if valid else value,
                valid or run.intervals.get(name),
                convention=model_name(measure.conventions) if measure else "",
                weight=run.zero.weights.get(name, 1.0),
                target=measure.target if measure else None,
                precision=None if counts is None else float(counts.precision),
                recall=None if counts is None else float(counts.recall),
                lower_is_better=name in run.zero.worst,
                judged=value if valid else None,
            )
        )
    return reported


def run_sentence(run: Run, name: str) -> str:
    """The value of one run, in one sentence."""
    if run.why_no_estimate:
        return f"{name} has no value: {run.why_no_estimate}."
    key, measure = headline(run.zero)
    reported = values(run)
    value = next((reported_value for reported_value in reported if reported_value.name == key), overall(run))
    text = f"{name} reaches {number(value.value, 3)}{bounds(value.interval)} {measure} on {run.size}"
    if value.judged is not None:
        text += f", corrected by people's labels ({number(value.judged, 3)} as judged)"
    targets = [reported_value for reported_value in reported if reported_value.target is not None]
    missed = [f"{title(target.name)} {target.target:g}" for target in targets if not target.met]
    if missed:
        return f"{text}, short of the target{'s' if len(missed) > 1 else ''} {', '.join(missed)}."
    if targets:
        text += "; its targets are met" if len(targets) > 1 else "; its target is met"
    return f"{text}."


def doubts(run: Run) -> list[str]:
    """The failed examples, and everything else that makes the values doubtful."""
    first = next((row for row in run.rows if row.error), None)
    if first is None:
        return run.warnings
    share = f"{run.failed} of {len(run.rows)} examples failed, and their gold counts as missed"
    return [f"{share}; the first, {first.id}: {first.error}", *run.warnings]


def tokens(usage: Record) -> int:
    """Prompt and completion tokens of a run's cost or a row's usage."""
    return int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0))


def spent(cost: Record) -> str:
    """The cost of a run or a tuning, in words.

    >>> spent({"calls": 642, "tokens": 282903, "seconds": 4364.4})
    '642 calls, 282,903 tokens, 73 min'
    """
    cached = f" and {cost['cached']:,} cached answers" if cost.get("cached") else ""
    used = f"{round(cost.get('calls', 0)):,} calls{cached}, {cost.get('tokens', tokens(cost)):,} tokens"
    return f"{used}, {duration(cost.get('seconds') or 0)}"


def duration(seconds: float) -> str:
    """A time in seconds, or in minutes from ten on.

    >>> duration(59.04), duration(4364.4)
    ('59.0 s', '73 min')
    """
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def model_name(name: str | float) -> str:
    """A model's name, or any text that contains one; a model file is named without its folder.

    >>> model_name("local:/home/ann/models/qwen.gguf")
    'local:qwen.gguf'
    >>> model_name("panel(local:/a/one.gguf@2, openai/gpt-4o@2)")
    'panel(local:one.gguf@2, openai/gpt-4o@2)'
    """
    return GGUF.sub(r"local:\1", str(name))


def labels(runs: Sequence[Run]) -> list[str]:
    """A distinct name for each run: its own, with the model and the folder where they tell runs apart."""
    names = [run.name for run in runs]
    models = [str(run.head.settings.get("lm") or run.head.lm or "no model") for run in runs]
    models = [model_name(model).rpartition("/")[2] for model in models]
    for extras in (models, [run.folder.name if run.folder else "" for run in runs]):
        pairs = list(zip(names, extras, strict=True))
        kinds = {name: {extra for other, extra in pairs if other == name} for name in names}
        names = [f"{name}, {extra}" if extra and len(kinds[name]) > 1 else name for name, extra in pairs]
    return [name if names.count(name) == 1 else f"{name} #{ordinal}" for ordinal, name in enumerate(names, start=1)]


def run_value(run: Run, name: str) -> str:
    """The value of a measure in a run, with its interval."""
    return number(run.values.get(name)) + bounds(run.intervals.get(name))


def protocol(runs: Sequence[Run]) -> str:
    """The official protocol under which files of predictions were scored, if any."""
    return next((str(name) for run in runs if (name := run.head.settings.get("protocol"))), "")


def under_protocol(runs: Sequence[Run]) -> str:
    """The end of a title that names the protocol."""
    name = protocol(runs)
    return f", protocol {name}" if name else ""
