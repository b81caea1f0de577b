"""When GEPA may keep a proposal: a paired test on the minibatch instead of a bare comparison of sums."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any


def sign_flip_p(before: Sequence[float], after: Sequence[float]) -> float:
    """The one-sided exact sign-flip p-value of the paired differences; 1.0 when none differs.

    All 2^n signs are tried (n is a minibatch, at most 16 differing pairs; beyond that the first 16 decide).

    >>> sign_flip_p([0, 0, 0, 0], [1, 1, 1, 1])     # 1 of 16 sign patterns is as good
    0.0625
    >>> sign_flip_p([0.5, 0.5], [0.5, 0.5])
    1.0
    """
    differences = [y - x for x, y in zip(before, after, strict=True) if y != x][:16]
    if not differences:
        return 1.0
    seen = sum(differences)
    sizes = [abs(d) for d in differences]
    as_good = sum(
        sum(s * d for s, d in zip(signs, sizes, strict=True)) >= seen - 1e-12
        for signs in product((1, -1), repeat=len(sizes))
    )
    return float(as_good / 2 ** len(sizes))


class PairedAcceptance:
    """Accepts a proposal when the minibatch speaks for it: sign-flip p at most ``alpha`` (one-sided).

    The level is loose by intent: a minibatch only decides whether a candidate is worth an evaluation on the whole dev
    split, where it is chosen; the proof of the result is the paired test of `goldassay.tune` on dev and test.
    """

    def __init__(self, alpha: float = 0.25) -> None:
        self.alpha = alpha

    def should_accept(self, proposal: Any, state: Any) -> bool:
        """Called by GEPA with the proposal's scores on the minibatch before and after."""
        before, after = proposal.subsample_scores_before or [], proposal.subsample_scores_after or []
        return (
            len(before) == len(after) and sign_flip_p(list(map(float, before)), list(map(float, after))) <= self.alpha
        )

    def reject_reason(self, proposal: Any, state: Any) -> str:
        """For GEPA's log."""
        return f"the paired difference on the minibatch is not shown at {self.alpha:g}"
