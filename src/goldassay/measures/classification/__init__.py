"""Classification: one label for a text, and secondary ones.

Read in this order: `records` (what is read from a pair; the list of labels, its groups and its words, as data),
`matching` (which label stands against which), `tally` and `measures` (what counts), `mistakes` (what was got wrong, in
words), `scorecard` (everything over a set).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure, gold_field
from goldassay.measures.classification.measures import (
    Accuracy,
    CategoryAccuracy,
    HierarchyGap,
    Kappa,
    MacroF1,
    MultiLabelF1,
    PrimaryOrSecondary,
    WeightedF1,
)
from goldassay.measures.classification.mistakes import errors
from goldassay.measures.classification.records import Label, LabelList, institutions, read_labels, sides
from goldassay.measures.classification.scorecard import scorecard

# HierarchyGap is not among them: its best value is 0, and the laws say that gold against gold is best.
MEASURES: tuple[Measure[Any], ...] = (
    Accuracy(),
    MacroF1(),
    MacroF1("supported"),
    MacroF1(labels="institutions"),
    MacroF1(labels=("M", "L", "A")),
    WeightedF1(),
    CategoryAccuracy(),
    CategoryAccuracy((("memory", ("L", "A", "M")), ("other", ("G", "U")))),
    Kappa(),
    MultiLabelF1(),
    PrimaryOrSecondary(),
)


def perfect(gold: object) -> dict[str, object]:
    """The prediction that gets everything right."""
    return {
        "label": gold_field(gold, "label"),
        "secondary_labels": list(gold_field(gold, "secondary_labels", None) or []),
    }


__all__ = [
    "MEASURES",
    "Accuracy",
    "CategoryAccuracy",
    "HierarchyGap",
    "Kappa",
    "Label",
    "LabelList",
    "MacroF1",
    "MultiLabelF1",
    "PrimaryOrSecondary",
    "WeightedF1",
    "errors",
    "institutions",
    "perfect",
    "read_labels",
    "scorecard",
    "sides",
]
