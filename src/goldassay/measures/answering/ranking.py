"""The ranking's five: accuracy, quality, confidence, speed, robustness, and their weighted sum; and calibration.

============  ===================================================================================================
accuracy      BERTScore F1, answerable questions only
quality       cosine of embeddings, answerable questions only
confidence    answerable: the raw confidence, 0.2 where the answer is empty; unanswerable: 1.0 where it is empty,
              else 0.9 under 0.3, 0.6 from 0.3 to 0.5, 0.2 above 0.5
speed         1 − ms / 2000, clamped to 0–1; what is marked as warm-up is left out
robustness    0 on an error; answerable: 0.3 empty, 0.7 above 50 words, else 1; unanswerable: 1 empty, 0.2 above
              30 words, else 0.6
============  ===================================================================================================

Empty means by content: an answer without a letter or a digit. "5" and "NL" are answers. Weights 0.25, 0.25, 0.20, 0.15,
0.15: 0.847, 0.891, 0.756, 0.823 and 0.950 give 0.852.

Confidence never looks at whether the answer is right: a wrong answer with confidence 1 has 1.0. So report calibration
beside it (`goldassay.measures.calibration`), over the questions answered with a confidence, where correct is an exact
match.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Assessment, Conventions, Error, Limits, Measure
from goldassay.core.tally import By, Mean, Number, Sums, divide, positive
from goldassay.measures.answering.matching import ROUGE_RATES, AnswerBatch, AnswerMeasure, Assessed, Baseline, empty
from goldassay.measures.answering.records import AnswerPair, extra, number_of
from goldassay.measures.calibration import CalibrationMeasure, Confidences
from goldassay.models.embedding import DEFAULT_EMBEDDER

FINAL_SCORE_WEIGHTS = {"accuracy": 0.25, "quality": 0.25, "confidence": 0.20, "speed": 0.15, "robustness": 0.15}
FINAL_SCORE_VALUES = tuple(FINAL_SCORE_WEIGHTS)


def final_score(values: Mapping[str, float | None], weights: Mapping[str, float] = FINAL_SCORE_WEIGHTS) -> float | None:
    """The weighted mean of the five; ``None`` where one is missing, for a partial sum compares with nothing.

    Raises:
        GoldassayError: a weight is for none of the five, negative, or all are 0.

    >>> values = {"accuracy": 0.847, "confidence": 0.756, "quality": 0.891, "speed": 0.823, "robustness": 0.95}
    >>> round(final_score(values), 3)     # 0.21175 + 0.1512 + 0.22275 + 0.12345 + 0.1425
    0.852
    """
    if any(name not in FINAL_SCORE_VALUES or weight < 0 for name, weight in weights.items()) or not sum(
        weights.values()
    ):
        raise GoldassayError(
            f"weights are for {', '.join(FINAL_SCORE_VALUES)}, none negative, not all 0; found {dict(weights)!r}"
        )
    numbers = {name: values.get(name) for name, weight in weights.items() if weight}
    if None in numbers.values():
        return None
    return sum(weights[name] * (value or 0.0) for name, value in numbers.items()) / sum(weights.values())


@dataclass(frozen=True)
class SemanticSimilarity(AnswerMeasure[Mean]):
    """The cosine between the answer and the nearest of the answers and the reference; from −1 to 1.

    ``embedder`` is a name (see `goldassay.models.embedding`). An unanswerable question is left out; an empty answer
    has 0.

    Formula: cos(e(answer), e(gold)), best of the answers and the reference; mean over answerable questions
    Source: Reimers and Gurevych, EMNLP 2019
    """

    name = "semantic_similarity"
    enough = 0.8
    limits: ClassVar[Limits] = (-1.0, 1.0)
    fixed: ClassVar[Conventions] = {"golds": "best", "unanswerable": "skip", "empty": "0", "failed": "0"}

    embedder: str = DEFAULT_EMBEDDER

    def tallies(self, batch: AnswerBatch) -> Mean:
        """The best cosine of each answer."""
        return batch.best(batch.cosines(self.embedder))


@dataclass(frozen=True)
class BERTScore(AnswerMeasure[Mean]):
    """BERTScore's precision (``p``), recall (``r``) or F1 (``f``), best over the answers and the reference.

    ``model`` is a transformers model (see `goldassay.models.embedding`), ``layer`` one of its layers (the last by
    default).
    ``baseline`` rescales; an empty answer has 0 also then.

    Formula: greedy matching of tokens by cosine, P over the answer's and R over the gold's, F1 = 2PR/(P+R); mean
        over answerable questions
    Source: Zhang et al., ICLR 2020; bert-score 0.3.13
    """

    limits: ClassVar[Limits] = (-math.inf, 1.0)
    choices = {"part": ROUGE_RATES}
    fixed: ClassVar[Conventions] = {"golds": "best by F1", "unanswerable": "skip", "empty": "0", "failed": "0"}

    model: str = DEFAULT_EMBEDDER
    layer: int | None = None
    part: str = "f"
    baseline: Baseline | None = None

    @property
    def key(self) -> str:
        """``bertscore_f1``, ``bertscore_precision``, ``bertscore_recall``."""
        return f"bertscore_{('precision', 'recall', 'f1')[ROUGE_RATES.index(self.part)]}"

    def tallies(self, batch: AnswerBatch) -> Mean:
        """The part of each best reference's score."""
        rows = batch.bertscore(self.model, self.layer, self.baseline)
        spoken = np.array([bool(text.strip()) for text in batch.pairs[0]])
        return batch.best(rows[:, ROUGE_RATES.index(self.part)] * spoken, by=rows[:, 2] * spoken)


