"""Trajectories: the calls of tools that agents and programs of several steps make.

Read in this order: `records` (what is read from gold and predictions: calls, and all steps), `matching` (which calls
are the same, and the first wrong step), `measures` (what counts), `mistakes` (errors in words), `scorecard` (everything
over a set).
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.trajectories.measures import (
    MEASURES,
    ArgumentAccuracy,
    ByTool,
    CallF1,
    Conduct,
    CostRatio,
    EndState,
    Steps,
    ToolF1,
    TrajectoryMatch,
)
from goldassay.measures.trajectories.scorecard import scorecard

__all__ = [
    "MEASURES",
    "ArgumentAccuracy",
    "ByTool",
    "CallF1",
    "Conduct",
    "CostRatio",
    "EndState",
    "Steps",
    "ToolF1",
    "TrajectoryMatch",
    "scorecard",
]
__getattr__ = misspelled
