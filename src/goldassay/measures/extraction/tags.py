"""Precision, recall and F1 of tag sequences: what seqeval's report holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from goldassay.exceptions import GoldassayError
from goldassay.measure import check_choice
from goldassay.tally import Counts
from goldassay.text.tagging import named, spans

RATES = ("precision", "recall", "f1")
Tags = Sequence[Sequence[str]]


def evaluate_tags(
    gold: Tags, pred: Tags, *, scheme: str | None = None, mode: str = "conlleval"
) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and support by type, with ``micro avg``, ``macro avg`` (all types seen), ``weighted avg``.

    ``scheme`` is IOB1, IOB2, IOE1, IOE2, IOBES or BILOU, guessed from the tags without one; ``mode`` is the reading of
    malformed tags: ``conlleval`` (an orphan I- opens an entity) or ``strict`` (it is nothing).

    >>> evaluate_tags([["B-TOP", "I-TOP", "O"]], [["B-TOP", "I-TOP", "I-TMP"]])["micro avg"]["precision"]
    0.5
    >>> evaluate_tags([["B-TOP", "I-TOP", "O"]], [["B-TOP", "I-TOP", "I-TMP"]], mode="strict")["micro avg"]["precision"]
    1.0
    """
    check_choice("mode", mode, ("conlleval", "strict"))
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold sentences against {len(pred)} predicted ones; they must be aligned")
    name = named(scheme, {tag for tags in chain(gold, pred) for tag in tags})
    right, annotated, predicted = Counter[str](), Counter[str](), Counter[str]()
    for number, pair in enumerate(zip(gold, pred, strict=True), 1):
        a, b = map(len, pair)
        if a != b:
            raise GoldassayError(f"sentence {number} has {a} gold tags and {b} predicted ones; it must have as many")
        left, other = (spans(tags, name, mode) for tags in pair)
        right.update(kind for _, _, kind in {*left} & {*other})
        annotated.update(kind for _, _, kind in left)
        predicted.update(kind for _, _, kind in other)
    counts = {
        kind: Counts(right[kind], predicted[kind] - right[kind], annotated[kind] - right[kind])
        for kind in sorted(annotated | predicted)
    }
    report = {kind: _row(tally) for kind, tally in counts.items()}
    total = _row(sum(counts.values(), Counts(0, 0, 0)))
    averages = {"micro avg": total}
    support = [row["support"] for row in report.values()]
    for average, weights in (("macro avg", [1.0] * len(report)), ("weighted avg", support)):
        means = {
            rate: sum(weight * row[rate] for weight, row in zip(weights, report.values(), strict=True))
            / (sum(weights) or 1)
            for rate in RATES
        }
        averages[average] = {**means, "support": total["support"]}
    return {**report, **averages}


def _row(counts: Counts) -> dict[str, float]:
    return {rate: float(getattr(counts, rate)) for rate in RATES} | {"support": int(counts.tp + counts.fn)}
