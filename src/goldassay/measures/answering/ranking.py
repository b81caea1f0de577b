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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.embedding import DEFAULT
from goldassay.exceptions import GoldassayError
from goldassay.measure import Error, Measure, Review, failed
from goldassay.measures.answering.embeddings import Baseline, BERTScore, SemanticSimilarity
from goldassay.measures.answering.matching import Answering, Batch, empty
from goldassay.measures.answering.records import answer, answers, confidence, extra, number
from goldassay.tally import By, Mean, divide
from goldassay.tally.sums import Number, State, Sums

WEIGHTS = {"accuracy": 0.25, "quality": 0.25, "confidence": 0.20, "speed": 0.15, "robustness": 0.15}
FIVE = tuple(WEIGHTS)
SOURCE = "goldassay's ranking (docs: five metrics), after the founding document"


def confidence_score(answerable: bool, text: str, raw: float | None) -> float | None:
    """The confidence rule; ``None`` where the rule needs a confidence and none was given.

    >>> confidence_score(True, "1800", 0.7), confidence_score(True, "", 0.7), confidence_score(False, "", None)
    (0.7, 0.2, 1.0)
    >>> [confidence_score(False, "1800", raw) for raw in (0.29, 0.3, 0.5, 0.51)]
    [0.9, 0.6, 0.6, 0.2]
    """
    if empty(text):
        return 0.2 if answerable else 1.0
    if raw is None or answerable:
        return raw
    return 0.9 if raw < 0.3 else 0.6 if raw <= 0.5 else 0.2


def speed_score(milliseconds: float, limit: float = 2000.0) -> float:
    """The speed rule.

    >>> speed_score(0), speed_score(500), speed_score(9000)
    (1.0, 0.75, 0.0)
    """
    if not limit > 0:
        raise GoldassayError(f"the limit of speed is a number of milliseconds above 0, not {limit!r}")
    return min(1.0, max(0.0, 1.0 - milliseconds / limit))


def robustness_score(answerable: bool, text: str, error: bool = False) -> float:
    """The robustness rule.

    >>> robustness_score(True, "word " * 51), robustness_score(False, "word " * 31), robustness_score(True, "x", True)
    (0.7, 0.2, 0.0)
    """
    if error:
        return 0.0
    if empty(text):
        return 0.3 if answerable else 1.0
    words = len(text.split())
    if answerable:
        return 0.7 if words > 50 else 1.0
    return 0.2 if words > 30 else 0.6


def final_score(values: Mapping[str, float | None], weights: Mapping[str, float] = WEIGHTS) -> float | None:
    """The weighted mean of the five; ``None`` where one is missing, for a partial sum compares with nothing.

    >>> values = {"accuracy": 0.847, "confidence": 0.756, "quality": 0.891, "speed": 0.823, "robustness": 0.95}
    >>> round(final_score(values), 3)     # 0.21175 + 0.1512 + 0.22275 + 0.12345 + 0.1425
    0.852
    """
    if any(name not in FIVE or weight < 0 for name, weight in weights.items()) or not sum(weights.values()):
        raise GoldassayError(f"weights are for {', '.join(FIVE)}, none negative, not all 0; found {dict(weights)!r}")
    if any(values.get(name) is None and weight for name, weight in weights.items()):
        return None
    return float(_weighted({name: values.get(name) or 0.0 for name in weights}, weights))


def _weighted(values: Mapping[str, Number], weights: Mapping[str, float]) -> Number:
    total = sum(weights.get(name, 0.0) * value for name, value in values.items())
    return divide(total, sum(weights.values()), empty=1.0)


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
        text, raw = answer(pred, gold), confidence(pred)
        value, spoken = confidence_score(bool(answers(gold)), text, raw), not empty(text)
        if value is None:
            return Owned(unsaid=1.0)
        return Owned(value, 1.0, float(spoken and raw is not None), float(spoken and raw is None))

    def errors(self, gold: object, pred: object) -> Review:
        """A confident answer where there is none."""
        tally = self.tally(gold, pred)
        if answers(gold) or not tally.said or tally.total > 0.6:
            return (), ()
        text = answer(pred, gold)
        message = f"Answered “{text}” with confidence {confidence(pred):g} where there is no answer."
        return (Error("overconfident", message, pred=text, field="confidence"),), ()


@dataclass(frozen=True)
class Speed(Measure[Mean]):
    """The ranking's speed, from the prediction's ``latency_ms``; left out without one, and for a ``warmup``.

    >>> Speed()({"answers": []}, {"answer": "", "latency_ms": 500}).tally.value
    0.75
    """

    task = "answering"
    name = "speed"
    zero = Mean()
    pred_fields = ("latency_ms",)
    fixed = {"warm-up": "left out", "failed": "left out"}
    formula = "1 − ms / limit, clamped to 0–1; mean"
    source = SOURCE

    limit: float = 2000.0

    def tally(self, gold: object, pred: object) -> Mean:
        """The rule for one answer."""
        ms = None if extra(pred, "warmup") else extra(pred, "latency_ms")
        ms = number(pred, "latency_ms", ms, "milliseconds, 0 or more")
        return Mean() if ms is None else Mean.of(speed_score(ms, self.limit))


