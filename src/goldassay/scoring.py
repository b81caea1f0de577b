"""``score``: predictions that exist against gold, in files or in memory; several systems side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from numbers import Number
from typing import Any

from goldassay import workspace
from goldassay.exceptions import GoldassayError
from goldassay.gold import Pairs, pairs
from goldassay.measure import TASKS, parse, registered
from goldassay.scorecard import Scorecard, Scorecards, fold

INTERVALS_UP_TO = 2000  # examples for which intervals are computed by default
BARE = {"classification": "label", "records": "record"}
"""The field that a bare value of a list is: a label, or a record as JSON text."""
MEASURED = ("retrieval", "answering")  # tasks whose scorecards take names of measures


def score(
    task: str,
    gold: Any,
    predictions: Any,
    *,
    split: str | None = None,
    map: Mapping[str, str] | str | None = None,
    format: str | None = None,
    intervals: bool | None = None,
    **options: Any,
) -> Any:
    """The scorecard of predictions; of several systems (a dict of predictions by name) their scorecards together.

    Either side is a file, a list of records (dicts, pydantic models, ``dspy.Example``), lists by split
    (``{"dev": [...], "test": [...]}``) or a data frame (pandas, polars). Classification takes lists of labels, records
    lists of JSON texts. Predictions may be a run folder. Records are matched by ``id``; without ids, row by row.

    Args:
        task: The task.
        gold: The gold.
        predictions: The predictions, or those of each system by its name.
        split: Score only this split of gold.
        map: The columns of gold's fields, such as ``{"label": "category"}``.
        format: The format of files; guessed if not given.
        intervals: Whether to compute intervals; by default of up to 2,000 examples.
        options: Those of the task's scorecard: ``measures``, ``protocol``, ``labels`` ….

    >>> score("classification", ["museum", "archive"], ["museum", "museum"])["accuracy"]
    0.5
    >>> gold = [{"id": "a", "label": "museum"}, {"id": "b", "label": "archive"}]
    >>> cards = score("classification", gold, {"ours": gold, "theirs": [{"id": "a", "label": "museum"}]})
    >>> {name: card["accuracy"] for name, card in cards.items()}
    {'ours': 1.0, 'theirs': 0.5}
    """
    if isinstance(predictions, Mapping):
        shared: dict[str, Any] = {"split": split, "map": map, "format": format, "intervals": intervals, **options}
        return Scorecards({name: score(task, gold, part, **shared) for name, part in predictions.items()})
    if task not in workspace.tasks():
        raise GoldassayError(f"no task {task!r}{workspace.nearest(task, workspace.tasks())}")
    gold, predictions = _named(gold, BARE.get(task)), _named(predictions, BARE.get(task))
    return card_of(task, pairs(task, gold, predictions, split=split, map=map, format=format), options, intervals)


def _named(data: Any, field: str | None) -> Any:
    """A list (or array, or column) of bare values as records with one field; anything else as it is."""
    if field is None or isinstance(data, str | Mapping) or not isinstance(data, Iterable) or hasattr(data, "columns"):
        return data
    values = list(data)
    bare = bool(values) and all(value is None or isinstance(value, str | Number) for value in values)
    return [{field: value} for value in values] if bare else values


def card_of(task: str, aligned: Pairs, options: Mapping[str, Any], intervals: bool | None = None) -> Scorecard:
    """The scorecard of aligned records.

    Args:
        task: The task; one of your own is measured by its metric.
        aligned: The records.
        options: Those of the task's scorecard.
        intervals: Whether to compute intervals; by default of up to `INTERVALS_UP_TO` examples.
    """
    chosen = dict(options)
    names = None if task in MEASURED else chosen.pop("measures", None)
    if task in TASKS:
        card: Scorecard = import_module(f"goldassay.measures.{task}").scorecard(aligned.gold, aligned.pred, **chosen)
    else:
        card = workspace.metric(task).scorecard(aligned.gold, aligned.pred, task)
    if names:
        choose(card, names, chosen.get("weight", ""))
    card.warnings = [*aligned.warnings, *card.warnings]
    card.protocol = card.protocol or str(options.get("protocol") or "")
    if intervals or (intervals is None and card.examples <= INTERVALS_UP_TO):
        card.estimate()
    return card


def choose(card: Scorecard, names: Sequence[str], weight: str = "") -> None:
    """Keep the values of these names, or that begin with one of them (``strict`` keeps ``strict_f1`` and its rates).

    A name that no value has may be that of another measure of the task, or its repr.
    """
    others: dict[str, Any] = {}
    if card.task in TASKS:
        others = {measure.key: measure for measure in reversed(registered(f"goldassay.measures.{card.task}"))}
    more = {}
    for name in names:
        if any(value == name or value.startswith(f"{name}_") for value in card.values):
            continue
        if not (name in others or "(" in name):
            near = get_close_matches(name, {**card.values, **others}, 3) or list(card.values)
            raise GoldassayError(f"{card.task} has no measure {name!r}; there are {', '.join(near)}")
        more[name] = others[name] if name in others else parse(f"{card.task}.{name}")
    cards = [card, fold(card.task, more, card.shared, weight=weight)] if more and card.shared else [card]
    for part in ("values", "conventions", "measures", "tallies", "totals"):
        every = {value: content for one in cards for value, content in getattr(one, part).items()}
        chosen = [value for value in every if any(value == name or value.startswith(f"{name}_") for name in names)]
        setattr(card, part, {value: every[value] for value in chosen})
