"""What the measures of extraction share: reading both sides, errors in words, counts pooled over all documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.extraction.counting import MATCH, counts
from goldassay.measures.extraction.errors import errors
from goldassay.measures.extraction.reading import sides
from goldassay.measures.extraction.spans import Span
from goldassay.tally import Counts, PrecisionCounts, RecallCounts

SOURCE = "Tjong Kim Sang & De Meulder 2003 (CoNLL); Ehrmann et al. 2022 (HIPE: strict, fuzzy)"
FORMULA = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}
MATCHING = "one-to-one, most true positives"


@dataclass(frozen=True)
class SpanMeasure(Measure[Any]):
    """What all measures of extraction share: spans of both sides are read, counted, and their errors put in words."""

    task: ClassVar[str] = "extraction"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "entities")
    pred_fields: ClassVar[tuple[str, ...]] = ("entities",)
    source: ClassVar[str] = SOURCE

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Any:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one document and its errors."""
        left, right, text = sides(gold, pred)
        found, good = errors(left, right, text)
        return Assessment(self.tally(left, right, text), found, good)


@dataclass(frozen=True)
class Micro(SpanMeasure):
    """Pooled over all documents; subclasses say the match and, by their zero, the rate."""

    match: ClassVar[str] = ""
    zero: ClassVar[Counts] = Counts()

    def __init_subclass__(cls) -> None:
        if cls.match:
            rate = {PrecisionCounts: "precision", RecallCounts: "recall"}.get(type(cls.zero), "f1")
            cls.name, cls.formula = f"{cls.match}_{rate}", FORMULA[rate]
            cls.fixed = {"match": MATCH[cls.match], "average": "micro", "matching": MATCHING, "empty": "1"}

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Counts:
        """Counts of one document."""
        found = counts(gold, pred, self.match)
        return type(self.zero)(found.tp, found.fp, found.fn)
