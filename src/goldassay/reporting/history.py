"""A folder of runs: what is in it, and how a program's values changed over time.

A line joins two values only if the model with its settings, the conventions and the gold are the same. Where one of
them changed, the line breaks and says what changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.reporting.summary import model_name
from goldassay.running.folder import read_about

DEPTH = 3  # a tuning folder holds its runs and stands in the folder of runs itself


@dataclass(frozen=True)
class RunEntry:
    """A run as its ``run.json`` describes it; rows are not read. ``key`` is its path inside the folder of runs."""

    key: str
    folder: Path
    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What was run."""
        return str(self.about.get("name", "run"))

    @property
    def model(self) -> str:
        """The model, or ``no model``."""
        return model_name(self.about.get("lm") or "no model")

    @property
    def settings(self) -> str:
        """The model's settings, such as ``temperature 0.8``."""
        model = self.about.get("model") or {}
        return ", ".join(f"{name} {value}" for name, value in model.items() if name != "name")

    @property
    def started(self) -> str:
        """When it began, in ISO form."""
        return str(self.about.get("started") or "")

    @property
    def status(self) -> str:
        """``finished``, ``running``, ``stopped`` or ``interrupted``."""
        return str(self.about.get("status") or "unknown")

    @property
    def examples(self) -> int:
        """How many gold examples it covers."""
        examples = self.about.get("gold", {}).get("examples")
        return examples if isinstance(examples, int) else 0  # an odd run hides no other

    @property
    def value(self) -> float | None:
        """The metric's corpus value, once there is one."""
        value = self.about.get("value")
        return None if value is None else float(value)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The low and the high end of the metric's interval."""
        try:
            low, high = map(float, self.about.get("interval") or ())
        except (TypeError, ValueError):
            return None
        return low, high

    @property
    def task(self) -> str:
        """The tasks of its measures."""
        measures = [str(about.get("measure", "")) for about in self.about["measures"].values()]
        return " and ".join(dict.fromkeys(measure.partition(".")[0] for measure in measures if measure))

    @property
    def folder_of_tuning(self) -> str:
        """The folder of the tuning that it belongs to; empty for a run of its own."""
        return self.key.rpartition("/")[0]

    @property
    def conventions(self) -> str:
        """The conventions of the measures that have a weight in the metric."""
        measures = self.about["measures"].values()
        return ", ".join(str(about.get("conventions")) for about in measures if about.get("weight", 1))

    @property
    def gold(self) -> str:
        """The first letters of the gold's hash."""
        return str(self.about.get("gold", {}).get("sha256") or "")[:12]

    def done(self) -> int:
        """How many rows are written."""
        file = self.folder / "rows.jsonl"
        count = file.read_bytes().count(b"\n") if file.is_file() else 0
        count //= int(self.about.get("repeats", 1))
        return min(count, self.examples) if self.examples else count


def entries(runs: Path) -> list[RunEntry]:
    """The runs in a folder, the newest first; anything that is not a run is skipped."""
    return entries_and_unreadable(runs)[0]


def entries_and_unreadable(runs: Path) -> tuple[list[RunEntry], list[Path]]:
    """The runs in a folder, the newest first, and the folders whose ``run.json`` cannot be read."""
    if not runs.is_dir():
        raise GoldassayError(f"no folder {runs}; runs are written there by goldassay eval and tune")
    readable, unreadable = [], []
    for depth in range(DEPTH):
        for file in sorted(runs.glob("/".join(["*"] * depth + ["run.json"]))):
            try:
                about = read_about(file.parent)
            except (GoldassayError, OSError):
                unreadable.append(file.parent)
                continue
            if "measures" in about:
                readable.append(RunEntry(file.parent.relative_to(runs).as_posix(), file.parent, about))
    return sorted(readable, key=lambda entry: (entry.started, entry.key), reverse=True), unreadable


def lines(runs: Sequence[RunEntry], name: str) -> list[tuple[str, list[RunEntry]]]:
    """The runs of one program over time whose metric may be joined by a line: a line a model, broken where something
    else changed. Each line stands behind what changed before it, if anything."""
    drawn: list[tuple[str, list[RunEntry]]] = []
    named = sorted((run for run in runs if run.name == name and run.value is not None), key=lambda run: run.started)
    for model in dict.fromkeys(run.model for run in named):
        earlier = None
        for run in named:
            if run.model != model:
                continue
            change = difference(earlier, run) if earlier else ""
            if earlier is None or change:
                drawn.append((change, []))
            drawn[-1][1].append(run)
            earlier = run
    return drawn


def difference(earlier: RunEntry, later: RunEntry) -> str:
    """Why two values cannot be joined; empty if they can."""
    changes = []
    if earlier.about.get("lm") != later.about.get("lm"):
        changes.append("the model is another file of the same name")
    if earlier.settings != later.settings:
        changes.append(f"the model's settings changed from {earlier.settings or 'none'} to {later.settings or 'none'}")
    if earlier.conventions != later.conventions:
        changes.append(f"conventions changed from {earlier.conventions} to {later.conventions}")
    if not earlier.gold or earlier.gold != later.gold:
        golds = [f"{run.gold or 'not hashed'}, {run.examples} examples" for run in (earlier, later)]
        changes.append(f"gold changed from {golds[0]} to {golds[1]}")
    return "; ".join(changes)
