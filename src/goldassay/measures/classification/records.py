"""What a measure of classification reads: one label from each side of a pair, secondary ones, and the list of labels.

A list of labels is data: names, the groups that they belong to, and keywords. The institution types GLAMORCUBESFIXPHDNT
stand in ``goldassay/data/glamorcubesfixphdnt.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

from goldassay.exceptions import DataError, FieldError
from goldassay.measure import gold_field, pred_field
from goldassay.measures.classification.tally import NONE

LONG = 5  # a keyword of at least so many letters also counts inside a compound: "Stadsarchief"


class Read(NamedTuple):
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


def sides(gold: object, pred: object) -> Read:
    """The labels of a pair of records, or of two bare labels.

    A missing prediction (``None``, empty) is an error wherever it is counted: it never matches a gold label, not even
    one that means "unknown".

    >>> sides({"label": "U"}, {"label": None}).pred, sides({"label": 3}, {"label": "3"}).pred
    ('(none)', '3')
    """
    gold, pred = ({"label": side} if isinstance(side, (str, int)) else side for side in (gold, pred))
    label, predicted = (
        str(x) if isinstance(x, int) else x for x in (gold_field(gold, "label"), pred_field(pred, "label"))
    )
    if not isinstance(label, str) or not (label := label.strip()):
        raise FieldError(f"a gold label is a number or a text that is not empty, not {label!r}")
    if not isinstance(predicted, (str, type(None))):
        raise FieldError(f"a predicted label is a text, not {predicted!r}")
    predicted = (predicted or "").strip() or NONE
    others = _others(gold_field(gold, "secondary_labels", None), "gold") - {label}
    theirs = _others(pred_field(pred, "secondary_labels", None), "predicted") - {predicted}
    return Read(label, predicted, others, theirs, str(gold_field(gold, "text", "") or ""))


def _others(value: Any, side: str) -> frozenset[str]:
    if isinstance(value, str) or not all(isinstance(label, str) for label in value or ()):
        raise DataError(f"a list of labels, not {value!r}", field=f"{side} secondary_labels")
    return frozenset(label.strip() for label in value or () if label.strip())


class Sign(NamedTuple):
    """A word of a text that speaks for a label, and where it stands."""

    label: str
    start: int
    end: int


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
    text = (files("goldassay") / "data" / "glamorcubesfixphdnt.json").read_text(encoding="utf-8")
    rows = json.loads(text)["labels"]
    return {r["code"]: Label(r["code"], r["name"], r["group"], frozenset(chain(*r["keywords"].values()))) for r in rows}


def signs(text: str, code: str | None = None) -> list[Sign]:
    """The words of a text that speak for an institution type, or for any, in the order of the text.

    >>> text = "Het Stadsarchief bewaart akten"
    >>> [(sign.label, text[sign.start : sign.end]) for sign in signs(text, "A")]
    [('A', 'Stadsarchief'), ('A', 'akten')]
    """
    labels = [label for label in institutions().values() if label.words and code in (None, label.code)]
    spans = [Sign(label.code, *match.span()) for label in labels for match in _pattern(label.words).finditer(text)]
    return sorted(spans, key=lambda sign: (sign.start, sign.end))


@cache
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    parts = [
        rf"\w*{re.escape(word)}\w*" if len(word) >= LONG else rf"\b{re.escape(word)}\b"
        for word in sorted(words, key=lambda word: (-len(word), word))
    ]
    return re.compile("|".join(parts), re.IGNORECASE)
