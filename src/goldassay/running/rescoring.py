"""Stored predictions scored again: other measures, other gold, a newer convention; and what a change comes from.

Between two dates a value may change because the model answers otherwise, because gold was corrected, or because the
measure counts otherwise. With M, G and C for model, gold and measure, before (0) and after (1), the value is known for
all eight mixtures; the share of each is its marginal change, averaged over the six orders in which the three can be
exchanged (Shapley), so that the three shares add up to the whole change whatever the order.

Source: Shapley 1953, A value for n-person games; Shorrocks 2013 (decomposition by Shapley values)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

from goldassay.exceptions import GoldassayError
from goldassay.gold import formats, pairs
from goldassay.measure import Measure, parse
from goldassay.running.folder import ABOUT, read_about
from goldassay.score import Evidence
from goldassay.scorecard import Batches, Scorecard, fold

METRIC = "metric"
PARTS = ("model", "gold", "measure")
Mixture = tuple[int, int, int]  # of model, gold and measure: 0 is before, 1 after


class Setting(NamedTuple):
    """One date: predictions, gold, and measures as they are stored (``linking.LinkF1(k=3)``).

    Without measures, predictions that are a run have those of its metric (``run.json``), and files all that the task
    has. ``weights`` make one number of the measures, which stands as ``metric`` beside their values.
    """

    pred: Path
    gold: Path
    measures: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class Change:
    """A value before and after, and the shares of model, gold and measure in its change, which add up to it."""

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

    Predictions of examples that this gold does not have are left out, and said; of gold, what a run was not asked.
    """
    setting = with_metric(task, setting)
    gold, pred, warnings = _sides(task, setting, format)
    if not setting.measures:
        card: Scorecard = import_module(f"goldassay.measures.{task}").scorecard(gold, pred)
    else:
        card = fold(task, _measures(task, setting.measures), Batches(gold, pred))
    if setting.weights:
        weights = dict(zip(card.measures, setting.weights, strict=True))
        card.values[METRIC] = float(Evidence(card.totals, weights).value)
        card.conventions[METRIC] = f"{METRIC}[{', '.join(f'{name}={weight:g}' for name, weight in weights.items())}]"
    card.warnings = [*warnings, *card.warnings]
    return card


def changes(task: str, before: Setting, after: Setting, *, format: str | None = None) -> dict[str, Change]:
    """What each value's change comes from, by the name of the value after; measures are paired in their order.

    Raises:
        GoldassayError: The two have different numbers of measures.
    """
    if not before.measures and not after.measures:
        before, after = with_metric(task, before), with_metric(task, after)
        if not before.measures or not after.measures:  # one side is no run: what the other measured
            some = before if before.measures else after
            before, after = (one._replace(measures=some.measures, weights=some.weights) for one in (before, after))
    if len(before.measures) != len(after.measures):
        raise GoldassayError(
            f"{len(before.measures)} measures before and {len(after.measures)} after; name them in pairs"
        )
    known_values: dict[Setting, dict[str, float | None]] = {}  # what did not change is computed once
    mixed: dict[Mixture, dict[str, float | None]] = {}
    for model, gold, measure in product((0, 1), repeat=3):
        setting = (before, after)[measure]._replace(pred=(before, after)[model].pred, gold=(before, after)[gold].gold)
        if setting not in known_values:
            known_values[setting] = rescore(task, setting, format=format).values
        mixed[model, gold, measure] = known_values[setting]
    out: dict[str, Change] = {}
    for old, new in zip(mixed[0, 0, 0], mixed[1, 1, 1], strict=True):
        found = {at: values[new if at[2] else old] for at, values in mixed.items()}
        known = {at: value for at, value in found.items() if value is not None}
        if len(known) == len(found):
            out[new] = Change(known[0, 0, 0], known[1, 1, 1], *shares(known.__getitem__))
    return out


def shares(value: Callable[[Mixture], float]) -> tuple[float, float, float]:
    """The Shapley share of each of three exchanges in the change of a value.

    >>> shares(lambda at: at[0] * 0.25 + at[1] * 0.5 + at[0] * at[1] * 0.5)      # what two did together is halved
    (0.5, 0.75, 0.0)
    """
    total = [0.0, 0.0, 0.0]
    for order in permutations(range(3)):
        at = [0, 0, 0]
        for part in order:
            low = value((at[0], at[1], at[2]))
            at[part] = 1
            total[part] += value((at[0], at[1], at[2])) - low
    return total[0] / 6, total[1] / 6, total[2] / 6


def with_metric(task: str, setting: Setting) -> Setting:
    """The setting with the measures and weights of the run that the predictions are of, where none were named.

    What a model has to judge, and measures of the user's own, cannot be computed from predictions: they stay out.
    """
    if setting.measures or not formats.is_run(setting.pred):
        return setting
    folder = setting.pred if setting.pred.is_dir() else setting.pred.parent
    if not (folder / ABOUT).is_file():
        return setting
    found = read_about(folder).get("measures")
    known = {
        str(one.get("measure")): float(one.get("weight", 1.0))
        for one in (found.values() if isinstance(found, dict) else ())
        if str(one.get("measure")).startswith(f"{task}.")
    }
    return setting._replace(measures=tuple(known), weights=tuple(known.values()))


def _measures(task: str, named: Sequence[str]) -> list[Measure[Any]]:
    found = [parse(one if "." in one.partition("(")[0] else f"{task}.{one}") for one in named]
    wrong = next((one for one in found if one.task != task), None)
    if wrong is not None:
        raise GoldassayError(f"{wrong!r} is a measure of {wrong.task}, not of {task}")
    return found


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
