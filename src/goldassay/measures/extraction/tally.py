"""The counts of SemEval'13, as a tally."""

from __future__ import annotations

from dataclasses import dataclass

from goldassay.tally import Number, Sums, divide, positive


@dataclass(frozen=True, slots=True)
class SemEvalCounts(Sums):
    """SemEval'13 counts; ``value`` is F1.

    ACT = COR + INC + PAR + SPU, POS = COR + INC + PAR + MIS, P = (COR + ½ PAR) / ACT, R = (COR + ½ PAR) / POS. PAR is
    only counted in the schema ``partial``, so one formula serves all four schemas.
    """

    correct: Number = 0.0
    incorrect: Number = 0.0
    partial: Number = 0.0
    missed: Number = 0.0
    spurious: Number = 0.0

    @property
    def credit(self) -> Number:
        """COR + ½ PAR."""
        return self.correct + 0.5 * self.partial

    @property
    def actual(self) -> Number:
        """How many were predicted (ACT)."""
        return self.correct + self.incorrect + self.partial + self.spurious

    @property
    def possible(self) -> Number:
        """How many are in gold (POS)."""
        return self.correct + self.incorrect + self.partial + self.missed

    @property
    def precision(self) -> Number:
        """(COR + ½ PAR) / ACT."""
        return divide(self.credit, self.actual)

    @property
    def recall(self) -> Number:
        """(COR + ½ PAR) / POS."""
        return divide(self.credit, self.possible)

    @property
    def weight(self) -> Number:
        """How many there are on both sides."""
        return self.actual + self.possible

    @property
    def value(self) -> Number:
        """F1."""
        return divide(2 * self.credit, self.actual + self.possible, empty=1.0)


@dataclass(frozen=True, slots=True)
class SemEvalPrecision(SemEvalCounts):
    """The same counts; ``value`` is precision (1.0 if there is no evidence at all)."""

    @property
    def value(self) -> Number:
        """Precision."""
        return self.precision + (1.0 - positive(self.weight))


@dataclass(frozen=True, slots=True)
class SemEvalRecall(SemEvalCounts):
    """The same counts; ``value`` is recall (1.0 if there is no evidence at all)."""

    @property
    def value(self) -> Number:
        """Recall."""
        return self.recall + (1.0 - positive(self.weight))


SEMEVAL_RATES: dict[str, type[SemEvalCounts]] = {
    "f1": SemEvalCounts,
    "precision": SemEvalPrecision,
    "recall": SemEvalRecall,
}
