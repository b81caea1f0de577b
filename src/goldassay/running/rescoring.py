"""Stored predictions scored again: with other measures, other gold, or a changed metric."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from goldassay import workspace
from goldassay.exceptions import GoldassayError
from goldassay.gold import formats, pairs
from goldassay.measure import TASKS, parse
from goldassay.running.folder import ABOUT, read_about
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.tally import Evidence

METRIC = "metric"


def rescore(task: str, gold: Path, pred: Path, measures: Sequence[str] = (), *, format: str | None = None) -> Scorecard:
    """The scorecard of stored predictions.

    Predictions without a gold example are left out with a warning, and so are gold examples that a run did not have.

    Args:
        task: The task.
        gold: The file of gold, or a run.
        pred: The file of predictions, or a run.
        measures: Measures such as ``LinkF1(k=3)``; of a task of your own the place of its metric. Without any, a run
            has those of its metric, whose weighted value is ``metric``, and a file all that the task has.
        format: The format of files; guessed if not given.
    """
    gold_is_run, pred_is_run = formats.is_run(gold), formats.is_run(pred)
    both = pairs(
        task,
        gold,
        pred,
        format="run" if gold_is_run else format,
        pred_format="run" if pred_is_run else format or (formats.guess(pred, task) if gold_is_run else None),
        overlap=gold_is_run or pred_is_run,
    )
    weights = _weights(task, pred) if pred_is_run and not measures else {}
    names = list(measures or weights)
    if task not in TASKS:
        card = workspace.metric(task, names[0] if names else None).scorecard(both.gold, both.pred, task)
    elif not names:
        card = import_module(f"goldassay.measures.{task}").scorecard(both.gold, both.pred)
    else:
        chosen = [parse(name if "." in name.partition("(")[0] else f"{task}.{name}") for name in names]
        if other := next((measure for measure in chosen if measure.task != task), None):
            raise GoldassayError(f"{other!r} is a measure of {other.task}, not of {task}")
        card = fold(task, chosen, Batches(both.gold, both.pred))
    if weights:
        named = dict(zip(card.measures, weights.values(), strict=True))
        card.values[METRIC] = float(Evidence.empty(card.measures, named).with_items(card.totals).value)
        card.conventions[METRIC] = f"{METRIC}[{', '.join(f'{name}={weight:g}' for name, weight in named.items())}]"
    card.warnings = [*both.warnings, *card.warnings]
    return card


def _weights(task: str, run: Path) -> dict[str, float]:
    """The measures of a run's metric and their weights, without those that a model has to judge."""
    folder = run if run.is_dir() else run.parent
    about = read_about(folder) if (folder / ABOUT).is_file() else {}
    measures = {str(each["measure"]): float(each["weight"]) for each in about.get("measures", {}).values()}
    return {name: weight for name, weight in measures.items() if name.startswith(f"{task}.")}
