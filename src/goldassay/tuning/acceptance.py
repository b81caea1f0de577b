"""The one rule by which patches are accepted.

Patches that are measured each alone, in no order, are corrected for their number (Holm).
"""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.statistics import holm
from goldassay.tuning.patches import Patch

ALPHA = 0.05


def corrected(patches: Sequence[Patch]) -> dict[str, float]:
    """The p of each patch's last effect, corrected for their number (Holm), by id."""
    adjusted = holm([patch.effects[-1].p for patch in patches])
    return {patch.id: float(p) for patch, p in zip(patches, adjusted, strict=True)}


def judge(patches: Sequence[Patch], split: str, alpha: float = ALPHA) -> None:
    """Accepted or rejected, each alone; dev chooses, and what dev rejected, test does not accept."""
    adjusted = corrected(patches)
    for patch in patches:
        p = adjusted[patch.id]
        patch.reason = f"corrected p {p:.4f} on {split}"
        if patch.status == "applied":
            continue
        better = patch.effects[-1].difference > 0 and p <= alpha
        if better and split == "test" and patch.status == "rejected":
            patch.reason += ", but rejected on dev"
        else:
            patch.status = "accepted" if better else "rejected"
