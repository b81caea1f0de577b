"""The ranking's five: accuracy, quality, confidence, speed, robustness, and their weighted sum.

============  ===================================================================================================
accuracy      BERTScore F1, answerable questions only
quality       cosine of embeddings, answerable questions only
confidence    answerable: the raw confidence, 0.2 where the answer is empty; unanswerable: 1.0 where it is empty,
              else 0.9 under 0.3, 0.6 from 0.3 to 0.5, 0.2 above 0.5
speed         1 − ms / 2000, clamped to 0–1; what is marked as warm-up is left out
robustness    0 on an error; answerable: 0.3 empty, 0.7 above 50 words, else 1; unanswerable: 1 empty, 0.2 above
              30 words, else 0.6
============  ===================================================================================================

Empty means by content: an answer without a letter or a digit. "5" and "NL" are answers. Confidence never looks at
whether the answer is right: a wrong answer with confidence 1 has 1.0. So report Brier, ECE and AURC beside it
(`calibration`).

Weights 0.25, 0.25, 0.20, 0.15, 0.15: 0.847, 0.891, 0.756, 0.823 and 0.950 give 0.852.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.embedding import DEFAULT
from goldassay.exceptions import GoldassayError
from goldassay.measure import Error, Measure, Review, failed
from goldassay.measures.answering.embeddings import Baseline, BERTScore, SemanticSimilarity
from goldassay.measures.answering.matching import Answering, AnsweringMean, Batch, empty
from goldassay.measures.answering.records import answer, answers, confidence, extra, number
from goldassay.tally import By, Mean, Number, Sums, divide

WEIGHTS = {"accuracy": 0.25, "quality": 0.25, "confidence": 0.20, "speed": 0.15, "robustness": 0.15}
FIVE = tuple(WEIGHTS)
SOURCE = "goldassay's ranking (docs: five metrics), after the founding document"


def final_score(values: Mapping[str, float | None], weights: Mapping[str, float] = WEIGHTS) -> float | None:
    """The weighted mean of the five; ``None`` where one is missing, for a partial sum compares with nothing.

    >>> values = {"accuracy": 0.847, "confidence": 0.756, "quality": 0.891, "speed": 0.823, "robustness": 0.95}
    >>> round(final_score(values), 3)     # 0.21175 + 0.1512 + 0.22275 + 0.12345 + 0.1425
    0.852
    """
    if any(name not in FIVE or weight < 0 for name, weight in weights.items()) or not sum(weights.values()):
        raise GoldassayError(f"weights are for {', '.join(FIVE)}, none negative, not all 0; found {dict(weights)!r}")
    numbers = {name: values.get(name) for name, weight in weights.items() if weight}
    if None in numbers.values():
        return None
    return sum(weights[name] * (number or 0.0) for name, number in numbers.items()) / sum(weights.values())


@dataclass(frozen=True, slots=True)
class Owned(Sums):
    """The sum of the rule's values, over ``n`` questions; answers with a confidence, and answers that came without one.

    The rule judges empty answers without a confidence. Alone they are no value: where answers were given, and none of
    them with a confidence, nothing is known, and the weight is 0.
    """

    total: Number = 0.0
    n: Number = 0.0
    said: Number = 0.0
    unsaid: Number = 0.0

    @property
    def weight(self) -> Number:
        """How many questions count."""
        silent = (np.asarray(self.said) == 0) & (np.asarray(self.unsaid) > 0)
        return self.n * (1.0 - silent) if np.ndim(self.n) else 0.0 if silent else self.n

    @property
    def value(self) -> Number:
        """The mean over the questions that count."""
        return divide(self.total, self.n, empty=1.0)


@dataclass(frozen=True)
class Confidence(Measure[Owned]):
    """The ranking's confidence: does the program admit that there is no answer? It never looks at correctness.

    >>> Confidence()({"answers": []}, {"answer": "", "confidence": 0.1}).tally.value
    1.0
    """

    task = "answering"
    name = "confidence"
    gold_fields = ("answers",)
    pred_fields = ("answer", "confidence")
    zero = Owned()
    fixed = {
        "empty": "no letter or digit",
        "failed": "0",
        "without a confidence": "left out; all answers so: no value",
    }
    formula = (
        "answerable: raw confidence, 0.2 if empty; "
        "unanswerable: 1.0 if empty, 0.9 under 0.3, 0.6 to 0.5, else 0.2; mean"
    )
    source = SOURCE

    def tally(self, gold: object, pred: object) -> Owned:
        """The rule for one answer."""
        if _broken(pred):
            return Owned(0.0, 1.0)
        answerable, raw = bool(answers(gold)), confidence(pred)
        if empty(answer(pred, gold)):
            return Owned(0.2 if answerable else 1.0, 1.0)
        if raw is None:
            return Owned(unsaid=1.0)
        return Owned(raw if answerable else 0.9 if raw < 0.3 else 0.6 if raw <= 0.5 else 0.2, 1.0, said=1.0)

    def errors(self, gold: object, pred: object) -> Review:
        """A confident answer where there is none."""
        tally = self.tally(gold, pred)
        if answers(gold) or not tally.said or tally.total > 0.6:
            return (), ()
        text = answer(pred, gold)
        message = f"Answered “{text}” with confidence {confidence(pred):g} where there is no answer."
        return (Error("overconfident", message, pred=text, field="confidence"),), ()


@dataclass(frozen=True)
class Speed(AnsweringMean):
    """The ranking's speed, from the prediction's ``latency_ms``; left out without one, and for a ``warmup``.

    >>> Speed()({"answers": []}, {"answer": "", "latency_ms": 500}).tally.value
    0.75
    """

    name = "speed"
    pred_fields = ("latency_ms",)
    fixed = {"warm-up": "left out", "failed": "left out"}
    formula = "1 − ms / limit, clamped to 0–1; mean"
    source = SOURCE

    limit: float = 2000.0

    def tally(self, gold: object, pred: object) -> Mean:
        """The rule for one answer."""
        ms = None if extra(pred, "warmup") else extra(pred, "latency_ms")
        ms = number(pred, "latency_ms", ms, "milliseconds, 0 or more")
        return Mean() if ms is None else Mean.of(min(1.0, max(0.0, 1.0 - ms / self.limit)))


@dataclass(frozen=True)
class Robustness(AnsweringMean):
    """The ranking's robustness: no errors, no essays, nothing where there is no answer.

    >>> Robustness()({"answers": []}, {"answer": "It opened in 1800."}).tally.value
    0.6
    """

    name = "robustness"
    gold_fields = ("answers",)
    pred_fields = ("answer",)
    fixed = {"empty": "no letter or digit", "failed": "0"}
    formula = (
        "0 on an error; answerable: 0.3 empty, 0.7 above 50 words, else 1; "
        "unanswerable: 1 empty, 0.2 above 30 words, else 0.6; mean"
    )
    source = SOURCE

    def tally(self, gold: object, pred: object) -> Mean:
        """The rule for one answer."""
        if _broken(pred):
            return Mean.of(0.0)
        text = answer(pred, gold)
        words, answerable = len(text.split()), bool(answers(gold))
        if empty(text):
            return Mean.of(0.3 if answerable else 1.0)
        return Mean.of((0.7 if words > 50 else 1.0) if answerable else 0.2 if words > 30 else 0.6)


def _broken(pred: object) -> bool:
    """Whether the program failed, here or as the prediction's ``error`` says."""
    return bool(failed(pred)) or bool(extra(pred, "error"))


