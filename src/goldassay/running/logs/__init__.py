"""Logs of other tools, read as runs: Inspect, promptfoo, deepeval, MLflow and ``dspy.Evaluate``.

`goldassay.running.logs.tools` has a reader for each tool; here a `System` becomes a run. The scores of a sample are the
values of measures, each the mean over the examples, as the tools compute it. A sample that failed is a failed row: what
the tool did not score counts as the worst value, while most tools leave it out.

Whatever takes a run folder takes such a file too; of a file with several systems, ``FILE:NAME`` is one of them. What a
file is follows from its content. Nothing in it is executed, and archives are never unpacked to disk.

`goldassay.running.logs.sources` reads what drafts of gold are made from.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from goldassay.exceptions import DataError, GoldassayError
from goldassay.feedback import differences
from goldassay.fields import Fields, check_unique
from goldassay.measure import Returned
from goldassay.running.about import described_measures
from goldassay.running.folder import ABOUT as RUN
from goldassay.running.folder import run_at
from goldassay.running.hashing import gold_hash
from goldassay.running.logs.tools import KINDS, System, foreign, number, systems_in
from goldassay.running.rows import check_parts
from goldassay.running.run import Run, stored
from goldassay.tally import Evidence, Mean

LOGS = ("*.eval", "*.json")  # in a folder
DOCUMENT = "document"  # the metadata that names a sample's cluster
MOST = 300  # characters of an explanation or an error


def read_log(place: Path | str, document: str = DOCUMENT) -> list[Run]:
    """The runs in another tool's log, one a system; empty if it is no log that is known.

    Args:
        place: The file, or ``FILE:NAME`` for one of its systems.
        document: The field of the samples' metadata that names their document.

    Raises:
        DataError: The file is damaged, or has no scores.
    """
    file, name = split_name(place)
    systems = systems_in(file)
    chosen = [system for system in systems if name in ("", system.name)]
    if systems and not chosen:
        raise GoldassayError(f"{file} has no system {name!r}; it has {', '.join(system.name for system in systems)}")
    with foreign(file):
        return [as_run(each, file if len(systems) == 1 else Path(f"{file}:{each.name}"), document) for each in chosen]


def runs_at(place: Path | str, document: str = DOCUMENT) -> list[Run]:
    """The run of a folder, or the runs of another tool's log or of a folder of logs.

    Raises:
        DataError: It is neither, or it is damaged.
    """
    file, _ = split_name(place)
    if not file.is_file():
        logs = [] if (file / RUN).exists() else sorted(log for kind in LOGS for log in file.glob(kind))
        return [run for log in logs for run in runs_at(log, document)] or [stored(file)]
    runs = read_log(place, document)
    if not runs:
        raise DataError(f"not a run folder and no log that can be read; there are readers for {KINDS}", file=file)
    return runs


def split_name(place: Path | str) -> tuple[Path, str]:
    """The file, and the name of a system in it, which may hold colons itself."""
    parts = str(place).split(":")
    ends = (at for at in range(1, len(parts)) if Path(":".join(parts[:at])).is_file())
    at = next(ends, len(parts))
    return run_at(Path(":".join(parts[:at]))), ":".join(parts[at:])


def as_run(system: System, place: Path, document: str = DOCUMENT) -> Run:
    """The run of a system; ``place`` is its name in messages, ``document`` the metadata that names the cluster.

    Raises:
        DataError: The system has no scores, or its samples no such metadata.
    """
    samples = [{"repeat": 1, **each, "id": str(each["id"])} for each in system.samples]
    samples.sort(key=lambda sample: (len(sample["id"]), sample["id"], sample["repeat"]))
    scores: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        sample["values"] = {str(name): number(value) for name, value in sample["values"].items()}
        for name, value in sample["values"].items():
            scores[name] += [] if value is None else [value]
    if not any(scores.values()):
        raise DataError(f"{system.name} has no scores: nothing was scored, or the log was cut off", file=place)
    fields = dict.fromkeys(key for sample in samples for key in sample.get("metadata") or ())
    if document not in {DOCUMENT, *fields}:
        raise DataError(f"no {document!r} in the metadata, which has {', '.join(fields) or 'no fields'}", file=place)
    counted = [system.main] if system.main else [n for n in scores if all(0 <= x <= 1 for x in scores[n])] or scores
    weights = {name: float(name in counted) for name in scores}
    lower = {name: max([1.0, *scores[name]]) for name in system.lower_is_better}
    measures = {name: Returned(name, lower_is_better=name in lower, most=lower.get(name)) for name in scores}
    zero = Evidence.empty(measures, weights)
    questions = {sample["id"]: sample["inputs"] for sample in samples}
    places = {key: index for index, key in enumerate(questions)}
    rows = [{"index": places[sample["id"]], **_row(sample, zero, document)} for sample in samples]
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


def _row(sample: Fields, zero: Evidence, document: str) -> Fields:
    """A sample as a row; a score that the tool did not give is no evidence, or the worst if the sample failed."""
    error = sample.get("error")
    gold = sample.get("gold") or {}
    metadata = sample.get("metadata") or {}
    tallies = {}
    for name in zero:
        value = sample["values"].get(name)
        if value is None and error:
            value = zero.worst.get(name, 0.0)
        tallies[name] = Mean() if value is None else Mean.of(value)
    score = float(zero.with_items(tallies).value)
    row = {name: sample[name] for name in ("id", "repeat", "inputs", "prediction")}
    row |= {"gold": gold, "score": score, "tallies": {name: tally.state() for name, tally in tallies.items()}}
    row |= {name: sample[name] for name in ("latency_s", "usage") if sample.get(name) not in (None, {})}
    check_parts(row)
    if metadata.get(document) is not None:
        row["document"] = str(metadata[document])
    if error:
        row["error"] = _short(error)
    elif score < 1:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in sample.get("reasons", {}).items() if reason)
        row["errors"] = [each.state() for each in differences(gold, sample["prediction"], _short(reasons), score)]
    return row


def _short(text: str) -> str:
    """The beginning of a text on one line."""
    return " ".join(text.split())[:MOST]
