"""Draft gold from what programs answered: the inputs of runs and traces, with an answer to each as a suggestion.

A person corrects the suggestions (`goldassay.reporting.pages.correcting`, Label Studio, a csv), and
`goldassay.gold.agreement.agree_files` says how many were changed. Secrets are hidden.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read as field_at
from goldassay.files import Faults
from goldassay.gold import read
from goldassay.gold.anyfields import ABOUT, mapping
from goldassay.measure import check_choice
from goldassay.running.logs import split_name
from goldassay.running.logs.tools import KINDS, systems_in
from goldassay.running.run import Run
from goldassay.secrets import scrub

WAYS = ("disagreement", "stratum", "random")


@dataclass
class Asked:
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
    """
    chosen, way = _chosen(_asked(places), by, random.Random(seed))
    faults, paths = Faults(math.inf), mapping(map) or {}
    rows = [scrub(item.record()) for item in chosen[:n]]
    records = read(rows, task=task, map=map, faults=faults) if rows else []
    if faults.errors and not records:
        raise faults.errors[0]
    left_out = len(faults.errors)
    warnings = [f"{left_out} answers are no gold and were left out: {faults.errors[0]}"] if left_out else []
    fields_asked = [item.inputs for item in chosen[:n]]
    inputs = {name for each in fields_asked for name in each}
    inputs |= {name for name, path in paths.items() if any(field_at(e, path, None) is not None for e in fields_asked)}
    outputs = list(dict.fromkeys(name for record in records for name in record if name not in {*ABOUT, *inputs}))
    for record in records:
        suggestion = {name: record[name] for name in outputs if name in record}
        record["meta"] = {**record.get("meta", {}), "suggestion": suggestion}
    return Drafts(records, outputs, way, warnings)


def _asked(places: Iterable[Path | str]) -> list[Asked]:
    """The inputs that the sources share or have alone, with all answers that did not fail."""
    items: dict[str, Asked] = {}
    homes: dict[str, Path] = {}  # of the systems, so that two of one name are told apart
    for place in places:
        file, _ = split_name(place)
        for system, name, inputs, strata, answer in _answers(file):
            if not isinstance(inputs, Mapping) or not inputs:
                raise GoldassayError(f"{place} was stored without inputs, so no gold can be drafted from it")
            if (key := _json(inputs)) not in items:
                taken = any(item.id == name for item in items.values())
                items[key] = Asked(f"{file.stem}-{name}" if taken else name, inputs, strata)
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


def _chosen(items: list[Asked], by: str | None, rng: random.Random) -> tuple[list[Asked], str]:
    """The inputs in the order in which they are worth a look, and the way that was taken."""
    agreement = {item.id: item.most_common[1] / len(item.answers) for item in items}
    disputed, strata = min(agreement.values()) < 1, any(item.strata for item in items)
    by = by or ("disagreement" if disputed else "stratum" if strata else "random")
    check_choice("by", by, WAYS)
    if by == "disagreement" and not disputed:
        raise GoldassayError("no input has two answers that differ; name a second run, or take `by=random`")
    if by == "stratum" and not strata:
        raise GoldassayError("these sources have no strata; take `by=random`")
    shuffled = rng.sample(items, len(items))
    if by == "disagreement":
        shuffled.sort(key=lambda item: agreement[item.id])
    elif by == "stratum":  # one of each stratum in turn
        seen, turns = Counter[str](), {}
        for item in shuffled:
            stratum = _json(item.strata)
            turns[item.id] = seen[stratum]
            seen[stratum] += 1
        shuffled.sort(key=lambda item: turns[item.id])
    return shuffled, by


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
