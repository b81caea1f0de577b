"""Calibration: whether confidence says how often a prediction is right, over buckets and by the Brier score.

`CalibrationPearson` is as the founding kit asks; `Calibration` (1 − ECE) and `Brier` (1 − the score) mean more. They
count in the same matchings as the other measures (`measures`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measures.triples import tally as evidence
from goldassay.measures.triples.matching import Matching
from goldassay.measures.triples.measures import Batch, Matched
from goldassay.measures.triples.tally import Buckets, Calibrated
from goldassay.statistics.evidence import stacked
from goldassay.tally import Bins, Mean, T
from goldassay.tally.sums import brier_evidence


@dataclass(frozen=True, kw_only=True)
class Confident(Matched[T]):
    """A measure on confidence and correctness of the predictions that have both."""

    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "unaligned": "wrong", "uncertain": "left out"}

    @property
    def counted(self) -> str:
        return ""

    def told(self, pairs: Sequence[tuple[float, float]]) -> T:
        """The evidence of pairs of confidence and correctness."""
        raise GoldassayError(f"{type(self).__name__} does not say what it counts")

    def tally(self, found: Matching) -> T:
        return self.told(evidence.confidences(found))

    def tallies(self, batch: Batch) -> T:
        made: T = stacked([self.told(pairs) for pairs in batch.confidences], self.zero)
        return made


@dataclass(frozen=True, kw_only=True)
class CalibrationPearson(Confident[Bins]):
    """Pearson's ρ between the midpoints of the confidence buckets 0–.25–.5–.75–1 and the accuracy observed in them.

    It does not apply (weight 0) to fewer than two filled buckets, nor where accuracy is the same in all of them.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(CalibrationPearson()(gold, {"triples": found}).tally.value, 6)
    1.0
    """

    name: ClassVar[str] = "calibration_pearson"
    zero: ClassVar[Bins] = Calibrated()
    limits: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    fixed: ClassVar[dict[str, str]] = {**Confident.fixed, "buckets": "4"}
    formula: ClassVar[str] = "Pearson's ρ of bucket midpoints and observed accuracy, over filled buckets"

    def told(self, pairs: Sequence[tuple[float, float]]) -> Bins:
        return type(self.zero)(evidence.bins(pairs))


@dataclass(frozen=True, kw_only=True)
class Calibration(CalibrationPearson):
    """1 − ECE: how far confidence stands from accuracy, over four buckets.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(Calibration()(gold, {"triples": found}).tally.value, 6)
    0.85
    """

    name: ClassVar[str] = "calibration"
    zero: ClassVar[Bins] = Bins()
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    formula: ClassVar[str] = "1 − Σ_b n_b/n · |accuracy_b − mean confidence_b|, four equal buckets"


@dataclass(frozen=True, kw_only=True)
class ECE(Calibration):
    """The expected calibration error over four buckets; lower is better.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(ECE()(gold, {"triples": found}).tally.value, 6)
    0.15
    """

    name: ClassVar[str] = "ece"
    zero: ClassVar[Bins] = Buckets()
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "Σ_b n_b/n · |accuracy_b − mean confidence_b| over the buckets 0–.25–.5–.75–1"


@dataclass(frozen=True, kw_only=True)
class Brier(Confident[Mean]):
    """1 − the Brier score: the mean squared distance of confidence from the truth (0 or 1).

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(Brier()(gold, {"triples": found}).tally.value, 6)
    0.975
    """

    name: ClassVar[str] = "brier_skill"
    zero: ClassVar[Mean] = Mean()
    formula: ClassVar[str] = "1 − mean (confidence − correct)²"
    source: ClassVar[str] = "Brier, Verification of forecasts expressed in terms of probability, 1950"

    def told(self, pairs: Sequence[tuple[float, float]]) -> Mean:
        found = sum((brier_evidence(confidence, correct) for confidence, correct in pairs), Mean())
        return Mean(found.weight - found.total, found.weight)


@dataclass(frozen=True, kw_only=True)
class BrierScore(Brier):
    """The Brier score: the mean squared distance of confidence from the truth (0 or 1); lower is better.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(BrierScore()(gold, {"triples": found}).tally.value, 6)
    0.025
    """

    name: ClassVar[str] = "brier"
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "mean (confidence − correct)²"

    def told(self, pairs: Sequence[tuple[float, float]]) -> Mean:
        return sum((brier_evidence(confidence, correct) for confidence, correct in pairs), Mean())
