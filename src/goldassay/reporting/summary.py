"""The facts of a run for pages, tables and charts: values with intervals, parts, confusions, latency.

They come from the run's own rows and the measures that the run names. A run without trace has no gold, so it has no
parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError
from goldassay.fields import Fields, Record
from goldassay.measure import TASKS, target_met
from goldassay.reporting.cells import estimate, labelled, number
from goldassay.running.run import Run
from goldassay.statistics import Interval
from goldassay.statistics.design import SAMPLING
from goldassay.tally import Confusion, Counts, Evidence

GGUF = re.compile(r"local:(?:(?!\.gguf)[^\"\n])*?[/\\]([^/\\\"\n]+?\.gguf)")  # a model file by its path
MISSED = "(missed)"  # in a confusion matrix of spans
SPURIOUS = "(spurious)"
ONE_SIDED = (MISSED, SPURIOUS)
SIDES = {"MISSED": MISSED, "SPURIOUS": SPURIOUS}  # by the scorecard's names
BROKEN_DOWN = ("extraction", "linking", "triples", "classification")
"""The tasks whose scorecards have values by type, label or property."""
FACETS = ("type", "label", "property", "domain")


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


class RunSummary:
    """Everything there is to say about one run.

    ``by`` holds values by type, label or property; ``counts`` the `Counts` of each, one entry an example.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.overall = overall(run)
        self.values = values(run)
        self.by: dict[str, Mapping[str, Mapping[str, float | None]]] = {}
        self.counts: dict[str, Mapping[Any, Counts]] = {}
        self.confusion: Confusion | None = None
        measures = run.about.get("measures", {}).values()
        named = [str(about.get("measure", "")).partition(".")[0] for about in measures]
        traced = bool(run.rows) and all("gold" in row for row in run.rows) and not run.no_level
        for task in TASKS if traced else ():
            if task not in named or task not in BROKEN_DOWN or (card := scorecard(run, task)) is None:
                continue
            self.by |= {facet: keys for facet, keys in card.by.items() if facet in FACETS}
            facet = next((facet for facet in FACETS if facet in card.by), "")
            parts: Any = card.tallies.get("strict_macro_f1", card.tallies.get("macro_f1", {}))
            self.counts[facet] = parts.by_label() if isinstance(parts, Confusion) else parts
            if cells := card.by.get("confusion"):
                pairs = {(gold, label): n for gold, row in cells.items() for label, n in row.items() if n}
                named_cells: Any = {(SIDES.get(a, a), SIDES.get(b, b)): float(n) for (a, b), n in pairs.items()}
                self.confusion = Confusion(named_cells)

    @property
    def wrong(self) -> int:
        """How many examples have an error or a score below 1."""
        return sum(map(is_wrong, self.run.rows))

    @property
    def latency(self) -> list[float]:
        """Median and 95th percentile of the seconds per example."""
        seconds = [float(row.get("latency_s") or 0.0) for row in self.run.rows]
        ends: list[float] = np.percentile(seconds or [0.0], [50, 95]).tolist()
        return ends


def tokens(usage: Record) -> int:
    """Prompt and completion tokens of a run's cost or a row's usage."""
    return int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0))


def spent(cost: Record) -> str:
    """The cost of a run or a tuning, in words."""
    cached = f" and {cost['cached']} cached answers" if cost.get("cached") else ""
    total = cost.get("tokens", tokens(cost))
    return f"{cost.get('calls', 0)} calls{cached}, {total} tokens, {cost.get('seconds', 0):.1f} s"


def model_name(name: str | float) -> str:
    """A model's name, or any text that contains one; a model file is named without its folder.

    >>> model_name("local:/home/ann/models/qwen.gguf")
    'local:qwen.gguf'
    >>> model_name("panel(local:/a/one.gguf@2, openai/gpt-4o@2)")
    'panel(local:one.gguf@2, openai/gpt-4o@2)'
    """
    return GGUF.sub(r"local:\1", str(name))


def gold_name(about: Record) -> str:
    """The gold of a run: a set with its split, or a file by its name (a file has no splits).

    >>> gold_name({"settings": {"gold": "heritage", "split": "dev"}})
    'heritage dev'
    >>> gold_name({"settings": {"gold": "/home/ann/xquad.en.json", "split": "dev"}})
    'xquad.en.json'
    """
    settings = about.get("settings") or {}
    name = re.split(r"[/\\]", str(settings.get("gold") or ""))[-1]
    return name if "." in name or not name else f"{name} {settings.get('split') or ''}".strip()


