"""Measures of links: a mention and its id together, by overlap (HIPE fuzzy) or on the same span (HIPE strict)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldassay.measures.linking.base import FORMULAS, LinkMeasure
from goldassay.measures.linking.equivalence import Pairs
from goldassay.measures.linking.matching import counts
from goldassay.measures.linking.mentions import Read
from goldassay.tally import Counts, PrecisionCounts, RecallCounts

RATES: dict[str, Counts] = {"f1": Counts(), "precision": PrecisionCounts(), "recall": RecallCounts()}


@dataclass(frozen=True)
class _Link(LinkMeasure):
    k: int = 1
    over: str = "all"
    equivalent: Pairs = ()
    match: ClassVar[str] = "overlap"
    rate: ClassVar[str] = "f1"
    attains_one: ClassVar[bool] = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """``link_f1``, ``strong_link_inkb_f1@3`` and so on."""
        middle = "" if self.over == "all" else f"{self.over}_"
        return (
            f"{'strong_' if self.match == 'span' else ''}link_{middle}{self.rate}{f'@{self.k}' if self.k > 1 else ''}"
        )

    @property
    def zero(self) -> Counts:
        """No evidence."""
        return RATES[self.rate]

    def tally(self, read: Read) -> Counts:
        found = counts(read.gold, read.pred, self.match, self.k, self.over)
        return type(self.zero)(found.tp, found.fp, found.fn)


OVERLAP = {"match": "overlap+id", "matching": "one-to-one, most pairs", "average": "micro", "empty": "1"}
SPAN = {"match": "span+id", "average": "micro", "empty": "1"}


@dataclass(frozen=True)
class LinkF1(_Link):
    """F1 of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"]}}]
    >>> LinkF1()(gold, [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally
    Counts(tp=1, fp=0, fn=0)
    """

    fixed: ClassVar[dict[str, str]] = OVERLAP
    formula: ClassVar[str] = FORMULAS["f1"]


@dataclass(frozen=True)
class LinkPrecision(_Link):
    """Precision of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> LinkPrecision()([], [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally.value
    0.0
    """

    rate: ClassVar[str] = "precision"
    fixed: ClassVar[dict[str, str]] = OVERLAP
    formula: ClassVar[str] = FORMULAS["precision"]


@dataclass(frozen=True)
class LinkRecall(_Link):
    """Recall of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> LinkRecall()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 4, "candidates": []}]).tally.value
    1.0
    """

    rate: ClassVar[str] = "recall"
    fixed: ClassVar[dict[str, str]] = OVERLAP
    formula: ClassVar[str] = FORMULAS["recall"]


@dataclass(frozen=True)
class StrongLinkF1(_Link):
    """F1 of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkF1()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 4, "candidates": []}]).tally
    Counts(tp=0, fp=1, fn=1)
    """

    match: ClassVar[str] = "span"
    fixed: ClassVar[dict[str, str]] = SPAN
    formula: ClassVar[str] = FORMULAS["f1"]


@dataclass(frozen=True)
class StrongLinkPrecision(_Link):
    """Precision of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkPrecision()([], []).tally.value
    1.0
    """

    match: ClassVar[str] = "span"
    rate: ClassVar[str] = "precision"
    fixed: ClassVar[dict[str, str]] = SPAN
    formula: ClassVar[str] = FORMULAS["precision"]


@dataclass(frozen=True)
class StrongLinkRecall(_Link):
    """Recall of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkRecall()([{"start": 0, "end": 5, "ids": {}}], []).tally.value
    0.0
    """

    match: ClassVar[str] = "span"
    rate: ClassVar[str] = "recall"
    fixed: ClassVar[dict[str, str]] = SPAN
    formula: ClassVar[str] = FORMULAS["recall"]
