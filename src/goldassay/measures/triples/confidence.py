"""Whether confidence says how often a prediction is right: Pearson's ρ as the founding kit asks, ECE and Brier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldassay.measures.triples import evidence
from goldassay.measures.triples.evidence import Calibrated
from goldassay.measures.triples.matched import Matched
from goldassay.measures.triples.matching import Matching
from goldassay.tally import Bins, Mean


@dataclass(frozen=True, kw_only=True)
class CalibrationPearson(Matched[Calibrated]):
    """Pearson's ρ between the midpoints of the confidence buckets 0–.25–.5–.75–1 and the accuracy observed in them."""

    name: ClassVar[str] = "calibration_pearson"
    zero: ClassVar[Calibrated] = Calibrated()
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "buckets": "4", "uncertain": "left out"}
    formula: ClassVar[str] = "Pearson's ρ of bucket midpoints and observed accuracy, over filled buckets"

    def tally(self, found: Matching) -> Calibrated:
        made: Calibrated = evidence.bins(evidence.confidences(found))
        return made


@dataclass(frozen=True, kw_only=True)
class Calibration(Matched[Bins]):
    """1 − ECE: how far confidence stands from accuracy, over four buckets."""

    name: ClassVar[str] = "calibration"
    zero: ClassVar[Bins] = Bins()
    fixed: ClassVar[dict[str, str]] = CalibrationPearson.fixed
    formula: ClassVar[str] = "1 − Σ_b n_b/n · |accuracy_b − mean confidence_b|, four equal buckets"

    def tally(self, found: Matching) -> Bins:
        return Bins(evidence.bins(evidence.confidences(found)))


@dataclass(frozen=True, kw_only=True)
class Brier(Matched[Mean]):
    """1 − the Brier score: the mean squared distance of confidence from the truth (0 or 1)."""

    name: ClassVar[str] = "brier_skill"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "uncertain": "left out"}
    formula: ClassVar[str] = "1 − mean (confidence − correct)²"
    source: ClassVar[str] = "Brier, Verification of forecasts expressed in terms of probability, 1950"

    def tally(self, found: Matching) -> Mean:
        pairs = evidence.confidences(found)
        return Mean(sum(1.0 - (confidence - correct) ** 2 for confidence, correct in pairs), float(len(pairs)))
