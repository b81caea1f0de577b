"""What a tuning made: the program before and after on each split, and the ledger of everything that was tried.

``ledger.jsonl`` has one line a test of a candidate: a bundle of edits, the bundle without one of them, an edit alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay import jsonl
from goldassay.exceptions import GoldassayError
from goldassay.running import Run
from goldassay.statistics import Comparison, compare
from goldassay.tuning.acceptance import CampaignVerdict
from goldassay.tuning.leaks import clusters
from goldassay.tuning.measuring import evaluated, failure
from goldassay.tuning.patches import Effect, Patch
from goldassay.tuning.patterns import Pattern

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import AnyMetric


@dataclass
class Ledger:
    """Everything that was tried, in order.

    >>> ledger = Ledger()
    >>> patch = Patch(predictor="x", action="add_instruction", text="Be brief.", status="rejected")
    >>> ledger.note(1, "rules", [patch], "rejected", "not shown to be better", None)
    >>> ledger.entries[0]["status"], ledger.kept
    ('rejected', [])
    """

    patches: list[Patch] = field(default_factory=list)
    """Each edit once, with its last effect and what became of it."""
    patterns: list[list[Pattern]] = field(default_factory=list)
    """The errors before each bundle, most costly first."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    """One line for each test of a candidate."""
    failures: list[str] = field(default_factory=list)
    """Proposers that failed, for which pattern and why."""
    verdict: CampaignVerdict = field(default_factory=CampaignVerdict)
    """How it ended: kept, proven."""

    @property
    def kept(self) -> list[Patch]:
        """The edits that stand in the program, in the order in which they build on each other."""
        return [patch for patch in self.patches if patch.status in ("kept", "proven")]

    @property
    def tried(self) -> list[str]:
        """What was tried, a line each with its effect: what a reflecting model is told."""
        out = []
        for entry in self.entries:
            effect = entry.get("train+dev")
            gain = f"{effect['difference']:+.3f}" if effect else "not measured"
            edits = "; ".join(str(edit)[:120] for edit in entry["edits"][:3])
            out.append(f"{entry['candidate']}: {gain}, {entry['status']}: {edits}")
        return out

    def note(
        self, round_: int, candidate: str, patches: Sequence[Patch], status: str, reason: str, effect: Effect | None
    ) -> None:
        """Write down a test of a candidate, and how it ended.

        Args:
            round_: The round, from 1.
            patches: The patches of the candidate.
            status: How it ended.
            reason: Why.
            effect: The paired difference, where it was measured.
        """
        about = {"patches": [patch.id for patch in patches], "edits": [patch.edit for patch in patches]}
        measured = {effect.split: effect.model_dump(exclude={"split"})} if effect else {}
        verdict = {"status": status, "reason": reason}
        self.entries.append({"round": round_, "candidate": candidate, **about, **verdict, **measured})


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
        """Whether the result is proven on test, where it was looked at once: the paired test, two-sided, at 5 %."""
        if self.test is None:
            return "not tested"
        found = self.test.difference
        shown = found.p <= 0.05
        return "not proven on test" if not shown else "proven on test" if found.difference > 0 else "worse on test"


def trial(
    before: Any,
    after: Any,
    examples: Sequence[dspy.Example],
    metric: AnyMetric,
    split: str,
    folder: Path | None,
    **options: Any,
) -> Trial:
    """Both programs on the same examples, and the paired difference of the metric.

    A program that fails on all of them has no value there, and is no loss or tie by 0: that is an error.

    Args:
        before: The program as it was.
        after: The program to compare with it.
        split: The split that the examples come from.
        folder: Where both runs go; nowhere without it.
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
