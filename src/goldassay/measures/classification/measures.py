"""Classification's measures of one label an example, in a flat list and in groups, and of numbers.

Per label, against all others: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn), each 0 where it is
not defined. A missing prediction and one outside the list are errors; they match no gold label.

``labels`` is the list that averages run over: ``seen`` (all that occur in gold or predictions), ``institutions`` (the
19 institution types), or a tuple of labels. ``hierarchy`` is ``institutions`` (the types' own groups), or a tuple of
(group, labels).

Graded outputs are a number on each side, ``score`` (rename with ``columns={"score": …}``). The correlations are values
of the corpus, which DSPy's ``Evaluate`` sees as such. An example without a predicted number is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from goldassay.core.evidence import means
from goldassay.core.measure import (
    NO_EVIDENCE,
    Conventions,
    Limits,
    Measure,
    Names,
    Review,
    check_choice,
    gold_field,
    plain,
    pred_field,
)
from goldassay.core.tally import RATE_TALLIES, Counts, Mean, T
from goldassay.measures import Examples, TaskMeasure
from goldassay.measures.classification.mistakes import review
from goldassay.measures.classification.records import LabelPair, grade, institutions, label_set, probabilities, sides
from goldassay.measures.classification.tally import (
    CORRELATIONS,
    NONE,
    AgreementCounts,
    Correlated,
    Gap,
    Labelled,
    RootMean,
)

INSTITUTIONS = "institutions"
Listed = str | tuple[str, ...]
Hierarchy = str | tuple[tuple[str, tuple[str, ...]], ...]


def set_counts(sets: Sequence[tuple[frozenset[str], frozenset[str]]], rate: str) -> Counts:
    """The labels that each example's gold set and predicted set share, and those that one of them has alone."""
    rows = [(len(gold & pred), len(pred - gold), len(gold - pred)) for gold, pred in sets]
    return RATE_TALLIES[rate](*np.array(rows, float).reshape(-1, 3).T)


@lru_cache(maxsize=64)
def groups(hierarchy: Hierarchy) -> dict[str, str]:
    """Label to group."""
    if isinstance(hierarchy, str):
        return {code: label.group for code, label in institutions().items()}
    return {label: group for group, labels in hierarchy for label in labels}


@dataclass
class LabelBatch:
    """Many examples; each thing that measures need is read when it is first needed.

    >>> LabelBatch(["M", "M"], ["M", "G"]).pairs["M", "G"].tolist()
    [0, 1]
    """

    gold: Examples
    pred: Examples

    @cached_property
    def labels(self) -> list[LabelPair]:
        """The labels."""
        return [sides(*pair) for pair in zip(self.gold, self.pred, strict=True)]

    @cached_property
    def reviews(self) -> list[Review]:
        """Which label was taken for which, in words."""
        return list(map(review, self.labels))

    @cached_property
    def pairs(self) -> dict[tuple[str, str], NDArray[np.int8]]:
        """For each (gold, predicted) that occurs, 1 at the examples that have it; in alphabetical order."""
        return dict(sorted(indicators([(pair.gold, pair.pred) for pair in self.labels]).items()))

    @cached_property
    def gold_sets(self) -> list[frozenset[str]]:
        """The sets of gold labels."""
        return [label_set(gold_field(example, "labels"), "gold labels") for example in self.gold]

    @cached_property
    def sets(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """The sets of labels of both sides."""
        predicted = (label_set(pred_field(answer, "labels"), "predicted labels") for answer in self.pred)
        return list(zip(self.gold_sets, predicted, strict=True))

    @cached_property
    def probabilities(self) -> list[dict[str, float]]:
        """The predicted number of each label."""
        return list(map(probabilities, self.pred))

    @property
    def likely(self) -> list[tuple[str, dict[str, float]]]:
        """Each gold label, and the predicted numbers."""
        return [(pair.gold, numbers) for pair, numbers in zip(self.labels, self.probabilities, strict=True)]

    @cached_property
    def grades(self) -> list[tuple[float, float | None]]:
        """The numbers of both sides; None if a prediction has none."""
        gold = [grade(gold_field(example, "score"), "gold") for example in self.gold]
        answers = [pred_field(answer, "score") for answer in self.pred]
        pred = [None if answer in (None, "") else grade(answer, "predicted") for answer in answers]
        return list(zip(gold, pred, strict=True))


def indicators(pairs: Sequence[tuple[str, str] | None]) -> dict[tuple[str, str], NDArray[np.int8]]:
    """For each pair that occurs, 1 at the places that have it; None is not a pair."""
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)
    numbers.pop(None, None)
    return {pair: (codes == code).astype(np.int8) for pair, code in numbers.items()}


