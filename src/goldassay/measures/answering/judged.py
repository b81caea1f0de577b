"""Relevance, as a judge gives it: does the answer answer the question?

A cosine to the question is no relevance: an echo of the question wins it. So there is no value without a judge's number
in the prediction's ``relevance`` (or ``meta.relevance``), from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.records import extra
from goldassay.tally import Mean


@dataclass(frozen=True)
class Relevance(Measure[Mean]):
    """The mean of a judge's numbers, over the answers that have one.

    >>> Relevance()({}, {"answer": "In 1800.", "relevance": 0.75}).tally.value
    0.75
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "relevance"
    zero: ClassVar[Mean] = Mean()
    pred_fields: ClassVar[tuple[str, ...]] = ("relevance",)
    fixed: ClassVar[dict[str, str]] = {"by": "judge", "average": "answers judged"}
    formula: ClassVar[str] = "mean of a judge's numbers from 0 to 1"
    source: ClassVar[str] = "goldassay; the judge's own definition stands with the judge"

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The judge's number for one answer."""
        found = None if failed(pred) else extra(pred, "relevance")
        if found is None:
            return Assessment(Mean())
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= 1:
            what = f"expected a judge's number from 0 to 1, found {found!r}"
            raise DataError(what, record=read(pred, "id", None), field="relevance")
        question = str(read(gold, "question", ""))
        message = f"The answer does not answer “{question}”." if question else "The answer misses the question."
        return Assessment(Mean.of(found), (Error("irrelevant", message, field="answer"),) if found < 0.5 else ())
