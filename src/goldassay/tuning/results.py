"""The ledger of a patching: every test of every patch, in order, with its effect, its cost and the verdict.

``ledger.jsonl`` has one line a test. A patch that was better, but not the best of its round, is tested again on top of
what was accepted, so it may stand there more than once.

A program before and after tuning on one split, and what a tuning made of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.exceptions import GoldassayError
from goldassay.running import Run
from goldassay.statistics import Comparison, compare
from goldassay.tuning.measuring import clusters, evaluated, failure
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern


@dataclass
class Ledger:
    """Everything that was tried, in order.

    >>> ledger = Ledger()
    >>> ledger.note(1, Patch(predictor="x", action="add_instruction", text="Be brief.", status="rejected"))
    >>> ledger.entries[0]["status"], ledger.accepted
    ('rejected', [])
    """

    patches: list[Patch] = field(default_factory=list)
    """Each patch once, with its last effect and its final verdict."""
    patterns: list[list[Pattern]] = field(default_factory=list)
    """The train errors before each round, most costly first."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    """One line for each test of a patch."""
    failures: list[str] = field(default_factory=list)
    """Proposers that failed, for which pattern and why."""

    @property
    def accepted(self) -> list[Patch]:
        """The patches that were kept, in the order in which they build on each other."""
        kept = {entry["patch"]: index for index, entry in enumerate(self.entries) if entry["status"] == "accepted"}
        return sorted((patch for patch in self.patches if patch.id in kept), key=lambda patch: kept[patch.id])

    def note(self, round_: int, patch: Patch) -> None:
        """Write down how a patch stands after a round."""
        effects = {effect.split: effect.model_dump(exclude={"split"}) for effect in patch.effects}
        about = {"proposer": patch.proposer, "pattern": patch.pattern, "edit": patch.edit}
        verdict = {"status": patch.status, "reason": patch.reason}
        self.entries.append({"round": round_, "patch": patch.id, **about, **verdict, **effects})


def write(entries: list[dict[str, Any]], file: Path) -> None:
    """Write a ledger, one JSON object a line."""
    jsonl.replace(file, "".join(f"{jsonl.dumps(entry)}\n" for entry in entries))


def read(file: Path) -> list[dict[str, Any]]:
    """Read a ledger back."""
    return list(jsonl.rows(file))


@dataclass(frozen=True)
class Trial:
    """A program before and after on one split, and the paired difference."""

    before: Run
    after: Run
    difference: Comparison


@dataclass(frozen=True)
class Tuned:
    """What tuning made: the program, what it was worth on dev and test, what it cost, and how it ended."""

    program: Any
    optimizer: str
    dev: Trial
    test: Trial | None
    cost: dict[str, float]
    seed: int
    stopped: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    """Every patch that was tried, with its effect and verdict (``patches`` only)."""
    note: str = ""
    """What never worked on the way, such as a reflection model whose answers cannot be read; why nothing was tried."""

    @property
    def verdict(self) -> str:
        """Whether the result holds on test, where it was looked at once: the paired test at 5 %."""
        if self.test is None:
            return "not tested"
        found = self.test.difference
        shown = found.p <= 0.05 and found.difference != 0
        return "not shown on test" if not shown else "confirmed on test" if found.difference > 0 else "worse on test"


def trial(
    before: Any, after: Any, examples: Sequence[Any], metric: Any, split: str, folder: Path | None, **options: Any
) -> Trial:
    """Both programs on the same examples, and the paired difference of the metric.

    A program that fails on all of them has no value there, and is no loss or tie by 0: that is an error.
    """
    runs: list[Run] = []
    for name, program in (("before", before), ("after", after)):
        place = folder / f"{split}-{name}" if folder is not None else None
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)  # of an earlier part of this tuning
        done = evaluated(program, examples, metric, folder=place, name=f"{split}-{name}", **options)
        if failure(done):
            which = "the program" if name == "before" else "the tuned program"
            raise GoldassayError(f"{which} {failure(done).replace('examples', f'{split} examples', 1)}")
        runs.append(done)
    seed = options.get("seed", 0)
    difference = compare(runs[1].evidence, runs[0].evidence, runs[1].zero, clusters=clusters(examples), seed=seed)
    return Trial(runs[0], runs[1], difference)
