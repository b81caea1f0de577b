"""The functions of the first specification: the same names, arguments and results, with known errors fixed.

The names below are loaded when first used.

>>> from goldassay.compat import entity_level_metrics
>>> entity_level_metrics([[(0, 4, "TMP")]], [[(0, 4, "TMP")]])["f1"]
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Entity": "compat.functions",
    "ModelRanking": "compat.models",
    "PromptTuner": "compat.prompt_tuner",
    "RAGEvaluator": "compat.answering",
    "ScorePack": "compat.models",
    "TuningReport": "compat.prompt_tuner",
    "compute_ner_metrics": "compat.functions",
    "compute_retrieval_metrics": "compat.functions",
    "context_entity_recall": "compat.answering",
    "cross_kb_consistency": "measures.linking",
    "entity_level_metrics": "compat.functions",
    "extract_entities": "compat.functions",
    "factual_accuracy": "measures.answering",
    "hierarchical_type_metrics": "compat.functions",
    "linking_accuracy": "compat.functions",
    "mean_reciprocal_rank": "compat.functions",
    "ndcg_at_k": "compat.functions",
    "nil_detection_metrics": "compat.functions",
    "rankings": "compat.answering",
    "retrieval_source_analysis": "compat.functions",
    "significance_test": "compat.models",
    "token_level_metrics": "compat.functions",
    "type_classification_metrics": "compat.functions",
    "type_confusion_analysis": "compat.functions",
    "type_distribution_analysis": "compat.functions",
}


def __dir__() -> list[str]:
    return list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"goldassay.{_HOME[name]}"), name)
    raise AttributeError(f"module 'goldassay.compat' has no attribute {name!r}")
