"""Extraction: spans of a text with a type.

Read in this order: `records` (what a span is, and where it comes from), `matching` (one-to-one within a document, and
what that counts), `tokens`, `tally`, `measures`, `averages` and `schemas` (what is reported), `mistakes` (what was got
wrong, in words), `scorecard`. Many documents at once: `columns` (spans as columns, and their pairs) and `batch` (every
count of them). `tokens` scores tag sequences, too; `hipe` counts as the official HIPE scorer does.
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.extraction.averages import (
    MacroDocF1,
    MacroDocPrecision,
    MacroDocRecall,
    MacroF1,
    MacroPrecision,
    MacroRecall,
    WeightedF1,
    WeightedPrecision,
    WeightedRecall,
)
from goldassay.measures.extraction.batch import Batch
from goldassay.measures.extraction.matching import counts, pairs, semeval
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
)
from goldassay.measures.extraction.mistakes import errors
from goldassay.measures.extraction.records import Span, perfect, sides, spans
from goldassay.measures.extraction.schemas import (
    SemEval,
    TypeF1,
    TypePrecision,
    TypeRecall,
    evaluate_spans,
    evaluate_spans_by_type,
)
from goldassay.measures.extraction.scorecard import listed, scorecard
from goldassay.measures.extraction.tokens import evaluate_tags

MEASURES: tuple[Measure[Any], ...] = (
    *listed(),
    StrictF1(matching="hipe"),
    PartialPrecision(matching="hipe"),
    SemEval("partial", matching="hipe"),
    MacroF1(matching="hipe"),
    MacroDocF1(matching="hipe"),
)

__all__ = [
    "MEASURES",
    "Batch",
    "ExactF1",
    "ExactPrecision",
    "ExactRecall",
    "MacroDocF1",
    "MacroDocPrecision",
    "MacroDocRecall",
    "MacroF1",
    "MacroPrecision",
    "MacroRecall",
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
    "WeightedPrecision",
    "WeightedRecall",
    "counts",
    "errors",
    "evaluate_spans",
    "evaluate_spans_by_type",
    "evaluate_tags",
    "listed",
    "pairs",
    "perfect",
    "scorecard",
    "semeval",
    "sides",
    "spans",
]
