"""Runs of files of predictions, so that files are compared as runs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from goldassay import fields, workspace
from goldassay.exceptions import GoldassayError
from goldassay.gold.anyfields import DRAFTED
from goldassay.gold.outputs import measure_named
from goldassay.gold.records import INPUTS, TABLE
from goldassay.gold.shapes import Fields
from goldassay.measure import TASKS
from goldassay.running.comparing import from_predictions
from goldassay.running.drafted import Drafted, decided_pairs
from goldassay.running.labelled import PREFERRED, RIGHT
from goldassay.running.run import Run
from goldassay.scorecard import Scorecard
from goldassay.scoring import card_of, read


def from_file(
    task: str,
    gold: Path,
    file: Path,
    *,
    measures: Sequence[str] = (),
    limit: int | None = None,
    **options: Any,
) -> Run:
    """The run of a file of predictions, by the values asked for.

    Args:
        task: The task.
        gold: The file of gold.
        file: The file of predictions.
        measures: The names of values; by default the usual ones of the task, or those of a protocol.
        limit: Only so many examples.
        options: Those of `goldassay.score`.

    Raises:
        GoldassayError: A side cannot be read, or the task has no value of a name.
    """
    aligned, chosen = read(task, gold, file, drafts=True, **options)
    if task == "retrieval" and measures:
        chosen["measures"] = measures
    by_choice = False
    records = aligned.gold
    if aligned.design:
        if limit is not None:
            raise GoldassayError("gold that a design chose is compared whole; leave the limit out")
        aligned, by_choice = decided_pairs(task, aligned)
    sides = replace(aligned, gold=aligned.gold[:limit], pred=aligned.pred[:limit], warnings=[])
    measured = (sides.gold, sides.pred)
    values: Any = {}
    drafted = Drafted(task, sides, values, file, records)
    if by_choice:
        measured = _rights(drafted)
        values = {RIGHT: measure_named("classification", "accuracy")}
    elif task in TASKS:
        card = card_of(task, sides, chosen, intervals=False)
        values = {name: card.measures[name] for name in _names(card, measures)}
        drafted = replace(drafted, measures=values)
    else:
        values = workspace.metric(task)
    run = from_predictions(*measured, values, name=file.name, file=file, protocol=chosen.get("protocol"))
    run.drafted = drafted if sides.design else None
    run.about["warnings"] = [*aligned.warnings, *run.about.get("warnings", ())]
    for row, evidence, record, prediction in zip(run.rows, run.evidence, sides.gold, sides.pred, strict=True):
        gold_fields = {name: fields.read(record, name) for name in fields.names(record)}
        row["inputs"] = {name: gold_fields.pop(name) for name in (INPUTS.get(task),) if name in gold_fields}
        row["gold"] = {key: value for key, value in gold_fields.items() if key not in DRAFTED}
        row["prediction"] = {name: fields.read(prediction, name) for name in fields.names(prediction)}
        row["score"] = float(evidence.value)
    return run


def _rights(drafted: Drafted) -> tuple[Sequence[Fields], Sequence[Fields]]:
    """Whether people took each answer to be right, as gold and predictions of a classification."""
    system = drafted.systems(drafted.outputs())[0]
    gold = [{**record, "label": "right"} for record in drafted.pairs.gold]
    return gold, [{"label": "right" if system in record[PREFERRED] else "wrong"} for record in gold]


def _names(card: Scorecard, measures: Sequence[str]) -> Sequence[str]:
    """The values that a file is compared by."""
    default = [name for name in TABLE[card.task]["compared"] if name in card.measures]
    names = measures or default or list(card.measures)  # a protocol has its own
    if unknown := next((name for name in names if name not in card.measures), None):
        raise GoldassayError(f"{card.task} has no value {unknown!r} here; there are {', '.join(card.measures)}")
    return names