@dataclass(frozen=True, slots=True)
class Owned(Sums):
    """The sum of the rule's values, over ``n`` questions; how many answers have a confidence (``said``), and have none.

    The rule judges empty answers without a confidence. Alone they are not a value: where there are answers, and none of
    them has a confidence, nothing is known, and the weight is 0.
    """

    total: Number = 0.0
    n: Number = 0.0
    said: Number = 0.0
    unsaid: Number = 0.0

    @property
    def weight(self) -> Number:
        """How many questions count."""
        return self.n * (1.0 - (1.0 - positive(self.said)) * positive(self.unsaid))

    @property
    def value(self) -> Number:
        """The mean over the questions that count."""
        return divide(self.total, self.n, empty=1.0)


@dataclass(frozen=True)
class Confidence(Assessed[Owned]):
    """The ranking's confidence: does the program admit that there is no answer? It never looks at correctness.

    Formula: answerable: raw confidence, 0.2 if empty; unanswerable: 1.0 if empty, 0.9 under 0.3, 0.6 to 0.5, else
        0.2; mean
    Source: goldassay's ranking (docs: five metrics), after the specification

    >>> Confidence()({"answers": []}, {"answer": "", "confidence": 0.1}).tally.value
    1.0
    """

    name = "confidence"
    zero: ClassVar[Owned] = Owned()
    fixed: ClassVar[Conventions] = {
        "empty": "no letter or digit",
        "failed": "0",
        "without a confidence": "left out; all answers so: no value",
    }

    def assess(self, pair: AnswerPair) -> Assessment[Owned]:
        """The rule for one answer; a confident answer where there is none is an error."""
        text = pair.answer
        answerable = bool(pair.answers)
        sure = pair.confidence
        if _broken(pair):
            return Assessment(Owned(0.0, 1.0))
        if empty(text):
            return Assessment(Owned(0.2 if answerable else 1.0, 1.0))
        if sure is None:
            return Assessment(Owned(unsaid=1.0))
        if answerable:
            return Assessment(Owned(sure, 1.0, said=1.0))
        if sure < 0.3:
            return Assessment(Owned(0.9, 1.0, said=1.0))
        message = f"Answered “{text}” with confidence {sure:g} where there is no answer."
        error = Error("overconfident", message, pred=text, field="confidence")
        return Assessment(Owned(0.6 if sure <= 0.5 else 0.2, 1.0, said=1.0), (error,))


@dataclass(frozen=True)
class Speed(AnswerMeasure[Mean]):
    """The ranking's speed, from the prediction's ``latency_ms``; left out without one, and for a ``warmup``.

    Formula: 1 − ms / limit, clamped to 0–1; mean
    Source: goldassay's ranking (docs: five metrics), after the specification

    >>> Speed()({"answers": []}, {"answer": "", "latency_ms": 500}).tally.value
    0.75
    """

    name = "speed"
    fixed: ClassVar[Conventions] = {"warm-up": "left out", "failed": "left out"}

    limit: float = 2000.0

    def tally(self, pair: AnswerPair) -> Mean:
        """The rule for one answer."""
        latency = None if extra(pair.pred, "warmup") else extra(pair.pred, "latency_ms")
        ms = number_of(pair.pred, "latency_ms", latency, "milliseconds, 0 or more")
        return Mean() if ms is None else Mean.of(max(0.0, 1.0 - ms / self.limit))


