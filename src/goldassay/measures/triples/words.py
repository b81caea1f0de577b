"""Which measure stands behind each value of a scorecard, and what the value says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldassay.measure import Measure
from goldassay.measures.triples import confidence
from goldassay.measures.triples import measures as m

EXPLAIN = {
    "macro_precision": "mean of precision over properties with gold",
    "macro_recall": "mean of recall over properties with gold",
    "precision_min": "known true / all predictions: every unknown statement taken as false",
    "precision_max": "(known true + unknown) / all predictions: every unknown statement taken as true",
    "recall_supported": "covered / gold statements annotated as supported by the text",
    "ece": "Σ_b n_b/n · |accuracy_b − mean confidence_b| over the buckets 0–.25–.5–.75–1",
    "brier": "mean (confidence − correct)²",
    "relation_hallucination": "1 − ontology conformance",
    "subject_hallucination": "predictions whose subject does not stand in the text / predictions",
    "object_hallucination": "predictions whose object does not stand in the text / predictions",
}


def owners(
    shared: Mapping[str, Any], ontology: Measure[Any], grounding: Mapping[str, Measure[Any]]
) -> dict[str, Measure[Any]]:
    """The measure of each value, with the conventions in ``shared``."""
    return {
        "precision": m.Precision(**shared),
        "recall": m.Recall(**shared),
        "f1": m.F1(**shared),
        "recall_supported": m.Recall(**shared, supported=True),
        **dict.fromkeys(("macro_precision", "macro_recall", "macro_f1"), m.MacroF1(**shared)),
        **dict.fromkeys(("precision_min", "precision_max"), m.PrecisionInterval(**shared)),
        "calibration_pearson": confidence.CalibrationPearson(**shared),
        "ece": confidence.Calibration(**shared),
        "brier": confidence.Brier(**shared),
        **dict.fromkeys(
            ("novel_discovery_rate", "novel_discovery_rate_low", "novel_discovery_rate_high"),
            m.NovelDiscovery(**shared),
        ),
        **dict.fromkeys(("ontology_conformance", "relation_hallucination"), ontology),
        **{f"{part}_hallucination": measure for part, measure in grounding.items()},
    }
