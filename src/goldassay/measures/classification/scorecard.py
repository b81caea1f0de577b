"""The scorecard of classification: its measures, folded over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.fields import read
from goldassay.measure import Measure, failed
from goldassay.measures.classification import graded, multilabel, probabilities
from goldassay.measures.classification.measures import (
    INSTITUTIONS,
    MCC,
    Accuracy,
    Cost,
    Hierarchy,
    HierarchyGap,
    Kappa,
    LabelF1,
    Listed,
    OrdinalError,
)
from goldassay.measures.classification.records import institutions
from goldassay.measures.classification.tally import NONE, OTHER, Labelled
from goldassay.scorecard import Batches, Scorecard, by_key, fold
from goldassay.tally import Confusion

CHOICES = frozenset("ABCDEFGHI")  # what the answers of a multiple choice are called, and some institution types, too
Measures = list[Measure[Any]]


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    labels: Sequence[str] | str | None = None,
    hierarchy: Mapping[str, Sequence[str]] | str | None = None,
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
        hierarchy: The labels of each group, or ``institutions``. Without it, the types' groups if the labels
            are such types; other labels have no values by group.
        weight: The field of gold that says what an example weighs.
        costs: What it costs to take one label for another, as (gold, predicted, cost); other pairs cost 1.

    >>> card = scorecard([{"label": "M"}, {"label": "L"}], [{"label": "M"}, {"label": "A"}])
    >>> card.values["accuracy"], card.values["category_accuracy"], card.by["label"]["M"]["f1"]
    (0.5, 1.0, 1.0)
    """
    batches, first = Batches(gold, pred), gold[0] if len(gold) else ""
    stated = Counter(name for part in batches.chunks() for answer in part.pred for name in _stated(answer))
    if isinstance(first, (str, int)) or read(first, "label", None) is not None:
        return _of_labels(batches, stated, labels, hierarchy, weight, costs)
    if read(first, "labels", None) is not None:
        return _of_sets(batches, stated, labels, weight)
    card = fold("classification", graded.MEASURES, batches, weight=weight)
    if lacking := card.examples - stated["score"]:
        card.warnings.append(f"{lacking} of {card.examples} examples have no predicted score and are left out")
    return card


def _stated(pred: Any) -> list[str]:
    """What a prediction says beside its label; ``any`` unless the program failed."""
    if failed(pred):
        return []
    return ["any", *(name for name in ("confidence", "probabilities", "score") if read(pred, name, None) is not None)]


def _of_sets(batches: Batches, stated: Counter[str], labels: Sequence[str] | str | None, weight: str) -> Scorecard:
    """The scorecard of sets of labels."""
    pairs = [
        multilabel.label_sets(*pair) for part in batches.chunks() for pair in zip(part.gold, part.pred, strict=True)
    ]
    seen = {label for sides in pairs for side in sides for label in side}
    listed = tuple(sorted(seen)) if labels is None or isinstance(labels, str) else tuple(labels)
    measures = multilabel.listed(listed)
    measures += [multilabel.RankingPrecision()] if stated["probabilities"] == stated["any"] else []
    card = fold("classification", measures, batches, weight=weight)
    card.by["label"] = by_key(card.totals["set_macro_f1"])
    return card