class Five(By[str, Any]):
    """The tallies of the five; ``value`` is their weighted mean, and nothing if one of them is missing."""

    @property
    def weight(self) -> Number:
        """The least weight of the five."""
        least: Number = np.minimum.reduce([tally.weight for tally in self.values()])
        return least

    @property
    def value(self) -> Number:
        """Σ weight · value, as the weights add up to 1."""
        total: Number = sum(WEIGHTS[name] * tally.value for name, tally in self.items())
        return total


@dataclass(frozen=True)
class FinalScore(Answering[Five]):
    """The weighted mean of the five; no value if one of them is missing, since a partial sum compares with nothing.

    ``embedder`` is that of quality, ``model`` and ``baseline`` those of accuracy.
    """

    name = "final_score"
    gold_fields = ("answers", "reference")
    pred_fields = ("answer", "confidence", "latency_ms")
    formula = "the weighted mean of the five"
    source = SOURCE
    counted = ""  # pyright: ignore[reportAssignmentType]

    embedder: str = DEFAULT
    model: str = DEFAULT
    baseline: Baseline | None = None

    @property
    def parts(self) -> tuple[Measure[Any], ...]:
        """The measures, in the order of the weights."""
        accuracy = BERTScore(self.model, baseline=self.baseline)
        return accuracy, SemanticSimilarity(self.embedder), Confidence(), Speed(), Robustness()

    @property
    def zero(self) -> Five:  # type: ignore[override]
        """No evidence of any part."""
        return Five({name: part.zero for name, part in zip(FIVE, self.parts, strict=True)})

    @property
    def conventions(self) -> str:
        """The weights; what the parts are stands with them."""
        return f"final_score[weights={', '.join(f'{name} {weight:g}' for name, weight in WEIGHTS.items())}]"

    def tallies(self, batch: Batch) -> Five:
        """The five of many answers."""
        pairs: Any = list(zip(batch.gold, batch.pred, strict=True))
        parts = zip(FIVE, self.parts, strict=True)
        return Five({name: part.tallies(batch if isinstance(part, Answering) else pairs) for name, part in parts})
