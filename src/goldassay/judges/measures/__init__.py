"""The measures that only a judge gives: ``Rubric(Judge(lm=…), LEVELS)``.

Those of claims, relevance and entities stand in `goldassay.measures.answering`, where each also takes verdicts that are
there already; a judge makes the tables of verdicts that they count in.
"""

from typing import Any

from goldassay.judges.measures.answers import Criterion, Preference, Rubric
from goldassay.judges.measures.plausibility import LinkPlausibility, TypePlausibility

__all__ = ["Criterion", "LinkPlausibility", "Preference", "Rubric", "TypePlausibility"]


def __getattr__(name: str) -> Any:
    if name == "PeopleAgreement":  # a judge is tuned by it; its room asks with the judges of this one
        from goldassay.judges.people.tuning import PeopleAgreement

        return PeopleAgreement
    raise AttributeError(f"module 'goldassay.judges.measures' has no attribute {name!r}")
