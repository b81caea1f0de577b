"""All measures that a judge can give the evidence of, in one place: ``Faithfulness(Judge(lm=…))``.

Those of answers stand in `goldassay.measures.answering`, where each also takes verdicts that are there already; a judge
makes the tables of verdicts that they count in. `answers` and `plausibility` are only a judge's.
"""

from typing import Any

from goldassay.judges.measures.answers import Criterion, Preference, Rubric
from goldassay.judges.measures.plausibility import LinkPlausibility, TypePlausibility
from goldassay.measures.answering.claim_measures import (
    ClaimF1,
    ClaimPrecision,
    ClaimRecall,
    ContextPrecision,
    ContextUtilization,
    Faithfulness,
    Hallucination,
    NoiseSensitivity,
    Relevance,
    RetrievedClaimRecall,
    SelfKnowledge,
)
from goldassay.measures.answering.grounding import ContextEntityRecall
from goldassay.measures.judged import Judged

__all__ = [
    "ClaimF1",
    "ClaimPrecision",
    "ClaimRecall",
    "ContextEntityRecall",
    "ContextPrecision",
    "ContextUtilization",
    "Criterion",
    "Faithfulness",
    "Hallucination",
    "Judged",
    "LinkPlausibility",
    "NoiseSensitivity",
    "Preference",
    "Relevance",
    "RetrievedClaimRecall",
    "Rubric",
    "SelfKnowledge",
    "TypePlausibility",
]


def __getattr__(name: str) -> Any:
    if name == "PeopleAgreement":  # a judge is tuned by it; its room asks with the judges of this one
        from goldassay.judges.people.tuning import PeopleAgreement

        return PeopleAgreement
    raise AttributeError(f"module 'goldassay.judges.measures' has no attribute {name!r}")