@dataclass(frozen=True)
class ClassificationMeasure(TaskMeasure[T, LabelBatch]):
    """A measure of classification: its batch reads what measures need."""

    task = "classification"

    @property
    def counted(self) -> str:
        """No counts: tables by label have them."""
        return ""

    def batch(self, gold: Examples, pred: Examples) -> LabelBatch:
        """The labels, sets, probabilities or grades of every example."""
        return LabelBatch(gold, pred)


@dataclass(frozen=True)
class LabelMeasure(ClassificationMeasure[T]):
    """A measure of one label an example, whose errors are put in words.

    Source: Sokolova & Lapalme 2009; scikit-learn's definitions with zero_division=0
    """

    def reviews(self, batch: LabelBatch) -> list[Review]:
        """Which label was taken for which, written once for all measures that share the batch."""
        return batch.reviews


@dataclass(frozen=True)
class AgreementMeasure(LabelMeasure[AgreementCounts]):
    """A value of the pairs of gold labels and predicted ones."""

    def tallies(self, batch: LabelBatch) -> AgreementCounts:
        """Which gold label got which prediction in each example."""
        zero: AgreementCounts = self.zero
        return zero.with_items(batch.pairs)


@dataclass(frozen=True)
class Accuracy(LabelMeasure[Mean]):
    """The share of examples whose label is right.

    Formula: examples whose label is right, as ``match`` says / all

    Args:
        match: ``label``: the same label. ``group``: a label of the same group of the hierarchy; a prediction outside
            the hierarchy is in no group. ``any``: the gold label or one of its secondary labels.
        hierarchy: The groups, for ``group``.

    >>> Accuracy()("M", "G").tally.value, Accuracy("group")("M", "G").tally.value       # both CULTURAL
    (0.0, 1.0)
    >>> Accuracy("any")({"label": "X", "secondary_labels": ["M", "L"]}, {"label": "M"}).tally.value
    1.0
    """

    match: str = "label"
    hierarchy: Hierarchy = INSTITUTIONS
    choices = {"match": ("label", "group", "any")}

    @property
    def key(self) -> str:
        """``accuracy``, ``category_accuracy`` or ``primary_or_secondary``."""
        return {"label": "accuracy", "group": "category_accuracy", "any": "primary_or_secondary"}[self.match]

    @property
    def conventions(self) -> str:
        """The name, with what is compared."""
        match = "predicted label among gold's" if self.match == "any" else self.match
        tree = f"hierarchy={plain(self.hierarchy)}, " if self.match == "group" else ""
        return f"{self.key}[{tree}match={match}, case=as written, missing=error]"

    def tallies(self, batch: LabelBatch) -> Mean:
        """Right or not, of each example."""
        group = groups(self.hierarchy) if self.match == "group" else {}
        return means(
            pair.gold == pair.pred
            or (self.match == "any" and pair.pred in pair.gold_others)
            or group.get(pair.gold, NONE) == group.get(pair.pred)
            for pair in batch.labels
        )


