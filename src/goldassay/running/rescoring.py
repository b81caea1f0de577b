"""Stored predictions scored again: other measures, other gold, a newer convention; and the causes of a change.

Between two dates a value may change because the model answers differently, because gold was corrected, or because the
measure counts differently. The value is computed for all eight mixtures of old and new model, gold and measure; the
share of each part is its Shapley value, so the three shares add up to the whole change.

Source: Shapley 1953, A value for n-person games; Shorrocks 2013 (decomposition by Shapley values)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from goldassay import workspace
from goldassay.exceptions import GoldassayError
from goldassay.gold import formats, pairs
from goldassay.measure import TASKS, Measure, parse
from goldassay.running.folder import ABOUT, read_about
from goldassay.running.waterfall import coalitions
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.tally.evidence import Evidence

METRIC = "metric"
PARTS = ("model", "gold", "measure")


class Setting(NamedTuple):
    """One date: predictions, gold, and measures as they are stored (``linking.LinkF1(k=3)``); of a task of the user's
    own, the place of its metric (``metrics/old.py:metric``).

    Without measures, predictions that are a run have those of its metric (``run.json``), and files all that the task
    has. ``weights`` make one number of the measures, which stands as ``metric`` beside their values.
    """

    pred: Path
    gold: Path
    measures: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class Change:
    """A value before and after, and the shares of model, gold and measure, which add up to its change."""

    before: float
    after: float
    model: float
    gold: float
    measure: float

    def state(self) -> dict[str, float]:
        """As JSON."""
        return {"before": self.before, "after": self.after, **{part: getattr(self, part) for part in PARTS}}


def rescore(task: str, setting: Setting, *, format: str | None = None) -> Scorecard:
    """The scorecard of stored predictions: of these measures, or of all that the task has.

    Predictions without a gold example are left out with a warning, and so are gold examples that a run did not have.
    """
    setting = with_metric(task, setting)
    gold, pred, warnings = _sides(task, setting, format)
    if task not in TASKS:
        place = setting.measures[0] if setting.measures else None
        card = workspace.metric(task, place).scorecard(gold, pred, task)
    elif not setting.measures:
        card = import_module(f"goldassay.measures.{task}").scorecard(gold, pred)
    else:
        card = fold(task, _measures(task, setting.measures), Batches(gold, pred))
    if setting.weights:
        weights = dict(zip(card.measures, setting.weights, strict=True))
        card.values[METRIC] = float(Evidence.empty(card.measures, weights).with_items(card.totals).value)
        card.conventions[METRIC] = f"{METRIC}[{', '.join(f'{name}={weight:g}' for name, weight in weights.items())}]"
    card.warnings = [*warnings, *card.warnings]
    return card


def changes(task: str, before: Setting, after: Setting, *, format: str | None = None) -> dict[str, Change]:
    """The change of each value and its causes, by the new name of the value; measures are paired in their order.

    Raises:
        GoldassayError: The two have different numbers of measures.
    """
    if not before.measures and not after.measures:
        before, after = with_metric(task, before), with_metric(task, after)
        if not before.measures or not after.measures:  # one side is no run: what the other measured
            some = before if before.measures else after
            before, after = (side._replace(measures=some.measures, weights=some.weights) for side in (before, after))
    if len(before.measures) != len(after.measures):
        raise GoldassayError(
            f"{len(before.measures)} measures before and {len(after.measures)} after; name them in pairs"
        )
    rescored: dict[Setting, dict[str, float | None]] = {}  # what did not change is computed once
    mixed: dict[frozenset[str], dict[str, float | None]] = {}
    for parts in (frozenset(some) for size in range(4) for some in combinations(PARTS, size)):
        pred, gold, own = ((before, after)[part in parts] for part in PARTS)
        setting = own._replace(pred=pred.pred, gold=gold.gold)
        if setting not in rescored:
            rescored[setting] = rescore(task, setting, format=format).values
        mixed[parts] = rescored[setting]
    changed: dict[str, Change] = {}
    first, last = mixed[frozenset()], mixed[frozenset(PARTS)]
    named = [(name, name) for name in last if name in first]  # metrics of the user's own are paired by name
    for old, new in named if task not in TASKS else zip(first, last, strict=True):
        values = {parts: row[new if "measure" in parts else old] for parts, row in mixed.items()}
        numbers = {parts: value for parts, value in values.items() if value is not None}
        if len(numbers) == len(values):
            shares = {part: share(part, numbers) for part in PARTS}
            changed[new] = Change(numbers[frozenset()], numbers[frozenset(PARTS)], **shares)
    return changed


def share(part: str, values: Mapping[frozenset[str], float]) -> float:
    """The Shapley value of exchanging one part.

    >>> values = {frozenset(): 0.0, frozenset("a"): 0.25, frozenset("b"): 0.5, frozenset("ab"): 1.25}
    >>> share("a", values), share("b", values)      # what two do together is halved
    (0.5, 0.75)
    """
    players = max(values, key=len)
    return sum(weight * (values[some | {part}] - values[some]) for some, weight in coalitions(part, players))


def with_metric(task: str, setting: Setting) -> Setting:
    """The setting with the measures and weights of the run that the predictions are of, where none were named.

    What a model has to judge, and measures of the user's own, cannot be computed from predictions: they stay out.
    """
    if setting.measures or not formats.is_run(setting.pred):
        return setting
    folder = setting.pred if setting.pred.is_dir() else setting.pred.parent
    if not (folder / ABOUT).is_file():
        return setting
    weights = {
        str(measure["measure"]): float(measure["weight"])
        for measure in read_about(folder).get("measures", {}).values()
        if measure["measure"].startswith(f"{task}.")
    }
    return setting._replace(measures=tuple(weights), weights=tuple(weights.values()))


def _measures(task: str, names: Sequence[str]) -> list[Measure[Any]]:
    measures = [parse(text if "." in text.partition("(")[0] else f"{task}.{text}") for text in names]
    for measure in measures:
        if measure.task != task:
            raise GoldassayError(f"{measure!r} is a measure of {measure.task}, not of {task}")
    return measures


def _sides(task: str, setting: Setting, format: str | None) -> tuple[Sequence[Any], Sequence[Any], list[str]]:
    """Aligned records; of a run, without predictions that gold does not have and gold that the run was not asked."""
    gold_is_run, pred_is_run = formats.is_run(setting.gold), formats.is_run(setting.pred)
    both = pairs(
        task,
        setting.gold,
        setting.pred,
        format="run" if gold_is_run else format,
        pred_format="run" if pred_is_run else format or (formats.guess(setting.pred, task) if gold_is_run else None),
        overlap=gold_is_run or pred_is_run,
    )
    return both.gold, both.pred, both.warnings
