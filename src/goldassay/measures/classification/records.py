"""What a measure of classification reads from a pair of records: one label each, and secondary ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from goldassay.exceptions import DataError, FieldError
from goldassay.measure import gold_field, pred_field
from goldassay.measures.classification.tally import NONE

NOTHING: frozenset[str] = frozenset()


class Read(NamedTuple):
    """The labels of one example, on both sides; ``pred`` is ``(none)`` where nothing was predicted."""

    gold: str
    pred: str
    gold_others: frozenset[str]
    pred_others: frozenset[str]
    text: str

    @property
    def gold_set(self) -> frozenset[str]:
        """All labels that gold accepts."""
        return self.gold_others | {self.gold}

    @property
    def pred_set(self) -> frozenset[str]:
        """All labels that were predicted."""
        return self.pred_others | ({self.pred} if self.pred != NONE else frozenset())


def sides(gold: object, pred: object) -> Read:
    """The labels of a pair of records, or of two bare labels.

    A missing prediction (``None``, empty) is an error wherever it is counted: it never matches a gold label, not even
    one that means "unknown".

    >>> sides({"label": "U"}, {"label": None}).pred
    '(none)'
    """
    if isinstance(gold, str):
        gold = {"label": gold}
    if isinstance(pred, str):
        pred = {"label": pred}
    label = gold_field(gold, "label")
    if not isinstance(label, str) or not (label := label.strip()):
        raise FieldError(f"a gold label is a text that is not empty, not {label!r}")
    text = gold_field(gold, "text", "") or ""
    ours = _label(pred_field(pred, "label"))
    others = _others(gold_field(gold, "secondary_labels", None), "gold")
    theirs = _others(pred_field(pred, "secondary_labels", None), "predicted")
    return Read(label, ours, others - {label} if others else others, theirs - {ours} if theirs else theirs, str(text))


def _label(value: Any) -> str:
    if value is None:
        return NONE
    if not isinstance(value, str):
        raise FieldError(f"a predicted label is a text, not {value!r}")
    return value.strip() or NONE


def _others(value: Any, side: str) -> frozenset[str]:
    if value is None:
        return NOTHING
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise DataError(f"a list of labels, not {value!r}", field=f"{side} secondary_labels")
    return frozenset(one.strip() for one in value if one.strip())
