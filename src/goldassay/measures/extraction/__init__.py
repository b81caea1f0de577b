"""Extraction: spans of a text with a type.

Read in this order: `records` (what a span is, and where it comes from), `matching` (which spans are pairs, and every
count of many documents), `measures` (what is reported), `mistakes` (errors in words), `scorecard` (everything over a
set); and `tags` (tag sequences).
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.extraction.matching import SpanBatch
from goldassay.measures.extraction.measures import SemEval, SpanF1
from goldassay.measures.extraction.records import Span, sides, spans
from goldassay.measures.extraction.scorecard import listed, scorecard
from goldassay.measures.extraction.tags import evaluate_tags

MEASURES = (
    *listed(),
    SpanF1(matching="hipe"),
    SpanF1("partial", "precision", matching="hipe"),
    SemEval("partial", matching="hipe"),
    SpanF1(average="macro", matching="hipe"),
    SpanF1(average="document", matching="hipe"),
)

__all__ = [
    "MEASURES",
    "SemEval",
    "Span",
    "SpanBatch",
    "SpanF1",
    "evaluate_tags",
    "listed",
    "scorecard",
    "sides",
    "spans",
]
__getattr__ = misspelled