@dataclass(frozen=True)
class LabelF1(LabelMeasure[Labelled | Counts]):
    """F1, precision or recall of labels.

    Formula: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn); averaged as named

    Args:
        average: ``macro``: the mean over labels. ``weighted``: weighted by how often each occurs in gold; 0 if none of
            the list does. ``micro``: over the sets of labels, primary and secondary together (``multilabel_f1``).
        over: What ``macro`` runs over: ``all`` of the list, so that a label of it that does not occur counts 0, or
            ``supported``, those that occur in gold.
        rate: ``f1``, ``precision`` or ``recall``.
        labels: The list.

    >>> macro = LabelF1(over="supported")
    >>> round((macro("M", "M").tally + macro("G", "M").tally).value, 4)      # F1 of M is 2/3, of G 0
    0.3333
    >>> round(LabelF1(labels="institutions")("M", "M").tally.value, 4), LabelF1("weighted")("M", "G").tally.value
    (0.0526, 0.0)
    >>> LabelF1("micro")({"label": "X", "secondary_labels": ["M"]}, {"label": "X", "secondary_labels": ["L"]}).tally
    Counts(tp=1.0, fp=1.0, fn=1.0)
    """

    average: str = "macro"
    over: str = "all"
    rate: str = "f1"
    labels: Listed = field(default="seen", kw_only=True)
    choices = {"average": ("macro", "weighted", "micro"), "over": ("all", "supported"), "rate": tuple(RATE_TALLIES)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.labels, str):
            check_choice("labels", self.labels, ("seen", INSTITUTIONS))

    @property
    def key(self) -> str:
        """``macro_f1``, ``macro_f1_supported``, ``weighted_f1``, ``multilabel_f1``; ``balanced_accuracy``."""
        if self.average != "macro":
            return f"{'multilabel' if self.average == 'micro' else 'weighted'}_{self.rate}"
        if self.over == "all":
            return f"macro_{self.rate}"
        return "balanced_accuracy" if self.rate == "recall" else f"macro_{self.rate}_supported"

    @property
    def zero(self) -> Labelled | Counts:
        """No evidence."""
        if self.average == "micro":
            return RATE_TALLIES[self.rate]()
        codes: Iterable[str] = institutions() if self.labels == INSTITUTIONS else self.labels
        listed = () if self.labels == "seen" else tuple(codes)
        return Labelled({}, listed, "weighted" if self.average == "weighted" else self.over, self.rate)

    def tallies(self, batch: LabelBatch) -> Labelled | Counts:
        """Which gold label got which prediction in each example, or the counts over its labels."""
        zero = self.zero
        if isinstance(zero, Labelled):
            return zero.with_items(batch.pairs)
        return set_counts([(pair.gold_set, pair.pred_set) for pair in batch.labels], self.rate)

    @property
    def counted(self) -> str:
        """The three rates over sets of labels have the same counts; averages over labels are in a table."""
        return "multilabel" if self.average == "micro" else ""

    @property
    def conventions(self) -> str:
        """The name, with the list and what the average runs over."""
        if self.average == "micro":
            return f"{self.key}[labels=primary and secondary, average=micro, case=as written, empty={NO_EVIDENCE}]"
        absent = ", absent=0" if self.over == "all" and self.labels != "seen" else ""
        macro = f"over={self.over}{absent}, average=macro"
        average = macro if self.average == "macro" else "average=weighted by gold support"
        return f"{self.key}[labels={plain(self.labels)}, {average}, case=as written, zero_division=0, missing=error]"


@dataclass(frozen=True)
class HierarchyGap(LabelMeasure[Gap]):
    """Category accuracy minus accuracy: the share of examples with the right group and the wrong label (0 is best).

    Formula: category accuracy − accuracy

    >>> HierarchyGap()("M", "G").tally.value
    1.0
    """

    hierarchy: Hierarchy = INSTITUTIONS
    name = "hierarchy_gap"
    zero: ClassVar[Gap] = Gap()
    fixed: ClassVar[Conventions] = {"better": "lower"}

    def tallies(self, batch: LabelBatch) -> Gap:
        """Right groups, right labels."""
        group = Accuracy("group", self.hierarchy).tallies(batch)
        exact = Accuracy().tallies(batch)
        return Gap(group.total, exact.total, exact.weight)


