"""Classification's measures: one label an example, in a flat list and in groups, with secondary labels.

Per label, against all others: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn), each 0 where it is
not defined. Averages over labels: all of the list (a label without evidence has F1 0), those with support, and weighted
by support. A missing prediction and one outside the list are errors; they match no gold label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.classification.labels import institutions
from goldassay.measures.classification.mistakes import errors
from goldassay.measures.classification.records import Read, sides
from goldassay.measures.classification.tally import Agreement, Gap, Labelled, MacroAll, MacroSupported, Weighted
from goldassay.tally import Counts, Mean

SOURCE = "Sokolova & Lapalme 2009; scikit-learn's definitions with zero_division=0"
Hierarchy = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class _LabelMeasure(Measure[Any]):
    task: ClassVar[str] = "classification"
    gold_fields: ClassVar[tuple[str, ...]] = ("label",)
    pred_fields: ClassVar[tuple[str, ...]] = ("label",)
    source: ClassVar[str] = SOURCE

    def tally(self, read: Read) -> Any:
        """The evidence of one example."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one example and its errors."""
        read = sides(gold, pred)
        found, right = errors(read)
        return Assessment(self.tally(read), found, right)


@dataclass(frozen=True)
class Accuracy(_LabelMeasure):
    """The share of examples whose label is right.

    >>> Accuracy()({"label": "M"}, {"label": "M"}).tally.value
    1.0
    """

    name: ClassVar[str] = "accuracy"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {"match": "label", "missing": "error"}
    formula: ClassVar[str] = "right / all"

    def tally(self, read: Read) -> Mean:
        """Right or not."""
        return Mean.of(float(read.gold == read.pred))


