"""The scorecard of classification: its measures, folded over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from goldassay.measures.classification import measures as of
from goldassay.measures.classification.matching import INSTITUTIONS, Hierarchy, Listed, matrix
from goldassay.measures.classification.records import institutions
from goldassay.measures.classification.tally import NONE, Labelled
from goldassay.scorecard import Batches, Scorecard, fold

CHOICES = frozenset("ABCDEFGHI")  # what the answers of a multiple choice are called, and some institution types, too


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    labels: Sequence[str] | str | None = None,
    hierarchy: Mapping[str, Sequence[str]] | None = None,
) -> Scorecard:
    """All values over aligned records.

    ``labels`` is the list that macro averages run over: labels, ``institutions`` (the 19 institution types) or
    ``seen``. Without it, the 19 types where gold holds nothing but their codes, and more than A to I, else the labels
    seen; a warning says which where both could be meant. ``hierarchy`` maps a group to its labels.

    >>> card = scorecard([{"label": "M"}, {"label": "L"}], [{"label": "M"}, {"label": "A"}])
    >>> card.values["accuracy"], card.values["category_accuracy"], card.by["label"]["M"]["f1"]
    (0.5, 1.0, 1.0)
    """
    shared = Batches(gold, pred)
    listed, said = _listed(labels, shared)
    tree: Hierarchy = tuple((name, tuple(members)) for name, members in (hierarchy or {}).items()) or INSTITUTIONS
    macro = of.MacroF1(labels=listed)
    measures = (
        of.Accuracy(), macro, of.MacroF1("supported", labels=listed), of.WeightedF1(listed), of.CategoryAccuracy(tree),
        of.HierarchyGap(tree), of.Kappa(), of.MultiLabelF1(), of.PrimaryOrSecondary(),
    )  # fmt: skip
    card = fold("classification", measures, shared)
    seen: Labelled = card.totals[macro.key]
    over, by_label = seen.counted, seen.by_label(seen.counted)
    card.by["label"] = {
        label: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "support": int(c.tp + c.fn)}
        for label, c in by_label.items()
    }
    card.by["confusion"] = {g: {p: n for p, n in row.items() if n} for g, row in matrix(seen, over).items()}
    card.by["confusion"] = {g: row for g, row in card.by["confusion"].items() if row}
    right = card.totals["accuracy"]
    card.counts["label"] = {"right": right.total, "all": right.weight}
    if not any(c.tp + c.fn for c in by_label.values()):
        card.values["weighted_f1"] = 0.0
        card.warnings.append("no label of the list stands in gold; weighted_f1 is 0")
    _warned(card, seen, over)
    card.warnings += said
    return card


def _listed(labels: Sequence[str] | str | None, shared: Batches) -> tuple[Listed, list[str]]:
    """The list of labels as a convention, and what is to be said of it."""
    if labels:
        given = labels if isinstance(labels, str) else tuple(labels)
        return INSTITUTIONS if given == institutions().codes else given, []
    found, codes = set[str](), {*institutions().codes}
    for part in shared.chunks():
        found |= {one.gold for one in part.of(of.Accuracy()).read}
        if not found <= codes:
            return "seen", []
    if not found:
        return "seen", []
    if found <= CHOICES:
        said = "macro_f1 runs over the labels seen; if they are institution types, labels=institutions takes all 19"
        return "seen", [said]
    said = f"macro_f1 runs over the 19 institution types, of which gold has {len(found)}; labels=seen takes those seen"
    return INSTITUTIONS, [said]


def _warned(card: Scorecard, seen: Labelled, over: tuple[str, ...]) -> None:
    known = set(over)
    none = sum(count for (_, pred), count in seen.items() if pred == NONE)
    for place, side in enumerate(("gold", "predicted")):
        outside = Counter[str]()
        for pair, count in seen.items():
            if pair[place] not in known and (side == "gold" or pair[place] != NONE):
                outside[pair[place]] += int(count)
        if outside:
            named = ", ".join(repr(label) for label, _ in outside.most_common(3))
            card.warnings.append(f"{outside.total()} {side} labels are outside the list and count as OTHER: {named}")
    if none:
        card.warnings.append(f"{none} examples have no predicted label and count as errors")
