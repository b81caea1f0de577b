"""Runs of predictions that already exist, so that files are compared as runs are: no program is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay.fields import read
from goldassay.measure import Measure, stored
from goldassay.running.example import FACETS
from goldassay.running.identity import gold_hash
from goldassay.running.run import Run
from goldassay.score import Evidence


def given(
    gold: Sequence[Any],
    pred: Sequence[Any],
    measures: Mapping[str, Measure[Any]],
    *,
    name: str,
    file: Path | None = None,
) -> Run:
    """A run of aligned gold and predictions, in memory: a row an example, with tallies and errors.

    ``measures`` are by the names of their values; ``file`` is where the predictions come from.

    >>> from goldassay.measures import classification
    >>> run = given([{"id": "a", "label": "M"}], [{"label": "M"}], {"accuracy": classification.Accuracy()}, name="ours")
    >>> run.values, run.rows[0]["id"]
    ({'accuracy': 1.0}, 'a')
    """
    rows = []
    for index, (example, answer) in enumerate(zip(gold, pred, strict=True)):
        assessed = {key: measure(example, answer) for key, measure in measures.items()}
        row: dict[str, Any] = {"index": index, "id": str(read(example, "id", None) or index)}
        row |= {key: found for key in FACETS if (found := read(example, key, None))}
        row["tallies"] = {key: found.tally.state() for key, found in assessed.items()}
        errors = dict.fromkeys(error for found in assessed.values() for error in found.errors)
        if errors:
            row["errors"] = [error.state() for error in errors]
        rows.append(row)
    about = {
        "name": name,
        "status": "given",
        "gold": {"examples": len(gold), "sha256": gold_hash(gold)},
        "measures": {
            key: {"measure": stored(measure), "conventions": measure.conventions, "weight": 1.0, "target": None}
            for key, measure in measures.items()
        },
    }
    zero = Evidence({key: measure.zero for key, measure in measures.items()})
    return Run(about, rows, zero, file)
