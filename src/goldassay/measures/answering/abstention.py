"""Questions without an answer: values of some questions alone, and the best that a threshold can give (SQuAD 2.0).

`Gated` is the value of another measure where a condition holds; `Attempted` counts the questions that have a
prediction. `BestThreshold` is SQuAD 2.0's ``best_exact`` and ``best_f1``: questions are answered in the
order of their probability of no answer, the lowest first, and the others are left unanswered. The value is the highest
of all thresholds. It is an upper bound, because the threshold is chosen on the questions that it is measured on.

Source: Rajpurkar, Jia and Liang, ACL 2018 (evaluation script 2.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from goldassay.core.measure import NO_PREDICTION, Conventions, Measure, Names, failed, parse, stored
from goldassay.core.tally import Mean, Number, divide, positive
from goldassay.measures.answering.matching import AnswerBatch, AnswerMeasure
from goldassay.measures.answering.records import AnswerPair, extra
from goldassay.measures.calibration import ByConfidence, scalar


@dataclass(frozen=True)
class Gated(AnswerMeasure[Mean]):
    """The value of another measure of answering where a condition holds, which a subclass states in `holds`."""

    measure: str | Measure

    def __post_init__(self) -> None:
        super().__post_init__()
        text = stored(self.measure) if isinstance(self.measure, Measure) else stored(parse(self.measure))
        object.__setattr__(self, "measure", text)

    def holds(self, pair: AnswerPair) -> bool | None:
        """Whether the value counts, or 0 does; None leaves the question out.

        Raises:
            NotImplementedError: A measure defines it.
        """
        raise NotImplementedError

    @cached_property
    def inner(self) -> Measure:
        """The other measure."""
        return parse(str(self.measure))

    @property
    def attains_one(self) -> bool:
        """As the other measure."""
        return self.inner.attains_one

    def tallies(self, batch: AnswerBatch) -> Mean:
        """The value of each question."""
        tally = self.inner.tallies(batch)
        conditions = [self.holds(pair) for pair in batch]
        counted = np.array([condition is not None for condition in conditions], float)
        right = np.array([condition is True for condition in conditions], float)
        return Mean(tally.total * right, tally.weight * counted)


@dataclass(frozen=True)
class Attempted(Gated):
    """The value of another measure over the questions that have a prediction; one whose program failed counts 0.

    Formula: the measure's own; questions without a prediction are left out
    Source: Rajpurkar, Jia and Liang, ACL 2018 (evaluation script 2.0)

    >>> from goldassay.measures.answering.measures import ExactMatch
    >>> Attempted(ExactMatch())({"answers": ["1800"]}, None).tally.weight
    0.0
    """

    fixed: ClassVar[Conventions] = {"on": "predicted", "elsewhere": "left out"}

    @property
    def key(self) -> str:
        """``exact_match_on_predicted`` and so on."""
        return f"{self.inner.key}_on_predicted"

    def holds(self, pair: AnswerPair) -> bool | None:
        """True unless there is no prediction."""
        return None if failed(pair.pred) == NO_PREDICTION else True


class Thresholded(ByConfidence):
    """For each confidence the questions, the sum of their scores if they are answered, of those if not, and how many
    have a probability: without any there is no threshold, and no value.

    >>> rows = [(1, 1.0, 0, 1), (1, 0.5, 0, 1), (1, 0.0, 1, 1)]
    >>> Thresholded.of([-0.1, -0.4, -0.9], rows).value      # the first two are answered
    0.8333333333333334
    """

    names = ("n", "score", "unanswered", "placed")

    @property
    def weight(self) -> Number:
        """How many questions; 0 if none has a probability."""
        return super().weight * positive(sum(placed for *_, placed in self.values()))

    @property
    def tied(self) -> int:
        """How many questions share their probability with another one."""
        return int(sum(placed for *_, placed in self.values() if placed > 1))

    @property
    def value(self) -> Number:
        """The mean score at the best threshold."""
        if not self:
            return 1.0
        n, score, unanswered, placed = self.columns()
        gains = np.cumsum(score - unanswered, axis=0)
        best = unanswered.sum(axis=0) + np.maximum(gains.max(axis=0), 0.0)
        return scalar(divide(best, n.sum(axis=0) * positive(placed.sum(axis=0)), empty=1.0))


@dataclass(frozen=True)
class BestThreshold(AnswerMeasure[Thresholded]):
    """Exact match (``exact``) or F1 by SQuAD's rules at the best threshold of ``na_prob``, else of 1 − confidence.

    Questions with the same probability are answered together (the script takes them one by one, in the order of its
    file; under ``squad2`` a note says how many there are). A question without a prediction counts in no number of
    questions; if it is unanswerable it counts as right all the same, as in the script. One with neither a probability
    nor a confidence is left out; one whose program failed counts 0 where others have one.

    Formula: max over thresholds of (scores of the questions under it + unanswerable ones over it) / questions
    Source: Rajpurkar, Jia and Liang, ACL 2018 (evaluation script 2.0)

    >>> gold, pred = [{"answers": ["1800"]}, {"answers": []}], [{"answer": "1800"}, {"answer": "1801"}]
    >>> sure = [{**answer, "confidence": sure} for answer, sure in zip(pred, (0.9, 0.3))]
    >>> best = BestThreshold()
    >>> best.tallies(best.batch(gold, sure)).value      # "1801" is over the threshold: no answer, which is right
    1.0
    """

    name = "best_{rate}"
    zero: ClassVar[Thresholded] = Thresholded()
    choices = {"rate": ("exact", "f1")}
    in_key: ClassVar[Names] = ("rate",)
    fixed: ClassVar[Conventions] = {
        "threshold": "chosen on the same questions: an upper bound",
        "ties": "together",
        "without a probability": "left out",
        "failed": "0",
    }

    rate: str = "exact"

    def tallies(self, batch: AnswerBatch) -> Thresholded:
        """The evidence of each question."""
        scores = batch.squad[self.choices["rate"].index(self.rate)].tolist()
        levels = np.zeros(len(scores))
        rows = np.zeros((len(scores), len(Thresholded.names)))
        for index, (pair, score) in enumerate(zip(batch, scores, strict=True)):
            unanswerable = float(not pair.answers)
            probability = extra(pair.pred, "na_prob")
            if probability is None and pair.confidence is not None:
                probability = 1.0 - pair.confidence
            if failed(pair.pred) == NO_PREDICTION:
                rows[index] = 0.0, unanswerable, unanswerable, 0.0
            elif pair.failed:
                rows[index, 0] = 1.0
            elif probability is not None:
                levels[index] = -float(probability)
                rows[index] = 1.0, float(not pair.answer) if unanswerable else score, unanswerable, 1.0
        return Thresholded.of(levels, rows)
