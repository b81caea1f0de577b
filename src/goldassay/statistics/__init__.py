"""Intervals, paired tests, power: seeded, on tallies or on plain numbers."""

from goldassay.statistics.evidence import contributions
from goldassay.statistics.intervals import Interval, interval, wilson
from goldassay.statistics.paired import (
    Comparison,
    cliffs_delta,
    cohens_dz,
    compare,
    examples_needed,
    holm,
    odds_ratio,
    smallest_detectable,
)
from goldassay.statistics.ppi import Corrected, corrected
from goldassay.statistics.sampling import Race, Stratum, estimate
from goldassay.statistics.sequential import Bets, Decision, sequential_test

__all__ = [
    "Bets",
    "Comparison",
    "Corrected",
    "Decision",
    "Interval",
    "Race",
    "Stratum",
    "cliffs_delta",
    "cohens_dz",
    "compare",
    "contributions",
    "corrected",
    "estimate",
    "examples_needed",
    "holm",
    "interval",
    "odds_ratio",
    "sequential_test",
    "smallest_detectable",
    "wilson",
]
