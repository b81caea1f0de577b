"""Classification: one label for a text, and secondary ones.

Read in this order: `records` (what is read from a pair; the list of labels, its groups and its keywords, as data),
`tally` and `measures` (what counts), `multilabel` (sets of labels, what is said about all of them), `mistakes` (errors
in words), `scorecard` (everything over a set).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure, gold_field, registered
from goldassay.measures.classification.measures import (
    MCC,
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
    Calibration,
    Curve,
    HammingLoss,
    MulticlassBrier,
    RankingPrecision,
    SetF1,
    SubsetAccuracy,
    TopK,
)
from goldassay.measures.classification.records import Label, institutions, sides
from goldassay.measures.classification.scorecard import scorecard

MEASURES: tuple[Measure[Any], ...] = (
    *registered(f"{__name__}.measures"),
    *registered(f"{__name__}.multilabel"),
)


def perfect(gold: object) -> dict[str, object]:
    """The prediction that gets everything right, whichever of a label, labels and a score gold has."""
    names = ("label", "labels", "secondary_labels", "score")
    answer = {name: value for name in names if (value := gold_field(gold, name, None)) is not None}
    labels = list(dict.fromkeys([*([answer["label"]] if "label" in answer else ()), *answer.get("labels", ())]))
    return {**answer, "probabilities": {label: float(label == labels[0]) for label in labels}} if labels else answer


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
    "MulticlassBrier",
    "OrdinalError",
    "RankingPrecision",
    "SetF1",
    "SubsetAccuracy",
    "TopK",
    "institutions",
    "perfect",
    "scorecard",
    "sides",
]
