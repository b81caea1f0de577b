"""Runs of files of predictions, so that files are compared as runs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.core import fields
from goldassay.core.fields import Fields
from goldassay.core.measure import TASKS, Measure
from goldassay.gold import Pairs
from goldassay.gold.anyfields import DRAFTED
from goldassay.gold.records import INPUT_FIELDS, TABLE
from goldassay.running.comparing import from_predictions
from goldassay.running.run import Run
from goldassay.running.scoring import card_of

if TYPE_CHECKING:  # files are compared without loading DSPy
    from goldassay.core.metric import Metric


def measured_by(
    task: str, aligned: Pairs, chosen: Fields, measures: Sequence[str] = ()
) -> Mapping[str, Measure] | Metric:
    """The measures that predictions are compared by, by the names of their values; of a task of your own its metric.

    Args:
        task: The task.
        aligned: Gold and predictions.
        chosen: The options of the scorecard.
        measures: The names of values; by default the usual ones of the task, or those of a protocol.

    Raises:
        GoldassayError: The task has no value of a name.
    """
    if task not in TASKS:
        return workspace.metric(task, next((name for name in measures if ".py" in name), None))
    if task == "retrieval" and measures:
        chosen = {**chosen, "measures": measures}
    available = card_of(task, aligned, chosen).measures
    usual = [name for name in TABLE[task]["compared"] if name in available]
    names = measures or usual or list(available)  # a protocol has its own
    if unknown := next((name for name in names if name not in available), None):
        raise GoldassayError(f"{task} has no value {unknown!r} here; there are {', '.join(available)}")
    return {name: available[name] for name in names}


def of_pairs(
    task: str,
    aligned: Pairs,
    measures: Mapping[str, Measure] | Metric,
    file: Path,
    protocol: str | None = None,
    *,
    measured: Pairs | None = None,
) -> Run:
    """The run of aligned gold and predictions; its rows show both.

    Args:
        task: The task.
        aligned: Gold and predictions, and what a reader should know of them.
        measures: The measures by the names of their values, or a metric.
        file: The file of predictions.
        protocol: The official protocol under which they were read.
        measured: What is measured, if that is not what the rows show.
    """
    both = measured or aligned
    run = from_predictions(both.gold, both.pred, measures, name=file.name, file=file, protocol=protocol)
    run.head.warnings = [*aligned.warnings, *run.head.warnings]
    for row, record, prediction in zip(run.rows, aligned.gold, aligned.pred, strict=True):
        gold_fields = {name: fields.read(record, name) for name in fields.names(record)}
        row.inputs = {name: gold_fields.pop(name) for name in (INPUT_FIELDS.get(task),) if name in gold_fields}
        row.gold = {key: value for key, value in gold_fields.items() if key not in DRAFTED}
        row.prediction = {name: fields.read(prediction, name) for name in fields.names(prediction)}
    return run
