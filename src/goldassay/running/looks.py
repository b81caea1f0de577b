"""Looks at held-out data, counted: all candidates that are held against a gate on the same gold share one level.

The runs' folder keeps a file of looks, a line a run: its gold by hash, its folder, when. The run that is looked at
next is the next look; the same run again is no new one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import GoldassayError
from goldassay.measure import OWN, parse
from goldassay.running.identity import now
from goldassay.running.run import Run
from goldassay.statistics.gates import Gate, gate

LOOKS = "looks.jsonl"


def gated(run: Run, runs: Path, *, alpha: float = 0.05) -> dict[str, Gate]:
    """What the gate says of each measure that has a target; this look is noted in the runs' folder.

    All gates have to say pass, so several targets need no correction; several candidates do (see `gate`).
    """
    wanted = {key: one["target"] for key, one in run.about["measures"].items() if one.get("target") is not None}
    if not wanted:
        raise GoldassayError("a gate needs a target: Metric(..., targets={'strict_f1': 0.85})")
    look = counted(run, runs)
    documents = [row.get("document", row["index"]) for row in run.rows]
    out = {}
    for key, target in wanted.items():
        stored = str(run.about["measures"][key]["measure"])
        measure = None if stored.startswith(OWN) else parse(stored)
        out[key] = gate(
            run.tallies(key),
            run.zero[key],
            target=float(target),
            clusters=documents if len(set(documents)) < len(documents) else None,
            bounds=measure.limits if measure else None,
            lower_is_better=bool(measure and measure.lower_is_better),
            look=look,
            alpha=alpha,
        )
    return out


def counted(run: Run, runs: Path) -> int:
    """The how many-th look at this gold the run is, from 1; a run that was not looked at before is noted."""
    gold, folder = run.about["gold"].get("sha256"), str(Path(run.folder or "").name)
    file = runs / LOOKS
    seen: list[dict[str, Any]] = list(jsonl.rows(file, what="a look")) if file.exists() else []
    before = [str(row["folder"]) for row in seen if row.get("gold") == gold]
    if folder in before:
        return before.index(folder) + 1
    with jsonl.Log(file) as log:
        log.add({"gold": gold, "folder": folder, "at": now()})
    return len(before) + 1
