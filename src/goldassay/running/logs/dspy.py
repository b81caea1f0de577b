"""``dspy.Evaluate(save_as_json=…)`` and ``save_as_csv``: fields of example and prediction together, the score last.

Fields that both have are called ``example_NAME`` and ``pred_NAME``. A program that raised leaves no fields: its row is
shorter than the others, and has ``failure_score``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import identity
from goldassay.gold.formats.tables import table
from goldassay.running.logs.system import Sample, System, number

GOLD, PREDICTED = "example_", "pred_"
ABOUT = ("id", "document", "documents", "split", "language", "strata", "meta")  # fields that no program predicts


def rows_of_table(file: Path) -> list[dict[str, Any]]:
    """The rows of a CSV by the names of its columns."""
    header, lines = table(file, quoted=True)
    return [dict(zip(header, cells, strict=True)) for _, cells in lines]


def systems(content: Any, file: Path) -> list[System] | None:
    """The one system of a file; None if its rows do not end with a score."""
    if not isinstance(content, list) or not content or not all(isinstance(row, dict) and row for row in content):
        return None
    name, width = list(content[0])[-1], max(map(len, content))
    if "candidate" in content[0] or any(list(row)[-1] != name for row in content):
        return None
    scores = [number(row[name]) for row in content]
    if None in scores and all(score is None for score in scores):
        return None
    if None in scores:
        at = scores.index(None)
        raise DataError(f"the {name} of row {at + 1} is {content[at][name]!r:.60}, which is no number", file=file)
    failed = [len(row) < width for row in content]
    own = _own_fields(content, failed)
    samples = [
        _sample(str(at), row, name, score, own, raised)
        for at, (row, score, raised) in enumerate(zip(content, scores, failed, strict=True))
    ]
    return [System("dspy.Evaluate", file.stem, samples)]


def _own_fields(rows: Sequence[Mapping[str, Any]], failed: Sequence[bool]) -> set[str]:
    """The fields of the examples: those of a row that failed, else those up to the last that both sides have."""
    if any(failed):
        return set(list(rows[list(failed).index(True)])[:-1])
    names = list(rows[0])[:-1]
    shared = [place for place, name in enumerate(names) if name.startswith(GOLD)]
    return {name for place, name in enumerate(names) if place <= max(shared, default=0) or name in ABOUT}


def _sample(at: str, row: Mapping[str, Any], score: str, value: float | None, own: set[str], failed: bool) -> Sample:
    fields = {name: cell for name, cell in row.items() if name != score}
    gold = {name.removeprefix(GOLD): cell for name, cell in fields.items() if name.startswith(GOLD)}
    inputs = {name: cell for name, cell in fields.items() if name in own and not name.startswith(GOLD)}
    predicted = {
        name.removeprefix(PREDICTED): cell
        for name, cell in fields.items()
        if name not in own and not name.startswith(GOLD)
    }
    example = {**inputs, **gold}
    return Sample(
        identity(example, at),
        {score: value},
        question=str(next(iter(row.values()))),
        inputs=inputs,
        gold=gold,
        prediction=predicted,
        metadata=example,
        error="the program raised an error" if failed else "",
    )
