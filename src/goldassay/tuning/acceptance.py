"""Kept, proven, better: the rules by which edits and programs are accepted, and the verdicts that people read.

Two verdicts are never mixed. *Kept* is what was best on the examples that it was chosen on (`is_kept`): better by the
estimate, with a two-sided p of ``KEEP`` at most. It may be luck, and has no interval: where nothing helps, a 95 %
interval of what was kept holds the truth in six of ten campaigns (docs/power.md). *Proven* is said of a program, and of
a patch only if it was tested alone. It rests on evidence that the choice had no part in:

* one look at a held-out test split (`after_test`, the verdict of a `Comparison`); or, if there is none,
* the campaign's own hypotheses in a fixed order, each tested at the full level and only if all before it were shown
  (Maurer, Hothorn, Lehmacher 1995), so that the chance of proving anything when no edit helps is ``ALPHA`` at most. One
  hypothesis is tested twice (`is_proven`): by betting at every look, at ``EARLY`` of the level, and by the paired
  permutation test at the end, one-sided, at what is left; the two levels add up to ``ALPHA``.

A p is never smaller than that of the difference over its standard error (`goldassay.statistics.paired.PairedTest.p`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from goldassay.core.fields import JsonObject
from goldassay.results.comparison import Comparison
from goldassay.results.view import p_value
from goldassay.running.run import Case

ALPHA = 0.05
KEEP = 0.2
EARLY = 0.2  # of alpha, for accepting at a look before the last
NEEDED = 0.5  # the two-sided p up to which an edit contributes something, if the bundle is worse without it
LABELS_SPLIT = "labels"  # the split of an effect that was estimated from labels of disagreements
JUDGED_SPLIT = "judged"  # that of the change of a mode's share by an aligned judge
REVIEWED_SPLIT = "reviewed"  # that of records that a person read, and corrected where they were wrong
MARGIN = 0.05  # an interval within it shows that there is no larger difference


class Outcome(StrEnum):
    """How the measuring of a candidate ended."""

    ACCEPT = "accept"  # the sequential test accepted it early
    REJECT = "reject"  # the sequential test gave it up early
    FULL = "full"  # after all examples
    FAILED = "failed"  # the program failed on every example


class Status(StrEnum):
    """The state of a patch."""

    PROPOSED = "proposed"
    KEPT = "kept"
    PROVEN = "proven"
    REJECTED = "rejected"
    APPLIED = "applied"
    REVERTED = "reverted"


class Effect(BaseModel):
    """The difference that a patch made to the corpus value on one split, measured and paired.

    Labels of what two programs answered differently give the difference alone: ``before`` and ``after`` are None.
    ``chosen`` says that these examples also chose the patch. The estimate is then too good, so it has no interval, and
    ``p`` is only what the rule of keeping went by.
    """

    model_config = ConfigDict(extra="forbid")

    split: str
    before: float | None = None
    after: float | None = None
    difference: float
    low: float | None = None
    high: float | None = None
    p: float
    n: int
    documents: int | None = None
    chosen: bool = False
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def size(self) -> str:
        """How many examples it was measured on, and the documents that they belong to, if any two share one."""
        if self.split == LABELS_SPLIT:
            return f"{self.n} labels"
        return f"{self.n} examples{f' in {self.documents} documents' if self.documents else ''}"

    @property
    def reversed(self) -> Effect:
        """The effect of making an edit, where this is the effect of leaving it out."""
        changed = {
            "before": self.after,
            "after": self.before,
            "difference": -self.difference,
            "low": None if self.high is None else -self.high,
            "high": None if self.low is None else -self.low,
        }
        return self.model_copy(update=changed)

    @property
    def as_chosen(self) -> Effect:
        """The effect of a patch that was kept for it: without an interval."""
        return self.model_copy(update={"low": None, "high": None, "chosen": True})


@dataclass(frozen=True)
class CandidateResult:
    """A candidate and what it was measured against: its cases, the effect, and how the measuring ended.

    ``sequential_p`` may be read at any time.
    """

    cases: dict[int, Case]
    effect: Effect | None
    ended: Outcome
    sequential_p: float = 1.0
    failure: str = ""


def ended_early(decision: str, effect: Effect, futility: bool) -> Outcome:
    """How a candidate ends before all examples are measured; ``FULL`` if its measuring goes on.

    Args:
        decision: That of the sequential test: accept, reject or continue.
        effect: The effect so far.
        futility: Whether a candidate that is not better so far, and hardly can be, is given up too.
    """
    if decision != "continue":
        return Outcome(decision)
    hopeless = effect.difference <= 0 and (effect.high or 0) < 0.01
    return Outcome.REJECT if futility and hopeless else Outcome.FULL


def is_kept(result: CandidateResult, level: float = KEEP) -> bool:
    """The rule of keeping, on the examples that choose: better, accepted early or with a two-sided p of ``level``."""
    effect = result.effect
    if effect is None or effect.difference <= 0 or result.ended in (Outcome.REJECT, Outcome.FAILED):
        return False
    return result.ended == Outcome.ACCEPT or effect.p <= level


def is_needed(result: CandidateResult) -> bool:
    """The rule of leave-one-out: whether a bundle is worse without the slot that is left out of this result."""
    effect = result.effect
    if effect is None:
        return True
    return result.ended == Outcome.REJECT or (effect.difference < 0 and effect.p <= NEEDED)


def is_proven(result: CandidateResult, alpha: float = ALPHA) -> bool:
    """The rule of proving within a campaign: by betting at any look, or one-sided after all examples."""
    effect = result.effect
    if effect is None or effect.difference <= 0:
        return False
    at_the_end = result.ended == Outcome.FULL and effect.p / 2 <= (1 - EARLY) * alpha
    return result.sequential_p <= EARLY * alpha or at_the_end


@dataclass(frozen=True)
class CampaignVerdict:
    """The end of a campaign: whether anything is kept, its effect, whether the program is proven, and by which test."""

    kept: bool = False
    proven: bool = False
    effect: Effect | None = None
    by: str = ""

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        if not self.kept or self.effect is None:
            return "Nothing is kept: no edit was better on train and dev."
        effect = self.effect
        proven = "proven" if self.proven else "not proven"
        by = f" by {self.by}" if self.by else ""
        return (
            f"Kept: {effect.difference:+z.3f} on {effect.size} of train and dev, which also chose it, so without "
            f"an interval. The program is {proven}{by}."
        )

    def of_patch(self, alone: bool) -> tuple[Status, str]:
        """The status of a kept patch, and the reason.

        It is proven if the program is and differs by nothing else, or if a test of it ``alone`` said so. Any other one
        is part of a proven program, which says little about the patch.
        """
        if not self.proven:
            return Status.KEPT, "kept"
        if alone:
            return Status.PROVEN, f"proven ({self.by})"
        return Status.KEPT, f"part of a proven program ({self.by}), not tested alone"

    def state(self) -> JsonObject:
        """As JSON."""
        return {**asdict(self), "effect": self.effect.model_dump() if self.effect else None, "words": self.sentence}


def after_test(difference: float, p: float, split: str, before: Status) -> tuple[Status, str]:
    """The status of a patch after one look at examples that had no part in choosing it, measured alone; the reason.

    A two-sided p of ``ALPHA`` at most shows a gain. A patch is kept if dev or reviewed records show it better, and
    proven if test does; what dev rejected, test cannot prove. Reviewed records are few: one that may be better by them
    stays as it was.

    Args:
        difference: Its gain.
        p: That of the gain, corrected for the number of patches.
        split: ``dev``, ``test`` or ``reviewed``.
        before: The status that it had.
    """
    reason = f"corrected p {p_value(p)} on {split}"
    if not (difference > 0 and p <= ALPHA):
        open_ = split == REVIEWED_SPLIT and difference > 0
        return (before if open_ else Status.REJECTED), reason
    if split != "test":
        return Status.KEPT, reason
    if before == Status.REJECTED:
        return Status.REJECTED, f"{reason}, but rejected on dev"
    return Status.PROVEN, reason


def after_labels(comparison: Comparison, before: Status) -> tuple[Status, str]:
    """The status of a patch whose program was held against the one without it by labels of disagreements; the reason.

    Args:
        comparison: The verdict, which holds whenever the labelling stops; the program with the patch is the second
            system.
        before: The status that the patch had.
    """
    reason = comparison.sentence.partition(": ")[2]
    status = {"better": Status.PROVEN, "worse": Status.REJECTED}.get(comparison.verdict, before)
    return status, reason
