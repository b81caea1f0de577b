"""Logs of other tools, read as runs: Inspect, promptfoo, deepeval, MLflow and ``dspy.Evaluate``.

`goldassay.running.logs.tools` has a reader for each tool; here a `System` becomes a run. The scores of a sample are the
values of measures, each the mean over the examples, as the tools compute it. A sample that failed is a failed row: what
the tool did not score counts as the worst value, while most tools leave it out.

Whatever takes a run folder takes such a file too; of a file with several systems, ``FILE:NAME`` is one of them. What a
file is follows from its content. Nothing in it is executed, and archives are never unpacked to disk.

`draft` makes gold of what programs answered: the inputs of runs and traces, with an answer to each as a suggestion. A
person corrects the suggestions (`goldassay.reporting.pages.correcting`, Label Studio, a csv), and
`goldassay.gold.agreement` says how many were changed. Secrets are hidden.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from goldassay.exceptions import DataError, GoldassayError
from goldassay.feedback import differences
from goldassay.fields import check_unique
from goldassay.fields import read as field_at
from goldassay.files import Faults
from goldassay.gold import read
from goldassay.gold.anyfields import ABOUT, mapping
from goldassay.jsonl import JSON
from goldassay.measure import Returned, check_choice
from goldassay.running.about import described_measures
from goldassay.running.folder import ABOUT as RUN
from goldassay.running.folder import run_at
from goldassay.running.hashing import gold_hash
from goldassay.running.logs.tools import KINDS, System, foreign, number, systems_in
from goldassay.running.run import Run, stored
from goldassay.secrets import scrub
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


def _row(sample: dict[str, Any], zero: Evidence, document: str) -> dict[str, Any]:
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


WAYS = ("disagreement", "stratum", "random")


@dataclass
class DraftItem:
    """One input, and what each system answered to it, as JSON."""

    id: str
    inputs: Mapping[str, Any]
    strata: Mapping[str, Any]
    answers: list[tuple[str, str]] = field(default_factory=list)

    @property
    def most_common(self) -> tuple[str, int]:
        """The answer that most systems gave, and how many did."""
        return Counter(answer for _, answer in self.answers).most_common(1)[0]

    def record(self) -> dict[str, Any]:
        """The input with its most common answer, who gave it, and what others answered."""
        best, _ = self.most_common
        others = {name: json.loads(answer) for name, answer in self.answers if answer != best}
        meta: dict[str, Any] = {"suggested_by": sorted({name for name, answer in self.answers if answer == best})}
        meta |= {"other_answers": others} if others else {}
        strata = {"strata": self.strata} if self.strata else {}
        return {"id": self.id, **self.inputs, **json.loads(best), **strata, "meta": meta}


class Drafts(NamedTuple):
    """Records with suggestions, the fields to be corrected, how they were chosen, and warnings."""

    records: list[dict[str, Any]]
    outputs: list[str]
    by: str
    warnings: list[str]


def draft(
    places: Iterable[Path | str],
    task: str,
    *,
    n: int = 50,
    by: str | None = None,
    map: str | Mapping[str, str] | None = None,
    seed: int = 0,
) -> Drafts:
    """Draft gold of a task.

    Args:
        places: Run folders, and traces or logs of other tools.
        task: The task.
        n: How many records, at most.
        by: ``disagreement`` takes the inputs on which answers differ most, ``stratum`` as many of each stratum,
            ``random`` any; by default the first of these that the sources allow.
        map: Which field of inputs or answers is which of the task's, such as ``{"text": "body", "label": "output"}``.
        seed: Seeds the choice.

    Raises:
        GoldassayError: The sources have no inputs or answers, or do not allow this choice.
        DataError: No answer is gold of the task.
    """
    chosen, way = _chosen(_items(places), by, random.Random(seed))
    faults = Faults(math.inf)
    paths = mapping(map) or {}
    rows = [scrub(item.record()) for item in chosen[:n]]
    records = read(rows, task=task, map=map, faults=faults) if rows else []
    if faults.errors and not records:
        raise faults.errors[0]
    left_out = len(faults.errors)
    warnings = [f"{left_out} answers are no gold and were left out: {faults.errors[0]}"] if left_out else []
    inputs_of_items = [item.inputs for item in chosen[:n]]
    inputs = {name for each in inputs_of_items for name in each}
    inputs |= {
        name for name, path in paths.items() if any(field_at(e, path, None) is not None for e in inputs_of_items)
    }
    outputs = list(dict.fromkeys(name for record in records for name in record if name not in {*ABOUT, *inputs}))
    for record in records:
        suggestion = {name: record[name] for name in outputs if name in record}
        record["meta"] = {**record.get("meta", {}), "suggestion": suggestion}
    return Drafts(records, outputs, way, warnings)


def _items(places: Iterable[Path | str]) -> list[DraftItem]:
    """The inputs that the sources share or have alone, with all answers that did not fail."""
    items: dict[str, DraftItem] = {}
    homes: dict[str, Path] = {}  # of the systems, so that two of one name are told apart
    for place in places:
        file, _ = split_name(place)
        for system, name, inputs, strata, answer in _answers(file):
            if not isinstance(inputs, Mapping) or not inputs:
                raise GoldassayError(f"{place} was stored without inputs, so no gold can be drafted from it")
            if (key := _json(inputs)) not in items:
                taken = any(item.id == name for item in items.values())
                items[key] = DraftItem(f"{file.stem}-{name}" if taken else name, inputs, strata)
            source = system if homes.setdefault(system, file) == file else f"{system} ({file.stem})"
            items[key].answers.append((source, _json(answer)))
    if not items:
        raise GoldassayError("these sources have no answers that did not fail")
    return list(items.values())


def _answers(file: Path) -> Iterator[tuple[str, str, Any, Any, Any]]:
    """System, id, inputs, strata and answer of all that did not fail, of a run folder or a log."""
    if not file.is_file():
        run = Run.load(file)
        for row in run.rows:
            if row.get("prediction") is not None and "error" not in row:
                yield run.name, str(row["id"]), row.get("inputs"), row.get("strata", {}), row["prediction"]
    elif systems := systems_in(file):
        for system in systems:
            for sample in system.samples:
                if not sample.get("error"):
                    # a tool may wrap inputs, or the answer, in one field
                    sides = (sample["inputs"], sample["prediction"])
                    inner = [
                        next((v for v in side.values() if len(side) == 1 and isinstance(v, dict)), side)
                        for side in sides
                    ]
                    yield system.name, str(sample["id"]), inner[0], {}, inner[1]
    else:
        raise DataError(f"no traces and no log that can be read; there are readers for {KINDS}", file=file)


def _chosen(items: list[DraftItem], by: str | None, rng: random.Random) -> tuple[list[DraftItem], str]:
    """The inputs in the order in which they are worth a look, and the way that was taken."""
    agreement = {item.id: item.most_common[1] / len(item.answers) for item in items}
    disputed = min(agreement.values()) < 1
    strata = any(item.strata for item in items)
    if by is None:
        possible = {"disagreement": disputed, "stratum": strata, "random": True}
        by = next(way for way in WAYS if possible[way])
    check_choice("by", by, WAYS)
    if by == "disagreement" and not disputed:
        raise GoldassayError("no input has two answers that differ; name a second run, or take `by=random`")
    if by == "stratum" and not strata:
        raise GoldassayError("these sources have no strata; take `by=random`")
    shuffled = rng.sample(items, len(items))
    if by == "disagreement":
        shuffled.sort(key=lambda item: agreement[item.id])
    elif by == "stratum":  # one of each stratum in turn
        seen = Counter[str]()
        turns: dict[str, int] = {}
        for item in shuffled:
            stratum = _json(item.strata)
            turns[item.id] = seen[stratum]
            seen[stratum] += 1
        shuffled.sort(key=lambda item: turns[item.id])
    return shuffled, by


def _json(value: JSON) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
