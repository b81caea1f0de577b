"""Of the answers that are lost, how many did retrieval lose?

An answer is lost when an answerable question is not answered exactly. Retrieval lost it when none of the passages that
gold names (``documents``) is among the program's ``results``: no reader could have found it there. The rest the reader
lost, also by failing: a failure that carries its ``results`` counts, one without them says nothing. Retrieval itself is
measured by `goldassay.measures.retrieval` in the same run, with ``columns``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, gold_field
from goldassay.measures.answering.records import answers
from goldassay.measures.answering.squad import ExactMatch
from goldassay.tally import Mean


@dataclass(frozen=True)
class LostByRetrieval(Measure[Mean]):
    """The share of lost answers whose passage was not retrieved; lower is better, at 0 the reader is to blame.

    >>> gold = {"answers": ["1800"], "documents": ["nl-1"]}
    >>> LostByRetrieval()(gold, {"answer": "1900", "results": [{"doc_id": "nl-2"}]}).tally.value
    1.0
    >>> LostByRetrieval()(gold, {"answer": "1800", "results": []}).tally.weight       # it is not lost
    0.0
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "lost_by_retrieval"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "documents")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "results")
    fixed: ClassVar[dict[str, str]] = {"lost": "exact_match=0, answerable", "no documents": "skip"}
    formula: ClassVar[str] = "lost answers without a gold passage among the results / lost answers"
    source: ClassVar[str] = "goldassay"
    lower_is_better: ClassVar[bool] = True

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """One answer, if it is lost."""
        wanted = gold_field(gold, "documents", None)
        results = None if pred is None else read(pred, "results", None)
        if not wanted or results is None or not answers(gold) or ExactMatch()(gold, pred).tally.value == 1:
            return Assessment(Mean())
        found = {one if isinstance(one, str) else str(read(one, "doc_id", "")) for one in results}
        if found & set(wanted):
            return Assessment(Mean.of(0.0))
        message = f"No passage with the answer was retrieved (gold names {', '.join(map(str, wanted))})."
        return Assessment(Mean.of(1.0), (Error("not_retrieved", message, gold=str(wanted[0]), field="results"),))
