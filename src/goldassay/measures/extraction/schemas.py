"""Schemas that look past the boundaries: types alone, and the four of SemEval'13 task 9.

``Type…`` asks for the type only, of spans that overlap or of all spans of a document. SemEval has precision, recall and
F1 in its four schemas, and here are its counts of many documents by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import EMPTY
from goldassay.measures.extraction.batch import Batch
from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.measures.extraction.measures import Matched, Micro
from goldassay.measures.extraction.records import Span
from goldassay.measures.extraction.tally import SemEvalCounts, SemEvalPrecision, SemEvalRecall
from goldassay.statistics.evidence import summed
from goldassay.tally import Counts, PrecisionCounts, RecallCounts

RATES = {"f1": SemEvalCounts(), "precision": SemEvalPrecision(), "recall": SemEvalRecall()}


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


@dataclass(frozen=True)
class SemEval(Matched[SemEvalCounts]):
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


def evaluate_spans(gold: Sequence[object], pred: Sequence[object]) -> dict[str, SemEvalCounts]:
    """COR, INC, PAR, MIS and SPU of many documents in the four schemas, at once.

    Each document is a list of ``{"start", "end", "type"}`` (end exclusive) or of ``(start, end, type)``.

    >>> evaluate_spans([[(0, 5, "A")]], [[(0, 4, "A")]])["type"].correct
    1
    """
    batch = Batch(gold, pred)
    return {schema: summed(batch.semeval(schema)) for schema in SCHEMAS}


def evaluate_spans_by_type(gold: Sequence[object], pred: Sequence[object]) -> dict[str, dict[str, SemEvalCounts]]:
    """The same within each type: spans of other types do not stand in the way, and none is incorrect for its type.

    >>> evaluate_spans_by_type([[(0, 5, "A")]], [[(0, 5, "B")]])["A"]["strict"].missed
    1
    """
    return Batch(gold, pred).semeval_by_type
