"""Intervals, paired tests, power: seeded, on tallies or on plain numbers."""

from goldassay.statistics.intervals import Interval, interval, wilson
from goldassay.statistics.paired import (
    PairedTest,
    cliffs_delta,
    cohens_dz,
    compare,
    examples_needed,
    holm,
    odds_ratio,
    smallest_detectable,
)
from goldassay.statistics.sequential import sequential_test

__all__ = [
    "Interval",
    "PairedTest",
    "cliffs_delta",
    "cohens_dz",
    "compare",
    "examples_needed",
    "holm",
    "interval",
    "odds_ratio",
    "sequential_test",
    "smallest_detectable",
    "wilson",
]
