"""The ledger of a patching: every test of every patch, in order, with its effect, its cost and the verdict.

``ledger.jsonl`` has one line a test. A patch that was better, but not the best of its round, is tested again on top of
what was accepted, so it may stand there more than once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay import jsonl
from goldassay.tuning.patch_files import Patch
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
