"""Classification's measures: one label an example, in a flat list and in groups, with secondary labels.

Per label, against all others: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn), each 0 where it is
not defined. Averages over labels: all of the list (a label without evidence has F1 0), those with support, and weighted
by support. A missing prediction and one outside the list are errors; they match no gold label.

``labels`` is the list that averages run over: ``seen`` (all that stand in gold or predictions), ``institutions`` (the
19 institution types), or a tuple of labels. ``hierarchy`` is ``institutions`` (the types' own groups), or a tuple of
(group, labels).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.classification.matching import (
    INSTITUTIONS,
    Batch,
    Hierarchy,
    Listed,
    codes,
    groups,
    labels_shared,
    same_group,
)
from goldassay.measures.classification.mistakes import errors
from goldassay.measures.classification.records import Read, sides
from goldassay.measures.classification.tally import ChanceCorrected, Gap, Labelled, MacroAll, MacroSupported, Weighted
from goldassay.statistics.evidence import stacked
from goldassay.tally import Counts, Mean

SOURCE = "Sokolova & Lapalme 2009; scikit-learn's definitions with zero_division=0"


@dataclass(frozen=True)
class _LabelMeasure(Measure[Any]):
    task: ClassVar[str] = "classification"
    gold_fields: ClassVar[tuple[str, ...]] = ("label",)
    pred_fields: ClassVar[tuple[str, ...]] = ("label",)
    source: ClassVar[str] = SOURCE

    counted: ClassVar[str] = ""  # pyright: ignore[reportIncompatibleMethodOverride]

    def tally(self, read: Read) -> Any:
        """The evidence of one example."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """The labels of every example."""
        return Batch([sides(*pair) for pair in zip(gold, pred, strict=True)])

    def tallies(self, batch: Batch) -> Any:
        """The evidence of each example."""
        return stacked([self.tally(read) for read in batch.read], self.zero)

    def assess(self, gold: object, pred: object) -> Assessment[Any]:
        """The evidence of one example and its errors."""
        read = sides(gold, pred)
        found, right = errors(read)
        return Assessment(self.tally(read), found, right)


@dataclass(frozen=True)
class _Share(_LabelMeasure):
    """The share of examples that are ``right``."""

    zero: ClassVar[Mean] = Mean()

    def right(self, read: Read) -> bool:
        """Whether the example counts."""
        raise GoldassayError(f"{type(self).__name__} does not say what is right")

    def tally(self, read: Read) -> Mean:
        """Right or not."""
        return Mean.of(float(self.right(read)))

    def tallies(self, batch: Batch) -> Mean:
        """Right or not, of each example."""
        n = len(batch.read)
        return Mean(np.fromiter(map(self.right, batch.read), float, n), np.ones(n))


@dataclass(frozen=True)
class _Confused(_LabelMeasure):
    """What is counted in (gold, predicted), over a list of labels."""

    labels: Listed = "seen"

    def __post_init__(self) -> None:
        if isinstance(self.labels, str) and self.labels not in ("seen", INSTITUTIONS):
            raise GoldassayError(f"labels is 'seen', 'institutions' or a tuple of labels, not {self.labels!r}")

    def tally(self, read: Read) -> Labelled:
        """One count of (gold, predicted)."""
        return self._of({(read.gold, read.pred): 1.0})

    def tallies(self, batch: Batch) -> Labelled:
        """The counts of each example."""
        return self._of(batch.pairs)

    def _of(self, pairs: Mapping[tuple[str, str], Any]) -> Labelled:
        zero: Labelled = self.zero
        return type(zero)(pairs, zero.given)


@dataclass(frozen=True)
class Accuracy(_Share):
    """The share of examples whose label is right.

    >>> Accuracy()({"label": "M"}, {"label": "M"}).tally.value
    1.0
    """

    name: ClassVar[str] = "accuracy"
    fixed: ClassVar[dict[str, str]] = {"match": "label", "missing": "error"}
    formula: ClassVar[str] = "right / all"

    def right(self, read: Read) -> bool:
        """Whether the label is right."""
        return read.gold == read.pred


@dataclass(frozen=True)
class MacroF1(_Confused):
    """The unweighted mean of the labels' F1.

    ``over="all"``: over the whole list, so a label of it that occurs nowhere counts 0. ``over="supported"``: over those
    that stand in gold.

    >>> seen = MacroF1("supported")({"label": "M"}, {"label": "M"}).tally
    >>> seen = seen + MacroF1("supported")({"label": "G"}, {"label": "M"}).tally
    >>> round(seen.value, 4)      # F1 of M is 2/3, of G 0
    0.3333
    >>> round(MacroF1(labels="institutions")({"label": "M"}, {"label": "M"}).tally.value, 4)   # 1 of 19
    0.0526
    """

    over: str = "all"
    labels: Listed = field(default="seen", kw_only=True)
    formula: ClassVar[str] = "mean over labels of 2 tp / (2 tp + fp + fn)"
    fixed: ClassVar[dict[str, str]] = {"average": "macro", "zero_division": "0", "missing": "error"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in ("all", "supported"):
            raise GoldassayError(f"over is 'all' or 'supported', not {self.over!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``macro_f1`` or ``macro_f1_supported``."""
        return "macro_f1_supported" if self.over == "supported" else "macro_f1"

    @property
    def attains_one(self) -> bool:  # type: ignore[override]
        """Over a list that is given only where every label of it occurs."""
        return self.over == "supported" or self.labels == "seen"

    @property
    def zero(self) -> Labelled:
        """No evidence."""
        return (MacroSupported if self.over == "supported" else MacroAll)({}, codes(self.labels))


