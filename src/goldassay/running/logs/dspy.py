"""``dspy.Evaluate(save_as_json=…)`` and ``save_as_csv``: fields of example and prediction together, the score last.

Fields that both have are called ``example_NAME`` and ``pred_NAME``; those before the first of them are the inputs. A
program that raised leaves no fields: its row is shorter than the others, and has ``failure_score``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import identity
from goldassay.gold.formats.tables import table
from goldassay.running.logs.system import Sample, System, number

GOLD, PREDICTED = "example_", "pred_"
METADATA = ("id", "document", "documents", "split", "language", "strata", "meta")  # what no program predicts


def rows_of_table(file: Path) -> list[dict[str, Any]]:
    """The rows of a CSV by the names of its columns."""
    return [dict(row) for _, row in table(file, quoted=True)]


def systems(content: Any, file: Path) -> list[System]:
    """The one system of a file; none if its rows do not end with a score."""
    if not isinstance(content, list) or not content or not all(isinstance(row, dict) and row for row in content):
        return []
    *names, score = max(content, key=len)
    values = [number(row.get(score)) for row in content]
    if "candidate" in names or None in values:
        return []
    first = next((place for place, name in enumerate(names) if name.startswith(GOLD)), 1)
    samples = []
    for at, row in enumerate(content):
        failed = len(row) <= len(names) and not any(name.startswith(PREDICTED) for name in row)
        inputs = {name: row[name] for name in names[:first]}
        about = {name: row[name] for name in METADATA if name in row}
        rest = {name: row[name] for name in row if name not in {**inputs, **about, score: None}}
        gold = {name.removeprefix(GOLD): rest[name] for name in rest if failed or name.startswith(GOLD)}
        answer = {name.removeprefix(PREDICTED): rest[name] for name in rest if name.removeprefix(GOLD) not in gold}
        example = {**inputs, **gold, **about}
        samples.append(
            Sample(
                identity(example, at), {score: values[at]}, inputs, gold, answer, example, "the program raised" * failed
            )
        )
    return [System("dspy.Evaluate", file.stem, samples)]


def system_of(evaluation: Any) -> System:
    """What ``dspy.Evaluate`` returns; a prediction without fields is one whose program raised."""
    samples = []
    for at, (example, prediction, result) in enumerate(evaluation.results):
        if (score := number(getattr(result, "score", result))) is None:
            raise DataError(f"the score of example {at + 1} is {result!r:.60}, which is no number")
        inputs, fields = dict(example.inputs()), example.toDict()
        gold = {key: value for key, value in fields.items() if key not in inputs}
        error = "" if len(prediction) else "the program raised an error"
        key, answer = identity(example, at), dict(prediction.items())
        samples.append(Sample(key, {"score": score}, inputs, gold, answer, fields, error=error))
    return System("dspy.Evaluate", "dspy.Evaluate", samples)
