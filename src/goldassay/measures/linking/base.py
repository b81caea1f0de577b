"""What all measures of linking share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.linking.matching import OVER
from goldassay.measures.linking.mentions import Read, sides
from goldassay.measures.linking.mistakes import errors

HIPE = "Ehrmann et al. 2022 (HIPE: fuzzy, strict, @k); Hachey et al. 2014 (neleval)"
KEY = "document, start, end"
FORMULAS = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}


@dataclass(frozen=True)
class LinkMeasure(Measure[Any]):
    """A measure over the mentions and answers of a document."""

    task: ClassVar[str] = "linking"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "links")
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    source: ClassVar[str] = HIPE

    def __post_init__(self) -> None:
        if getattr(self, "over", "all") not in OVER:
            raise GoldassayError(f"over is all, inkb or nil, not {getattr(self, 'over', None)!r}")
        k = getattr(self, "k", 1)
        if not isinstance(k, int) or k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")

    def tally(self, read: Read) -> Any:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one document and its errors."""
        read = sides(gold, pred, getattr(self, "equivalent", ()))
        found, right = errors(read)
        return Assessment(self.tally(read), found, right)
