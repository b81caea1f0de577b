"""A system in another tool's log, and the run that it becomes.

The scores of a sample become the values of measures, each the mean over the examples, as the tools compute it. A sample
that failed is a failed row: what the tool did not score counts as the worst value, while most tools leave it out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.feedback import differences
from goldassay.fields import check_unique
from goldassay.measure import Returned
from goldassay.running.identity import described_measures, gold_hash
from goldassay.running.run import Run
from goldassay.tally import Evidence, Mean

DOCUMENT = "document"
USAGE = ("prompt_tokens", "completion_tokens")
MOST = 300  # characters of an explanation or an error
WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}


@dataclass
class Sample:
    """One scored answer; logs are on the same examples if their ids and ``inputs`` are the same.

    ``values`` are the scores as the tool writes them, ``reasons`` what it says of them, by the same names. ``tokens``
    are those of the prompt and of the answer.
    """

    id: Any
    values: Mapping[str, Any]
    inputs: Mapping[str, Any]
    gold: Mapping[str, Any] = field(default_factory=dict)
    prediction: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    reasons: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 1
    seconds: float | None = None
    tokens: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self.id, self.values = str(self.id), {str(name): number(value) for name, value in self.values.items()}


@dataclass
class System:
    """One program in a log; ``main`` is the value that counts, by default all that are rates."""

    tool: str
    name: str
    samples: Sequence[Sample]
    main: str = ""
    lower_is_better: frozenset[str] = frozenset()
    lm: str | None = None
    warnings: Sequence[str] = ()


def number(value: object) -> float | None:
    """A score as a number: Inspect's letters, words for true and false, and numbers as text; None if it is none.

    >>> number("C"), number(True), number("0.5"), number("Paris"), number(float("nan"))
    (1.0, 1.0, 0.5, None, None)
    """
    try:
        score = WORDS.get(str(value).lower()) if isinstance(value, (str, bool)) else None
        score = float(value) if score is None else score  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return score if math.isfinite(score) else None


def as_run(system: System, place: Path, document: str = DOCUMENT) -> Run:
    """The run of a system; ``place`` is what messages call it, ``document`` the metadata that names the cluster."""
    samples = sorted(system.samples, key=lambda sample: (len(sample.id), sample.id, sample.repeat))
    scores: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for name, value in sample.values.items():
            scores[name] += [] if value is None else [value]
    if not any(scores.values()):
        raise DataError(f"{system.name} has no scores: nothing was scored, or the log was cut off", file=place)
    about = dict.fromkeys(key for sample in samples for key in sample.metadata)
    if document not in {DOCUMENT, *about}:
        raise DataError(f"no {document!r} in the metadata, which has {', '.join(about) or 'no fields'}", file=place)
    counted = [system.main] if system.main else [n for n in scores if all(0 <= x <= 1 for x in scores[n])] or scores
    weights = {name: float(name in counted) for name in scores}
    lower = {name: max([1.0, *scores[name]]) for name in system.lower_is_better}
    measures = {name: Returned(name, lower_is_better=name in lower, most=lower.get(name)) for name in scores}
    zero = Evidence.empty(measures, weights)
    questions = {sample.id: sample.inputs for sample in samples}
    places = {key: index for index, key in enumerate(questions)}
    rows = [_row(places[sample.id], sample, zero, document) for sample in samples]
    check_unique([{"id": f"{row['id']} (repeat {row['repeat']})"} for row in rows], place)
    failed = sum("error" in row for row in rows)
    note = f"{failed} of {len(rows)} samples failed and count; {system.tool} may leave them out of its means"
    head = {
        "name": system.name,
        "status": "finished",
        "lm": system.lm,
        "gold": {"examples": len(questions), "sha256": gold_hash(list(questions.items()))},
        "settings": {"log": system.tool, "file": place.name},
        "measures": described_measures(measures, weights),
        "repeats": max(row["repeat"] for row in rows),
        "warnings": system.warnings,
        "notes": [note] if failed else [],
    }
    return Run(head, rows, zero, place)


def _row(index: int, sample: Sample, zero: Evidence, document: str) -> dict[str, Any]:
    """A sample as a row; a score that the tool did not give is no evidence, or the worst if the sample failed."""
    tallies = {}
    for name in zero:
        missing = Mean.of(zero.worst.get(name, 0.0)) if sample.error else Mean()
        tallies[name] = missing if (value := sample.values.get(name)) is None else Mean.of(value)
    score = float(zero.with_items(tallies).value)
    row = {"index": index, "id": sample.id, "repeat": sample.repeat, "score": score}
    row |= {"tallies": {name: tally.state() for name, tally in tallies.items()}}
    row |= {"inputs": sample.inputs, "gold": sample.gold, "prediction": sample.prediction}
    row |= {} if sample.seconds is None else {"latency_s": sample.seconds}
    row |= {"usage": dict(zip(USAGE, sample.tokens, strict=True))} if sample.tokens else {}
    if sample.metadata.get(document) is not None:
        row["document"] = str(sample.metadata[document])
    if sample.error:
        row["error"] = short(sample.error)
    elif score < 1:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in sample.reasons.items() if reason)
        row["errors"] = [error.state() for error in differences(sample.gold, sample.prediction, short(reasons), score)]
    return row


def short(text: str) -> str:
    """The beginning of a text on one line."""
    return " ".join(text.split())[:MOST]
