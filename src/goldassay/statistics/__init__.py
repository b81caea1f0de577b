"""Intervals, paired tests, power: seeded, on tallies or on plain numbers."""

from goldassay.statistics.intervals import Interval, interval, wilson
from goldassay.statistics.paired import Comparison, compare, holm
from goldassay.statistics.power import (
    cliffs_delta,
    cohens_dz,
    examples_needed,
    odds_ratio,
    power_of,
    smallest_detectable,
)
from goldassay.statistics.ppi import Corrected, corrected

__all__ = [
    "Comparison",
    "Corrected",
    "Interval",
    "cliffs_delta",
    "cohens_dz",
    "compare",
    "corrected",
    "examples_needed",
    "holm",
    "interval",
    "odds_ratio",
    "power_of",
    "smallest_detectable",
    "wilson",
]
