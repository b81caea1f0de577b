"""What a measure of classification reads: one label from each side of a pair, secondary ones, and the list of labels.

A list of labels is data: names, the groups that they belong to, and keywords. The institution types GLAMORCUBESFIXPHDNT
stand in ``goldassay/data/glamorcubesfixphdnt.json``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
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


@dataclass(frozen=True)
class LabelList:
    """A list of labels in its order.

    >>> types = institutions()
    >>> len(types.labels), types.name("M"), types.code("Holy site")
    (19, 'Museum', 'H')
    """

    labels: tuple[Label, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes, in the order of the list."""
        return tuple(label.code for label in self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the list."""
        return tuple(label.name for label in self.labels)

    @property
    def hierarchy(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The groups with their codes, as measures take them."""
        groups = dict.fromkeys(label.group for label in self.labels)
        return tuple((group, tuple(label.code for label in self.labels if label.group == group)) for group in groups)

    def name(self, code: str) -> str:
        """The name of a code; the code itself if the list does not have it."""
        return next((label.name for label in self.labels if label.code == code), code)

    def code(self, name: str) -> str | None:
        """The code that has this name (or is this code), whatever its case."""
        folded = name.strip().casefold()
        return next((one.code for one in self.labels if folded in (one.name.casefold(), one.code.casefold())), None)

    def signs(self, text: str, code: str | None = None) -> list[Sign]:
        """The words of a text that speak for a label, or for any, in the order of the text.

        >>> text = "Het Stadsarchief bewaart akten"
        >>> [(sign.label, text[sign.start : sign.end]) for sign in institutions().signs(text, "A")]
        [('A', 'Stadsarchief'), ('A', 'akten')]
        """
        signs = [
            Sign(label.code, *match.span())
            for label in self.labels
            if label.words and code in (None, label.code)
            for match in _pattern(label.words).finditer(text)
        ]
        return sorted(signs, key=lambda sign: (sign.start, sign.end))


@cache
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    parts = [
        rf"\w*{re.escape(word)}\w*" if len(word) >= LONG else rf"\b{re.escape(word)}\b"
        for word in sorted(words, key=lambda word: (-len(word), word))
    ]
    return re.compile("|".join(parts), re.IGNORECASE)


@cache
def institutions() -> LabelList:
    """The 19 institution types GLAMORCUBESFIXPHDNT with their groups."""
    rows = json.loads((files("goldassay") / "data" / "glamorcubesfixphdnt.json").read_text(encoding="utf-8"))["labels"]
    return LabelList(
        tuple(Label(r["code"], r["name"], r["group"], frozenset(chain(*r["keywords"].values()))) for r in rows)
    )