def _of_labels(
    batches: Batches,
    stated: Counter[str],
    labels: Sequence[str] | str | None,
    hierarchy: Mapping[str, Sequence[str]] | str | None,
    weight: str,
    costs: Sequence[tuple[str, str, float]],
) -> Scorecard:
    """The scorecard of one label each."""
    seen: set[str] = set()
    for part in batches.chunks():
        reads = part.of(Accuracy()).read
        seen |= {one.gold for one in reads}
        stated["secondary_labels"] += any(one.gold_others for one in reads)
    listed, warnings = _listed(labels, seen)
    tree: Hierarchy = INSTITUTIONS if hierarchy == INSTITUTIONS else ()
    if isinstance(hierarchy, Mapping):
        tree = tuple((group, tuple(members)) for group, members in hierarchy.items())
    if not tree and (listed == INSTITUTIONS or (seen <= {*institutions()} and not seen <= CHOICES)):
        tree = INSTITUTIONS
    measures = _measures(listed, tree, seen, stated)
    measures += [Cost(tuple(costs))] if costs else []
    card = fold("classification", measures, batches, weight=weight)
    confusion: Labelled = card.totals["macro_f1"]
    over, by_label = confusion.counted, confusion.by_label(confusion.counted)
    card.by["label"] = {
        label: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "support": int(c.support)}
        for label, c in by_label.items()
    }
    rows = {g: {p: n for p, n in row.items() if n} for g, row in matrix(confusion, over).items()}
    card.by["confusion"] = {g: row for g, row in rows.items() if row}
    right = card.totals["accuracy"]
    card.counts["label"] = {"right": right.total, "all": right.weight}
    if not any(c.support for c in by_label.values()):
        card.values["weighted_f1"] = 0.0
        card.warnings.append("no label of the list occurs in gold; weighted_f1 is 0")
    absent = sum(not c.weight for c in by_label.values())
    if absent and listed != "seen":
        what = f"{absent} of {len(over)} labels of the list do not occur"
        card.warnings.append(f"{what}: macro_f1 counts them 0, and the upper end of its interval 1")
    card.warnings += _outside(confusion, over) + warnings
    return card


def _measures(listed: Listed, tree: Hierarchy, seen: set[str], stated: Counter[str]) -> Measures:
    """The measures that these labels and fields have evidence for."""
    measures: Measures = [
        Accuracy(),
        LabelF1(labels=listed),
        LabelF1(over="supported", labels=listed),
        LabelF1("weighted", labels=listed),
        *(LabelF1(rate=rate, labels=listed) for rate in ("precision", "recall")),
        LabelF1(over="supported", rate="recall", labels=listed),
    ]
    measures += [Accuracy("group", tree), HierarchyGap(tree)] if tree else []
    measures += [Kappa(), MCC(), LabelF1("micro")]
    if len(seen) > 1 and all(label.removeprefix("-").isdecimal() for label in seen):
        measures += [Kappa("linear"), Kappa("quadratic"), OrdinalError()]
    measures += [Accuracy("any")] if stated["secondary_labels"] else []
    probable = stated["probabilities"] == stated["any"] > 0
    measures += probabilities.RANKED if probable else ()
    measures += probabilities.CALIBRATED if probable or stated["confidence"] else ()
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


def _listed(labels: Sequence[str] | str | None, seen: set[str]) -> tuple[Listed, list[str]]:
    """The list of labels as a convention, and a warning about it."""
    codes = tuple(institutions())
    if labels:
        listed = labels if isinstance(labels, str) else tuple(labels)
        return INSTITUTIONS if listed == codes else listed, []
    if not seen or not seen <= {*codes}:
        return "seen", []
    if seen <= CHOICES:
        hint = "if they are institution types, labels=institutions takes all 19"
        return "seen", [f"macro_f1 runs over the labels seen; {hint}"]
    types = f"the 19 institution types, of which gold has {len(seen)}"
    return INSTITUTIONS, [f"macro_f1 runs over {types}; labels=seen takes those seen"]


def _outside(confusion: Labelled, over: tuple[str, ...]) -> list[str]:
    """Warnings about labels outside the list and missing predictions."""
    warnings = []
    by_label = confusion.by_label()
    for side, rate in (("gold", "support"), ("predicted", "predicted")):
        outside = {label: int(getattr(c, rate)) for label, c in by_label.items() if label not in (*over, NONE)}
        if number := sum(outside.values()):
            commonest = sorted(filter(outside.get, outside), key=lambda label: -outside[label])[:3]
            named = ", ".join(map(repr, commonest))
            warnings.append(f"{number} {side} labels are outside the list and count as OTHER: {named}")
    missing = int(by_label[NONE].predicted) if NONE in by_label else 0
    return warnings + ([f"{missing} examples have no predicted label and count as errors"] if missing else [])
