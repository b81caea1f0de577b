"""Extraction: spans of a text with a type.

Read in this order: `spans` (what a span is), `matching` (one-to-one within a document), `measures` (what counts),
`errors` (what was got wrong, in words), `corpus` and `card` (everything over a set), `tagged` (from tag sequences),
`founding` (the founding documents' functions).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.extraction.card import scorecard
from goldassay.measures.extraction.errors import errors
from goldassay.measures.extraction.founding import (
    Entity,
    compute_ner_metrics,
    entity_level_metrics,
    extract_entities,
    token_level_metrics,
    type_distribution_analysis,
)
from goldassay.measures.extraction.matching import overlapping
from goldassay.measures.extraction.measures import (
    ExactF1,
    ExactPrecision,
    ExactRecall,
    MacroDocF1,
    PartialF1,
    PartialPrecision,
    PartialRecall,
    SemEval,
    StrictF1,
    StrictMacroF1,
    StrictPrecision,
    StrictRecall,
    StrictWeightedF1,
    TokenF1,
    TypeF1,
    TypePrecision,
    TypeRecall,
    counts,
    semeval,
    sides,
)
from goldassay.measures.extraction.schemes import evaluate_spans
from goldassay.measures.extraction.spans import Span, spans
from goldassay.measures.extraction.tagged import evaluate_tags

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
    StrictMacroF1(),
    StrictMacroF1(over="seen"),
    StrictWeightedF1(),
    MacroDocF1(),
    TokenF1(),
    *(SemEval(scheme) for scheme in ("strict", "exact", "partial", "type")),
)


def perfect(gold: Any) -> dict[str, Any]:
    """The prediction that gets everything right."""
    left, _, _ = sides(gold, [])
    return {"entities": left}


__all__ = [
    "MEASURES",
    "Entity",
    "ExactF1",
    "ExactPrecision",
    "ExactRecall",
    "MacroDocF1",
    "PartialF1",
    "PartialPrecision",
    "PartialRecall",
    "SemEval",
    "Span",
    "StrictF1",
    "StrictMacroF1",
    "StrictPrecision",
    "StrictRecall",
    "StrictWeightedF1",
    "TokenF1",
    "TypeF1",
    "TypePrecision",
    "TypeRecall",
    "compute_ner_metrics",
    "counts",
    "entity_level_metrics",
    "errors",
    "evaluate_spans",
    "evaluate_tags",
    "extract_entities",
    "overlapping",
    "perfect",
    "scorecard",
    "semeval",
    "spans",
    "token_level_metrics",
    "type_distribution_analysis",
]
