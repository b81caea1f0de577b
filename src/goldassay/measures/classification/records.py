"""Labels, sets of labels, probabilities and grades as measures read them; and the list of labels.

A list of labels is data: names, the groups that they belong to, and keywords. The institution types GLAMORCUBESFIXPHDNT
are in ``goldassay/_support/data/glamorcubesfixphdnt.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldassay._support.exceptions import DataError, FieldError
from goldassay.core.measure import Review, failed, gold_field, pred_field
from goldassay.measures import Examples
from goldassay.measures.classification.tally import NONE

LONG = 5  # a keyword of at least so many letters also counts inside a compound: "Stadsarchief"


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
    if isinstance(gold, (str, int)):
        gold = {"label": gold}
    if isinstance(pred, (str, int)):
        pred = {"label": pred}
    label = gold_field(gold, "label")
    predicted = pred_field(pred, "label")
    if not isinstance(label, (str, int)) or not str(label).strip():
        raise FieldError(f"a gold label is a number or a text that is not empty, not {label!r}")
    if not isinstance(predicted, (str, int, type(None))):
        raise FieldError(f"a predicted label is a text, not {predicted!r}")
    label = str(label).strip()
    predicted = str("" if predicted is None else predicted).strip() or NONE
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
    if isinstance(labels, str) or not all(isinstance(label, (str, int)) for label in labels or ()):
        raise DataError(f"a list of labels, not {labels!r}", field=side)
    return frozenset(text for label in labels or () if (text := str(label).strip()))


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


@dataclass
class LabelBatch:
    """Many examples; each thing that measures need is read when it is first needed.

    >>> LabelBatch(["M", "M"], ["M", "G"]).pairs["M", "G"].tolist()
    [0, 1]
    """

    gold: Examples
    pred: Examples
    reviews: list[Review] = field(default_factory=list)

    @cached_property
    def labels(self) -> list[LabelPair]:
        """The labels."""
        return [sides(*pair) for pair in zip(self.gold, self.pred, strict=True)]

    @cached_property
    def pairs(self) -> dict[tuple[str, str], NDArray[np.int8]]:
        """For each (gold, predicted) that occurs, 1 at the examples that have it; in alphabetical order."""
        return dict(sorted(indicators([(pair.gold, pair.pred) for pair in self.labels]).items()))

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
        return [(pair.gold, numbers) for pair, numbers in zip(self.labels, self.probabilities, strict=True)]

    @cached_property
    def grades(self) -> list[tuple[float, float | None]]:
        """The numbers of both sides; None if a prediction has none."""
        gold = [grade(gold_field(example, "score"), "gold") for example in self.gold]
        answers = [pred_field(answer, "score") for answer in self.pred]
        pred = [None if answer in (None, "") else grade(answer, "predicted") for answer in answers]
        return list(zip(gold, pred, strict=True))


def indicators(pairs: Sequence[tuple[str, str] | None]) -> dict[tuple[str, str], NDArray[np.int8]]:
    """For each pair that occurs, 1 at the places that have it; None is no pair."""
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)
    numbers.pop(None, None)
    return {pair: (codes == code).astype(np.int8) for pair, code in numbers.items()}


class Sign(NamedTuple):
    """A word of a text that speaks for a label, and its place."""

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
    text = (files("goldassay._support") / "data" / "glamorcubesfixphdnt.json").read_text(encoding="utf-8")
    rows = json.loads(text)["labels"]
    return {r["code"]: Label(r["code"], r["name"], r["group"], frozenset(chain(*r["keywords"].values()))) for r in rows}


def signs(text: str, code: str | None = None) -> list[Sign]:
    """The words of a text that speak for an institution type, or for any, in the order of the text.

    >>> text = "Het Stadsarchief bewaart akten"
    >>> [(sign.label, text[sign.start : sign.end]) for sign in signs(text, "A")]
    [('A', 'Stadsarchief'), ('A', 'akten')]
    """
    labels = [label for label in institutions().values() if label.words and code in (None, label.code)]
    if text.isascii():  # lower case is all that is folded, and most texts have no word of a label
        lowered = text.lower()
        labels = [label for label in labels if any(word in lowered for word in _lowered(label.words))]
    spans = [Sign(label.code, *match.span()) for label in labels for match in _pattern(label.words).finditer(text)]
    return sorted(spans, key=lambda sign: (sign.start, sign.end))


@cache
def _lowered(words: frozenset[str]) -> list[str]:
    return [word.lower() for word in words]


@cache
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    edges = {word: r"\w*" if len(word) >= LONG else r"\b" for word in ordered}
    return re.compile("|".join(f"{edge}{re.escape(word)}{edge}" for word, edge in edges.items()), re.IGNORECASE)