@dataclass(frozen=True)
class MacroF1(_LabelMeasure):
    """The unweighted mean of the labels' F1.

    ``labels="all"``: over the whole list (the 19 institution types where gold holds nothing else, else the labels
    seen), so a label that occurs nowhere counts 0. ``labels="supported"``: over the labels that stand in gold. A tuple
    of labels is a list of your own.

    >>> seen = MacroF1("supported")({"label": "M"}, {"label": "M"}).tally
    >>> seen = seen + MacroF1("supported")({"label": "G"}, {"label": "M"}).tally
    >>> round(seen.value, 4)      # F1 of M is 2/3, of G 0
    0.3333
    >>> round(MacroF1()({"label": "M"}, {"label": "M"}).tally.value, 4)   # 1 of 19
    0.0526
    """

    labels: str | tuple[str, ...] = "all"
    formula: ClassVar[str] = "mean over labels of 2 tp / (2 tp + fp + fn)"
    fixed: ClassVar[dict[str, str]] = {"average": "macro", "zero_division": "0", "missing": "error"}

    def __post_init__(self) -> None:
        if isinstance(self.labels, str) and self.labels not in ("all", "supported"):
            raise GoldassayError(f"labels is 'all', 'supported' or a tuple of labels, not {self.labels!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``macro_f1`` or ``macro_f1_supported``."""
        return "macro_f1_supported" if self.labels == "supported" else "macro_f1"

    @property
    def attains_one(self) -> bool:  # type: ignore[override]
        """Over a whole list only where every label of it occurs."""
        return self.labels == "supported"

    @property
    def zero(self) -> Labelled:
        """No evidence."""
        if self.labels == "supported":
            return MacroSupported()
        return MacroAll({}, self.labels if isinstance(self.labels, tuple) else ())

    def tally(self, read: Read) -> Labelled:
        """One count of (gold, predicted)."""
        zero = self.zero
        return type(zero)({(read.gold, read.pred): 1.0}, zero.given)


@dataclass(frozen=True)
class WeightedF1(_LabelMeasure):
    """The mean of the labels' F1, weighted by how often each stands in gold.

    >>> WeightedF1()({"label": "M"}, {"label": "G"}).tally.value
    0.0
    """

    name: ClassVar[str] = "weighted_f1"
    zero: ClassVar[Weighted] = Weighted()
    fixed: ClassVar[dict[str, str]] = {"average": "weighted by gold support", "zero_division": "0", "missing": "error"}
    formula: ClassVar[str] = "Σ support · F1 / Σ support"

    def tally(self, read: Read) -> Weighted:
        """One count of (gold, predicted)."""
        return Weighted({(read.gold, read.pred): 1.0})


def groups(hierarchy: Hierarchy) -> dict[str, str]:
    """Label to group; the institution types' where no hierarchy is given."""
    return {label: group for group, labels in hierarchy or institutions().hierarchy for label in labels}


def same_group(read: Read, group: dict[str, str]) -> bool:
    """Whether both labels are equal or stand in one group; a label outside the hierarchy has no group."""
    return read.gold == read.pred or (read.gold in group and group[read.gold] == group.get(read.pred))


@dataclass(frozen=True)
class CategoryAccuracy(_LabelMeasure):
    """The share of examples whose predicted label stands in the right group of the hierarchy.

    ``hierarchy`` is a tuple of (group, labels); empty is the institution types'. A prediction outside the hierarchy is
    in no group: it does not fall to a group "unknown".

    >>> CategoryAccuracy()({"label": "M"}, {"label": "G"}).tally.value    # both CULTURAL
    1.0
    >>> CategoryAccuracy()({"label": "U"}, {"label": "no idea"}).tally.value
    0.0
    """

    hierarchy: Hierarchy = ()
    name: ClassVar[str] = "category_accuracy"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {"match": "group", "missing": "error"}
    formula: ClassVar[str] = "right group / all"

    def tally(self, read: Read) -> Mean:
        """Right group or not."""
        return Mean.of(float(same_group(read, groups(self.hierarchy))))


@dataclass(frozen=True)
class HierarchyGap(_LabelMeasure):
    """Category accuracy minus accuracy: the share of examples with the right group and the wrong label (0 is best).

    >>> HierarchyGap()({"label": "M"}, {"label": "G"}).tally.value
    1.0
    """

    hierarchy: Hierarchy = ()
    name: ClassVar[str] = "hierarchy_gap"
    zero: ClassVar[Gap] = Gap()
    attains_one: ClassVar[bool] = False
    fixed: ClassVar[dict[str, str]] = {"better": "lower"}
    formula: ClassVar[str] = "category accuracy − accuracy"

    def tally(self, read: Read) -> Gap:
        """Right group, right label."""
        return Gap(float(same_group(read, groups(self.hierarchy))), float(read.gold == read.pred), 1.0)


@dataclass(frozen=True)
class Kappa(_LabelMeasure):
    """Cohen's κ: agreement beyond what the two label distributions give by chance.

    κ = (p_o − p_e) / (1 − p_e); 1 where both sides gave one and the same label throughout (p_e = 1).

    >>> (Kappa()("M", "M").tally + Kappa()("G", "G").tally + Kappa()("G", "M").tally).value
    0.4
    """

    name: ClassVar[str] = "kappa"
    zero: ClassVar[Agreement] = Agreement()
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    fixed: ClassVar[dict[str, str]] = {"weights": "none", "missing": "its own label"}
    formula: ClassVar[str] = "(p_o − p_e) / (1 − p_e)"
    source: ClassVar[str] = "Cohen 1960"

    def tally(self, read: Read) -> Agreement:
        """One count of (gold, predicted)."""
        return Agreement({(read.gold, read.pred): 1.0})


@dataclass(frozen=True)
class MultiLabelF1(_LabelMeasure):
    """F1 over the sets of labels, primary and secondary together, micro over all examples.

    >>> MultiLabelF1()({"label": "X", "secondary_labels": ["M", "L"]}, {"label": "X", "secondary_labels": ["M"]}).tally
    Counts(tp=2, fp=0, fn=1)
    """

    name: ClassVar[str] = "multilabel_f1"
    zero: ClassVar[Counts] = Counts()
    gold_fields: ClassVar[tuple[str, ...]] = ("label", "secondary_labels")
    pred_fields: ClassVar[tuple[str, ...]] = ("label", "secondary_labels")
    fixed: ClassVar[dict[str, str]] = {"labels": "primary and secondary", "average": "micro"}
    formula: ClassVar[str] = "2 tp / (2 tp + fp + fn) over (example, label)"

    def tally(self, read: Read) -> Counts:
        """Counts over labels."""
        both = len(read.gold_set & read.pred_set)
        return Counts(both, len(read.pred_set) - both, len(read.gold_set) - both)


@dataclass(frozen=True)
class PrimaryOrSecondary(_LabelMeasure):
    """The share of examples whose predicted label is the gold label or one of its secondary labels.

    >>> PrimaryOrSecondary()({"label": "X", "secondary_labels": ["M", "L"]}, {"label": "M"}).tally.value
    1.0
    """

    name: ClassVar[str] = "primary_or_secondary"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("label", "secondary_labels")
    fixed: ClassVar[dict[str, str]] = {"match": "predicted label among gold's", "missing": "error"}
    formula: ClassVar[str] = "predicted label among gold's / all"

    def tally(self, read: Read) -> Mean:
        """Among gold's labels or not."""
        return Mean.of(float(read.pred in read.gold_set))


__all__ = [
    "Accuracy",
    "CategoryAccuracy",
    "HierarchyGap",
    "Kappa",
    "MacroF1",
    "MultiLabelF1",
    "PrimaryOrSecondary",
    "WeightedF1",
    "groups",
    "same_group",
]
