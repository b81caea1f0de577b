"""Extraction's measures on spans: precision, recall and F1, micro over all documents.

| measure | a pair counts as found when | also known as |
|---|---|---|
| ``Strict…`` | same boundaries and same type | HIPE strict, CoNLL, SemEval strict, seqeval |
| ``Partial…`` | overlap and same type | HIPE fuzzy, SemEval type |
| ``Exact…`` | same boundaries, any type | SemEval exact |
| ``Type…`` | same type and any overlap, so the same as ``Partial…`` | HIPE fuzzy, SemEval type |
| ``Type…(within="document")`` | same type, anywhere in the document | |
| ``Token…`` | a token has the same type on both sides | |

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn). Matching is one-to-one within a document and does
not depend on order (`matching`). SemEval's own ``partial`` ignores the type: that is ``SemEval("partial")``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldassay.measures.extraction.base import Micro
from goldassay.tally import Counts, PrecisionCounts, RecallCounts


@dataclass(frozen=True)
class StrictF1(Micro):
    """F1 of spans with the same boundaries and the same type.

    >>> StrictF1()([(0, 5, "A"), (7, 9, "B")], [(0, 5, "A"), (7, 8, "B")]).tally.value
    0.5
    """

    match: ClassVar[str] = "strict"


@dataclass(frozen=True)
class StrictPrecision(Micro):
    """The share of predicted spans that stand in gold with the same boundaries and type.

    >>> StrictPrecision()([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.value
    0.5
    """

    match: ClassVar[str] = "strict"
    zero: ClassVar[Counts] = PrecisionCounts()


@dataclass(frozen=True)
class StrictRecall(Micro):
    """The share of gold spans that are predicted with the same boundaries and type.

    >>> StrictRecall()([(0, 5, "A"), (7, 9, "B")], [(0, 5, "A")]).tally.value
    0.5
    """

    match: ClassVar[str] = "strict"
    zero: ClassVar[Counts] = RecallCounts()


@dataclass(frozen=True)
class PartialF1(Micro):
    """F1 of spans that overlap and have the same type (HIPE fuzzy, SemEval type).

    >>> PartialF1()([(0, 5, "A"), (7, 9, "B")], [(0, 5, "A"), (7, 8, "B")]).tally.value
    1.0
    """

    match: ClassVar[str] = "partial"


@dataclass(frozen=True)
class PartialPrecision(Micro):
    """The share of predicted spans that overlap a gold span of the same type, one-to-one.

    >>> PartialPrecision()([(0, 5, "A")], [(0, 2, "A"), (3, 5, "A")]).tally.value
    0.5
    """

    match: ClassVar[str] = "partial"
    zero: ClassVar[Counts] = PrecisionCounts()


@dataclass(frozen=True)
class PartialRecall(Micro):
    """The share of gold spans that a predicted span of the same type overlaps, one-to-one.

    >>> PartialRecall()([(0, 2, "A"), (3, 5, "A")], [(0, 5, "A")]).tally.value
    0.5
    """

    match: ClassVar[str] = "partial"
    zero: ClassVar[Counts] = RecallCounts()


@dataclass(frozen=True)
class ExactF1(Micro):
    """F1 of spans with the same boundaries, whatever their type.

    >>> ExactF1()([(0, 5, "A"), (7, 9, "B")], [(0, 5, "B"), (7, 8, "B")]).tally.value
    0.5
    """

    match: ClassVar[str] = "exact"


@dataclass(frozen=True)
class ExactPrecision(Micro):
    """The share of predicted spans whose boundaries stand in gold.

    >>> ExactPrecision()([(0, 5, "A")], [(0, 5, "B"), (7, 9, "B")]).tally.value
    0.5
    """

    match: ClassVar[str] = "exact"
    zero: ClassVar[Counts] = PrecisionCounts()


@dataclass(frozen=True)
class ExactRecall(Micro):
    """The share of gold spans whose boundaries are predicted.

    >>> ExactRecall()([(0, 5, "A"), (7, 9, "B")], [(0, 5, "B")]).tally.value
    0.5
    """

    match: ClassVar[str] = "exact"
    zero: ClassVar[Counts] = RecallCounts()