@dataclass(frozen=True)
class Kappa(AgreementMeasure):
    """Cohen's κ: agreement beyond what the two label distributions give by chance.

    ``weights`` ``linear`` and ``quadratic`` take near labels of an order for less wrong; ``labels`` is the order (by
    number or alphabet without it). 1 if both sides gave one and the same label throughout (p_e = 1).

    Formula: (p_o − p_e) / (1 − p_e), pairs of labels weighted
    Source: Cohen 1960, 1968

    >>> (Kappa()("M", "M").tally + Kappa()("G", "G").tally + Kappa()("G", "M").tally).value
    0.4
    >>> Kappa("quadratic").key, Kappa("quadratic")("1", "3").tally.value
    ('quadratic_kappa', 0.0)
    """

    weights: str = "none"
    labels: Names = ()
    choices = {"weights": ("none", "linear", "quadratic")}
    limits: ClassVar[Limits] = (-1.0, 1.0)

    @property
    def key(self) -> str:
        """``kappa``, ``linear_kappa``, ``quadratic_kappa``."""
        return "kappa" if self.weights == "none" else f"{self.weights}_kappa"

    @property
    def zero(self) -> AgreementCounts:
        """No evidence."""
        return AgreementCounts({}, self.weights, self.labels)

    @property
    def fixed(self) -> Conventions:
        """How a missing prediction counts, and agreement that chance explains."""
        missing = "its own label" if self.weights == "none" else "as far away as can be"
        order = {} if self.weights == "none" or self.labels else {"order": "by number, else by alphabet"}
        return {**order, "case": "as written", "missing": missing, "one label throughout": "1"}


@dataclass(frozen=True)
class MCC(AgreementMeasure):
    """Matthews' correlation coefficient, for any number of labels (Gorodkin's R_K).

    Formula: (c n − Σ t p) / √((n² − Σ p²)(n² − Σ t²))
    Source: Matthews 1975; Gorodkin 2004

    >>> (MCC()("M", "M").tally + MCC()("G", "G").tally + MCC()("G", "M").tally).value
    0.5
    """

    name = "mcc"
    zero: ClassVar[AgreementCounts] = AgreementCounts({}, "mcc")
    limits: ClassVar[Limits] = (-1.0, 1.0)
    fixed: ClassVar[Conventions] = {
        "case": "as written",
        "missing": "its own label",
        "one label throughout": "1 if right (scikit-learn: 0)",
    }


@dataclass(frozen=True)
class OrdinalError(AgreementMeasure):
    """The mean absolute distance of labels that are numbers, or of their places in the order ``labels``.

    Formula: mean |gold − predicted|

    >>> OrdinalError()(4, 2).tally.value, OrdinalError(("low", "mid", "high"))("low", "mid").tally.value
    (2.0, 1.0)
    """

    labels: Names = ()
    name = "ordinal_mae"
    lower_is_better: ClassVar[bool] = True
    fixed: ClassVar[Conventions] = {"missing": "as far away as can be"}

    @property
    def limits(self) -> Limits:
        """Up to the length of the order, where there is one."""
        return 0.0, float(len(self.labels) - 1) if self.labels else float("inf")

    @property
    def zero(self) -> AgreementCounts:
        """No evidence."""
        return AgreementCounts({}, "mae", self.labels)


@dataclass(frozen=True)
class Cost(LabelMeasure[Mean]):
    """The mean cost of taking one label for another; a pair that ``costs`` does not name costs 1, a right label 0.

    Formula: mean cost of (gold, predicted)
    Source: Elkan 2001

    >>> cost = Cost((("spam", "ham", 0.2), ("ham", "spam", 5.0)))
    >>> cost("ham", "spam").tally.value, cost("ham", None).tally.value, cost.limits
    (5.0, 1.0, (0.0, 5.0))
    """

    costs: tuple[tuple[str, str, float], ...] = ()
    name = "cost"
    lower_is_better: ClassVar[bool] = True
    fixed: ClassVar[Conventions] = {"other pairs": "1"}

    @property
    def limits(self) -> Limits:
        """Up to the highest cost."""
        return 0.0, max([1.0, *(cost for *_, cost in self.costs)])

    def tallies(self, batch: LabelBatch) -> Mean:
        """The cost of each example."""
        table = {(gold, pred): cost for gold, pred, cost in self.costs}
        return means(table.get((pair.gold, pair.pred), float(pair.gold != pair.pred)) for pair in batch.labels)


