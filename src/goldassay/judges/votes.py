"""The count of several ballots on one question, and how much they disagree.

* ``majority``: the label of most known ballots; two labels with as many are no majority: unknown.
* ``mean``: the label whose worth is nearest to the mean worth of the known ballots (of labels as near, the one that
  more ballots named; still as many: unknown).

Ballots without a verdict do not vote; where fewer than ``quorum`` of all ballots are known, the vote is unknown.
``dissent`` is the share of known ballots that are not with the largest group, ``entropy`` that of the ballots in bits
(Shannon 1948).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from goldassay.exceptions import GoldassayError

HOW = ("majority", "mean")


@dataclass(frozen=True, slots=True)
class Vote:
    """What came of the ballots: ``label`` (``None`` is unknown), and ``mean``, the mean worth of the known ballots."""

    label: str | None
    ballots: tuple[str | None, ...]
    mean: float | None = None

    @property
    def known(self) -> list[str]:
        """The ballots with a verdict."""
        return [ballot for ballot in self.ballots if ballot is not None]

    @property
    def unknown(self) -> int:
        """How many ballots have no verdict."""
        return len(self.ballots) - len(self.known)

    @property
    def dissent(self) -> float:
        """The share of known ballots outside the largest group; 0 is unanimous, and 0 without a ballot."""
        known = self.known
        return 1 - max(Counter(known).values()) / len(known) if known else 0.0

    @property
    def entropy(self) -> float:
        """The entropy of the known ballots, in bits."""
        known = self.known
        shares = [count / len(known) for count in Counter(known).values()]
        return max(0.0, -sum(share * math.log2(share) for share in shares))

    def share(self, label: str) -> float | None:
        """The share of known ballots for a label; ``None`` without a ballot."""
        known = self.known
        return known.count(label) / len(known) if known else None


def count(
    ballots: Sequence[str | None],
    *,
    how: str = "majority",
    worth: Mapping[str, float] | None = None,
    quorum: float = 0.5,
) -> Vote:
    """The vote of ballots.

    >>> found = count(["yes", "no", "yes", None])
    >>> found.label, round(found.dissent, 3), round(found.entropy, 3), found.unknown
    ('yes', 0.333, 0.918, 1)
    >>> count(["yes", "no"]).label, count(["yes", None, None]).label
    (None, None)
    >>> count(["full", "none"], how="mean", worth={"full": 1.0, "partial": 0.5, "none": 0.0}).label
    'partial'
    """
    if how not in HOW:
        raise GoldassayError(f"no way {how!r} to count a panel; there are {', '.join(HOW)}")
    cast = tuple(ballots)
    known = [ballot for ballot in cast if ballot is not None]
    values = [worth.get(ballot) for ballot in known] if worth else []
    numbers = [value for value in values if value is not None]
    mean = sum(numbers) / len(numbers) if numbers and len(numbers) == len(known) else None
    if not known or len(known) < quorum * len(cast):
        return Vote(None, cast, mean)
    ranks = Counter(known)
    if how == "mean":
        if worth is None or mean is None:
            absent = next((ballot for ballot in known if ballot not in (worth or {})), "")
            raise GoldassayError(
                f"the mean of a panel needs the worth of {absent!r}: Panel(…, worth={{{absent!r}: …}})"
            )
        gap = min(abs(value - mean) for value in worth.values())
        near = [label for label, value in worth.items() if math.isclose(abs(value - mean), gap, abs_tol=1e-12)]
        ranks = Counter({label: ranks[label] for label in near})
    most = max(ranks.values())
    first = [label for label, found in ranks.items() if found == most]
    return Vote(first[0] if len(first) == 1 else None, cast, mean)
