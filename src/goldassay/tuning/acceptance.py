"""The one rule by which edits are accepted, with two verdicts that are never mixed.

*Kept* is what was best on the examples that it was chosen on: better by the estimate, with a two-sided p of ``KEEP``
at most. It may be luck, and has no interval: where nothing helps, a 95 % interval of what was kept holds the truth in
six of ten campaigns (docs/power.md). *Proven* is said of a program, and of a patch only if it was tested alone. It
rests on evidence that the choice had no part in: one look at a held-out test split, or, if there is none, the
campaign's own hypotheses in a fixed order, each tested at the full level and only if all before it were shown (Maurer,
Hothorn, Lehmacher 1995), so that the chance of proving anything when no edit helps is ``alpha`` at most.

One hypothesis is tested twice: by betting at every look, at ``EARLY`` of the level, and by the paired permutation test
at the end, one-sided, at what is left; the two levels add up to ``alpha``. A p is never smaller than that of the
difference over its standard error (`goldassay.statistics.paired.Comparison.p`).

Patches that are measured each alone, in no order, are corrected for their number (Holm).

The `Ledger` notes every test of a candidate (a bundle of edits, the bundle without one of them, an edit alone) with its
verdict; ``ledger.jsonl`` has one line for each.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from goldassay.statistics import holm
from goldassay.tuning.measuring import CandidateResult, Outcome
from goldassay.tuning.patches import Effect, Patch, Status
from goldassay.tuning.patterns import Pattern

ALPHA, KEEP = 0.05, 0.2
EARLY = 0.2  # of alpha, for accepting at a look before the last
CHOSEN = ("kept", "better", "dropped")  # how a test ends whose examples choose what goes on
WINS = 5  # examples: with fewer wins and no loss no test at .05 shows anything (2^-5 = .031)


@dataclass(frozen=True)
class CampaignVerdict:
    """How a campaign ended: whether anything is kept and its effect, whether the program is proven, and by what."""

    kept: bool = False
    proven: bool = False
    effect: Effect | None = None
    by: str = ""

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        if not self.kept or self.effect is None:
            return "Nothing is kept: no edit was better on train and dev."
        effect, by = self.effect, f" by {self.by}" if self.by else ""
        return (
            f"Kept: {effect.difference:+.3f} on {effect.size} of train and dev, which also chose it, so without "
            f"an interval. The program is {'proven' if self.proven else 'not proven'}{by}."
        )

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "effect": self.effect.model_dump() if self.effect else None, "words": self.sentence}


@dataclass
class Ledger:
    """Everything that was tried, in order.

    >>> from goldassay.tuning.patches import make_patch
    >>> ledger = Ledger()
    >>> patch = make_patch(predictor="x", action="add_instruction", text="Be brief.", status="rejected")
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
    """Edits that could not be proposed, for which pattern and why."""
    verdict: CampaignVerdict = field(default_factory=CampaignVerdict)
    """How it ended: kept, proven."""

    @property
    def kept(self) -> list[Patch]:
        """The edits that stand in the program, in the order in which they build on each other."""
        return [patch for patch in self.patches if patch.status in (Status.KEPT, Status.PROVEN)]

    def conclude(self, verdict: CampaignVerdict, alone: Collection[str] = ()) -> None:
        """Set the verdict on the program, and say of each patch that is kept what follows for it.

        A patch is proven if the program is and differs by nothing else, or if a test of it alone said so (``alone``:
        the ids of such patches). Any other one is part of a proven program, which says little about the patch.
        """
        self.verdict, patches = verdict, self.kept
        for patch in patches:
            own = verdict.proven and (len(patches) == 1 or patch.id in alone)
            patch.status = Status.PROVEN if own else Status.KEPT
            patch.reason = f"part of a proven program ({verdict.by}), not tested alone" if verdict.proven else "kept"
            patch.reason = f"proven ({verdict.by})" if own else patch.reason

    @property
    def tried(self) -> list[str]:
        """What was tried, a line each with its effect: for the model that reflects."""
        lines = []
        for entry in self.entries:
            effect = entry.get("train+dev")
            gain = f"{effect['difference']:+.3f}" if effect else "not measured"
            edits = "; ".join(str(edit)[:120] for edit in entry["edits"][:3])
            lines.append(f"{entry['candidate']}: {gain}, {entry['status']}: {edits}")
        return lines

    def note(
        self,
        round: int,
        candidate: str,
        patches: Sequence[Patch],
        status: str,
        reason: str,
        effect: Effect | None = None,
    ) -> None:
        """Write down a test of a candidate, and how it ended; patches that it rejects are marked so.

        Args:
            round: The round of the tuning.
            candidate: The name of the candidate.
            patches: The patches that it has.
            status: How the test ended.
            reason: Why, in words.
            effect: What the test measured; None if nothing was measured.
        """
        for patch in patches if status == "rejected" else ():
            patch.reject(reason)
        entry: dict[str, Any] = {"round": round, "candidate": candidate, "patches": [patch.id for patch in patches]}
        entry |= {"edits": [patch.edit for patch in patches], "status": status, "reason": reason}
        if effect is not None:
            effect = effect.as_chosen if status in CHOSEN else effect
            entry[effect.split] = effect.model_dump(exclude={"split"})
        self.entries.append(entry)


def proves(result: CandidateResult, alpha: float = ALPHA) -> bool:
    """Whether the level allows to say "better": by betting at any look, or one-sided after all examples."""
    if result.effect is None or result.gain <= 0:
        return False
    return result.sequential_p <= EARLY * alpha or (result.ended == Outcome.FULL and result.p <= (1 - EARLY) * alpha)


def keeps(result: CandidateResult, keep: float = KEEP) -> bool:
    """Whether the estimate speaks for it: better, and the two-sided p is ``keep`` at most."""
    if result.effect is None or result.gain <= 0 or result.ended in (Outcome.REJECT, Outcome.FAILED):
        return False
    return result.ended == Outcome.ACCEPT or result.effect.p <= keep


def corrected(patches: Sequence[Patch]) -> dict[str, float]:
    """The p of each patch's last effect, corrected for their number (Holm), by id."""
    adjusted = holm([patch.effects[-1].p for patch in patches])
    return {patch.id: float(p) for patch, p in zip(patches, adjusted, strict=True)}


def judge(patches: Sequence[Patch], split: str, alpha: float = ALPHA) -> None:
    """Each patch alone: kept if dev shows it better, proven if test does; what dev rejected, test cannot prove."""
    adjusted = corrected(patches)
    for patch in patches:
        better = patch.effects[-1].difference > 0 and adjusted[patch.id] <= alpha
        patch.reason = f"corrected p {adjusted[patch.id]:.4f} on {split}"
        if better and split == "test" and patch.status == Status.REJECTED:
            patch.reason += ", but rejected on dev"
        elif better:
            patch.status = Status.PROVEN if split == "test" else Status.KEPT
        else:
            patch.status = Status.REJECTED
