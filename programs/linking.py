"""Linking: mentions of a text to the entries of a table of labels, by a language model and without one.

The table is ``labels.jsonl`` of the gold set ``heritage``. Where no mentions are given they are found: the table's
names as written in the text, and names of several capitalised words, which may be nearly in it, or not at all.
``program`` offers a model the nearest entries with their descriptions and asks for a number; 0 is NIL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any

import dspy
from pydantic import Field

from goldassay.gold.sets import find
from goldassay.workspace.search import LabelTable, Match

OFFERED = 5  # entries that a model chooses from
CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'\-]*"
LINK = r"(?:of|the|de|het|van|voor|der|des|du|d[’']|la|le|les|et|und|für|en|and|&)"
NAME = re.compile(rf"{CAPITAL}(?: (?:{LINK} )*{CAPITAL})+")
WORD = re.compile(r"\w+(?:[’'\-.]\w+)*")
ARTICLES = frozenset("the de het een das der die den dem le la les l un une in im am au aux op te".split())  # noqa: SIM905


@cache
def labels() -> LabelTable:
    """The table of the gold set ``heritage``."""
    return LabelTable.load(find("heritage") / "labels.jsonl")


def find_mentions(text: str, table: LabelTable) -> list[dict[str, Any]]:
    """The table's names as written in the text, the longest first; then others of several capitalised words."""
    words = [match.span() for match in WORD.finditer(text)]
    spans: list[tuple[int, int]] = []
    for size in range(min(table.longest, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            span = (words[first][0], words[first + size - 1][1])
            if _free(span, spans) and text[span[0]].isupper() and table.exact(text[span[0] : span[1]]):
                spans.append(span)
    for match in NAME.finditer(text):
        start, end = match.span()
        lead = text[start:end].split(" ", 1)
        if lead[0].lower() in ARTICLES:
            start += len(lead[0]) + 1
        if " " in text[start:end] and _free((start, end), spans):
            spans.append((start, end))
    return [{"start": start, "end": end, "text": text[start:end]} for start, end in sorted(spans)]


def _free(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    return all(span[1] <= start or end <= span[0] for start, end in taken)


class Linker(dspy.Module):
    """Finds mentions where none are given, and links them. What follows says how a mention is linked."""

    def __init__(self, table: LabelTable | None = None) -> None:
        super().__init__()
        self.table = table

    def find(self, text: str, mentions: Sequence[Any] | None = None) -> Sequence[Any]:
        """The mentions of a text: those that are given, else those that are found."""
        return find_mentions(text, self.table or labels()) if mentions is None else mentions

    def link(self, text: str, mentions: Sequence[Any]) -> list[dict[str, Any]]:
        """The links of these mentions."""
        raise NotImplementedError

    def forward(self, text: str, mentions: Sequence[Any] | None = None) -> dspy.Prediction:
        """The links of a text."""
        return dspy.Prediction(links=self.link(text, self.find(text, mentions)))


class ExactLinker(Linker):
    """The entries that have the mention's words as a name; none is NIL."""

    def link(self, text: str, mentions: Sequence[Any]) -> list[dict[str, Any]]:
        """The links of these mentions."""
        table = self.table or labels()
        return [
            _link(mention, [Match(name, "", 100.0) for name in table.exact(mention["text"])]) for mention in mentions
        ]


class FuzzyLinker(Linker):
    """The nearest entries by rapidfuzz's ratio; none at least as near as ``threshold`` is NIL."""

    def __init__(self, table: LabelTable | None = None, threshold: float = 85.0, k: int = 10) -> None:
        super().__init__(table)
        self.threshold, self.k = threshold, k

    def link(self, text: str, mentions: Sequence[Any]) -> list[dict[str, Any]]:
        """The links of these mentions."""
        near = (self.table or labels()).best([mention["text"] for mention in mentions], self.k)
        return [
            _link(mention, matches if matches and matches[0].score >= self.threshold else [])
            for mention, matches in zip(mentions, near, strict=True)
        ]


class Choose(dspy.Signature):
    """Which candidate does the mention in the text mean? Answer with its number; 0 if it is none of them."""

    text: str = dspy.InputField()
    mention: str = dspy.InputField()
    candidates: list[str] = dspy.InputField()
    choice: Annotated[int, Field(ge=0, le=OFFERED)] = dspy.OutputField()


class Linking(Linker):
    """Finds the nearest entries by their names; a language model chooses one of them, or none.

    A mention that is far from every name (under ``floor``) is NIL without asking. The entries that were not chosen
    follow the chosen one as further candidates.
    """

    def __init__(self, table: LabelTable | None = None, floor: float = 60.0) -> None:
        super().__init__(table)
        self.floor = floor
        self.choose = dspy.Predict(Choose)

    def link(self, text: str, mentions: Sequence[Any]) -> list[dict[str, Any]]:
        """The links of these mentions."""
        links = []
        for mention, near in self._offers(text, mentions):
            number = self.choose(**self._question(text, mention, near)).choice if near else 0
            links.append(_link(mention, _ordered(near, number)))
        return links

    async def aforward(self, text: str, mentions: Sequence[Any] | None = None) -> dspy.Prediction:
        """The same, asynchronously."""
        links = []
        for mention, near in self._offers(text, self.find(text, mentions)):
            number = (await self.choose.acall(**self._question(text, mention, near))).choice if near else 0
            links.append(_link(mention, _ordered(near, number)))
        return dspy.Prediction(links=links)

    def to_demo(self, example: Any) -> dict[str, Any]:
        """A gold example as the predictor's demonstration: its first mention, a linked one before one that is NIL."""
        offers = list(self._offers(example["text"], example["links"]))
        linkable = [(mention, near) for mention, near in offers if near]
        if not linkable:
            return {}
        mention, near = next((pair for pair in linkable if _right(*pair)), linkable[0])
        return {**self._question(example["text"], mention, near), "choice": _right(mention, near)}

    def _offers(self, text: str, mentions: Sequence[Any]) -> Iterator[tuple[Any, list[Match]]]:
        """Each mention with the entries that are offered."""
        table = self.table or labels()
        for mention, near in zip(
            mentions, table.best([_words(text, mention) for mention in mentions], OFFERED), strict=True
        ):
            yield mention, [match for match in near if match.score >= self.floor]

    def _question(self, text: str, mention: Any, near: Sequence[Match]) -> dict[str, Any]:
        table = self.table or labels()
        entries = [table[match.id] for match in near]
        listed = [f"{n}. {entry.label}: {entry.description}" for n, entry in enumerate(entries, start=1)]
        return {"text": text, "mention": _words(text, mention), "candidates": listed}


def _words(text: str, mention: Any) -> str:
    return str(mention.get("text") or text[mention["start"] : mention["end"]])


def _right(mention: Any, near: Sequence[Match]) -> int:
    """The number of the right entry; 0 where it is not offered."""
    ids = {name for group in mention["ids"].values() for name in group}
    return next((number for number, match in enumerate(near, start=1) if match.id in ids), 0)


def _ordered(near: Sequence[Match], number: Any) -> list[Match]:
    """The chosen entry before the others; none if the number is 0 or no entry has it."""
    if not isinstance(number, int) or not 1 <= number <= len(near):
        return []
    return [near[number - 1], *(match for n, match in enumerate(near, start=1) if n != number)]


def _link(mention: Any, matches: Sequence[Match]) -> dict[str, Any]:
    """A prediction; the order says which is best, since a model's choice has no score."""
    candidates = [{"id": match.id} for match in matches]
    return {"start": mention["start"], "end": mention["end"], "text": mention.get("text", ""), "candidates": candidates}


program = Linking()
baseline = FuzzyLinker()
baselines = {"exact": ExactLinker(), "fuzzy": baseline}
