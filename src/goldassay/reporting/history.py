"""A folder of runs: what is in it, and how a program's values went over time.

A line joins two values only where the model with its settings, the conventions and the gold are the same; where one of
them changed, the line breaks and says what.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.reporting.facts import shown_model

DEPTH = 3  # a tuning's folder holds its runs, and stands in the folder of runs itself


@dataclass(frozen=True)
class RunEntry:
    """A run in a folder of runs, as its ``run.json`` tells it; rows are not read."""

    key: str
    """Its folder, as a path from the folder of runs."""
    folder: Path
    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What was run."""
        return str(self.about.get("name", "run"))

    @property
    def model(self) -> str:
        """The model, or ``no model``."""
        return shown_model(self.about.get("lm") or "no model")

    @property
    def settings(self) -> str:
        """The model's settings in words: ``temperature 0.8``."""
        found = {name: value for name, value in (self.about.get("model") or {}).items() if name != "name"}
        return ", ".join(f"{name} {value}" for name, value in found.items())

    @property
    def started(self) -> str:
        """When it began."""
        return str(self.about.get("started") or "")

    @property
    def status(self) -> str:
        """``finished``, ``running`` or ``interrupted``."""
        return str(self.about.get("status") or "unknown")

    @property
    def examples(self) -> int:
        """How many gold examples it is about."""
        return int(self.about.get("gold", {}).get("examples") or 0)

    @property
    def value(self) -> float | None:
        """The metric's corpus value, once there is one."""
        found = self.about.get("value")
        return None if found is None else float(found)

    @property
    def gold(self) -> str:
        """The gold's version: the first letters of its hash."""
        return str(self.about.get("gold", {}).get("sha256") or "")[:12]

    def done(self) -> int:
        """How many rows are written."""
        file = self.folder / "rows.jsonl"
        count = 0
        if file.is_file():
            with file.open("rb") as rows:
                while block := rows.read(1 << 20):
                    count += block.count(b"\n")
        return min(count, self.examples) if self.examples else count


def entries(runs: Path) -> list[RunEntry]:
    """The runs in a folder, the newest first; what is no run is passed over."""
    return entries_and_unreadable(runs)[0]


def entries_and_unreadable(runs: Path) -> tuple[list[RunEntry], list[Path]]:
    """The runs in a folder, the newest first, and the folders whose ``run.json`` cannot be read."""
    found, lost = [], []
    for file, about in _read(runs):
        if about is None:
            lost.append(file.parent)
        elif isinstance(about.get("measures"), dict):
            found.append(RunEntry(file.parent.relative_to(runs).as_posix(), file.parent, about))
    return sorted(found, key=lambda one: (one.started, one.key), reverse=True), lost


def _read(runs: Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    if not runs.is_dir():
        raise GoldassayError(f"no folder {runs}; runs are written there by goldassay eval and tune")
    for depth in range(DEPTH):
        for file in sorted(runs.glob("/".join(["*"] * depth + ["run.json"]))):
            try:
                about = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError):
                about = None
            yield file, about if isinstance(about, dict) else None


@dataclass(frozen=True)
class Point:
    """A value at a moment."""

    entry: RunEntry
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """Values of one model that may be joined; ``why`` says what changed before its first, empty for the first line."""

    model: str
    points: tuple[Point, ...]
    why: str = ""


def lines(found: Sequence[RunEntry], name: str, measure: str) -> list[Line]:
    """A measure's values of one program over time: a line for each model, broken where values cannot be joined."""
    out: list[Line] = []
    mine = [one for one in found if one.name == name and measure in one.about.get("values", {})]
    for model in dict.fromkeys(one.model for one in mine):
        points: list[Point] = []
        why = ""
        earlier: RunEntry | None = None
        for one in sorted((each for each in mine if each.model == model), key=lambda each: each.started):
            changed = difference(earlier, one, measure) if earlier else ""
            if changed:
                out.append(Line(model, tuple(points), why))
                points, why = [], changed
            value = float(one.about["values"][measure])
            low, high = one.about.get("intervals", {}).get(measure, (value, value))
            points.append(Point(one, value, float(low), float(high)))
            earlier = one
        if points:
            out.append(Line(model, tuple(points), why))
    return out


def difference(earlier: RunEntry, later: RunEntry, measure: str) -> str:
    """What keeps two values from being joined; empty where nothing does."""
    before, after = (one.about["measures"].get(measure, {}).get("conventions") for one in (earlier, later))
    changed = []
    if earlier.about.get("lm") != later.about.get("lm"):
        changed.append("the model is another file of the same name")
    if earlier.settings != later.settings:
        changed.append(f"the model's settings changed from {earlier.settings or 'none'} to {later.settings or 'none'}")
    if before != after:
        changed.append(f"conventions changed from {before} to {after}")
    if not (earlier.gold and earlier.gold == later.gold):
        a, b = (f"{one.gold or 'not hashed'}, {one.examples} examples" for one in (earlier, later))
        changed.append(f"gold changed from {a} to {b}")
    return "; ".join(changed)
