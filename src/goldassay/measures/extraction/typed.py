"""Whether the type is right, whatever the boundaries: of spans that overlap, or anywhere in the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.base import Micro
from goldassay.measures.extraction.counting import counts
from goldassay.measures.extraction.spans import Span
from goldassay.tally import Counts, PrecisionCounts, RecallCounts


@dataclass(frozen=True)
class _Type(Micro):
    """``within="overlap"`` counts as ``Partial…``; ``within="document"`` lets a type match wherever it stands."""

    within: str = "overlap"

    def __post_init__(self) -> None:
        if self.within not in ("overlap", "document"):
            raise GoldassayError(f"within is overlap or document, not {self.within!r}")

    @property
    def key(self) -> str:
        """``type_f1``, or ``type_anywhere_f1`` within the document."""
        return self.name if self.within == "overlap" else self.name.replace("type_", "type_anywhere_")

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        """Counts of one document."""
        found = counts(gold, pred, "type" if self.within == "overlap" else "type_anywhere")
        return type(self.zero)(found.tp, found.fp, found.fn)


@dataclass(frozen=True)
class TypeF1(_Type):
    """F1 of types, whatever the boundaries: of spans that overlap, or of all spans of a document.

    >>> gold, pred = [(0, 5, "A"), (7, 9, "B")], [(0, 4, "A"), (20, 22, "B")]
    >>> TypeF1()(gold, pred).tally.value, TypeF1(within="document")(gold, pred).tally.value
    (0.5, 1.0)
    """

    match: ClassVar[str] = "type"


@dataclass(frozen=True)
class TypePrecision(_Type):
    """The share of predicted spans whose type is right, whatever the boundaries.

    >>> TypePrecision()([(0, 5, "A")], [(0, 4, "A"), (7, 9, "A")]).tally.value
    0.5
    """

    match: ClassVar[str] = "type"
    zero: ClassVar[Counts] = PrecisionCounts()


@dataclass(frozen=True)
class TypeRecall(_Type):
    """The share of gold spans whose type is found, whatever the boundaries.

    >>> TypeRecall()([(0, 5, "A"), (7, 9, "B")], [(0, 4, "A")]).tally.value
    0.5
    """

    match: ClassVar[str] = "type"
    zero: ClassVar[Counts] = RecallCounts()