@dataclass(frozen=True)
class Robustness(Measure[Mean]):
    """The ranking's robustness: no errors, no essays, nothing where there is no answer.

    >>> Robustness()({"answers": []}, {"answer": "It opened in 1800."}).tally.value
    0.6
    """

    task = "answering"
    name = "robustness"
    gold_fields = ("answers",)
    pred_fields = ("answer",)
    zero = Mean()
    fixed = {"empty": "no letter or digit", "failed": "0"}
    formula = (
        "0 on an error; answerable: 0.3 empty, 0.7 above 50 words, else 1; "
        "unanswerable: 1 empty, 0.2 above 30 words, else 0.6; mean"
    )
    source = SOURCE

    def tally(self, gold: object, pred: object) -> Mean:
        """The rule for one answer."""
        error = _broken(pred)
        return Mean.of(robustness_score(bool(answers(gold)), "" if error else answer(pred, gold), error))


def _broken(pred: object) -> bool:
    """Whether the program failed, here or as the prediction's ``error`` says."""
    return bool(failed(pred)) or bool(extra(pred, "error"))


class Parts(By[str, Any]):
    """The tallies of the ranking's five; ``value`` is their weighted mean, and nothing if one of them is missing."""

    def __init__(self, items: Mapping[str, Any] = {}, weights: Mapping[str, float] = WEIGHTS) -> None:
        super().__init__(items)
        self.weights = weights

    def with_items(self, items: Mapping[str, Any]) -> Parts:
        """The same weights for these tallies."""
        return Parts(items, self.weights)

    @property
    def weight(self) -> Number:
        """The least weight of the parts."""
        weights = [tally.weight for tally in self.values()]
        return weights[0] if len(weights) == 1 else np.minimum.reduce(weights) if weights else 0.0

    @property
    def value(self) -> Number:
        """Σ weight · value / Σ weight."""
        return _weighted({name: tally.value for name, tally in self.items()}, self.weights)

    def from_state(self, state: State) -> Parts:
        """The evidence again; a part that the state lacks has none."""
        parts = {name: part.from_state(state[name]) if name in state else type(part)() for name, part in self.items()}
        return self.with_items(parts)


@dataclass(frozen=True)
class FinalScore(Answering[Parts]):
    """The weighted mean of the five; no value if one of them is missing, since a partial sum compares with nothing.

    ``weights`` are pairs of name and weight. ``embedder`` is that of quality, ``model``, ``baseline`` and ``idf`` those
    of accuracy (see `SemanticSimilarity` and `BERTScore`).
    """

    name = "final_score"
    gold_fields = ("answers", "reference")
    pred_fields = ("answer", "confidence", "latency_ms")
    formula = "the weighted mean of the five"
    source = SOURCE
    counted = ""  # pyright: ignore[reportAssignmentType]

    weights: tuple[tuple[str, float], ...] = tuple(WEIGHTS.items())
    embedder: str = DEFAULT
    model: str = DEFAULT
    baseline: Baseline | None = None
    idf: bool = False

    def __post_init__(self) -> None:
        final_score(dict.fromkeys(FIVE, 0.0), dict(self.weights))  # raises for wrong weights

    @property
    def parts(self) -> dict[str, Measure[Any]]:
        """The measures that weigh something, by their names."""
        five: dict[str, Measure[Any]] = {
            "accuracy": BERTScore(self.model, baseline=self.baseline, idf=self.idf),
            "quality": SemanticSimilarity(self.embedder),
            "confidence": Confidence(),
            "speed": Speed(),
            "robustness": Robustness(),
        }
        return {name: five[name] for name, weight in self.weights if weight}

    @property
    def zero(self) -> Parts:  # type: ignore[override]
        """No evidence of any part."""
        return Parts({name: part.zero for name, part in self.parts.items()}, dict(self.weights))

    @property
    def conventions(self) -> str:
        """The weights; what the parts are stands with them."""
        return f"final_score[weights={', '.join(f'{name} {weight:g}' for name, weight in self.weights)}]"

    def tallies(self, batch: Batch) -> Parts:
        """The five of many answers."""
        pairs: Sequence[Any] = list(zip(batch.gold, batch.pred, strict=True))
        tallies = {
            name: part.tallies(batch if isinstance(part, Answering) else pairs) for name, part in self.parts.items()
        }
        return Parts(tallies, dict(self.weights))

    def review(self, gold: object, pred: object, batch: Batch) -> Review:
        """The errors of all parts."""
        reviews = [part.review(gold, pred, batch) for part in self.parts.values()]
        return tuple(error for errors, _ in reviews for error in errors), ()
