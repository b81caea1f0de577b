"""What a page, a table or a chart says about a run: values with intervals, parts, confusions, confidences, latency.

Everything comes from the run's own rows and the measures that the run names. What the rows do not hold is left out: a
run without trace has no gold, so it has no parts.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import TASKS, target_met
from goldassay.running.run import Run
from goldassay.statistics import Interval
from goldassay.tally import Confusion, Counts

GGUF = re.compile(r"local:(?:(?!\.gguf)[^\"\n])*?[/\\]([^/\\\"\n]+?\.gguf)")  # a model file by its path
MISSED, SPURIOUS = ONE_SIDED = ("(missed)", "(spurious)")  # in a confusion matrix of spans
SIDES = {"MISSED": MISSED, "SPURIOUS": SPURIOUS}  # what a scorecard calls them
LABEL_LENGTH, LABEL_COUNT = 40, 25  # a field of your own task is a label if its values are this short and this few
EMPTY: dict[str, dict[str, Any]] = {
    "extraction": {"entities": []},
    "linking": {"links": []},
    "triples": {"triples": []},
}
FACETS = ("type", "label", "property", "domain")
PARTED = (*EMPTY, "classification")  # tasks whose scorecards have values by type, label or property


MOMENT = re.compile(r"\d{8}-\d{6}")  # when a run began: the start of its folder's name


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
    def met(self) -> bool | None:
        """Whether the target is met; None without a target."""
        if self.target is None:
            return None
        return target_met(self.value, self.target, lower_is_better=self.lower_is_better)


@dataclass(frozen=True)
class RunSummary:
    """What there is to say about one run.

    ``confidences`` holds (confidence, correctness) of each prediction that has a confidence; ``positives`` counts the
    gold items there were to find, for recall; ``counts`` has the `Counts` of each type or label, an array entry an
    example.
    """

    run: Run
    overall: ReportedValue
    values: tuple[ReportedValue, ...]
    by: Mapping[str, Mapping[str, Mapping[str, float | None]]] = field(default_factory=dict)
    confusion: Confusion | None = None
    confidences: tuple[tuple[float, float], ...] = ()
    positives: int = 0
    counts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """How many examples failed."""
        return self.run.folded.failed

    @property
    def wrong(self) -> int:
        """How many examples have an error or a score below 1."""
        return sum(map(is_wrong, self.run.rows))

    @property
    def latency(self) -> dict[str, float]:
        """Median and 95th percentile of the seconds per example."""
        seconds = sorted(float(row.get("latency_s") or 0.0) for row in self.run.rows)
        if not seconds:
            return {}
        return {"median": statistics.median(seconds), "p95": seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]}

    @property
    def tokens(self) -> int:
        """Billed tokens."""
        return tokens(self.run.cost)


def tokens(usage: Mapping[str, Any]) -> int:
    """Prompt and completion tokens of a run's cost or a row's usage."""
    return int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0))


def model_name(name: object) -> str:
    """A model's name, or any text that contains one: a model file goes by its name, without its folder.

    >>> model_name("local:/home/ann/models/qwen.gguf")
    'local:qwen.gguf'
    >>> model_name("panel(local:/a/one.gguf@2, openai/gpt-4o@2)")
    'panel(local:one.gguf@2, openai/gpt-4o@2)'
    """
    return GGUF.sub(r"local:\1", str(name))


def gold_name(about: Mapping[str, Any]) -> str:
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
    """A distinct name for each run: its own, with the model, the time and the folder where they tell runs apart."""
    names = [run.name for run in runs]
    models = [str((run.about.get("settings") or {}).get("lm") or run.about.get("lm") or "no model") for run in runs]
    models = [model_name(model).rpartition("/")[2] for model in models]
    folders = [run.folder.name if run.folder else "" for run in runs]
    times = [match[0] if (match := MOMENT.match(folder)) else "" for folder in folders]
    for extras, must_separate in ((models, False), (times, True), (folders, False)):
        groups: dict[str, list[str]] = defaultdict(list)
        for name, extra in zip(names, extras, strict=True):
            groups[name].append(extra)
        helpful = {
            name
            for name, group in groups.items()
            if all(group) and len(set(group)) > 1 and not (must_separate and len(set(group)) < len(group))
        }
        names = [f"{name}, {extra}" if name in helpful else name for name, extra in zip(names, extras, strict=True)]
    return [name if names.count(name) == 1 else f"{name} #{place}" for place, name in enumerate(names, start=1)]


def unknown_types(run: Run) -> str:
    """A warning if nothing is right and no predicted type or label occurs in gold; else an empty string."""
    errors = [error for row in run.rows for error in row.get("errors", ())]
    gold, predicted = (
        list(dict.fromkeys(str(error[side]) for error in errors if error.get(side)))
        for side in ("gold_type", "pred_type")
    )
    if run.value or not gold or not predicted or set(gold) & set(predicted):
        return ""
    verb = "is" if len(predicted) == 1 else "are"
    return f"nothing is right: {shortened(predicted, 6)} {verb} predicted, gold has {shortened(gold, 6)}"


def shortened(names: Sequence[object], most: int) -> str:
    """The first names of a list, and how many more there are.

    >>> shortened(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def is_wrong(row: Mapping[str, Any]) -> bool:
    """Whether an example failed, has an error, or scored below 1."""
    return bool(row.get("error") or row.get("errors") or float(row.get("score", 1.0)) < 1 - 1e-9)


def overall(run: Run) -> ReportedValue:
    """The metric's weighted value, which tuning maximises, with its interval."""
    weights = {key: weight for key in run.zero if (weight := run.zero.weights.get(key, 1.0))}
    terms = {key: term(key, run.zero.worst.get(key)) for key in weights}
    if len(weights) == 1:
        return ReportedValue("metric", run.value, run.interval, terms[next(iter(weights))])
    text = " + ".join(
        f"{weight:g} {f'({terms[key]})' if key in run.zero.worst else key}" for key, weight in weights.items()
    )
    return ReportedValue("metric", run.value, run.interval, f"weighted mean of {text}")


def term(name: str, worst: float | None) -> str:
    """What a measure counts in its metric, whose higher values are better.

    >>> term("accuracy", None), term("brier", 1.0), term("minutes", 60.0)
    ('accuracy', '1 - brier', '1 - minutes / 60')
    """
    return name if worst is None else f"1 - {name}" + (f" / {worst:g}" if worst != 1 else "")


def labelled(name: str, lower_is_better: bool) -> str:
    """A value's name in a table: with an arrow if lower is better."""
    return f"{name} ↓" if lower_is_better else name


def noise_lines(run: Run) -> list[str]:
    """What repeats say of the program's own noise: flips, pass@k, and what would narrow the intervals more."""
    noise = run.noise
    if noise is None:
        return []
    passes = [f"pass@{k} {value.value:.3f}" for k, value in noise.pass_at.items()]
    passes += [f"pass^{k} {value.value:.3f}" for k, value in noise.pass_every.items()]
    flips = f"{noise.flips.value:.3f} [{noise.flips.low:.3f}, {noise.flips.high:.3f}]"
    failed = f"; {noise.failed} of {len(run.answers)} answers failed" if noise.failed else ""
    lines = [
        f"{run.repeats} repeats of each example: {flips} of the examples flip between right and wrong, "
        f"{noise.varies.value:.3f} change their score; {', '.join(passes)}{failed}"
    ]
    for name, parts in noise.variance.items():
        examples, repeats = parts.narrower(2), parts.narrower(1, 2)
        advice = "more repeats help as much" if repeats > 0.8 * examples else "more examples help more"
        lines.append(
            f"{name}: {parts.share:.0%} of its variance is between repeats; twice the examples would narrow the "
            f"interval by {examples:.0%}, twice the repeats by {repeats:.0%}: {advice}"
        )
    return lines


def values(run: Run) -> tuple[ReportedValue, ...]:
    """Each measure's value, with precision and recall if it is an F1."""
    reported = []
    for name, value in run.values.items():
        about, tally = run.about.get("measures", {}).get(name, {}), run.total[name]
        counts = tally if type(tally) is Counts else None
        reported.append(
            ReportedValue(
                name,
                value,
                run.intervals.get(name),
                model_name(about.get("conventions", "")),
                run.zero.weights.get(name, 1.0),
                about.get("target"),
                float(counts.precision) if counts else None,
                float(counts.recall) if counts else None,
                name in run.zero.worst,
            )
        )
    return tuple(reported)


def tasks(run: Run) -> list[str]:
    """The tasks that a run's measures belong to."""
    named = [str(about.get("measure", "")).partition(".")[0] for about in run.about.get("measures", {}).values()]
    return [task for task in TASKS if task in named]


def summarize(run: Run) -> RunSummary:
    """Everything there is to say about a run."""
    traced = bool(run.rows) and all("gold" in row for row in run.rows)
    by: dict[str, Mapping[str, Mapping[str, float | None]]] = {}
    counts: dict[str, Mapping[str, Any]] = {}
    confused: dict[str, Mapping[str, float | None]] = {}
    for task in tasks(run) if traced else ():
        if task in PARTED and (card := scorecard(run, task)) is not None:
            by |= {facet: keys for facet, keys in card.by.items() if facet in FACETS}
            confused |= card.by.get("confusion", {})
            facet = next((facet for facet in FACETS if facet in card.by), "")
            tally: Mapping[Any, Any] = next(
                (card.tallies[name] for name in ("strict_macro_f1", "macro_f1") if name in card.tallies), {}
            )
            counts[facet] = label_counts(tally) or {k: part for k, part in tally.items() if isinstance(part, Counts)}
    pairs, positives = confidences(run)
    labels = confusion(run, confused) if traced else None
    return RunSummary(run, overall(run), values(run), by, labels, tuple(pairs), positives, counts)


def label_counts(confusion: Mapping[Any, Any]) -> dict[str, Counts]:
    """The counts of each label from a confusion: (gold, predicted) and how often, a number or an array of them.

    >>> label_counts({("A", "A"): 3, ("B", "A"): 1})
    {'A': Counts(tp=3, fp=1, fn=0), 'B': Counts(tp=0, fp=0, fn=1)}
    """
    cells = {pair: number for pair, number in confusion.items() if isinstance(pair, tuple)}
    return {
        label: Counts(
            cells.get((label, label), 0),
            sum(number for (gold, predicted), number in cells.items() if predicted == label != gold),
            sum(number for (gold, predicted), number in cells.items() if gold == label != predicted),
        )
        for label in dict.fromkeys(label for pair in cells for label in pair)
    }


def scorecard(run: Run, task: str) -> Any:
    """The scorecard of a run's rows, equal to `goldassay score` for the same gold and predictions; None without."""
    gold = [{"id": row["id"], **row.get("inputs", {}), **row["gold"]} for row in run.rows]
    predictions = [row.get("prediction") or EMPTY.get(task, {"label": ""}) for row in run.rows]
    try:
        return import_module(f"goldassay.measures.{task}").scorecard(gold, predictions)
    except (GoldassayError, KeyError, TypeError, ValueError, AttributeError):
        return None  # renamed columns, or predictions that only the program's own metric can read


def confusion(run: Run, cells: Mapping[str, Mapping[str, float | None]]) -> Confusion | None:
    """Which label was predicted for which: those of the scorecard, else of the label that your own task has."""
    counts: Counter[tuple[str, str]] = Counter()
    for gold, row in cells.items():
        counts |= Counter({(SIDES.get(gold, gold), SIDES.get(label, label)): int(n or 0) for label, n in row.items()})
    name = None if tasks(run) else _label_field(run)
    for row in run.rows if name else ():
        counts[str(row["gold"][name]), str((row.get("prediction") or {}).get(name) or "(none)")] += 1
    return Confusion({pair: float(count) for pair, count in counts.items()}) if counts else None


def _label_field(run: Run) -> str | None:
    """The field of your own task that holds a label: short strings in gold and prediction, few and repeated."""
    for name in next((row["prediction"] for row in run.rows if row.get("prediction")), {}):
        pairs = [(row.get("gold", {}).get(name), (row.get("prediction") or {}).get(name, "")) for row in run.rows]
        short = all(isinstance(text, str) and len(text) <= LABEL_LENGTH for pair in pairs for text in pair)
        if short and len({gold for gold, _ in pairs}) < min(len(pairs), LABEL_COUNT):
            return str(name)
    return None


def _items(record: Mapping[str, object], name: str) -> list[Mapping[str, Any]]:
    items = record.get(name)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _span(entity: Mapping[str, object]) -> tuple[Any, Any, str]:
    return entity.get("start"), entity.get("end"), str(entity.get("type", ""))


def _spans(record: Mapping[str, object]) -> set[tuple[Any, Any, str]]:
    return set(map(_span, _items(record, "entities")))


def confidences(run: Run) -> tuple[list[tuple[float, float]], int]:
    """(confidence, correctness) of each answer, entity or triple with a confidence, and how many items gold has.

    An answer is correct if the first measure that is 0 or 1 on every row says so; an entity, if gold has its span and
    type; a triple, if no error names its object.
    """
    pairs: list[tuple[float, float]] = []
    positives = 0
    binary = _binary_measure(run)
    for row in run.rows:
        prediction, gold = row.get("prediction") or {}, row.get("gold") or {}
        if binary and (confidence := _confidence(prediction)) is not None:
            evidence = run.zero.from_state({binary: row["tallies"][binary]})
            if evidence[binary].weight:
                pairs.append((confidence, float(evidence.score(binary))))
                positives += 1
        spans = _spans(gold)
        positives += len(spans)
        pairs += _correct(_items(prediction, "entities"), lambda entity, spans=spans: _span(entity) in spans)
        if "gold" in row:
            spurious = {error.get("pred") for error in row.get("errors", ()) if error.get("kind") == "spurious"}
            positives += len(_items(gold, "triples"))
            pairs += _correct(
                _items(prediction, "triples"), lambda triple, wrong=spurious: str(triple.get("object")) not in wrong
            )
    return (pairs, positives) if len({confidence for confidence, _ in pairs}) > 1 else ([], 0)


def _correct(items: Sequence[Mapping[str, Any]], is_correct: Any) -> Iterator[tuple[float, float]]:
    for item in items:
        if (confidence := _confidence(item)) is not None:
            yield confidence, float(is_correct(item))


def _binary_measure(run: Run) -> str | None:
    """The first measure that is a mean of 0 and 1 over examples: what an answer's confidence is about."""
    for name in run.zero:
        states = [row["tallies"].get(name, {}) for row in run.rows]
        if states and all(state.get("total") in (0, 1) and state.get("weight") in (0, 1) for state in states):
            return str(name)
    return None


def _confidence(record: Any) -> float | None:
    number = record.get("confidence", record.get("score")) if isinstance(record, Mapping) else None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    return float(number) if 0.0 <= number <= 1.0 else None


def calibration(pairs: Sequence[tuple[float, float]], bins: int = 10) -> list[tuple[float, float, float]]:
    """(mean confidence, accuracy, n) in equal bins of [0, 1]; empty bins are left out.

    >>> calibration([(0.1, 0.0), (0.95, 1.0), (0.97, 0.0)])[1]
    (0.96, 0.5, 2)
    """
    table = np.array(pairs)
    places = np.minimum((table[:, 0] * bins).astype(int), bins - 1)
    parts = [table[places == place] for place in np.unique(places)]
    return [(*part.mean(axis=0).tolist(), len(part)) for part in parts]


def precision_recall(pairs: Sequence[tuple[float, float]], positives: int) -> list[tuple[float, float, float]]:
    """(recall, precision, threshold) as the threshold falls; predictions with equal confidence enter together.

    >>> precision_recall([(0.9, 1.0), (0.5, 0.0), (0.5, 1.0)], positives=4)
    [(0.25, 1.0, 0.9), (0.5, 0.6666666666666666, 0.5)]
    """
    ordered = np.array(sorted(pairs, key=lambda pair: -pair[0]))
    correct = np.cumsum(ordered[:, 1])
    last = np.flatnonzero(np.diff(ordered[:, 0], append=-1.0))  # the last one of each confidence
    recall = np.minimum(1.0, correct[last] / positives) if positives else np.zeros(len(last))
    points = np.stack([recall, correct[last] / (last + 1), ordered[last, 0]], axis=1)
    return [tuple(point) for point in points.tolist()]
