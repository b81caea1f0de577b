"""The one rule by which edits are accepted, with two verdicts that are never mixed.

*Kept* is what was best on the examples that it was chosen on: better by the estimate, with a two-sided p of ``KEEP`` at
most. It may be luck. *Proven* is what evidence says that the choice had no part in: one look at a held-out test split,
or, where there is none, the campaign's own hypotheses in a fixed order, each tested at the full level and only if all
before it were shown (Maurer, Hothorn, Lehmacher 1995), so that the chance of proving anything when no edit helps is
``alpha`` at most.

One hypothesis is tested twice: by betting at every look, at ``EARLY`` of the level, and by the paired permutation test
at the end, one-sided, at what is left; the two levels add up to ``alpha``. A p is never smaller than that of the
difference over its standard error (`goldassay.statistics.paired.Comparison.p`).

Patches that are measured each alone, in no order, are corrected for their number (Holm).

The `Ledger` notes every test of a candidate (a bundle of edits, the bundle without one of them, an edit alone) with its
verdict; ``ledger.jsonl`` has one line for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from goldassay.statistics import holm
from goldassay.tuning.measuring import CandidateResult
from goldassay.tuning.patches import Effect, Patch
from goldassay.tuning.patterns import Pattern

ALPHA, KEEP = 0.05, 0.2
EARLY = 0.2  # of alpha, for accepting at a look before the last
WINS = 5  # examples: with fewer wins and no loss no test at .05 shows anything (2^-5 = .031)


@dataclass(frozen=True)
class CampaignVerdict:
    """How a campaign ended: kept or not, by how much and how sure; proven or not, and by what."""

    kept: bool = False
    proven: bool = False
    effect: Effect | None = None
    by: str = ""

    @property
    def words(self) -> str:
        """In one line."""
        if not self.kept or self.effect is None:
            return "Nothing is kept: no edit was better on train and dev."
        one = self.effect
        p = f"{one.p:.3f}" if one.p >= 0.001 else "<.001"
        how = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}], p {p}, n {one.n}"
        by = f" by {self.by}" if self.by else ""
        proof = f"{'proven' if self.proven else 'not proven'}{by}"
        return f"Kept: {how} on train and dev (cross-fitted); {proof}."

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "effect": self.effect.model_dump() if self.effect else None, "words": self.words}


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


def proves(tested: CandidateResult, alpha: float = ALPHA) -> bool:
    """Whether the level allows to say "better": by betting at any look, or one-sided when all was looked at."""
    if tested.effect is None or tested.gain <= 0:
        return False
    return tested.sequential_p <= EARLY * alpha or (tested.ended == "full" and tested.p <= (1 - EARLY) * alpha)


def keeps(tested: CandidateResult, keep: float = KEEP) -> bool:
    """Whether the estimate speaks for it: better, and the two-sided p is ``keep`` at most."""
    if tested.effect is None or tested.gain <= 0 or tested.ended in ("reject", "rejected", "failed"):
        return False
    return tested.ended == "accept" or tested.effect.p <= keep


def corrected(patches: Sequence[Patch]) -> dict[str, float]:
    """The p of each patch's last effect, corrected for their number (Holm), by id."""
    adjusted = holm([patch.effects[-1].p for patch in patches])
    return {patch.id: float(p) for patch, p in zip(patches, adjusted, strict=True)}


def judge(patches: Sequence[Patch], split: str, alpha: float = ALPHA) -> None:
    """Each patch alone: kept where dev shows it better, proven where test does; what dev rejected, test proves not."""
    adjusted = corrected(patches)
    for patch in patches:
        p = adjusted[patch.id]
        patch.reason = f"corrected p {p:.4f} on {split}"
        if patch.status == "applied":
            continue
        better = patch.effects[-1].difference > 0 and p <= alpha
        if better and split == "test" and patch.status == "rejected":
            patch.reason += ", but rejected on dev"
        elif better:
            patch.status = "proven" if split == "test" else "kept"
        else:
            patch.status = "rejected"
