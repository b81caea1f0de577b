"""The evidence of judged measures: a mean of what is known, and a band for what is not.

An unknown verdict is neither dropped nor scored 0. It is left out of the value (total / weight) and counted in
``unknown``; the ``band`` says what the value would be with every unknown verdict against it and with every one for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from goldassay.measures.answering.claims import Share
from goldassay.tally.base import Number, Sums, divide


@dataclass(frozen=True, slots=True)
class Judged(Sums):
    """Sums over ``n`` judged items: of known values, of the lowest and of the highest possible ones.

    >>> found = Judged.of(1.0) + Judged.of(0.5) + Judged.of(None)
    >>> found.value, found.unknown, found.band        # (1 + 0.5) / 2; (1 + 0.5 + 0) / 3 to (1 + 0.5 + 1) / 3
    (0.75, 1, (0.5, 0.8333333333333334))
    >>> Judged.of(None).value, Judged().value
    (0.5, 1.0)
    """

    total: Number = 0.0
    weight: Number = 0.0
    low: Number = 0.0
    high: Number = 0.0
    n: Number = 0.0
    unknown: Number = 0

    @classmethod
    def of(cls, value: float | None) -> Self:
        """The evidence of one verdict; ``None`` is unknown."""
        return cls(0.0, 0.0, 0.0, 1.0, 1.0, 1) if value is None else cls(value, 1.0, value, value, 1.0, 0)

    @classmethod
    def between(cls, low: float, high: float, known: float | None, unknown: int) -> Self:
        """The evidence of one answer whose value lies between two, over its ``known`` claims."""
        return cls(known or 0.0, float(known is not None), low, high, 1.0, unknown)

    @property
    def value(self) -> Number:
        """The mean over what is known; the middle of the band where nothing is: an optimizer must not want that."""
        return divide(self.total, self.weight, empty=divide(self.low + self.high, 2 * self.n, empty=1.0))

    @property
    def band(self) -> tuple[Number, Number]:
        """The mean with every unknown verdict against it, and with every one for it."""
        return divide(self.low, self.n, empty=0.0), divide(self.high, self.n, empty=1.0)


def known(share: Share) -> float | None:
    """A share over those of its claims whose standing is known; ``None`` where none is.

    >>> known(Share(0.5, 0.75, 4)), known(Share(0.0, 1.0, 2))     # of 4 claims 2 hold, 1 does not, 1 is unknown: 2/3
    (0.6666666666666666, None)
    """
    if share.value == share.most:
        return share.value
    settled = share.value + 1 - share.most
    return share.value / settled if settled > 1e-12 else None
