"""Extraction: spans of a text with a type.

Read in this order: `spans` (what a span is) and `reading` (where it comes from), `matching` (one-to-one within a
document), `counting` (one document's counts), `base`, `measures`, `typed`, `tokens`, `tokenwise`, `averages` and
`schemas` (what is reported), `errors` (what was got wrong, in words); then many documents at once: `columns`,
`paired`, `corpus`, `card`, and `tagged` for tag sequences; `official` (the HIPE scorer's own way of counting) and
`founding` (the founding documents' functions).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.extraction.averages import MacroDocF1, MacroDocPrecision, MacroDocRecall, MacroF1, WeightedF1
from goldassay.measures.extraction.counting import counts, semeval
from goldassay.measures.extraction.matching import pairs
from goldassay.measures.extraction.measures import (
    ExactF1,
    ExactPrecision,
    ExactRecall,
    PartialF1,
    PartialPrecision,
    PartialRecall,
    StrictF1,
    StrictPrecision,
    StrictRecall,
    TokenF1,
    TokenPrecision,
    TokenRecall,
    TypeF1,
    TypePrecision,
    TypeRecall,
)
from goldassay.measures.extraction.mistakes import errors
from goldassay.measures.extraction.records import Span, perfect, sides, spans
from goldassay.measures.extraction.schemas import SemEval, evaluate_spans, evaluate_spans_by_type
from goldassay.measures.extraction.scorecard import scorecard
from goldassay.measures.extraction.tags import evaluate_tags

MEASURES: tuple[Measure[Any], ...] = (
    StrictF1(),
    StrictPrecision(),
    StrictRecall(),
    PartialF1(),
    PartialPrecision(),
    PartialRecall(),
    ExactF1(),
    ExactPrecision(),
    ExactRecall(),
    TypeF1(),
    TypePrecision(),
    TypeRecall(),
    TypeF1(within="document"),
    TokenF1(),
    TokenPrecision(),
    TokenRecall(),
    MacroF1(),
    MacroF1(over="seen"),
    MacroF1("partial"),
    WeightedF1(),
    MacroDocF1(),
    MacroDocPrecision(),
    MacroDocRecall(),
    MacroDocF1("partial"),
    *(SemEval(schema) for schema in ("strict", "exact", "partial", "type")),
    SemEval("partial", rate="precision"),
    SemEval("partial", rate="recall"),
)

__all__ = [
    "MEASURES",
    "ExactF1",
    "ExactPrecision",
    "ExactRecall",
    "MacroDocF1",
    "MacroDocPrecision",
    "MacroDocRecall",
    "MacroF1",
    "PartialF1",
    "PartialPrecision",
    "PartialRecall",
    "SemEval",
    "Span",
    "StrictF1",
    "StrictPrecision",
    "StrictRecall",
    "TokenF1",
    "TokenPrecision",
    "TokenRecall",
    "TypeF1",
    "TypePrecision",
    "TypeRecall",
    "WeightedF1",
    "counts",
    "errors",
    "evaluate_spans",
    "evaluate_spans_by_type",
    "evaluate_tags",
    "pairs",
    "perfect",
    "scorecard",
    "semeval",
    "sides",
    "spans",
]
