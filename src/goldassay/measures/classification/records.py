"""What the measures of classification read: labels, sets of labels, probabilities and grades; and the list of labels.

A list of labels is data: names, the groups that they belong to, and keywords. The institution types GLAMORCUBESFIXPHDNT
stand in ``goldassay/data/glamorcubesfixphdnt.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import DataError, FieldError
from goldassay.measure import failed, gold_field, pred_field
from goldassay.measures import Examples
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
    both = gold_field(gold, "label"), pred_field(pred, "label")
    label, predicted = (str(each).strip() if isinstance(each, (str, int)) else each for each in both)
    if not label or not isinstance(label, str):
        raise FieldError(f"a gold label is a number or a text that is not empty, not {both[0]!r}")
    if not isinstance(predicted, (str, type(None))):
        raise FieldError(f"a predicted label is a text, not {predicted!r}")
    predicted = predicted or NONE
    others = label_set(gold_field(gold, "secondary_labels", None), "gold secondary_labels") - {label}
    theirs = label_set(pred_field(pred, "secondary_labels", None), "predicted secondary_labels") - {predicted}
    return Read(label, predicted, others, theirs, str(gold_field(gold, "text", "") or ""))


def label_set(labels: Any, side: str) -> frozenset[str]:
    """A plain list of labels, which may be empty.

    >>> sorted(label_set([3, "b "], "gold labels"))
    ['3', 'b']
    """
    if isinstance(labels, str) or not all(isinstance(label, (str, int)) for label in labels or ()):
        raise DataError(f"a list of labels, not {labels!r}", field=side)
    return frozenset(text for label in labels or () if (text := str(label).strip()))


def probabilities(pred: object) -> dict[str, float]:
    """The number of each label; none if the program failed.

    >>> probabilities({"label": "M", "probabilities": {"M": 0.75, "L": 0.25}})
    {'M': 0.75, 'L': 0.25}
    """
    numbers = {} if failed(pred) else pred_field(pred, "probabilities")
    if not isinstance(numbers, Mapping):
        raise FieldError(f"probabilities are a number for each label, not {numbers!r}")
    return {str(label): float(number) for label, number in numbers.items()}


def grade(value: Any, side: str) -> float | None:
    """A number; None if a prediction has none."""
    if side == "predicted" and value in (None, ""):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FieldError(f"the {side} score is a number, not {value!r}") from None


class Batch:
    """Many examples; each thing that measures need is read when it is first asked for.

    >>> Batch(["M", "M"], ["M", "G"]).pairs["M", "G"].tolist()
    [0, 1]
    """

    def __init__(self, gold: Examples, pred: Examples) -> None:
        self.gold, self.pred = gold, pred

    @cached_property
    def read(self) -> list[Read]:
        """The labels."""
        return [sides(*pair) for pair in zip(self.gold, self.pred, strict=True)]

    @cached_property
    def pairs(self) -> dict[tuple[str, str], NDArray[np.int8]]:
        """For each (gold, predicted) that occurs, 1 at the examples that have it; in alphabetical order."""
        return dict(sorted(indicators([(read.gold, read.pred) for read in self.read]).items()))

    @cached_property
    def gold_sets(self) -> list[frozenset[str]]:
        """The sets of gold labels."""
        return [label_set(gold_field(example, "labels"), "gold labels") for example in self.gold]

    @cached_property
    def sets(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """The sets of labels of both sides."""
        predicted = (label_set(pred_field(answer, "labels"), "predicted labels") for answer in self.pred)
        return list(zip(self.gold_sets, predicted, strict=True))

    @cached_property
    def probabilities(self) -> list[dict[str, float]]:
        """The predicted number of each label."""
        return list(map(probabilities, self.pred))

    @property
    def likely(self) -> list[tuple[str, dict[str, float]]]:
        """Each gold label, and the predicted numbers."""
        return [(read.gold, numbers) for read, numbers in zip(self.read, self.probabilities, strict=True)]

    @cached_property
    def grades(self) -> list[tuple[Any, float | None]]:
        """The numbers of both sides."""
        predicted = (grade(pred_field(answer, "score"), "predicted") for answer in self.pred)
        return [
            (grade(gold_field(example, "score"), "gold"), number)
            for example, number in zip(self.gold, predicted, strict=True)
        ]


def indicators(pairs: Sequence[tuple[str, str] | None]) -> dict[tuple[str, str], NDArray[np.int8]]:
    """For each pair that occurs, 1 at the places that have it; None is no pair."""
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)
    numbers.pop(None, None)
    return {pair: (codes == code).astype(np.int8) for pair, code in numbers.items()}


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
    ordered = sorted(words, key=lambda word: (-len(word), word))
    edges = {word: r"\w*" if len(word) >= LONG else r"\b" for word in ordered}
    return re.compile("|".join(f"{edge}{re.escape(word)}{edge}" for word, edge in edges.items()), re.IGNORECASE)
