"""Labels, sets of labels, probabilities and grades as they are read; and the list of labels.

A list of labels is data: names, the groups that they belong to, and keywords. The institution types GLAMORCUBESFIXPHDNT
are in ``goldassay/_support/data/glamorcubesfixphdnt.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from numbers import Real
from typing import NamedTuple

from goldassay._support.exceptions import DataError, FieldError
from goldassay.core.fields import as_text
from goldassay.core.measure import failed, gold_field, pred_field
from goldassay.measures.classification.tally import NONE


class LabelPair(NamedTuple):
    """The labels of one example, on both sides; ``pred`` is ``(none)`` if nothing was predicted."""

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
        return self.pred_others | ({self.pred} - {NONE})


def sides(gold: object, pred: object) -> LabelPair:
    """The labels of a pair of records, or of two bare labels.

    A missing prediction (``None``, empty) is an error wherever it is counted: it never matches a gold label, not even
    one that means "unknown".

    Raises:
        FieldError: A record has no ``label``, or one that is neither a text nor a number.

    >>> sides({"label": "U"}, {"label": None}).pred, sides({"label": 3}, {"label": "3"}).pred
    ('(none)', '3')
    """
    if isinstance(gold, (str, Real)):
        gold = {"label": gold}
    try:
        label = as_text(gold_field(gold, "label"))
    except FieldError:
        if gold_field(gold, "labels", None) is None:
            raise
        advice = "`from goldassay.measures.classification import SetF1`, then `metric = Metric(SetF1())`"
        raise FieldError(f"the gold example has no label, but a set of labels; write {advice}") from None
    predicted = as_text(pred_field(pred, "label"))
    if not isinstance(label, str) or not label.strip():
        raise FieldError(f"a gold label is a number or a text that is not empty, not {label!r}")
    if not isinstance(predicted, (str, type(None))):
        raise FieldError(f"a predicted label is a text, not {predicted!r}")
    label = label.strip()
    predicted = (predicted or "").strip() or NONE
    secondary = label_set(gold_field(gold, "secondary_labels", None), "gold secondary_labels") - {label}
    theirs = label_set(pred_field(pred, "secondary_labels", None), "predicted secondary_labels") - {predicted}
    return LabelPair(label, predicted, secondary, theirs, str(gold_field(gold, "text", "") or ""))


def label_set(labels: Iterable[str | int] | None, side: str) -> frozenset[str]:
    """A plain list of labels, which may be empty.

    Raises:
        DataError: It is something else.

    >>> sorted(label_set([3, "b "], "gold labels"))
    ['3', 'b']
    """
    texts = [labels] if isinstance(labels, str) else [as_text(label) for label in labels or ()]
    if isinstance(labels, str) or not all(isinstance(text, str) for text in texts):
        raise DataError(f"a list of labels, not {labels!r}", field=side)
    return frozenset(text.strip() for text in texts if text.strip())


def probabilities(pred: object) -> dict[str, float]:
    """The number of each label; none if the program failed.

    Raises:
        FieldError: The prediction has no ``probabilities``, or something else under this name.

    >>> probabilities({"label": "M", "probabilities": {"M": 0.75, "L": 0.25}})
    {'M': 0.75, 'L': 0.25}
    """
    numbers = {} if failed(pred) else pred_field(pred, "probabilities")
    if not isinstance(numbers, Mapping):
        raise FieldError(f"probabilities are a number for each label, not {numbers!r}")
    return {str(label): float(number) for label, number in numbers.items()}


def grade(value: float | str, side: str) -> float:
    """A number.

    Raises:
        FieldError: It is none.
    """
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FieldError(f"the {side} score is a number, not {value!r}") from None


class Label(NamedTuple):
    """One label: its code, its name, its group, and the words that speak for it."""

    code: str
    name: str
    group: str
    words: frozenset[str]


@cache
def institutions() -> Mapping[str, Label]:
    """The 19 institution types GLAMORCUBESFIXPHDNT by their codes.

    >>> "".join(institutions()), institutions()["M"].name
    ('GLAMORCUBESFIXPHDNT', 'Museum')
    """
    text = (files("goldassay._support") / "data" / "glamorcubesfixphdnt.json").read_text(encoding="utf-8")
    rows = json.loads(text)["labels"]
    return {r["code"]: Label(r["code"], r["name"], r["group"], frozenset(chain(*r["keywords"].values()))) for r in rows}