@dataclass(frozen=True)
class WeightedF1(_Confused):
    """The mean of the labels' F1, weighted by how often each stands in gold; 0 where none of the list does.

    >>> WeightedF1()({"label": "M"}, {"label": "G"}).tally.value
    0.0
    """

    name: ClassVar[str] = "weighted_f1"
    fixed: ClassVar[dict[str, str]] = {"average": "weighted by gold support", "zero_division": "0", "missing": "error"}
    formula: ClassVar[str] = "Σ support · F1 / Σ support"

    @property
    def zero(self) -> Weighted:
        """No evidence."""
        return Weighted({}, codes(self.labels))


@dataclass(frozen=True)
class CategoryAccuracy(_Share):
    """The share of examples whose predicted label stands in the right group of the hierarchy.

    A prediction outside the hierarchy is in no group: it does not fall to a group "unknown".

    >>> CategoryAccuracy()({"label": "M"}, {"label": "G"}).tally.value    # both CULTURAL
    1.0
    >>> CategoryAccuracy()({"label": "U"}, {"label": "no idea"}).tally.value
    0.0
    """

    hierarchy: Hierarchy = INSTITUTIONS
    name: ClassVar[str] = "category_accuracy"
    fixed: ClassVar[dict[str, str]] = {"match": "group", "missing": "error"}
    formula: ClassVar[str] = "right group / all"

    def __post_init__(self) -> None:
        _known(self.hierarchy)

    def right(self, read: Read) -> bool:
        """Whether the group is right."""
        return same_group(read, groups(self.hierarchy))


@dataclass(frozen=True)
class HierarchyGap(_LabelMeasure):
    """Category accuracy minus accuracy: the share of examples with the right group and the wrong label (0 is best).

    >>> HierarchyGap()({"label": "M"}, {"label": "G"}).tally.value
    1.0
    """

    hierarchy: Hierarchy = INSTITUTIONS
    name: ClassVar[str] = "hierarchy_gap"
    zero: ClassVar[Gap] = Gap()
    attains_one: ClassVar[bool] = False
    fixed: ClassVar[dict[str, str]] = {"better": "lower"}
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    formula: ClassVar[str] = "category accuracy − accuracy"

    def __post_init__(self) -> None:
        _known(self.hierarchy)

    def tally(self, read: Read) -> Gap:
        """Right group, right label."""
        return Gap(float(same_group(read, groups(self.hierarchy))), float(read.gold == read.pred), 1.0)

    def tallies(self, batch: Batch) -> Gap:
        """Right groups, right labels."""
        exact = Accuracy().tallies(batch)
        return Gap(CategoryAccuracy(self.hierarchy).tallies(batch).total, exact.total, exact.weight)