@dataclass(frozen=True)
class Correlation(ClassificationMeasure[Correlated]):
    """Pearson's r, Spearman's ρ or Kendall's τ_b of gold's and the program's numbers, over the corpus.

    Formula: correlation of gold and predicted numbers over the corpus
    Source: Pearson 1895; Spearman 1904; Kendall 1945

    >>> pairs = [({"score": g}, {"score": p}) for g, p in ((1, 2), (2, 5), (3, 4))]
    >>> sum((Correlation("kendall")(*pair).tally for pair in pairs), Correlation("kendall").zero).value
    0.3333333333333333
    """

    name = "{statistic}"
    statistic: str = "pearson"
    in_key: ClassVar[Names] = ("statistic",)
    choices = {"statistic": CORRELATIONS}
    limits: ClassVar[Limits] = (-1.0, 1.0)
    fixed: ClassVar[Conventions] = {
        "ties": "mid-ranks, τ_b",
        "constant": "1 if equal, else 0",
        "failed": "left out",
    }

    @property
    def zero(self) -> Correlated:
        """No evidence."""
        return Correlated({}, self.statistic)

    def tallies(self, batch: LabelBatch) -> Correlated:
        """Which pair of numbers each example has."""
        pairs = [None if pred is None else (repr(gold), repr(pred)) for gold, pred in batch.grades]
        return self.zero.with_items(indicators(pairs))


@dataclass(frozen=True)
class GradedError(ClassificationMeasure[Mean]):
    """The mean absolute error (``mae``), or the root of the mean squared one (``rmse``).

    Formula: mean |gold − predicted|, or √ mean (gold − predicted)²
    Source: Willmott & Matsuura 2005

    >>> GradedError()({"score": 3}, {"score": 5}).tally.value
    2.0
    """

    name = "{statistic}"
    statistic: str = "mae"
    in_key: ClassVar[Names] = ("statistic",)
    choices = {"statistic": ("mae", "rmse")}
    fixed: ClassVar[Conventions] = {"failed": "left out"}
    limits: ClassVar[Limits] = (0.0, float("inf"))
    lower_is_better: ClassVar[bool] = True

    @property
    def zero(self) -> Mean:
        """No evidence."""
        return Mean() if self.statistic == "mae" else RootMean()

    def tallies(self, batch: LabelBatch) -> Mean:
        """The error of each example."""
        power = 1 if self.statistic == "mae" else 2
        tally = means(None if pred is None else abs(gold - pred) ** power for gold, pred in batch.grades)
        return type(self.zero)(tally.total, tally.weight)


GRADED: list[Measure] = [
    *map(Correlation, CORRELATIONS),
    GradedError(),
    GradedError("rmse"),
]
# HierarchyGap is not among them: its best value is 0, and it may also be reached by wrong labels alone.
SINGLE_LABEL = (
    Accuracy(),
    LabelF1(),
    LabelF1(over="supported"),
    LabelF1(labels="institutions"),
    LabelF1(labels=("M", "L", "A")),
    LabelF1("weighted"),
    Accuracy("group"),
    Accuracy("group", (("memory", ("L", "A", "M")), ("other", ("G", "U")))),
    Kappa(),
    MCC(),
    LabelF1(rate="precision"),
    LabelF1(over="supported", rate="recall"),
    Cost((("M", "G", 0.5),)),
    LabelF1("micro"),
    Accuracy("any"),
    OrdinalError(tuple(institutions())),
    *GRADED,
)
