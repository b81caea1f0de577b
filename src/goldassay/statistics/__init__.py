"""Intervals, paired tests, power: seeded, on tallies or on plain numbers."""

from goldassay.statistics.effect import cliffs_delta, cohens_dz
from goldassay.statistics.intervals import Interval, interval, wilson
from goldassay.statistics.multiple import holm
from goldassay.statistics.paired import Comparison, compare
from goldassay.statistics.power import smallest_detectable
from goldassay.statistics.ppi import Corrected, corrected

__all__ = [
    "Comparison",
    "Corrected",
    "Interval",
    "cliffs_delta",
    "cohens_dz",
    "compare",
    "corrected",
    "holm",
    "interval",
    "smallest_detectable",
    "wilson",
]
