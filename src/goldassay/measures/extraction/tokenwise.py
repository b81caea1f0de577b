"""Precision, recall and F1 of tokens; what a token is and which type it has says `tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.measures.extraction.base import Micro
from goldassay.measures.extraction.spans import Span
from goldassay.measures.extraction.tokens import token_counts
from goldassay.tally import Counts, PrecisionCounts, RecallCounts


@dataclass(frozen=True)
class _Tokens(Micro):
    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        """Counts over (token, type)."""
        found = sum(token_counts(gold, pred, text).values(), Counts(0, 0, 0))
        return type(self.zero)(found.tp, found.fp, found.fn)


@dataclass(frozen=True)
class TokenF1(_Tokens):
    r"""F1 of tokens (``\S+``, with their true offsets); a token has the types of all spans that it overlaps.

    >>> TokenF1()({"text": "Het  Rijksmuseum hier", "entities": [(5, 16, "MUS")]}, [(0, 16, "MUS")]).tally
    Counts(tp=1, fp=1, fn=0)
    """

    match: ClassVar[str] = "token"


@dataclass(frozen=True)
class TokenPrecision(_Tokens):
    """The share of (token, type) predicted that stand in gold.

    >>> TokenPrecision()({"text": "Het Rijksmuseum", "entities": [(4, 15, "MUS")]}, [(0, 15, "MUS")]).tally.value
    0.5
    """

    match: ClassVar[str] = "token"
    zero: ClassVar[Counts] = PrecisionCounts()


@dataclass(frozen=True)
class TokenRecall(_Tokens):
    """The share of gold's (token, type) that are predicted.

    >>> TokenRecall()({"text": "Teylers Museum", "entities": [(0, 14, "MUS")]}, [(0, 7, "MUS")]).tally.value
    0.5
    """

    match: ClassVar[str] = "token"
    zero: ClassVar[Counts] = RecallCounts()
