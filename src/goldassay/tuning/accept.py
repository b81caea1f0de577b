"""An acceptance criterion for GEPA: a paired sequential test in place of the larger sum over a minibatch.

GEPA accepts a candidate whose scores on a minibatch of a few examples have the larger sum, which one of two candidates
that change nothing reaches where scores vary. `Accept` keeps the pairs of scores of every minibatch that a candidate
and its parents saw, and accepts when a test by betting (`goldassay.statistics.sequential`) reaches ``alpha``: of
candidates that are as good as their parents at most ``alpha`` are ever accepted, however often they are proposed.
With minibatches of eight .043 of such candidates pass the first one, and .41 by the sum; of candidates that gain .2,
.17 and .72 (``benchmarks/arena.py accept``, 2,000 draws).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from goldassay._support.exceptions import GoldassayError
from goldassay.results.cells import p_value
from goldassay.statistics.sequential import Bets

ACCEPT_ALPHA = 0.2  # a candidate that is accepted is measured on all of dev, where GEPA chooses


class Proposal(Protocol):
    """What this reads of GEPA's ``CandidateProposal``."""

    candidate: Mapping[str, str]
    parent_program_ids: Sequence[int]
    subsample_scores_before: Sequence[float] | None
    subsample_scores_after: Sequence[float] | None


class Accept:
    """Accept a candidate of GEPA if it is shown to be better on the examples that it and its parents saw.

    ``dspy.GEPA(…, gepa_kwargs={"acceptance_criterion": Accept()}, reflection_minibatch_size=8)``. With ``alpha`` .2 it
    takes at least four gains without a loss, so a minibatch of GEPA's three accepts nothing.

    Args:
        alpha: The chance of accepting a candidate that is as good as its parents.

    Raises:
        GoldassayError: ``alpha`` is not between 0 and 1.
    """

    def __init__(self, alpha: float = ACCEPT_ALPHA) -> None:
        if not 0 < alpha < 1:
            raise GoldassayError(f"alpha lies between 0 and 1, not {alpha:g}")
        self.alpha = alpha
        self._bets: dict[str, Bets] = {}

    def should_accept(self, proposal: Proposal, state: object) -> bool:
        """Whether the evidence of all minibatches so far reaches the level."""
        key = _key(proposal)
        bets = self._bets.setdefault(key, Bets())
        before = proposal.subsample_scores_before or []
        after = proposal.subsample_scores_after or []
        bets.extend(float(new) - float(old) for new, old in zip(after, before, strict=True))
        return bets.p <= self.alpha

    def reject_reason(self, proposal: Proposal, state: object) -> str:
        """The evidence so far, for GEPA's log."""
        bets = self._bets.get(_key(proposal), Bets())
        return f"p {p_value(bets.p)} on {bets.n} examples, {self.alpha:g} is needed"


def _key(proposal: Proposal) -> str:
    """The candidate and its parents."""
    return json.dumps([sorted(proposal.candidate.items()), list(proposal.parent_program_ids)])
