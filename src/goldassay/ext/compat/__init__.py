"""The functions of the first specification: the same names, arguments and results, with known errors fixed.

The names below are loaded when first used.

>>> from goldassay.ext.compat import entity_level_metrics
>>> entity_level_metrics([[(0, 4, "TMP")]], [[(0, 4, "TMP")]])["f1"]
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {
    "ext.compat.functions": """
        Entity compute_ner_metrics compute_retrieval_metrics entity_level_metrics extract_entities
        hierarchical_type_metrics linking_accuracy mean_reciprocal_rank ndcg_at_k nil_detection_metrics
        retrieval_source_analysis token_level_metrics type_classification_metrics type_confusion_analysis
        type_distribution_analysis
    """,
    "ext.compat.models": "ModelRanking RAGEvaluator ScorePack context_entity_recall rankings significance_test",
    "ext.compat.prompt_tuner": "PromptTuner TuningReport",
    "measures.answering": "factual_accuracy",
    "measures.linking": "cross_kb_consistency",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __dir__() -> list[str]:
    return list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"goldassay.{_HOME[name]}"), name)
    raise AttributeError(f"module 'goldassay.ext.compat' has no attribute {name!r}")
