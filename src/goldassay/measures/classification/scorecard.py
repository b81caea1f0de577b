"""The scorecard of classification: its measures, folded over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import read
from goldassay.core.measure import Batches, Measure, failed
from goldassay.core.tally import Confusion
from goldassay.measures import Examples
from goldassay.measures.classification import multilabel
from goldassay.measures.classification.measures import (
    GRADED,
    INSTITUTIONS,
    MCC,
    Accuracy,
    Cost,
    Hierarchy,
    HierarchyGap,
    Kappa,
    LabelBatch,
    LabelF1,
    OrdinalError,
)
from goldassay.measures.classification.records import institutions
from goldassay.measures.classification.tally import NONE, OTHER, Labelled
from goldassay.results.result import Result, Sections, by_key, fold, unlike_gold


def scorecard(
    gold: Examples,
    pred: Examples,
    *,
    labels: Sequence[str] | str | None = None,
    hierarchy: Mapping[str, Sequence[str]] | str | None = None,
    weight: str = "",
    costs: Sequence[tuple[str, str, float]] = (),
    positive: str = "",
) -> Result:
    """All values over aligned records: of one label each, or of sets of ``labels`` or grades (``score``).

    Args:
        gold: The gold records.
        pred: The predictions.
        labels: The list that macro averages run over: labels, ``institutions`` (the 19 institution types) or ``seen``,
            the default, whatever the labels look like.
        hierarchy: The labels of each group, or ``institutions``, which ``labels="institutions"`` names, too. Without
            it there are no values by group.
        weight: The field of gold that says what an example weighs.
        costs: What it costs to take one label for another, as (gold, predicted, cost); other pairs cost 1.
        positive: The label whose AUROC and average precision are computed; without it they are means over the labels.

    Raises:
        GoldassayError: An option is given that gold or the predictions have no use for.

    >>> card = scorecard([{"label": "M"}, {"label": "L"}], [{"label": "M"}, {"label": "A"}], labels="institutions")
    >>> card.values["accuracy"], card.values["category_accuracy"], card.by["label"]["M"]["f1"]
    (0.5, 1.0, 1.0)
    """
    options_of = {"label": ("labels", "hierarchy", "costs", "positive"), "labels": ("labels",), "score": ()}
    nouns = {"labels": "sets of labels", "score": "grades"}
    shared = Batches(gold, pred)
    kind, seen, stated = _contents(shared)
    probable = stated["probabilities"] == stated["any"] > 0
    options = {"labels": labels, "hierarchy": hierarchy, "costs": costs, "positive": positive}
    if unused := [name for name, value in options.items() if value and name not in options_of[kind]]:
        raise GoldassayError(f"{unused[0]} is for gold with one label an example; this gold has {nouns[kind]}")
    if positive and not probable:
        raise GoldassayError(f"positive={positive} ranks examples by probabilities, which some predictions lack")
    if kind == "label":
        named = labels or "seen"
        listed = named if isinstance(named, str) else tuple(named)
        tree: Hierarchy = INSTITUTIONS if INSTITUTIONS in (hierarchy, listed) else ()
        if isinstance(hierarchy, Mapping):
            tree = tuple((group, tuple(members)) for group, members in hierarchy.items())
        numbers = len(seen) > 1 and all(label.removeprefix("-").isdecimal() for label in seen)
        measures: list[Measure] = [
            Accuracy(),
            LabelF1(labels=listed),
            LabelF1(over="supported", labels=listed),
            LabelF1("weighted", labels=listed),
            LabelF1(rate="precision", labels=listed),
            LabelF1(rate="recall", labels=listed),
            LabelF1(over="supported", rate="recall", labels=listed),
            *((Accuracy("group", tree), HierarchyGap(tree)) if tree else ()),
            Kappa(),
            MCC(),
            LabelF1("micro"),
            *((Kappa("linear"), Kappa("quadratic"), OrdinalError()) if numbers else ()),
            *([Accuracy("any")] if stated["secondary_labels"] else ()),
            *(multilabel.ranked(positive) if probable else ()),
            *(multilabel.CALIBRATED if probable or stated["confidence"] else ()),
            *([Cost(tuple(costs))] if costs else ()),
        ]
    elif kind == "labels":
        names = institutions() if labels == INSTITUTIONS else labels
        measures = multilabel.listed(tuple(sorted(seen) if names is None or isinstance(names, str) else names))
        measures += [multilabel.RankingPrecision()] if probable else []
    else:
        measures = GRADED
    card = fold("classification", measures, shared, weight=weight, sections=SECTIONS_BY_KIND[kind])
    if kind == "label":
        confusion: Labelled = card.totals["macro_f1"]
        over = confusion.counted
        counts = confusion.by_label(over)
        right = card.totals["accuracy"]
        card.extra_counts["label"] = {"right": right.total, "all": right.weight}
        if not any(c.support for c in counts.values()):
            card.set_values = {"weighted_f1": 0.0}
            card.notes.append("no label of the list occurs in gold; weighted_f1 is 0")
        absent = sum(not c.weight for c in counts.values())
        if absent and confusion.listed:
            message = f"{absent} of {len(over)} labels of the list do not occur"
            card.notes.append(f"{message}: macro_f1 counts them 0, and the upper end of its interval 1")
        by_label = confusion.by_label()
        predicted = [label for label, c in by_label.items() if c.predicted and label != NONE]
        card.notes += unlike_gold("label", [label for label, c in by_label.items() if c.support], predicted)
        outside = {label: c for label, c in by_label.items() if label not in (*over, NONE)}
        for side, rate in (("gold", "support"), ("predicted", "predicted")):
            times = Counter({label: int(getattr(c, rate)) for label, c in outside.items()})
            number = times.total()
            if number:
                examples = ", ".join(repr(label) for label, n in times.most_common(3) if n)
                card.notes.append(f"{number} {side} labels are outside the list and count as OTHER: {examples}")
    elif kind == "score" and (lacking := card.examples - stated["score"]):
        card.notes.append(f"{lacking} of {card.examples} examples have no predicted score and are left out")
    return card


def _contents(shared: Batches) -> tuple[str, set[str], Counter[str]]:
    """The field that gold has (``label``, ``labels`` or ``score``), its labels, and how many predictions state what."""
    stated = Counter[str]()
    seen = set[str]()
    first = shared.gold[0] if len(shared.gold) else ""
    kind = "label"
    if not isinstance(first, (str, int)):
        kind = next((name for name in ("label", "labels") if read(first, name, None) is not None), "score")
    for chunk in shared.chunks():
        answers = [answer for answer in chunk.pred if not failed(answer)]
        stated["any"] += len(answers)
        for name in ("confidence", "probabilities", "score"):
            stated[name] += sum(read(answer, name, None) is not None for answer in answers)
        batch: LabelBatch = chunk.of(Accuracy())
        if kind == "label":
            seen |= {pair.gold for pair in batch.labels}
            stated["secondary_labels"] += any(pair.gold_others for pair in batch.labels)
        elif kind == "labels":
            seen |= {label for gold, pred in batch.sets for label in gold | pred}
    return kind, seen, stated


def _by_label(card: Result) -> dict[str, dict[str, float]]:
    confusion: Labelled = card.totals["macro_f1"]
    return {
        label: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "support": int(c.support)}
        for label, c in confusion.by_label(confusion.counted).items()
    }


def _confusions(card: Result) -> dict[str, dict[str, int]]:
    confusion: Labelled = card.totals["macro_f1"]
    table = matrix(confusion, confusion.counted).items()
    rows = {gold: {pred: n for pred, n in row.items() if n} for gold, row in table}
    return {gold: row for gold, row in rows.items() if row}


def _unanswered(chunk: Batches, first: Accuracy) -> dict[str, int]:
    batch: LabelBatch = chunk.of(first)
    return {"unanswered": sum(pair.pred == NONE for pair in batch.labels)}


SECTIONS_BY_KIND = {
    "label": Sections(
        facts=_unanswered,
        by={"label": _by_label, "confusion": _confusions},
        warnings={"unanswered": "{n} examples have no predicted label and count as errors"},
    ),
    "labels": Sections(by={"label": lambda card: by_key(card.totals["set_macro_f1"])}),
    "score": Sections(),
}
"""The sections of the result besides values, by the field that gold has."""


def breakdown(shared: Batches) -> Result:
    """The values by label alone, and the confusions."""
    kind, seen, _ = _contents(shared)
    measures: list[Measure] = [Accuracy(), LabelF1()] if kind == "label" else []
    if kind == "labels":
        measures = multilabel.listed(tuple(sorted(seen)))
    return fold("classification", measures, shared, sections=SECTIONS_BY_KIND[kind])


def matrix(confusion: Confusion, labels: Sequence[str]) -> dict[str, dict[str, int]]:
    """Rows of gold, columns of predictions, over ``labels``; OTHER takes what they do not have, if there is any."""
    outside = OTHER if OTHER not in labels else "OTHER (outside the list)"
    listed = set(labels) - {NONE}
    pairs = Counter[tuple[str, str]]()
    for (gold, pred), count in confusion.items():
        pairs[gold if gold in listed else outside, pred if pred in listed else outside] += int(count)
    names = [*labels, *([outside] if any(outside in pair for pair in pairs) else [])]
    return {gold: {pred: pairs[gold, pred] for pred in names} for gold in names}
