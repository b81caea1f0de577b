"""The scorecard of classification: its measures, folded over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.fields import read
from goldassay.measure import Measure, Weighted, failed
from goldassay.measures.classification.graded import CORRELATIONS, Correlation, GradedError
from goldassay.measures.classification.measures import (
    INSTITUTIONS,
    MCC,
    Accuracy,
    Batch,
    Cost,
    Hierarchy,
    HierarchyGap,
    Kappa,
    LabelF1,
    LabelMeasure,
    Listed,
    OrdinalError,
)
from goldassay.measures.classification.multilabel import (
    HammingLoss,
    RankingPrecision,
    SetF1,
    SubsetAccuracy,
    label_sets,
)
from goldassay.measures.classification.probabilities import Calibration, Curve, MulticlassBrier, TopK
from goldassay.measures.classification.records import institutions
from goldassay.measures.classification.tally import NONE, OTHER, Labelled
from goldassay.scorecard import Batches, Scorecard, by_key, fold
from goldassay.tally import Confusion

CHOICES = frozenset("ABCDEFGHI")  # what the answers of a multiple choice are called, and some institution types, too


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    labels: Sequence[str] | str | None = None,
    hierarchy: Mapping[str, Sequence[str]] | None = None,
    weight: str = "",
    costs: Sequence[tuple[str, str, float]] = (),
) -> Scorecard:
    """All values over aligned records: of one label each, or of sets of ``labels`` or grades (``score``).

    Args:
        gold: The gold records.
        pred: The predictions.
        labels: The list that macro averages run over: labels, ``institutions`` (the 19 institution types) or ``seen``.
            Without it, the 19 types if gold holds nothing but their codes, and more than A to I, else the labels seen;
            a warning says which if both could be meant.
        hierarchy: The labels of each group. Without it, the institution types' groups if the labels are such types;
            other labels have no values by group. ``primary_or_secondary`` needs gold with secondary labels.
        weight: The field of gold that says what an example weighs.
        costs: What it costs to take one label for another, as (gold, predicted, cost); other pairs cost 1.

    >>> card = scorecard([{"label": "M"}, {"label": "L"}], [{"label": "M"}, {"label": "A"}])
    >>> card.values["accuracy"], card.values["category_accuracy"], card.by["label"]["M"]["f1"]
    (0.5, 1.0, 1.0)
    """
    batches = Batches(gold, pred)
    first = gold[0] if len(gold) else ""
    if not isinstance(first, (str, int)) and read(first, "label", None) is None:
        return _without_label(batches, labels, weight)
    gold_labels, evidence = _evidence(batches)
    listed, warnings = _listed(labels, gold_labels)
    tree: Hierarchy = tuple((name, tuple(members)) for name, members in (hierarchy or {}).items()) or INSTITUTIONS
    measures: list[Measure[Any]] = [*_measures(listed, tree, bool(hierarchy), gold_labels, evidence)]
    card = _fold([*measures, Cost(tuple(costs))] if costs else measures, batches, weight)
    confusion: Labelled = card.totals["macro_f1"]
    over, by_label = confusion.counted, confusion.by_label(confusion.counted)
    card.by["label"] = {
        label: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "support": int(c.tp + c.fn)}
        for label, c in by_label.items()
    }
    rows = {g: {p: n for p, n in row.items() if n} for g, row in matrix(confusion, over).items()}
    card.by["confusion"] = {g: row for g, row in rows.items() if row}
    right = card.totals["accuracy"]
    card.counts["label"] = {"right": right.total, "all": right.weight}
    if not any(c.tp + c.fn for c in by_label.values()):
        card.values["weighted_f1"] = 0.0
        card.warnings.append("no label of the list occurs in gold; weighted_f1 is 0")
    absent = sum(not c.weight for c in by_label.values())
    if absent and listed != "seen":
        what = f"{absent} of {len(over)} labels of the list do not occur"
        card.warnings.append(f"{what}: macro_f1 counts them 0, and the upper end of its interval 1")
    card.warnings += _outside(confusion, over) + warnings
    return card


def _fold(measures: Sequence[Measure[Any]], batches: Batches, weight: str) -> Scorecard:
    """The scorecard of these measures, weighted by a field of gold if one is named."""
    weighted = {measure.key: Weighted(measure, weight) if weight else measure for measure in measures}
    return fold("classification", weighted, batches)


def _without_label(batches: Batches, labels: Sequence[str] | str | None, weight: str) -> Scorecard:
    """The scorecard of sets of labels, or of grades."""
    if read(batches.gold[0], "labels", None) is None:
        errors: list[Measure[Any]] = [GradedError(), GradedError("rmse")]
        card = _fold([*(Correlation(statistic) for statistic in CORRELATIONS), *errors], batches, weight)
        scored = sum(read(pred, "score", None) is not None for part in batches.chunks() for pred in part.pred)
        if scored < card.examples:
            lacking = f"{card.examples - scored} of {card.examples} examples"
            card.warnings.append(f"{lacking} have no predicted score and are left out")
        return card
    pairs = [label_sets(*pair) for part in batches.chunks() for pair in zip(part.gold, part.pred, strict=True)]
    seen = {label for sides in pairs for side in sides for label in side}
    listed = tuple(sorted(seen)) if labels is None or isinstance(labels, str) else tuple(labels)
    measures: list[Measure[Any]] = [SetF1(average) for average in ("micro", "macro", "samples")]
    measures += [SetF1("micro", rate) for rate in ("precision", "recall")] + [SubsetAccuracy()]
    measures += [HammingLoss(listed)] if listed else []
    if all(_states(pred, "probabilities") for part in batches.chunks() for pred in part.pred):
        measures.append(RankingPrecision())
    card = _fold(measures, batches, weight)
    card.by["label"] = by_key(card.totals["set_macro_f1"])
    return card


def _measures(
    listed: Listed, tree: Hierarchy, grouped: bool, gold_labels: set[str], evidence: set[str]
) -> list[LabelMeasure]:
    """The measures that these labels and fields have evidence for."""
    measures: list[LabelMeasure] = [
        Accuracy(),
        LabelF1(labels=listed),
        LabelF1(over="supported", labels=listed),
        LabelF1("weighted", labels=listed),
        *(LabelF1(rate=rate, labels=listed) for rate in ("precision", "recall")),
        LabelF1(over="supported", rate="recall", labels=listed),
    ]
    if grouped or listed == INSTITUTIONS or (gold_labels <= {*institutions().codes} and not gold_labels <= CHOICES):
        measures += [Accuracy("group", tree), HierarchyGap(tree)]
    measures += [Kappa(), MCC(), LabelF1("micro")]
    if len(gold_labels) > 1 and all(label.removeprefix("-").isdecimal() for label in gold_labels):
        measures += [Kappa("linear"), Kappa("quadratic"), OrdinalError()]
    measures += [Accuracy("any")] if "secondary_labels" in evidence else []
    if "probabilities" in evidence:
        measures += [TopK(2), TopK(3), Curve("auroc"), Curve("average_precision"), MulticlassBrier()]
    if evidence & {"probabilities", "confidence"}:
        measures += [Calibration(statistic="ece"), Calibration(statistic="brier")]
    return measures


def matrix(confusion: Confusion, labels: Sequence[str]) -> dict[str, dict[str, int]]:
    """Rows of gold, columns of predictions, over ``labels``; OTHER takes what they do not have, if there is any."""
    rest = OTHER if OTHER not in labels else "OTHER (outside the list)"
    listed = set(labels) - {NONE}
    pairs = Counter[tuple[str, str]]()
    for (gold, pred), count in confusion.items():
        pairs[gold if gold in listed else rest, pred if pred in listed else rest] += int(count)
    names = [*labels, *([rest] if any(rest in pair for pair in pairs) else [])]
    return {gold: {pred: pairs[gold, pred] for pred in names} for gold in names}


def _evidence(batches: Batches) -> tuple[set[str], set[str]]:
    """The labels that occur in gold, and which fields the records have that not all have."""
    labels, evidence = set[str](), set[str]()
    for part in batches.chunks():
        batch: Batch = part.of(Accuracy())
        labels |= {one.gold for one in batch.read}
        evidence |= {"secondary_labels"} if any(one.gold_others for one in batch.read) else set()
        evidence |= (
            {"confidence"} if any(_states(pred, "confidence") and not failed(pred) for pred in part.pred) else set()
        )
    stated = [_states(pred, "probabilities") for part in batches.chunks() for pred in part.pred if not failed(pred)]
    return labels, evidence | ({"probabilities"} if stated and all(stated) else set())


def _states(pred: Any, name: str) -> bool:
    """Whether a prediction has a field, or is none."""
    return bool(failed(pred)) or (not isinstance(pred, str | int) and read(pred, name, None) is not None)


def _listed(labels: Sequence[str] | str | None, gold_labels: set[str]) -> tuple[Listed, list[str]]:
    """The list of labels as a convention, and a warning about it."""
    codes = institutions().codes
    if labels:
        listed = labels if isinstance(labels, str) else tuple(labels)
        return INSTITUTIONS if listed == codes else listed, []
    if not gold_labels or not gold_labels <= {*codes}:
        return "seen", []
    if gold_labels <= CHOICES:
        return "seen", [
            "macro_f1 runs over the labels seen; if they are institution types, labels=institutions takes all 19"
        ]
    types = f"the 19 institution types, of which gold has {len(gold_labels)}"
    return INSTITUTIONS, [f"macro_f1 runs over {types}; labels=seen takes those seen"]


def _outside(confusion: Labelled, over: tuple[str, ...]) -> list[str]:
    """Warnings about labels outside the list and missing predictions."""
    warnings = []
    for place, side in enumerate(("gold", "predicted")):
        outside = Counter[str]()
        for pair, count in confusion.items():
            if pair[place] not in over and (side == "gold" or pair[place] != NONE):
                outside[pair[place]] += int(count)
        if outside:
            named = ", ".join(repr(label) for label, _ in outside.most_common(3))
            warnings.append(f"{outside.total()} {side} labels are outside the list and count as OTHER: {named}")
    missing = sum(count for (_, pred), count in confusion.items() if pred == NONE)
    return warnings + ([f"{missing} examples have no predicted label and count as errors"] if missing else [])
