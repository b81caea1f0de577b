"""Triples: are the statements (subject, predicate, object) the right ones?

Matching is one-to-one: the subject counts, predicates align (an IRI is its prefixed name, a table says which predicate
means which property), objects compare by type (`objects`), deprecated statements are left out, and a gold statement is
covered once. Precision and recall are closed-world; since a knowledge base is never complete, precision is also given
as an interval under open-world knowledge, which verdicts narrow. `text2kgbench` has that benchmark's own protocol.

Measures: `Precision`, `Recall`, `F1`, `MacroF1`, `PrecisionInterval`, `CalibrationPearson`, `Calibration`, `Brier`,
`NovelDiscovery`, `OntologyConformance`, `Grounding`.

Source: Mihindukulasooriya et al., Text2KGBench, ISWC 2023; Wikidata's data model,
https://www.mediawiki.org/wiki/Wikibase
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.triples.matching import Matching, match
from goldassay.measures.triples.measures import (
    F1,
    Brier,
    Calibration,
    CalibrationPearson,
    MacroF1,
    NovelDiscovery,
    Precision,
    PrecisionInterval,
    Recall,
    novel_discovery_rate,
)
from goldassay.measures.triples.objects import EXCLUDED, Comparing
from goldassay.measures.triples.ontology import Grounding, OntologyConformance
from goldassay.measures.triples.predicates import Alignment, alignment, canonical, pairs
from goldassay.measures.triples.scorecard import scorecard

MEASURES: tuple[Measure[Any], ...] = (
    Precision(),
    Recall(),
    Recall(supported=True),
    F1(),
    F1(times="coarser", threshold=0.8, tolerance=0.01),
    MacroF1(),
    PrecisionInterval(),
    CalibrationPearson(),
    Calibration(),
    Brier(),
    NovelDiscovery(),
    OntologyConformance(),
    Grounding("subject"),
    Grounding("object"),
)


def perfect(gold: Any) -> dict[str, Any]:
    """The prediction that says what gold says, without its deprecated statements and its annotations.

    >>> perfect({"triples": [{"subject": "a", "predicate": "b", "object": "c", "rank": "normal", "supported": True}]})
    {'triples': [{'subject': 'a', 'predicate': 'b', 'object': 'c'}]}
    """
    kept = ("subject", "predicate", "object", "object_type", "subject_id", "predicate_id", "object_id", "object_labels")
    statements = match(gold, {"triples": []}).gold
    return {
        "triples": [
            {key: statement.triple[key] for key in kept if statement.triple.get(key) is not None}
            for statement in statements
        ]
    }


__all__ = [
    "EXCLUDED",
    "F1",
    "MEASURES",
    "Alignment",
    "Brier",
    "Calibration",
    "CalibrationPearson",
    "Comparing",
    "Grounding",
    "MacroF1",
    "Matching",
    "NovelDiscovery",
    "OntologyConformance",
    "Precision",
    "PrecisionInterval",
    "Recall",
    "alignment",
    "canonical",
    "match",
    "novel_discovery_rate",
    "pairs",
    "perfect",
    "scorecard",
]
