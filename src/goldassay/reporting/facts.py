"""What a page, a table or a plot says of a run: values with intervals, parts, confusions, confidences, cost.

Everything is computed from the run's own rows with the measures that the run names; a part that the rows do not hold
(a run without trace has no gold) is absent, never guessed.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.fields import clusters
from goldassay.measure import TASKS, parse, target_met
from goldassay.running.run import Run
from goldassay.statistics import Interval, interval
from goldassay.tally import Confusion, Counts

GGUF = re.compile(r"local:(?:(?!\.gguf)[^\"\n])*?[/\\]([^/\\\"\n]+?\.gguf)")
"""A model's file by its path, wherever it is named."""
MISSED, SPURIOUS = ONE_SIDED = ("(missed)", "(spurious)")
"""What stands in a confusion matrix for a span that only gold, or only the prediction, has."""
LABEL, LABELS = 40, 25  # characters of a label, and how many there may be for a task of one's own
BY_PARTS = ("extraction", "classification", "linking", "triples")  # tasks whose scorecards have parts by type


@dataclass(frozen=True)
class ReportedValue:
    """One value of a run: with its interval, its convention, its weight in the metric, its target."""

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
    def met(self) -> bool | None:
        """Whether the target is met; ``None`` without one."""
        if self.target is None:
            return None
        return target_met(self.value, self.target, lower_is_better=self.lower_is_better)


@dataclass(frozen=True)
class Facts:
    """What there is to say of one run."""

    run: Run
    overall: ReportedValue
    values: tuple[ReportedValue, ...]
    by: Mapping[str, Mapping[str, Mapping[str, float | None]]] = field(default_factory=dict)
    confusion: Confusion | None = None
    confidences: tuple[tuple[float, float], ...] = ()
    """Confidence and correctness of what was predicted with a confidence."""
    positives: int = 0
    """How much there was to find, for recall."""

    @property
    def failed(self) -> int:
        """How many examples failed."""
        return sum(1 for row in self.run.rows if row.get("error"))

    @property
    def wrong(self) -> int:
        """How many examples have an error, or a score below 1."""
        return sum(1 for row in self.run.rows if wrong(row))

    @property
    def latency(self) -> dict[str, float]:
        """Median and 95th percentile of the seconds an example took."""
        seconds = sorted(float(row.get("latency_s") or 0.0) for row in self.run.rows)
        if not seconds:
            return {}
        return {"median": statistics.median(seconds), "p95": seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]}

    @property
    def tokens(self) -> int:
        """Billed tokens."""
        return int(self.run.cost.get("prompt_tokens", 0)) + int(self.run.cost.get("completion_tokens", 0))


def shown_model(name: object) -> str:
    """A model as people are told of it, or a text that names it: of a file its name alone, not where it lies here.

    >>> shown_model("local:/home/ann/models/qwen.gguf")
    'local:qwen.gguf'
    >>> shown_model("panel(local:/a/one.gguf@2, openai/gpt-4o@2)")
    'panel(local:one.gguf@2, openai/gpt-4o@2)'
    """
    return GGUF.sub(r"local:\1", str(name))


def shown_gold(about: Mapping[str, Any]) -> str:
    """The gold of a run in words: a set with its split, a file by its name (it is taken whole).

    >>> shown_gold({"settings": {"gold": "heritage", "split": "dev"}})
    'heritage dev'
    >>> shown_gold({"settings": {"gold": "/home/ann/xquad.en.json", "split": "dev"}})
    'xquad.en.json'
    """
    settings = about.get("settings") or {}
    gold, split = str(settings.get("gold") or ""), str(settings.get("split") or "")
    name = re.split(r"[/\\]", gold)[-1]
    return name if "." in name else f"{name} {split}".strip() if name else ""


def unknown_types(run: Run) -> str:
    """What there is to say where nothing is right and no type (or label) that was predicted stands in gold."""
    errors = [error for row in run.rows for error in row.get("errors", ())]
    gold, said = (
        list(dict.fromkeys(str(error[side]) for error in errors if error.get(side)))
        for side in ("gold_type", "pred_type")
    )
    if run.value or not gold or not said or set(gold) & set(said):
        return ""
    return f"nothing is right: {_named(said)} {'is' if len(said) == 1 else 'are'} predicted, gold has {_named(gold)}"