def labels(runs: Sequence[Run]) -> list[str]:
    """A distinct name for each run: its own, with the model and the folder where they tell runs apart."""
    names = [run.name for run in runs]
    models = [str((run.about.get("settings") or {}).get("lm") or run.about.get("lm") or "no model") for run in runs]
    models = [model_name(model).rpartition("/")[2] for model in models]
    for extras in (models, [run.folder.name if run.folder else "" for run in runs]):
        pairs = list(zip(names, extras, strict=True))
        kinds = {name: {extra for other, extra in pairs if other == name} for name in names}
        names = [f"{name}, {extra}" if extra and len(kinds[name]) > 1 else name for name, extra in pairs]
    return [name if names.count(name) == 1 else f"{name} #{place}" for place, name in enumerate(names, start=1)]


def warnings(run: Run) -> list[str]:
    """The failed examples, and everything else that makes the values doubtful."""
    failed = [row for row in run.rows if row.get("error")]
    if not failed:
        return list(run.warnings)
    first = f"the first, {failed[0]['id']}: {failed[0]['error']}"
    share = f"{len(failed)} of {len(run.rows)} examples failed, and their gold counts as missed; {first}"
    return [share, *run.warnings]


def is_wrong(row: Record) -> bool:
    """Whether an example failed, has an error, or scored below 1."""
    return bool(row.get("error") or row.get("errors") or float(row.get("score", 1.0)) < 1 - 1e-9)


def overall(run: Run) -> ReportedValue:
    """The metric's weighted value, which tuning maximises, with its interval; its convention is its formula."""
    return ReportedValue("metric", run.value, run.interval, formula(run.zero))


def formula(zero: Evidence) -> str:
    """The weighted sum of a metric's measures, as text."""
    weights = {key: weight for key in zero if (weight := zero.weights.get(key, 1.0))}
    terms = {key: term(key, zero.worst.get(key)) for key in weights}
    if len(weights) == 1:
        return "".join(terms.values())
    in_brackets = {key: f"({text})" if key in zero.worst else key for key, text in terms.items()}
    return " + ".join(f"{weights[key]:g} {text}" for key, text in in_brackets.items())


def term(name: str, worst: float | None) -> str:
    """A measure as a term of its metric, in which higher values are better.

    >>> term("accuracy", None), term("brier", 1.0), term("minutes", 60.0)
    ('accuracy', '1 - brier', '1 - minutes / 60')
    """
    if worst is None:
        return name
    return f"1 - {name}" if worst == 1 else f"1 - {name} / {worst:g}"


def noise_lines(run: Run) -> list[str]:
    """The program's own noise as repeats show it: flips, pass@k, and whether examples or repeats help more."""
    noise = run.noise
    if noise is None:
        return []
    passes = [f"pass@{k} {number(value.value, 3)}" for k, value in noise.pass_at.items()]
    passes += [f"pass^{k} {number(value.value, 3)}" for k, value in noise.pass_every.items()]
    failed = f"; {noise.failed} of {len(run.answers)} answers failed" if noise.failed else ""
    lines = [
        f"{run.repeats} repeats of each example: {estimate(noise.flips, 3)} of the examples flip between right and "
        f"wrong, {noise.varies.value:.3f} change their score; {', '.join(passes)}{failed}"
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
        about = run.about.get("measures", {}).get(name, {})
        tally = run.total[name]
        counts = tally if type(tally) is Counts else None
        reported.append(
            ReportedValue(
                name,
                value,
                run.intervals.get(name),
                convention=model_name(about.get("conventions", "")),
                weight=run.zero.weights.get(name, 1.0),
                target=about.get("target"),
                precision=None if counts is None else float(counts.precision),
                recall=None if counts is None else float(counts.recall),
                lower_is_better=name in run.zero.worst,
            )
        )
    return reported


def confidences(run: Run) -> NDArray[np.float64]:
    """The confidence and the score of each example whose prediction has a confidence.

    Returns:
        An array of shape (examples, 2), empty if all confidences are the same.
    """
    pairs = [((row.get("prediction") or {}).get("confidence"), float(row["score"])) for row in run.rows]
    table = np.array([pair for pair in pairs if isinstance(pair[0], (int, float)) and 0 <= pair[0] <= 1], dtype=float)
    return table if len(table) and np.ptp(table[:, 0]) else table[:0]


def _sampling(row: Record) -> Fields:
    """How the example of a row was chosen, where its gold says so."""
    return {SAMPLING: row[SAMPLING]} if SAMPLING in row else {}


def scorecard(run: Run, task: str) -> Any:
    """The scorecard of a run's rows, equal to `goldassay score` for the same gold and predictions; None without."""
    gold = [{"id": row["id"], **row.get("inputs", {}), **row["gold"], **_sampling(row)} for row in run.rows]
    predictions = [row.get("prediction") or None for row in run.rows]
    try:
        return import_module(f"goldassay.measures.{task}").scorecard(gold, predictions)
    except (GoldassayError, KeyError, TypeError, ValueError, AttributeError):
        return None  # renamed columns, or predictions that only the program's own metric can read
