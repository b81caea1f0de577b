"""Classification: one label for a text, and secondary ones.

Read in this order: `records` (what is read from a pair; the list of labels, its groups and its keywords, as data),
`tally` and `measures` (what counts), `multilabel` (sets of labels, probabilities of all of them), `mistakes` (errors
in words), `scorecard` (everything over a set).
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.classification.measures import (
    MCC,
    SINGLE_LABEL,
    Accuracy,
    Correlation,
    Cost,
    GradedError,
    HierarchyGap,
    Kappa,
    LabelF1,
    OrdinalError,
)
from goldassay.measures.classification.multilabel import (
    LABEL_SETS,
    Curve,
    HammingLoss,
    LabelCalibration,
    MulticlassBrier,
    RankingPrecision,
    SetF1,
    SubsetAccuracy,
    TopK,
)
from goldassay.measures.classification.records import Label, institutions, sides
from goldassay.measures.classification.scorecard import scorecard

MEASURES = (
    *SINGLE_LABEL,
    *LABEL_SETS,
)

Calibration = LabelCalibration  # its name in the runs that are stored

__all__ = [
    "MCC",
    "MEASURES",
    "Accuracy",
    "Correlation",
    "Cost",
    "Curve",
    "GradedError",
    "HammingLoss",
    "HierarchyGap",
    "Kappa",
    "Label",
    "LabelCalibration",
    "LabelF1",
    "MulticlassBrier",
    "OrdinalError",
    "RankingPrecision",
    "SetF1",
    "SubsetAccuracy",
    "TopK",
    "institutions",
    "scorecard",
    "sides",
]
__getattr__ = misspelled
