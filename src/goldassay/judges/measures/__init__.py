"""All measures whose evidence a judge gives. Each takes its judge first: ``Faithfulness(Judge(lm=…))``.

`SemanticSupport`, the stand-in by embeddings, takes the name of an embedder.
"""

from goldassay.judges.measures.answers import AnswerRelevance, Criterion, Preference, Rubric
from goldassay.judges.measures.base import Judged
from goldassay.judges.measures.claims import (
    ClaimF1,
    ClaimPrecision,
    ClaimRecall,
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    Faithfulness,
    Hallucination,
    NoiseSensitivity,
    SelfKnowledge,
)
from goldassay.judges.measures.entities import ContextEntityRecall
from goldassay.judges.measures.plausibility import LinkPlausibility, TypePlausibility
from goldassay.judges.measures.semantic import SemanticSupport

__all__ = [
    "AnswerRelevance",
    "ClaimF1",
    "ClaimPrecision",
    "ClaimRecall",
    "ContextEntityRecall",
    "ContextPrecision",
    "ContextRecall",
    "ContextUtilization",
    "Criterion",
    "Faithfulness",
    "Hallucination",
    "Judged",
    "LinkPlausibility",
    "NoiseSensitivity",
    "Preference",
    "Rubric",
    "SelfKnowledge",
    "SemanticSupport",
    "TypePlausibility",
]
