"""Triples: are the statements (subject, predicate, object) the right ones?

Matching is one-to-one: the subject counts, predicates align (an IRI is its prefixed name, a table says which predicate
means which property), objects compare by type (`objects`), deprecated statements are left out, and a gold statement is
covered once. Precision and recall are closed-world; since a knowledge base is never complete, precision is also given
as an interval under open-world knowledge, which verdicts narrow.

Read in this order: `records` (what is read), `matching`, `tally`, `measures` and `calibration` (what counts),
`mistakes` (what was got wrong, in words), `scorecard` (everything over a set). Beside: `objects` and what it compares
(`times`, `numeric`), `terms` (items and predicates by their names), `ontology`, and the protocol `text2kgbench`.

Source: Mihindukulasooriya et al., Text2KGBench, ISWC 2023; Wikidata's data model,
https://www.mediawiki.org/wiki/Wikibase
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.triples.calibration import ECE, Brier, BrierScore, Calibration, CalibrationPearson
from goldassay.measures.triples.matching import Matching, match
from goldassay.measures.triples.measures import (
    F1,
    MacroF1,
    MacroPrecision,
    MacroRecall,
    NovelDiscovery,
    Precision,
    PrecisionMax,
    PrecisionMin,
    Recall,
)
from goldassay.measures.triples.objects import EXCLUDED, Comparing
from goldassay.measures.triples.ontology import Grounding, Hallucination, OntologyConformance, RelationHallucination
from goldassay.measures.triples.records import perfect
from goldassay.measures.triples.scorecard import scorecard
from goldassay.measures.triples.tally import novel_discovery_rate
from goldassay.measures.triples.terms import Alignment, alignment, canonical, pairs

MEASURES: tuple[Measure[Any], ...] = (
    Precision(),
    Recall(),
    Recall(supported=True),
    F1(),
    F1(times="coarser", threshold=0.8, tolerance=0.01),
    MacroPrecision(),
    MacroRecall(),
    MacroF1(),
    PrecisionMin(),
    PrecisionMax(),
    CalibrationPearson(),
    Calibration(),
    ECE(),
    Brier(),
    BrierScore(),
    NovelDiscovery(),
    OntologyConformance(),
    RelationHallucination(),
    Grounding("subject"),
    Grounding("object"),
    Hallucination("subject"),
    Hallucination("object"),
)


__all__ = [
    "ECE",
    "EXCLUDED",
    "F1",
    "MEASURES",
    "Alignment",
    "Brier",
    "BrierScore",
    "Calibration",
    "CalibrationPearson",
    "Comparing",
    "Grounding",
    "Hallucination",
    "MacroF1",
    "MacroPrecision",
    "MacroRecall",
    "Matching",
    "NovelDiscovery",
    "OntologyConformance",
    "Precision",
    "PrecisionMax",
    "PrecisionMin",
    "Recall",
    "RelationHallucination",
    "alignment",
    "canonical",
    "match",
    "novel_discovery_rate",
    "pairs",
    "perfect",
    "scorecard",
]
