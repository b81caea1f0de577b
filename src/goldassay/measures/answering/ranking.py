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

Empty is by content: an answer without a letter or a digit. "5" and "NL" are answers. Confidence never looks at whether
the answer is right: a wrong answer given with confidence 1 has 1.0. So Brier, ECE and AURC stand beside it
(`calibration`).

Weights 0.25, 0.25, 0.20, 0.15, 0.15: 0.847, 0.891, 0.756, 0.823 and 0.950 give 0.852.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.records import answer, answers, confidence, extra
from goldassay.tally import Mean

WEIGHTS = {"accuracy": 0.25, "quality": 0.25, "confidence": 0.20, "speed": 0.15, "robustness": 0.15}
FIVE = tuple(WEIGHTS)
SOURCE = "goldassay's ranking (docs: five metrics), after the founding document"


def empty(text: str) -> bool:
    """Whether an answer says nothing: it has no letter and no digit.

    >>> empty(" … "), empty("5"), empty("NL")
    (True, False, False)
    """
    return not any(character.isalnum() for character in text)


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
    unknown = [name for name in weights if name not in FIVE]
    if unknown or not weights or any(w < 0 for w in weights.values()) or not sum(weights.values()):
        raise GoldassayError(f"weights are for {', '.join(FIVE)}, none negative, not all 0; found {dict(weights)!r}")
    total = 0.0
    for name, weight in weights.items():
        value = values.get(name)
        if value is None and weight:
            return None
        total += weight * (value or 0.0)
    return total / sum(weights.values())


@dataclass(frozen=True)
class _Rule(Measure[Mean]):
    task: ClassVar[str] = "answering"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("answers",)
    source: ClassVar[str] = SOURCE


@dataclass(frozen=True)
class Confidence(_Rule):
    """The ranking's confidence: does the program own up where there is no answer? It never looks at correctness."""

    name: ClassVar[str] = "confidence"
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "confidence")
    fixed: ClassVar[dict[str, str]] = {"empty": "no letter or digit", "failed": "0"}
    formula: ClassVar[str] = (
        "answerable: raw confidence, 0.2 if empty; "
        "unanswerable: 1.0 if empty, 0.9 under 0.3, 0.6 to 0.5, else 0.2; mean"
    )

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The rule for one answer."""
        if broken(pred):
            return Assessment(Mean.of(0.0))
        text, answerable = answer(pred, gold), bool(answers(gold))
        value = confidence_score(answerable, text, confidence(pred))
        if value is None:
            return Assessment(Mean())
        if answerable or value > 0.6:
            return Assessment(Mean.of(value))
        message = f"Answered “{text}” with confidence {confidence(pred):g} where there is no answer."
        return Assessment(Mean.of(value), (Error("overconfident", message, pred=text, field="confidence"),))


@dataclass(frozen=True)
class Speed(_Rule):
    """The ranking's speed, from the prediction's ``latency_ms``; left out without one, and for a ``warmup``.

    >>> Speed()({"answers": []}, {"answer": "", "latency_ms": 500}).tally.value
    0.75
    """

    name: ClassVar[str] = "speed"
    gold_fields: ClassVar[tuple[str, ...]] = ()
    pred_fields: ClassVar[tuple[str, ...]] = ("latency_ms",)
    fixed: ClassVar[dict[str, str]] = {"warm-up": "left out"}
    formula: ClassVar[str] = "1 − ms / limit, clamped to 0–1; mean"

    limit: float = 2000.0

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The rule for one answer."""
        found = None if pred is None else extra(pred, "latency_ms")
        if found is None or extra(pred, "warmup"):
            return Assessment(Mean())
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not found >= 0:
            what = f"expected milliseconds, 0 or more, found {found!r}"
            raise DataError(what, record=read(pred, "id", None), field="latency_ms")
        return Assessment(Mean.of(speed_score(found, self.limit)))


@dataclass(frozen=True)
class Robustness(_Rule):
    """The ranking's robustness: no errors, no essays, nothing where there is no answer.

    >>> Robustness()({"answers": []}, {"answer": "It opened in 1800."}).tally.value
    0.6
    """

    name: ClassVar[str] = "robustness"
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    fixed: ClassVar[dict[str, str]] = {"empty": "no letter or digit"}
    formula: ClassVar[str] = (
        "0 on an error; answerable: 0.3 empty, 0.7 above 50 words, else 1; "
        "unanswerable: 1 empty, 0.2 above 30 words, else 0.6; mean"
    )

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The rule for one answer."""
        error = broken(pred)
        text = "" if error else answer(pred, gold)
        return Assessment(Mean.of(robustness_score(bool(answers(gold)), text, error)))


def broken(pred: Any) -> bool:
    """Whether the program failed, here or as the prediction's ``error`` says."""
    return bool(failed(pred)) or bool(extra(pred, "error"))
