"""SemEval'13 task 9: four schemas over correct, incorrect, partial, missed and spurious spans.

| schema | COR | else, for two spans that overlap |
|---|---|---|
| ``strict`` | same boundaries and type | INC |
| ``exact`` | same boundaries | INC |
| ``partial`` | same boundaries, any type | PAR, which counts half |
| ``type`` | overlap and same type | INC |

Each schema is counted with the one-to-one matching that gives it the most correct pairs, so ``strict``, ``exact`` and
``type`` have as many as the measures of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.corpus import SCHEMAS, corpus
from goldassay.measures.extraction.counting import semeval
from goldassay.measures.extraction.measures import SpanMeasure
from goldassay.measures.extraction.records import Span
from goldassay.measures.extraction.tally import SemEvalCounts, SemEvalPrecision, SemEvalRecall

RATES = {"f1": SemEvalCounts(), "precision": SemEvalPrecision(), "recall": SemEvalRecall()}


@dataclass(frozen=True)
class SemEval(SpanMeasure):
    """F1, precision or recall of SemEval'13 in one of its four schemas: ``strict``, ``exact``, ``partial``, ``type``.

    >>> SemEval("partial")([(0, 5, "A")], [(0, 4, "B")]).tally
    SemEvalCounts(correct=0, incorrect=0, partial=1, missed=0, spurious=0)
    >>> SemEval("partial", rate="recall")([(0, 5, "A")], [(0, 4, "B")]).tally.value
    0.5
    """

    schema: str = "strict"
    rate: str = "f1"
    fixed: ClassVar[dict[str, str]] = {"average": "micro", "partial credit": "0.5", "empty": "1"}
    formula: ClassVar[str] = "P = (COR + ½ PAR) / ACT, R = (COR + ½ PAR) / POS, F1 their harmonic mean"
    source: ClassVar[str] = "Segura-Bedmar et al. 2013 (SemEval-2013 task 9)"

    def __post_init__(self) -> None:
        if self.schema not in SCHEMAS:
            raise GoldassayError(f"a SemEval schema is one of {', '.join(SCHEMAS)}, not {self.schema!r}")
        if self.rate not in RATES:
            raise GoldassayError(f"a rate is one of {', '.join(RATES)}, not {self.rate!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``semeval_strict_f1`` and so on."""
        return f"semeval_{self.schema}_{self.rate}"

    @property
    def zero(self) -> SemEvalCounts:
        """No evidence."""
        return RATES[self.rate]

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> SemEvalCounts:
        """COR, INC, PAR, MIS, SPU of one document."""
        return self.zero.from_state(semeval(gold, pred)[self.schema].state())


def evaluate_spans(gold: Sequence[Any], pred: Sequence[Any]) -> dict[str, SemEvalCounts]:
    """COR, INC, PAR, MIS and SPU of many documents in the four schemas, at once.

    Each document is a list of ``{"start", "end", "type"}`` (end exclusive) or of ``(start, end, type)``.

    >>> evaluate_spans([[(0, 5, "A")]], [[(0, 4, "A")]])["type"].correct
    1
    """
    return corpus(*_aligned(gold, pred)).semeval


def evaluate_spans_by_type(gold: Sequence[Any], pred: Sequence[Any]) -> dict[str, dict[str, SemEvalCounts]]:
    """The same within each type: spans of other types do not stand in the way, and none is incorrect for its type.

    >>> evaluate_spans_by_type([[(0, 5, "A")]], [[(0, 5, "B")]])["A"]["strict"].missed
    1
    """
    return corpus(*_aligned(gold, pred)).semeval_types


def _aligned(gold: Sequence[Any], pred: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold documents against {len(pred)} predicted ones; they must be aligned")
    return gold, pred
