"""Tallies: evidence that adds up. From sums of tallies come all numbers of goldassay.

A tally keeps sufficient statistics (counts, sums, bins), never a rate. ``T()`` is zero, ``+`` is associative and
commutative, and ``value`` is the rate that the evidence gives. The fields may also be arrays of one shape, so the same
``value`` serves a bootstrap of ten thousand resamples.

No evidence (``weight == 0``) is not applicable: it weighs nothing in a fold, and its ``value`` is 1.0 by convention,
since where there was nothing to find nothing was got wrong (``empty=1``). The bare rates ``precision``, ``recall`` and
``f1`` are 0.0 where they are not defined, as in scikit-learn with ``zero_division=0``.
"""

from goldassay.tally.counts import By, Confusion, Counts, PrecisionCounts, RecallCounts
from goldassay.tally.sums import Bins, Mean, Number, State, T, Tally, divide, mean

__all__ = [
    "Bins",
    "By",
    "Confusion",
    "Counts",
    "Mean",
    "Number",
    "PrecisionCounts",
    "RecallCounts",
    "State",
    "T",
    "Tally",
    "divide",
    "mean",
]
