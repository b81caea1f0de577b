"""Credit for the corpus value: scores of single examples that add up to what is reported.

An optimizer that selects by the mean of the examples' own F1 selects something else than micro-F1: a text with one name
weighs as much as one with fifty. What an example is worth to a corpus value V is its pseudo-value beside a reference,
the evidence S of n examples of the program as it was (Quenouille 1956, Tukey 1958):

    credit(t) = (n + 1) V(S + t) − n V(S)

For a mean it is the example's own value. For any value of sums it is, to first order, V(S) plus the example's
influence, so the mean of a candidate's credits is the candidate's corpus value, linearised at the reference. GEPA's
minibatches and frontier and SIMBA's buckets see these numbers; what goes through ``dspy.Evaluate`` (bootstrapping with
random search, MIPROv2, COPRO, InferRules) is the corpus value itself, since scores add to a `goldassay.score.Total`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.score import Evidence, Score
from goldassay.tally import Mean

REFERENCE = 40  # examples are enough for a slope


class Credit:
    """Scores by what they add to the corpus value of a reference run.

    >>> from goldassay.tally import Counts
    >>> base = [Evidence({"f1": Counts(10, 5, 5)}), Evidence({"f1": Counts(0, 0, 1)})]
    >>> credit = Credit(base)
    >>> round(credit.of(Evidence({"f1": Counts(8, 0, 0)})), 3), round(credit.of(Evidence({"f1": Counts(1, 0, 0)})), 3)
    (1.008, 0.71)
    """

    def __init__(self, reference: Sequence[Evidence]) -> None:
        self.sum = sum(reference[1:], reference[0])
        self.n, self.value = len(reference), float(self.sum.value)

    @property
    def changes(self) -> bool:
        """Whether credits differ from the examples' own values: not where every measure is a mean."""
        return not all(isinstance(tally, Mean) for tally in self.sum.values())

    def of(self, evidence: Evidence) -> float:
        """The credit of one example's evidence."""
        return (self.n + 1) * float((self.sum + evidence).value) - self.n * self.value

    def __call__(self, score: Any) -> Any:
        """The score with its credit as its number; the evidence, the feedback and the pass mark stay."""
        return score.copy(score=self.of(score.evidence)) if isinstance(score, Score) else score
