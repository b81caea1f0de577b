"""Classification: one label for a text, and secondary ones.

Read in this order: `records` (what is read from a pair; the list of labels, its groups and its keywords, as data),
`tally` and `measures` (what counts), `mistakes` (errors in words), `scorecard` (everything over a set). Beside them:
`probabilities` (what is said about every label), `multilabel` (several labels an example), `graded` (numbers).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure, gold_field, registered
from goldassay.measures.classification.graded import Correlation, GradedError
from goldassay.measures.classification.measures import MCC, Accuracy, Cost, HierarchyGap, Kappa, LabelF1, OrdinalError
from goldassay.measures.classification.mistakes import errors
from goldassay.measures.classification.multilabel import HammingLoss, RankingPrecision, SetF1, SubsetAccuracy
from goldassay.measures.classification.probabilities import Calibration, Curve, MulticlassBrier, TopK
from goldassay.measures.classification.records import Label, LabelList, institutions, read_labels, sides
from goldassay.measures.classification.scorecard import scorecard

MEASURES: tuple[Measure[Any], ...] = (
    *registered(f"{__name__}.measures"),
)  # fmt: skip


def perfect(gold: object) -> dict[str, object]:
    """The prediction that gets everything right."""
    return {
        "label": gold_field(gold, "label"),
        "secondary_labels": list(gold_field(gold, "secondary_labels", None) or []),
    }


__all__ = [
    "MCC",
    "MEASURES",
    "Accuracy",
    "Calibration",
    "Correlation",
    "Cost",
    "Curve",
    "GradedError",
    "HammingLoss",
    "HierarchyGap",
    "Kappa",
    "Label",
    "LabelF1",
    "LabelList",
    "MulticlassBrier",
    "OrdinalError",
    "RankingPrecision",
    "SetF1",
    "SubsetAccuracy",
    "TopK",
    "errors",
    "institutions",
    "perfect",
    "read_labels",
    "scorecard",
    "sides",
]
