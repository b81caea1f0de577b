"""Extraction's measures on spans: precision, recall and F1, micro over all documents.

| measure | a pair counts as found when | also known as |
|---|---|---|
| ``Strict…`` | same boundaries and same type | HIPE strict, CoNLL, SemEval strict, seqeval |
| ``Partial…`` | overlap and same type | HIPE fuzzy, SemEval type |
| ``Exact…`` | same boundaries, any type | SemEval exact |
| ``Type…`` | same type and any overlap, so the same as ``Partial…`` | HIPE fuzzy, SemEval type |
| ``Type…(within="document")`` | same type, anywhere in the document | |
| ``Token…`` | a token (`tokens`) has the same type on both sides | |

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn). Matching is within a document,
one-to-one, and does not depend on order (`matching`), or in the order of the official HIPE scorer (`hipe`). ``Type…``
stands in `schemas`, beside SemEval's four, whose ``partial`` ignores the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from goldassay.exceptions import GoldassayError
from goldassay.measure import EMPTY, Assessment, Measure
from goldassay.measures.extraction import hipe, matching
from goldassay.measures.extraction.batch import Batch
from goldassay.measures.extraction.matching import ALSO, MATCH
from goldassay.measures.extraction.mistakes import errors
from goldassay.measures.extraction.records import Span, sides
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.extraction.tokens import token_counts
from goldassay.tally import FORMULAS, Counts, PrecisionCounts, RecallCounts, T

SOURCE = "Tjong Kim Sang & De Meulder 2003 (CoNLL); Ehrmann et al. 2022 (HIPE: strict, fuzzy)"
BOUNDS = ("given", "word")


class Counting(Protocol):
    """How the spans of one document are counted; `matching` and `hipe` are two ways."""

    def counts(self, gold: Sequence[Span], pred: Sequence[Span], match: str) -> Counts:
        """Counts of one document."""
        ...

    def by_type(self, gold: Sequence[Span], pred: Sequence[Span], match: str) -> dict[str, Counts]:
        """The same by type."""
        ...

    def semeval(self, gold: Sequence[Span], pred: Sequence[Span]) -> dict[str, SemEvalCounts]:
        """SemEval's counts by schema."""
        ...


COUNTING: dict[str, Counting] = {"one-to-one": matching, "hipe": hipe}


@dataclass(frozen=True)
class SpanMeasure(Measure[T]):
    """What all measures of extraction share: spans of both sides are read, counted, and their errors put in words.

    ``bounds`` is ``given``, or ``word``: spans of both sides are widened to whole words of the text first, as ELEVANT
    does. Its optional labels and parts are a gold span's ``optional`` and ``parent`` (`settled`).
    """

    task: ClassVar[str] = "extraction"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "entities")
    pred_fields: ClassVar[tuple[str, ...]] = ("entities",)
    source: ClassVar[str] = SOURCE
    shares: ClassVar[tuple[str, ...]] = ("bounds",)

    bounds: str = field(default="given", kw_only=True)

    def __post_init__(self) -> None:
        if self.bounds not in BOUNDS:
            raise GoldassayError(f"bounds is {' or '.join(BOUNDS)}, not {self.bounds!r}")

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> T:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: object, pred: object) -> Assessment[T]:
        """The evidence of one document and its errors."""
        left, right, text = sides(gold, pred, self.bounds)
        found, good = errors(left, right, text)
        return Assessment(self.tally(left, right, text), found, good)

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """The spans of all documents, matched."""
        return Batch.of(gold, pred, self.bounds)


@dataclass(frozen=True)
class Matched(SpanMeasure[T]):
    """Spans of both sides are matched, within a document.

    ``matching`` is ``one-to-one`` (that with the most true positives, whatever the order) or ``hipe`` (in the order of
    the text, as the official HIPE scorer).
    """

    matching: str = field(default="one-to-one", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.matching not in COUNTING:
            raise GoldassayError(f"matching is {' or '.join(COUNTING)}, not {self.matching!r}")

    @property
    def counting(self) -> Counting:
        """The module that counts so in one document."""
        return COUNTING[self.matching]


class _Pooled(SpanMeasure[Counts]):
    """Pooled over all documents; subclasses say the match and, by their zero, the rate."""

    match: ClassVar[str] = ""
    zero: ClassVar[Counts] = Counts()

    def __init_subclass__(cls) -> None:
        if cls.match:
            rate = {PrecisionCounts: "precision", RecallCounts: "recall"}.get(type(cls.zero), "f1")
            cls.name, cls.formula = f"{cls.match}_{rate}", FORMULAS[rate]
            cls.fixed = {"match": MATCH[cls.match], "average": "micro", "empty": EMPTY}

    @property
    def counted(self) -> str:
        """``strict``, ``partial`` …: precision, recall and F1 have the same counts."""
        return self.key.rpartition("_")[0]

    @property
    def explained(self) -> str:
        """With the other names of the match."""
        return f"{self.formula} over all documents; also known as: {ALSO[self.counted]}. Source: {self.source}."

    def _as(self, found: Counts) -> Counts:
        return type(self.zero)(found.tp, found.fp, found.fn)


@dataclass(frozen=True)
class Micro(_Pooled, Matched[Counts]):
    """Counts of matched spans, pooled over all documents."""

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        """Counts of one document."""
        return self._as(self.counting.counts(gold, pred, self.match))

    def tallies(self, batch: Batch) -> Counts:
        """Counts of every document."""
        return self._as(batch.counts(self.match, self.matching))


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


class _Tokens(_Pooled):
    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        """Counts over (token, type)."""
        return self._as(sum(token_counts(gold, pred, text).values(), Counts(0, 0, 0)))

    def tallies(self, batch: Batch) -> Counts:
        """Counts of every document."""
        return self._as(batch.counts("token"))


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
