"""What all measures of linking share.

Measures of links: a mention and its id together, by overlap (HIPE fuzzy) or on the same span (HIPE strict).

Measures of NIL: finding the mentions that are in no knowledge base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.linking.matching import OVER, counts, same_span
from goldassay.measures.linking.mistakes import errors
from goldassay.measures.linking.records import Pairs, Read, sides
from goldassay.tally import Counts, PrecisionCounts, RecallCounts

HIPE = "Ehrmann et al. 2022 (HIPE: fuzzy, strict, @k); Hachey et al. 2014 (neleval)"
KEY = "document, start, end"
FORMULAS = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}


@dataclass(frozen=True)
class LinkMeasure(Measure[Any]):
    """A measure over the mentions and answers of a document."""

    task: ClassVar[str] = "linking"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "links")
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    source: ClassVar[str] = HIPE

    def __post_init__(self) -> None:
        if getattr(self, "over", "all") not in OVER:
            raise GoldassayError(f"over is all, inkb or nil, not {getattr(self, 'over', None)!r}")
        k = getattr(self, "k", 1)
        if not isinstance(k, int) or k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")

    def tally(self, read: Read) -> Any:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one document and its errors."""
        read = sides(gold, pred, getattr(self, "equivalent", ()))
        found, right = errors(read)
        return Assessment(self.tally(read), found, right)


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


def nil_counts(read: Read) -> Counts:
    """Mentions answered NIL that are NIL; answered NIL that are not (or are no mention); NIL not answered so."""
    hits = sum(read.gold[i].nil and read.pred[j].nil for i, j in same_span(read.gold, read.pred))
    return Counts(hits, sum(a.nil for a in read.pred) - hits, sum(m.nil for m in read.gold) - hits)


@dataclass(frozen=True)
class _Nil(LinkMeasure):
    fixed: ClassVar[dict[str, str]] = {"key": KEY, "average": "micro", "empty": "1"}

    def tally(self, read: Read) -> Counts:
        found = nil_counts(read)
        return type(self.zero)(found.tp, found.fp, found.fn)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class NILPrecision(_Nil):
    """Of the mentions answered NIL, the share that are NIL.

    >>> NILPrecision()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 5, "candidates": []}]).tally.value
    1.0
    """

    name: ClassVar[str] = "nil_precision"
    zero: ClassVar[Counts] = PrecisionCounts()
    formula: ClassVar[str] = FORMULAS["precision"]


@dataclass(frozen=True)
class NILRecall(_Nil):
    """Of the mentions that are NIL, the share that were answered NIL.

    >>> NILRecall()([{"start": 0, "end": 5, "ids": {}}], []).tally.value
    0.0
    """

    name: ClassVar[str] = "nil_recall"
    zero: ClassVar[Counts] = RecallCounts()
    formula: ClassVar[str] = FORMULAS["recall"]


@dataclass(frozen=True)
class NILF1(_Nil):
    """F1 of finding the mentions that are in no knowledge base.

    >>> NILF1()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 5, "candidates": ["Q1"]}]).tally
    Counts(tp=0, fp=0, fn=1)
    """

    name: ClassVar[str] = "nil_f1"
    zero: ClassVar[Counts] = Counts()
    formula: ClassVar[str] = FORMULAS["f1"]