@dataclass(frozen=True)
class Robustness(AnswerMeasure[Mean]):
    """The ranking's robustness: no errors, no essays, nothing where there is no answer.

    Formula: 0 on an error; answerable: 0.3 empty, 0.7 above 50 words, else 1; unanswerable: 1 empty, 0.2 above 30
        words, else 0.6; mean
    Source: goldassay's ranking (docs: five metrics), after the specification

    >>> Robustness()({"answers": []}, {"answer": "It opened in 1800."}).tally.value
    0.6
    """

    name = "robustness"
    fixed: ClassVar[Conventions] = {"empty": "no letter or digit", "failed": "0"}

    def tally(self, pair: AnswerPair) -> Mean:
        """The rule for one answer."""
        text = pair.answer
        blank, long, most, short = (0.3, 0.7, 50, 1.0) if pair.answers else (1.0, 0.2, 30, 0.6)
        if _broken(pair):
            return Mean.of(0.0)
        if empty(text):
            return Mean.of(blank)
        return Mean.of(long if len(text.split()) > most else short)


def _broken(pair: AnswerPair) -> bool:
    """Whether the program failed, here or as the prediction's ``error`` says."""
    return pair.failed or bool(extra(pair.pred, "error"))


class Five(By[str, Any]):
    """The tallies of the five; ``value`` is their weighted mean, and nothing if one of them is missing."""

    @property
    def weight(self) -> Number:
        """The least weight of the five."""
        return np.minimum.reduce([tally.weight for tally in self.values()])

    @property
    def value(self) -> Number:
        """Σ weight · value, as the weights add up to 1."""
        return sum(FINAL_SCORE_WEIGHTS[name] * tally.value for name, tally in self.items())


@dataclass(frozen=True)
class FinalScore(AnswerMeasure[Five]):
    """The weighted mean of the five; no value if one of them is missing, since a partial sum compares with nothing.

    ``embedder`` is that of quality, ``model`` and ``baseline`` those of accuracy.

    Formula: the weighted mean of the five
    Source: goldassay's ranking (docs: five metrics), after the specification
    """

    name = "final_score"
    zero: ClassVar[Five] = Five({name: Owned() if name == "confidence" else Mean() for name in FINAL_SCORE_VALUES})
    counted: ClassVar[str] = ""

    embedder: str = DEFAULT_EMBEDDER
    model: str = DEFAULT_EMBEDDER
    baseline: Baseline | None = None

    @property
    def chosen(self) -> Mapping[str, object]:
        """The weights; the conventions of the parts are theirs."""
        return {"weights": ", ".join(f"{name} {weight:g}" for name, weight in FINAL_SCORE_WEIGHTS.items())}

    def tallies(self, batch: AnswerBatch) -> Five:
        """The five of many answers."""
        accuracy = BERTScore(self.model, baseline=self.baseline)
        quality = SemanticSimilarity(self.embedder)
        parts: tuple[Measure, ...] = (accuracy, quality, Confidence(), Speed(), Robustness())
        return Five({name: measure.tallies(batch) for name, measure in zip(FINAL_SCORE_VALUES, parts, strict=True)})


@dataclass(frozen=True)
class Calibration(CalibrationMeasure, AnswerMeasure[Any]):
    """Calibration of the questions answered with a confidence: ``statistic`` ``brier``, ``ece`` (ten bins) or ``aurc``.

    Lower is better for all three.

    >>> pred = {"answer": "1800", "confidence": 0.75}
    >>> [Calibration(statistic=name)({"answers": ["1800"]}, pred).tally.value for name in ("brier", "ece", "aurc")]
    [0.0625, 0.25, 0.0]
    """

    choices = {"statistic": ("brier", "ece", "aurc")}

    @property
    def fixed(self) -> Conventions:
        """The definition of correct, and the questions that count."""
        specific = {"aurc": {"ties": "every order"}, "ece": {"bins": str(self.edges)}}.get(self.statistic, {})
        return {"correct": "exact_match", "over": "answered with a confidence", "failed": "left out", **specific}

    def confidences(self, batch: AnswerBatch) -> Confidences:
        """The questions that were answered with a confidence; correct is an exact match."""
        rows = []
        for index, (pair, text, exact) in enumerate(zip(batch, batch.answers, batch.squad[0].tolist(), strict=True)):
            sure = None if empty(text) else pair.confidence
            rows += [] if sure is None else [(index, sure, exact)]
        return len(batch.answers), rows
