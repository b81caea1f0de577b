"""Measures of NIL: finding the mentions that are in no knowledge base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldassay.measures.linking.base import FORMULAS, KEY, LinkMeasure
from goldassay.measures.linking.matching import same_span
from goldassay.measures.linking.mentions import Read
from goldassay.tally import Counts, PrecisionCounts, RecallCounts


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