def _named(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def wrong(row: Mapping[str, Any]) -> bool:
    """Whether something was wrong with an example: it failed, has an error, or scored below 1."""
    return bool(row.get("error") or row.get("errors") or float(row.get("score", 1.0)) < 1 - 1e-9)


def overall(run: Run) -> ReportedValue:
    """The metric's weighted value, which tuning optimises, with its interval: that of its measure, if it is of one."""
    given = {key: float(about.get("weight", 1.0)) for key, about in run.about.get("measures", {}).items()}
    weights = {key: weight for key, weight in given.items() if weight}
    if len(weights) == 1:
        (key,) = weights
        return ReportedValue("metric", run.value, run.intervals.get(key) if run.rows else None, key)
    drawn = interval(run.evidence, run.zero, clusters=clusters(run.rows)) if run.rows else None
    said = " + ".join(f"{weight:g} {key}" for key, weight in weights.items())
    return ReportedValue("metric", run.value, drawn, f"weighted mean of {said}")


def values(run: Run) -> tuple[ReportedValue, ...]:
    """Each measure's value, with precision and recall where it is an F1."""
    measures = run.about.get("measures", {})
    out = []
    for name, value in run.values.items():
        about, tally = measures.get(name, {}), run.total[name]
        counts = tally if isinstance(tally, Counts) and name.endswith("f1") else None
        out.append(
            ReportedValue(
                name,
                value,
                run.intervals.get(name),
                shown_model(about.get("conventions", "")),
                float(about.get("weight", 1.0)),
                about.get("target"),
                float(counts.precision) if counts else None,
                float(counts.recall) if counts else None,
                "measure" in about and parse(about["measure"]).lower_is_better,
            )
        )
    return tuple(out)


def tasks(run: Run) -> list[str]:
    """The tasks that a run's measures belong to."""
    named = [str(about.get("measure", "")).partition(".")[0] for about in run.about.get("measures", {}).values()]
    return [task for task in TASKS if task in named]


def facts(run: Run) -> Facts:
    """Everything there is to say of a run."""
    found = tasks(run)
    traced = bool(run.rows) and all("gold" in row for row in run.rows)
    by: dict[str, Mapping[str, Mapping[str, float | None]]] = {}
    for task in found if traced else ():
        if task in BY_PARTS:
            by |= parts(run, task)
    pairs, positives = confidences(run)
    return Facts(run, overall(run), values(run), by, confusion(run), tuple(pairs), positives)


def parts(run: Run, task: str) -> dict[str, Mapping[str, Mapping[str, float | None]]]:
    """Values by type, label or property, as `goldassay score` gives them for the same gold and predictions."""
    gold = [{"id": row["id"], **row.get("inputs", {}), **row["gold"]} for row in run.rows]
    empty: dict[str, Any] = {"extraction": {"entities": []}, "linking": {"links": []}, "triples": {"triples": []}}
    pred = [row.get("prediction") or empty.get(task, {"label": ""}) for row in run.rows]
    try:
        card = import_module(f"goldassay.measures.{task}").scorecard(gold, pred)
    except (GoldassayError, KeyError, TypeError, ValueError, AttributeError):
        return {}  # renamed columns, or predictions that only the program's own metric can read
    return {facet: keys for facet, keys in card.by.items() if facet in ("type", "label", "property", "domain")}


def confusion(run: Run) -> Confusion | None:
    """Which label was taken for which, where the rows say so: from stored labels, else from errors with types."""
    out: Counter[tuple[str, str]] = Counter()
    known = tasks(run)
    field = "label" if "classification" in known else None if known else _label_field(run)
    if field is not None:
        for row in run.rows:
            gold, said = row.get("gold", {}).get(field), (row.get("prediction") or {}).get(field)
            if gold is not None:
                out[str(gold), str(said) if said not in (None, "") else "(none)"] += 1
    if not out:
        for row in run.rows:
            for error in row.get("errors", ()):
                if error.get("gold_type") and error.get("pred_type"):
                    out[error["gold_type"], error["pred_type"]] += 1
                elif error.get("field") == "entities" and (error.get("gold_type") or error.get("pred_type")):
                    out[error.get("gold_type", SPURIOUS), error.get("pred_type", MISSED)] += 1
        if out:
            _right(run, out)
    return Confusion({pair: float(count) for pair, count in out.items()}) if out else None


def _label_field(run: Run) -> str | None:
    """The field of a task of one's own that holds a label: short words in gold and prediction, few and repeated."""
    for name in next((row["prediction"] for row in run.rows if row.get("prediction")), {}):
        said = [(row.get("gold", {}).get(name), (row.get("prediction") or {}).get(name, "")) for row in run.rows]
        if all(isinstance(one, str) and len(one) <= LABEL for pair in said for one in pair):
            kinds = {gold for gold, _ in said}
            if len(kinds) < min(len(said), LABELS):
                return str(name)
    return None


def _right(run: Run, out: Counter[tuple[str, str]]) -> None:
    """Spans that both sides have, with one type: the diagonal of a matrix of types."""
    for row in run.rows:
        gold = {_span(one) for one in _listed(row.get("gold", {}), "entities")}
        for span in gold & {_span(one) for one in _listed(row.get("prediction") or {}, "entities")}:
            out[span[2], span[2]] += 1


def _listed(record: Mapping[str, object], name: str) -> list[Mapping[str, Any]]:
    found = record.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _span(one: Mapping[str, object]) -> tuple[Any, Any, str]:
    return one.get("start"), one.get("end"), str(one.get("type", ""))


def confidences(run: Run) -> tuple[list[tuple[float, float]], int]:
    """Confidence and correctness of each answer, entity or triple that has a confidence, and how many gold has.

    An answer is right where the first measure that is 0 or 1 on every row says so; an entity where gold has its span
    and type; a triple where no error names its object.
    """
    pairs: list[tuple[float, float]] = []
    positives = 0
    binary = _binary(run)
    for row in run.rows:
        said, gold = row.get("prediction") or {}, row.get("gold") or {}
        if binary and _sure(said) is not None:
            tally = run.zero[binary].from_state(row["tallies"][binary])
            if tally.weight:
                pairs.append((float(_sure(said) or 0.0), float(tally.value)))
                positives += 1
        spans = {_span(one) for one in _listed(gold, "entities")}
        positives += len(spans)
        pairs += [
            (sure, float(_span(one) in spans)) for one in _listed(said, "entities") if (sure := _sure(one)) is not None
        ]
        missed = {error.get("pred") for error in row.get("errors", ()) if error.get("kind") == "spurious"}
        if "gold" in row:
            positives += len(_listed(gold, "triples"))
            pairs += [
                (sure, float(str(one.get("object")) not in missed))
                for one in _listed(said, "triples")
                if (sure := _sure(one)) is not None
            ]
    return (pairs, positives) if len({sure for sure, _ in pairs}) > 1 else ([], 0)


def _binary(run: Run) -> str | None:
    """The first measure whose tallies are means of 0 and 1, one an example: what an answer's confidence is about."""
    for name in run.zero:
        states = [row["tallies"].get(name, {}) for row in run.rows]
        if states and all(
            set(state) >= {"total", "weight"} and state["total"] in (0, 1) and state["weight"] in (0, 1)
            for state in states
        ):
            return str(name)
    return None


def _sure(record: Any) -> float | None:
    found = record.get("confidence", record.get("score")) if isinstance(record, Mapping) else None
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return float(found) if number and 0.0 <= found <= 1.0 else None  # type: ignore[operator,arg-type]


def calibration(pairs: Sequence[tuple[float, float]], bins: int = 10) -> list[dict[str, float]]:
    """Mean confidence and accuracy in equal bins of [0, 1]; bins without a prediction are left out.

    >>> calibration([(0.1, 0.0), (0.95, 1.0), (0.97, 0.0)])[1]
    {'n': 2, 'confidence': 0.96, 'accuracy': 0.5}
    """
    groups: dict[int, list[tuple[float, float]]] = {}
    for sure, right in pairs:
        groups.setdefault(min(int(sure * bins), bins - 1), []).append((sure, right))
    return [
        {"n": len(group), "confidence": _mean(s for s, _ in group), "accuracy": _mean(r for _, r in group)}
        for _, group in sorted(groups.items())
    ]


def _mean(numbers: Iterable[float]) -> float:
    return statistics.fmean(numbers)


def precision_recall(pairs: Sequence[tuple[float, float]], positives: int) -> list[tuple[float, float, float]]:
    """(threshold, precision, recall) as the threshold falls; predictions of one confidence enter together.

    >>> precision_recall([(0.9, 1.0), (0.5, 0.0), (0.5, 1.0)], positives=4)
    [(0.9, 1.0, 0.25), (0.5, 0.6666666666666666, 0.5)]
    """
    out: list[tuple[float, float, float]] = []
    ordered = sorted(pairs, key=lambda pair: -pair[0])
    right = 0.0
    for place, (sure, correct) in enumerate(ordered, start=1):
        right += correct
        if place == len(ordered) or ordered[place][0] != sure:
            out.append((sure, right / place, min(1.0, right / positives) if positives else 0.0))
    return out
