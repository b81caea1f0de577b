"""Runs made from what another program evaluated: a `LogSystem` with its samples becomes a run.

The scores of a sample are the values of measures, each the mean over the examples. A sample that failed is a failed
row: what the tool did not score counts as the worst value, while most tools leave it out. Results of ``dspy.Evaluate``
are such systems (`system_of`), and so are logs of other tools (`goldassay.ext.interop.logs`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay._support.exceptions import DataError
from goldassay._support.jsonl import JSON
from goldassay.core.feedback import differences
from goldassay.core.fields import check_unique, identity
from goldassay.core.measure import Returned
from goldassay.core.tally import Evidence, Mean
from goldassay.running.hashing import gold_hash
from goldassay.running.head import RunGold, RunHead, described_measures
from goldassay.running.rows import Row, Usage
from goldassay.running.run import Run

DOCUMENT_FIELD = "document"  # the metadata that names a sample's cluster
EXPLANATION_LENGTH = 300  # characters of an explanation or an error
PROGRAM_RAISED = "the program raised"
SCORE_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
Sample = dict[str, Any]
"""One answer: ``id``, ``inputs``, ``prediction`` and ``values``, the scores as the tool writes them.

It may have ``gold``, ``metadata``, ``error``, ``reasons`` (what the tool says of each value), ``repeat``, ``usage``,
``steps`` and ``latency_s``. Logs are on the same examples if ids and inputs are the same.
"""


@dataclass
class LogSystem:
    """One program in a log; ``main`` is the value that counts, by default all that are rates."""

    tool: str
    name: str
    samples: list[Sample]
    main: str = ""
    lower_is_better: Collection[str] = ()
    lm: str | None = None
    warnings: Sequence[str] = ()


def number(value: JSON) -> float | None:
    """A score as a number: Inspect's letters, words for true and false, and numbers as text; None if it is none.

    >>> number("C"), number(True), number("0.5"), number("Paris"), number(float("nan"))
    (1.0, 1.0, 0.5, None, None)
    """
    try:
        score = SCORE_WORDS.get(str(value).lower()) if isinstance(value, (str, bool)) else None
        score = float(value) if score is None else score  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def system_of(evaluation: Any) -> LogSystem:
    """The system of a result of ``dspy.Evaluate``; a prediction without fields is one whose program raised.

    Raises:
        DataError: A score is not a number.
    """
    samples: list[Sample] = []
    for at, (example, prediction, result) in enumerate(evaluation.results):
        if (score := number(getattr(result, "score", result))) is None:
            raise DataError(f"the score of example {at + 1} is {result!r:.60}, which is not a number")
        fields = example.toDict()
        inputs = {}
        with suppress(ValueError):  # it names none
            inputs = dict(example.inputs())
        gold = {key: value for key, value in fields.items() if key not in inputs}
        parts = {"inputs": inputs, "gold": gold, "prediction": dict(prediction.items()), "metadata": fields}
        error = "" if len(prediction) else f"{PROGRAM_RAISED} an error"
        samples.append({"id": identity(example, at), **parts, "values": {"score": score}, "error": error})
    return LogSystem("dspy.Evaluate", "dspy.Evaluate", samples)


def as_run(system: LogSystem, path: Path, document: str = DOCUMENT_FIELD) -> Run:
    """The run of a system; ``path`` is its name in messages, ``document`` the metadata that names the cluster.

    Raises:
        DataError: The system has no scores, or its samples no such metadata.
    """
    samples = [{"repeat": 1, **sample, "id": str(sample["id"])} for sample in system.samples]
    samples.sort(key=lambda sample: (len(sample["id"]), sample["id"], sample["repeat"]))
    scores: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        sample["values"] = {str(name): number(value) for name, value in sample["values"].items()}
        for name, value in sample["values"].items():
            scores[name] += [] if value is None else [value]
    if not any(scores.values()):
        raise DataError(f"{system.name} has no scores: nothing was scored, or the log was cut off", file=path)
    fields = dict.fromkeys(key for sample in samples for key in sample.get("metadata") or ())
    if document not in {DOCUMENT_FIELD, *fields}:
        raise DataError(f"no {document!r} in the metadata, which has {', '.join(fields) or 'no fields'}", file=path)
    counted = [system.main] if system.main else [n for n in scores if all(0 <= x <= 1 for x in scores[n])] or scores
    weights = {name: float(name in counted) for name in scores}
    lower = {name: max([1.0, *scores[name]]) for name in system.lower_is_better}
    measures = {name: Returned(name, lower_is_better=name in lower, most=lower.get(name)) for name in scores}
    zero = Evidence.empty(measures, weights)
    questions = {sample["id"]: sample["inputs"] for sample in samples}
    indices = {key: index for index, key in enumerate(questions)}
    rows = []
    for sample in samples:
        error = sample.get("error")
        gold = sample.get("gold") or {}
        cluster = (sample.get("metadata") or {}).get(document)
        tallies = {}
        for name in zero:
            value = sample["values"].get(name)
            if value is None and error:
                value = zero.worst.get(name, 0.0)
            tallies[name] = Mean() if value is None else Mean.of(value)
        row = Row(
            indices[sample["id"]],
            sample["id"],
            {name: tally.state() for name, tally in tallies.items()},
            float(zero.with_items(tallies).value),
            repeat=sample["repeat"],
            document=None if cluster is None else str(cluster),
            latency_s=sample.get("latency_s"),
            prediction=sample["prediction"],
            usage=Usage.of(sample.get("usage") or {}),
            inputs=sample["inputs"],
            gold=gold,
            steps=tuple(sample.get("steps") or ()),
        )
        row.check()
        if error:
            row.error = _short(error)
        elif row.score < 1:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in sample.get("reasons", {}).items() if reason)
            row.errors = tuple(differences(gold, sample["prediction"], _short(reasons), row.score))
        rows.append(row)
    check_unique([{"id": f"{row.id} (repeat {row.repeat})"} for row in rows], path)
    failed = sum(bool(row.error) for row in rows)
    note = f"{failed} of {len(rows)} samples failed and count; {system.tool} may leave them out of its means"
    head = RunHead(
        name=system.name,
        status="finished",
        lm=system.lm,
        gold=RunGold(len(questions), gold_hash(list(questions.items()))),
        settings={"log": system.tool, "file": path.name},
        measures=described_measures(measures, weights),
        repeats=max(row.repeat or 1 for row in rows),
        warnings=list(system.warnings),
        notes=[note] if failed else [],
    )
    return Run(head, rows, zero, path)


def _short(text: str) -> str:
    """The beginning of a text on one line."""
    return " ".join(text.split())[:EXPLANATION_LENGTH]