def _known(hierarchy: Hierarchy) -> None:
    if isinstance(hierarchy, str) and hierarchy != INSTITUTIONS:
        raise GoldassayError(f"hierarchy is 'institutions' or a tuple of (group, labels), not {hierarchy!r}")


@dataclass(frozen=True)
class Kappa(_LabelMeasure):
    """Cohen's κ: agreement beyond what the two label distributions give by chance.

    κ = (p_o − p_e) / (1 − p_e); 1 where both sides gave one and the same label throughout (p_e = 1).

    >>> (Kappa()("M", "M").tally + Kappa()("G", "G").tally + Kappa()("G", "M").tally).value
    0.4
    """

    name: ClassVar[str] = "kappa"
    zero: ClassVar[ChanceCorrected] = ChanceCorrected()
    limits: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    fixed: ClassVar[dict[str, str]] = {"weights": "none", "missing": "its own label"}
    formula: ClassVar[str] = "(p_o − p_e) / (1 − p_e)"
    source: ClassVar[str] = "Cohen 1960"

    def tally(self, read: Read) -> ChanceCorrected:
        """One count of (gold, predicted)."""
        return ChanceCorrected({(read.gold, read.pred): 1.0})

    def tallies(self, batch: Batch) -> ChanceCorrected:
        """The counts of each example."""
        return ChanceCorrected(batch.pairs)


@dataclass(frozen=True)
class MultiLabelF1(_LabelMeasure):
    """F1 over the sets of labels, primary and secondary together, micro over all examples.

    >>> MultiLabelF1()({"label": "X", "secondary_labels": ["M", "L"]}, {"label": "X", "secondary_labels": ["M"]}).tally
    Counts(tp=2, fp=0, fn=1)
    """

    name: ClassVar[str] = "multilabel_f1"
    counted: ClassVar[str] = "multilabel"
    zero: ClassVar[Counts] = Counts()
    gold_fields: ClassVar[tuple[str, ...]] = ("label", "secondary_labels")
    pred_fields: ClassVar[tuple[str, ...]] = ("label", "secondary_labels")
    fixed: ClassVar[dict[str, str]] = {"labels": "primary and secondary", "average": "micro"}
    formula: ClassVar[str] = "2 tp / (2 tp + fp + fn) over (example, label)"

    def tally(self, read: Read) -> Counts:
        """Counts over labels."""
        return Counts(*labels_shared(read))

    def tallies(self, batch: Batch) -> Counts:
        """Counts over the labels of each example."""
        return Counts(*np.array([labels_shared(read) for read in batch.read], dtype=float).reshape(-1, 3).T)


@dataclass(frozen=True)
class PrimaryOrSecondary(_Share):
    """The share of examples whose predicted label is the gold label or one of its secondary labels.

    >>> PrimaryOrSecondary()({"label": "X", "secondary_labels": ["M", "L"]}, {"label": "M"}).tally.value
    1.0
    """

    name: ClassVar[str] = "primary_or_secondary"
    gold_fields: ClassVar[tuple[str, ...]] = ("label", "secondary_labels")
    fixed: ClassVar[dict[str, str]] = {"match": "predicted label among gold's", "missing": "error"}
    formula: ClassVar[str] = "predicted label among gold's / all"

    def right(self, read: Read) -> bool:
        """Whether it is among gold's labels."""
        return read.pred in read.gold_set


__all__ = [
    "Accuracy",
    "Batch",
    "CategoryAccuracy",
    "HierarchyGap",
    "Kappa",
    "MacroF1",
    "MultiLabelF1",
    "PrimaryOrSecondary",
    "WeightedF1",
    "codes",
    "groups",
    "same_group",
]
