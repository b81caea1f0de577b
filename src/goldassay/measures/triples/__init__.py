"""Triples: are the statements (subject, predicate, object) the right ones?

Matching is one-to-one: the subject counts, predicates align (an IRI is its prefixed name, a table says which predicate
means which property), objects compare by type (`objects`), deprecated statements are left out, and a gold statement is
covered once. Precision and recall are closed-world; since a knowledge base is never complete, precision is also given
as an interval under open-world knowledge, which verdicts narrow.

Read in this order: `records` (what is read from a pair, and what covers what), `measures` (what counts), `mistakes`
(the errors, in words), `scorecard` (everything over a set). Also `objects` (how subjects, predicates and objects
compare) with `times` and `numeric`. Text2KGBench, WebNLG, DocRED and CaRB are in `goldassay.ext.protocols`.

Source: Mihindukulasooriya et al., Text2KGBench, ISWC 2023; Wikidata's data model,
https://www.mediawiki.org/wiki/Wikibase
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.triples.measures import (
    F1,
    Calibration,
    Hallucination,
    MacroF1,
    NovelDiscovery,
    OntologyConformance,
    PrecisionBound,
    RelationHallucination,
    novel_discovery_rate,
)
from goldassay.measures.triples.objects import EXCLUDED, TripleMatching, canonical, pairs
from goldassay.measures.triples.records import VERDICTS, MatchedTriples, match
from goldassay.measures.triples.scorecard import every, scorecard

MEASURES = (
    *every(),
    F1(times="coarser", threshold=0.8, tolerance=0.01),
    *(Calibration(statistic=name) for name in ("calibration", "brier_skill")),
)

__all__ = [
    "EXCLUDED",
    "F1",
    "MEASURES",
    "VERDICTS",
    "Calibration",
    "Hallucination",
    "MacroF1",
    "MatchedTriples",
    "NovelDiscovery",
    "OntologyConformance",
    "PrecisionBound",
    "RelationHallucination",
    "TripleMatching",
    "canonical",
    "match",
    "novel_discovery_rate",
    "pairs",
    "scorecard",
]
__getattr__ = misspelled
