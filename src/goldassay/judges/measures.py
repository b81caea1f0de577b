"""All measures whose evidence a judge gives. Each takes its judge first: ``Faithfulness(Judge(lm=…))``.

`SemanticSupport`, the stand-in by embeddings, takes the name of an embedder.
"""

from goldassay.judges.answer_measures import AnswerRelevance, Preference
from goldassay.judges.claim_measures import (
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
from goldassay.judges.entity_recall import ContextEntityRecall
from goldassay.judges.evidence import Judged
from goldassay.judges.plausibility import LinkPlausibility, TypePlausibility
from goldassay.judges.rubric import Criterion, Rubric
from goldassay.judges.semantic import SemanticSupport

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
