"""The scorecard of classification: every value of a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.classification.labels import institutions
from goldassay.measures.classification.measures import (
    Accuracy,
    CategoryAccuracy,
    HierarchyGap,
    Kappa,
    MacroF1,
    MultiLabelF1,
    PrimaryOrSecondary,
    WeightedF1,
    groups,
    same_group,
)
from goldassay.measures.classification.records import Read, sides
from goldassay.measures.classification.tally import NONE, OTHER, Agreement, listed
from goldassay.scorecard import Scorecard
from goldassay.tally import Confusion


def scorecard(
    gold: Sequence[Any],
    pred: Sequence[Any],
    *,
    labels: Sequence[str] | None = None,
    hierarchy: Mapping[str, Sequence[str]] | None = None,
) -> Scorecard:
    """All values over aligned records.

    ``labels`` is the list that macro averages run over; without it, the 19 institution types where gold holds no other
    label, else the labels seen. ``hierarchy`` maps a group to its labels.

    >>> card = scorecard([{"label": "M"}, {"label": "L"}], [{"label": "M"}, {"label": "A"}])
    >>> card.values["accuracy"], card.values["category_accuracy"], card.by["label"]["M"]["f1"]
    (0.5, 1.0, 1.0)
    """
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
    read = [sides(g, p) for g, p in zip(gold, pred, strict=True)]
    over = listed({one.gold for one in read}, {x for one in read for x in (one.gold, one.pred)}, tuple(labels or ()))
    card = Scorecard("classification", len(read))
    found = confusion(read)
    by_label = found.by_label(over)
    card.by["label"] = {
        label: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "support": int(c.tp + c.fn)}
        for label, c in by_label.items()
    }
    rows = list(card.by["label"].values())
    support = sum(int(row["support"] or 0) for row in rows)
    tree = tuple((name, tuple(members)) for name, members in (hierarchy or {}).items())
    group = groups(tree)
    exact = _mean([float(one.gold == one.pred) for one in read])
    category = _mean([float(same_group(one, group)) for one in read])
    some = [row for row in rows if row["support"]]
    card.values = {
        "accuracy": exact,
        "macro_f1": _mean([float(row["f1"] or 0) for row in rows]) if read else None,
        "macro_f1_supported": _mean([float(row["f1"] or 0) for row in some]),
        "weighted_f1": sum(float(r["f1"] or 0) * int(r["support"] or 0) for r in rows) / support if support else 0.0,
        "category_accuracy": category,
        "hierarchy_gap": None if exact is None or category is None else category - exact,
        "kappa": float(Agreement(found).value) if read else None,
    }
    _secondary(card, read)
    card.counts["label"] = {"right": sum(one.gold == one.pred for one in read), "all": len(read)}
    card.by["confusion"] = {g: {p: n for p, n in row.items() if n} for g, row in matrix(read, over).items()}
    card.by["confusion"] = {g: row for g, row in card.by["confusion"].items() if row}
    _described(card, over, bool(labels), tree)
    _warned(card, read, over, support)
    return card


def _secondary(card: Scorecard, read: Sequence[Read]) -> None:
    """What counts with secondary labels."""
    tp = sum(len(one.gold_set & one.pred_set) for one in read)
    wanted, made = sum(len(one.gold_set) for one in read), sum(len(one.pred_set) for one in read)
    card.counts["multilabel"] = {"tp": tp, "fp": made - tp, "fn": wanted - tp}
    card.values["multilabel_f1"] = 2 * tp / (wanted + made) if wanted + made else None
    card.values["primary_or_secondary"] = _mean([float(one.pred in one.gold_set) for one in read])


def _described(card: Scorecard, over: tuple[str, ...], given: bool, tree: Any) -> None:
    """Each value's convention, and its definition with the source."""
    types = over == institutions().codes
    which = f"the {len(over)} labels given" if given else "the 19 institution types" if types else "the labels seen"
    measures = (
        Accuracy(), MacroF1(), MacroF1("supported"), WeightedF1(), CategoryAccuracy(tree), HierarchyGap(tree), Kappa(),
        MultiLabelF1(), PrimaryOrSecondary(),
    )  # fmt: skip
    for measure in measures:
        card.conventions[measure.key] = measure.conventions
        card.explain[measure.key] = f"{measure.formula}. {measure.source}"
    card.conventions["macro_f1"] = f"macro_f1[labels={which}, average=macro, zero_division=0, missing=error]"
    card.explain["macro_f1"] = f"mean of F1 over {which}; one that occurs nowhere counts 0. {MacroF1.source}"


def _warned(card: Scorecard, read: Sequence[Read], over: tuple[str, ...], support: int) -> None:
    known = set(over)
    none = sum(one.pred == NONE for one in read)
    for side, outside in (
        ("gold", Counter(one.gold for one in read if one.gold not in known)),
        ("predicted", Counter(one.pred for one in read if one.pred not in known and one.pred != NONE)),
    ):
        if outside:
            named = ", ".join(repr(label) for label, _ in outside.most_common(3))
            card.warnings.append(f"{outside.total()} {side} labels are outside the list and count as OTHER: {named}")
    if none:
        card.warnings.append(f"{none} examples have no predicted label and count as errors")
    if not support:
        card.warnings.append("no label of the list stands in gold; weighted_f1 is 0")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def confusion(read: Sequence[Read]) -> Confusion:
    """How often each gold label got each prediction."""
    return Confusion(Counter((one.gold, one.pred) for one in read))


def matrix(read: Sequence[Read], labels: Sequence[str]) -> dict[str, dict[str, int]]:
    """Rows of gold, columns of predictions, over ``labels``; OTHER takes what they do not have, where there is any."""
    rest = OTHER if OTHER not in labels else "OTHER (outside the list)"
    known = set(labels) - {NONE}
    pairs = Counter((one.gold if one.gold in known else rest, one.pred if one.pred in known else rest) for one in read)
    names = [*labels, *([rest] if any(rest in pair for pair in pairs) else [])]
    return {gold: {pred: pairs[gold, pred] for pred in names} for gold in names}
