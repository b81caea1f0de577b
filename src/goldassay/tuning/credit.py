"""Credit: the score of one example as what it adds to the corpus value.

An optimizer that selects by the mean of the examples' own F1 selects something else than micro-F1: a text with one name
weighs as much as one with fifty. So it gets each example's credit for the corpus value (`Credit`): its pseudo-value
beside a reference, the evidence S of n examples of the program as it was (Quenouille 1956, Tukey 1958):

    credit(t) = (n + 1) V(S + t) − n V(S)

For a mean it is the example's own value. For any value of sums it is, to first order, V(S) plus the example's
influence, so the mean of a candidate's credits is the candidate's corpus value, linearised at the reference. GEPA's
minibatches and frontier, SIMBA's buckets and ReAnchor's averages see these numbers; what goes through ``dspy.Evaluate``
(bootstrapping with random search, MIPROv2, COPRO, InferRules) is the corpus value itself, since scores add to a
`goldassay.core.score.Total`.
"""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.core.score import Score
from goldassay.core.tally import Evidence

REFERENCE = 40  # examples are enough for a slope


class Credit:
    """Scores by what they add to the corpus value of a reference run.

    >>> from goldassay.core.tally import Counts
    >>> base = [Evidence({"f1": Counts(10, 5, 5)}), Evidence({"f1": Counts(0, 0, 1)})]
    >>> credit = Credit(base)
    >>> round(credit.of(Evidence({"f1": Counts(8, 0, 0)})), 3), round(credit.of(Evidence({"f1": Counts(1, 0, 0)})), 3)
    (1.008, 0.71)
    """

    def __init__(self, reference: Sequence[Evidence]) -> None:
        self.sum = sum(reference[1:], reference[0])
        self.n = len(reference)
        self.value = float(self.sum.value)

    @property
    def changes(self) -> bool:
        """Whether credits differ from the examples' own values: not if every measure is a mean."""
        return not self.sum.is_mean

    def of(self, evidence: Evidence) -> float:
        """The credit of one example's evidence."""
        return (self.n + 1) * float((self.sum + evidence).value) - self.n * self.value

    def __call__(self, score: Score) -> Score:
        """The score with its credit as its number; the evidence, the feedback and the pass mark stay."""
        return score.copy(score=self.of(score.evidence))
