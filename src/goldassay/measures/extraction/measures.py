"""Extraction's measures on spans: precision, recall and F1, micro over all documents.

| measure | a pair counts as found when | also known as |
|---|---|---|
| ``Strict…`` | same boundaries and same type | HIPE strict, CoNLL, SemEval strict, seqeval |
| ``Partial…`` | overlap and same type | HIPE fuzzy, SemEval type |
| ``Exact…`` | same boundaries, any type | SemEval exact |
| ``Type…`` | same type and any overlap, so the same as ``Partial…`` | HIPE fuzzy, SemEval type |
| ``Type…(within="document")`` | same type, anywhere in the document | |
| ``Token…`` | a token (`tokens`) has the same type on both sides | |
| ``SemEval(schema)`` | as the schema says; its ``partial`` ignores the type | nervaluate |

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn). Matching is within a document,
one-to-one, and does not depend on order (`matching`), or in the order of the official HIPE scorer (`hipe`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import EMPTY, Assessment, Measure
from goldassay.measures.extraction import hipe, matching
from goldassay.measures.extraction.batch import Batch
from goldassay.measures.extraction.matching import MATCH, SCHEMAS
from goldassay.measures.extraction.mistakes import errors
from goldassay.measures.extraction.records import Span, sides
from goldassay.measures.extraction.tally import SemEvalCounts, SemEvalPrecision, SemEvalRecall
from goldassay.measures.extraction.tokens import token_counts
from goldassay.tally import Counts, PrecisionCounts, RecallCounts

SOURCE = "Tjong Kim Sang & De Meulder 2003 (CoNLL); Ehrmann et al. 2022 (HIPE: strict, fuzzy)"
FORMULA = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}
BOUNDS = ("given", "word")
COUNTING = {"one-to-one": matching, "hipe": hipe}
ALSO = {
    "strict": "HIPE strict, CoNLL, seqeval, SemEval strict",
    "partial": "HIPE fuzzy, SemEval type",
    "exact": "SemEval exact",
    "type": "the same as partial, HIPE fuzzy, SemEval type; SemEval's own partial ignores the type",
    "type_anywhere": "types of the document, wherever they stand",
    "token": r"a token (\S+) has the types of the spans that overlap it",
}


@dataclass(frozen=True)
class SpanMeasure(Measure[Any]):
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

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Any:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one document and its errors."""
        left, right, text = sides(gold, pred, self.bounds)
        found, good = errors(left, right, text)
        return Assessment(self.tally(left, right, text), found, good)

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """The spans of all documents, matched."""
        return Batch.of(gold, pred, self.bounds)


@dataclass(frozen=True)
class Matched(SpanMeasure):
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
    def counting(self) -> Any:
        """The module that counts so in one document: its functions are ``counts``, ``by_type`` and ``semeval``."""
        return COUNTING[self.matching]


class _Pooled(SpanMeasure):
    """Pooled over all documents; subclasses say the match and, by their zero, the rate."""

    match: ClassVar[str] = ""
    zero: ClassVar[Counts] = Counts()

    def __init_subclass__(cls) -> None:
        if cls.match:
            rate = {PrecisionCounts: "precision", RecallCounts: "recall"}.get(type(cls.zero), "f1")
            cls.name, cls.formula = f"{cls.match}_{rate}", FORMULA[rate]
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
class Micro(_Pooled, Matched):
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


@dataclass(frozen=True)
class _Type(Micro):
    """``within="overlap"`` counts as ``Partial…``; ``within="document"`` lets a type match wherever it stands."""

    within: str = "overlap"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.within not in ("overlap", "document"):
            raise GoldassayError(f"within is overlap or document, not {self.within!r}")
        if self.within == "document" and self.matching == "hipe":
            raise GoldassayError("the HIPE scorer does not count types within the document; leave out matching='hipe'")

    @property
    def key(self) -> str:
        """``type_f1``, or ``type_anywhere_f1`` within the document."""
        return self.name if self.within == "overlap" else self.name.replace("type_", "type_anywhere_")

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        """Counts of one document."""
        return self._as(self.counting.counts(gold, pred, self.counted))

    def tallies(self, batch: Batch) -> Counts:
        """Counts of every document."""
        return self._as(batch.counts(self.counted, self.matching))


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


RATES = {"f1": SemEvalCounts(), "precision": SemEvalPrecision(), "recall": SemEvalRecall()}


@dataclass(frozen=True)
class SemEval(Matched):
    """F1, precision or recall of SemEval'13 task 9 in one of its four schemas.

    | schema | COR | else, for two spans that overlap |
    |---|---|---|
    | ``strict`` | same boundaries and type | INC |
    | ``exact`` | same boundaries | INC |
    | ``partial`` | same boundaries, any type | PAR, which counts half |
    | ``type`` | overlap and same type | INC |

    Each schema is counted with the one-to-one matching that gives it the most correct pairs, so ``strict``, ``exact``
    and ``type`` have as many as the measures of these names.

    >>> SemEval("partial")([(0, 5, "A")], [(0, 4, "B")]).tally
    SemEvalCounts(correct=0, incorrect=0, partial=1, missed=0, spurious=0)
    >>> SemEval("partial", rate="recall")([(0, 5, "A")], [(0, 4, "B")]).tally.value
    0.5
    """

    schema: str = "strict"
    rate: str = "f1"
    fixed: ClassVar[dict[str, str]] = {"average": "micro", "partial credit": "0.5", "empty": EMPTY}
    formula: ClassVar[str] = "P = (COR + ½ PAR) / ACT, R = (COR + ½ PAR) / POS, F1 their harmonic mean"
    source: ClassVar[str] = "Segura-Bedmar et al. 2013 (SemEval-2013 task 9)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schema not in SCHEMAS:
            raise GoldassayError(f"a SemEval schema is one of {', '.join(SCHEMAS)}, not {self.schema!r}")
        if self.rate not in RATES:
            raise GoldassayError(f"a rate is one of {', '.join(RATES)}, not {self.rate!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``semeval_strict_f1`` and so on."""
        return f"semeval_{self.schema}_{self.rate}"

    @property
    def counted(self) -> str:
        """``semeval_strict`` and so on: the three rates have the same counts."""
        return f"semeval_{self.schema}"

    @property
    def zero(self) -> SemEvalCounts:  # type: ignore[override]
        """No evidence."""
        return RATES[self.rate]

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU of one document."""
        return self.zero.from_state(self.counting.semeval(gold, pred)[self.schema].state())

    def tallies(self, batch: Batch) -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU of every document."""
        return self.zero.from_state(batch.semeval(self.schema, self.matching).state())
