"""A system in another tool's log, and the run that it becomes.

The scores of a sample become the values of measures, each the mean over the examples, as the tools compute it. A sample
that failed is a failed row: it counts as the worst value, while most tools leave it out of their means. A tool's own
mean is held against ours, and what differs is a warning of the run.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay.exceptions import DataError
from goldassay.feedback import differences
from goldassay.fields import check_unique, cluster
from goldassay.measure import Returned
from goldassay.running.identity import described_measures, gold_hash
from goldassay.running.run import Run
from goldassay.tally import Mean
from goldassay.tally.evidence import Evidence

FEW = 12  # different values of a field of the metadata that makes strata
SHORT = 40  # characters of such a value
MOST = 300  # characters of an explanation or an error
WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
TOKENS = {"prompt_tokens": ("input_tokens", "prompt"), "completion_tokens": ("output_tokens", "completion")}


@dataclass
class Sample:
    """One scored answer; ``question`` is what tells whether two logs are on the same examples."""

    id: str
    values: Mapping[str, float | None]
    question: object = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    gold: Mapping[str, Any] = field(default_factory=dict)
    prediction: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 1
    error: str = ""
    reason: str = ""
    seconds: float | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class System:
    """One program in a log: its samples in the order of the examples, and the tool's own means by name.

    ``secondary`` values are another view of the same scores: they take no part in the metric and its tests.
    """

    tool: str
    name: str
    samples: Sequence[Sample]
    means: Mapping[str, float] = field(default_factory=dict)
    lower_is_better: frozenset[str] = frozenset()
    secondary: frozenset[str] = frozenset()
    lm: str | None = None
    warnings: Sequence[str] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


def number(value: object) -> float | None:
    """A score as a number: Inspect's letters, words for true and false, and numbers as text; None if it is none.

    >>> number("C"), number(True), number("0.5"), number("Paris"), number(float("nan"))
    (1.0, 1.0, 0.5, None, None)
    """
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    try:
        score = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return score if math.isfinite(score) else None


def as_run(system: System, place: Path, document: str | None = None) -> Run:
    """The run of a system; ``place`` is what messages call it, ``document`` the metadata that names the cluster."""
    samples, file = system.samples, str(place)
    names = list(dict.fromkeys(name for sample in samples for name in sample.values))
    if not names or all(value is None for sample in samples for value in sample.values.values()):
        raise DataError(f"{system.name} has no scores: nothing was scored, or the log was cut off", file=file)
    if document and not any(document in sample.metadata for sample in samples):
        has = ", ".join(dict.fromkeys(key for sample in samples for key in sample.metadata)) or "none"
        raise DataError(f"no sample has {document!r} in its metadata, which has {has}", file=file)
    measures = {name: _measure(name, system) for name in names}
    main = [name for name in names if name not in system.secondary]
    rates = [name for name in main if all(0 <= (sample.values.get(name) or 0) <= 1 for sample in samples)]
    weights = {name: float(name in (rates or main)) for name in names}  # what is no rate takes no part in the metric
    zero = Evidence.empty(measures, weights)
    places = {key: index for index, key in enumerate(dict.fromkeys(sample.id for sample in samples))}
    strata = _strata([sample for sample in samples if sample.repeat == 1], document)
    rows = [_row(places[sample.id], sample, zero, strata, document) for sample in samples]
    rows.sort(key=lambda row: (row["index"], row["repeat"]))
    check_unique([{"id": f"{row['id']} (repeat {row['repeat']})"} for row in rows], file)
    first = {sample.id: {"id": sample.id, "question": sample.question} for sample in reversed(samples)}
    cost = sum((Counter(row.get("usage", {})) for row in rows), Counter[str]())
    about = {
        "name": system.name,
        "status": "finished",
        "lm": system.lm,
        "gold": {"examples": len(places), "sha256": gold_hash([first[key] for key in places])},
        "settings": {"log": system.tool, "file": place.name},
        "measures": described_measures(measures, weights),
        "repeats": max(row["repeat"] for row in rows),
        "cost": {**cost, "seconds": sum(sample.seconds or 0.0 for sample in samples)},
        **system.about,
    }
    other, failed = _disagreements(system, names)
    about |= {"warnings": [*system.warnings, *other], "notes": failed}
    return Run(about, rows, zero, place)


def _measure(name: str, system: System) -> Returned:
    lower = name in system.lower_is_better
    most = max((sample.values.get(name) or 0.0 for sample in system.samples), default=0.0)
    return Returned(name, lower_is_better=lower, most=max(1.0, most) if lower else None)


def _row(index: int, sample: Sample, zero: Evidence, strata: Sequence[str], document: str | None) -> dict[str, Any]:
    """A sample as a row; a score that the tool did not give is no evidence, or the worst if the sample failed."""
    tallies = {
        name: Mean.of(value)
        if (value := sample.values.get(name)) is not None
        else Mean.of(zero.worst.get(name, 0.0))
        if sample.error
        else Mean()
        for name in zero
    }
    score = float(zero.with_items(tallies).value)
    group = sample.metadata.get(document) if document else cluster(sample.metadata, index)
    usage = {
        name: next((int(sample.usage[key]) for key in (name, *others) if sample.usage.get(key)), 0)
        for name, others in TOKENS.items()
    }
    row: dict[str, Any] = {"index": index, "id": sample.id, "repeat": sample.repeat, "score": score}
    row |= {"document": str(group)} if group not in (None, index) else {}
    row |= {"strata": {name: sample.metadata.get(name, "none") for name in strata}} if strata else {}
    row |= {"tallies": {name: tally.state() for name, tally in tallies.items()}}
    row |= {"inputs": dict(sample.inputs), "gold": dict(sample.gold), "prediction": dict(sample.prediction)}
    row |= {"latency_s": sample.seconds} if sample.seconds is not None else {}
    row |= {"usage": {"calls": 1, **usage}} if any(usage.values()) else {}
    if sample.error:
        return row | {"error": sample.error}
    wrong = differences(sample.gold, sample.prediction, sample.reason, score) if score < 1 else ()
    return row | ({"errors": [error.state() for error in wrong]} if wrong else {})


def _strata(samples: Sequence[Sample], document: str | None) -> list[str]:
    """The fields of the metadata with a few short values: they divide the examples into parts."""
    values: dict[str, set[Any]] = defaultdict(set)
    for sample in samples:
        for name, value in sample.metadata.items():
            plain = isinstance(value, (str, int)) and len(str(value)) <= SHORT
            values[name].add(value if plain else object())
    most = min(FEW, len(samples) // 2)
    return [name for name, each in values.items() if 1 < len(each) <= most and name not in ("document", document)]


def _disagreements(system: System, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Where the tool's own means are not those of its rows; and that failed samples change them, if they do."""
    other, without, failed = [], [], 0
    for name in names:
        answers: dict[str, list[float]] = defaultdict(list)
        lost = 0
        for sample in system.samples:
            if (value := sample.values.get(name)) is not None:
                answers[sample.id].append(value)
            else:
                lost += bool(sample.error)
        own = system.means.get(name)
        if own is None or not answers:
            continue
        mean = fmean(map(fmean, answers.values()))
        if not math.isclose(own, mean, rel_tol=1e-9, abs_tol=1e-12):
            other.append(f"{system.tool} says {name} is {own:.6g}, and the scores in its log give {mean:.6g}")
        elif lost:
            failed = max(failed, lost)
            without.append(f"{name} {own:.4g}")
    count = f"{failed} failed sample{'s' * (failed > 1)}"
    note = f"{system.tool} leaves {count} out of its means ({', '.join(without)}); here a failure counts"
    return other, [note] if without else []
