"""What a measure of classification reads: one label from each side of a pair, secondary ones, and the list of labels.

A list of labels is data: names, the groups that they belong to, and words that speak for each. The institution types
GLAMORCUBESFIXPHDNT stand in ``goldassay/data/glamorcubesfixphdnt.json``; `read_labels` reads another file of that
shape, so the hierarchy is data and not code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from goldassay.exceptions import DataError, FieldError
from goldassay.files import json_value
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


LONG = 5  # a keyword of at least so many letters also counts inside a compound: "Stadsarchief"


class Sign(NamedTuple):
    """A word of a text that speaks for a label, and where it stands."""

    label: str
    start: int
    end: int


@dataclass(frozen=True)
class Label:
    """One label: its code, its name, its group, and keywords by language."""

    code: str
    name: str
    group: str
    keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """What finds the label's keywords in a text."""
        words = sorted(
            {word for group in self.keywords.values() for word in group}, key=lambda word: (-len(word), word)
        )
        parts = [rf"\w*{re.escape(w)}\w*" if len(w) >= LONG else rf"\b{re.escape(w)}\b" for w in words]
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None


@dataclass(frozen=True)
class LabelList:
    """A list of labels in its order.

    >>> types = institutions()
    >>> len(types), types.name("M"), types.group("M"), types.code("Holy site")
    (19, 'Museum', 'CULTURAL', 'H')
    """

    labels: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def _by_code(self) -> dict[str, Label]:
        return {label.code: label for label in self.labels}

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes, in the order of the list."""
        return tuple(self._by_code)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the list."""
        return tuple(label.name for label in self.labels)

    @cached_property
    def hierarchy(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The groups with their codes, as measures take them."""
        groups: dict[str, list[str]] = {}
        for label in self.labels:
            groups.setdefault(label.group, []).append(label.code)
        return tuple((group, tuple(codes)) for group, codes in groups.items())

    def name(self, code: str) -> str:
        """The name of a code; the code itself where the list does not have it."""
        return self._by_code[code].name if code in self._by_code else code

    def group(self, code: str) -> str | None:
        """The group of a code."""
        return self._by_code[code].group if code in self._by_code else None

    def code(self, name: str) -> str | None:
        """The code that has this name (or is this code), whatever its case."""
        wanted = name.strip().casefold()
        return next((one.code for one in self.labels if wanted in (one.name.casefold(), one.code.casefold())), None)

    def signs(self, text: str, code: str | None = None) -> list[Sign]:
        """The words of a text that speak for a label, or for any, in the order of the text.

        >>> text = "Het Stadsarchief bewaart akten"
        >>> [(sign.label, text[sign.start : sign.end]) for sign in institutions().signs(text, "A")]
        [('A', 'Stadsarchief'), ('A', 'akten')]
        """
        found = []
        for label in self.labels:
            if label.pattern is not None and code in (None, label.code):
                found += [Sign(label.code, *match.span()) for match in label.pattern.finditer(text)]
        return sorted(found, key=lambda sign: (sign.start, sign.end))


def read_labels(path: str | Path) -> LabelList:
    """A list of labels from a JSON file: ``{"labels": [{"code", "name", "group", "keywords"}]}``."""
    data = json_value(path)
    if not isinstance(data, dict) or not isinstance(data.get("labels"), list):
        raise DataError("a list of labels is {'labels': [{'code', 'name', 'group'}]}", file=path)
    return _labels(data["labels"], path)


@cache
def institutions() -> LabelList:
    """The 19 institution types GLAMORCUBESFIXPHDNT with their groups."""
    place = files("goldassay") / "data" / "glamorcubesfixphdnt.json"
    return _labels(json.loads(place.read_text(encoding="utf-8"))["labels"], "glamorcubesfixphdnt.json")


def _labels(rows: Iterable[Mapping[str, object]], path: object) -> LabelList:
    found: dict[str, Label] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or not isinstance(row.get("code"), str):
            raise DataError("a label needs a code", file=path, field=f"labels[{number}]")
        code, words = str(row["code"]), row.get("keywords") or {}
        if code in found:
            raise DataError(f"the label {code!r} stands there twice", file=path, field=f"labels[{number}]")
        if not isinstance(words, Mapping):
            raise DataError("keywords are lists of words by language", file=path, field=f"labels[{number}]")
        keywords = {str(language): tuple(map(str, group)) for language, group in words.items()}
        found[code] = Label(code, str(row.get("name", code)), str(row.get("group", code)), keywords)
    return LabelList(tuple(found.values()))
