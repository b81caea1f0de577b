"""What the values of claims share when a judge makes the tables.

Each asks for the tables it needs; since a judge answers each question once, several measures together cost no more than
the largest. Where gold is needed, an unanswerable question is left out; where contexts are, a prediction without them.
An answer of fewer than four words is read together with its question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.judges.bound import JudgedMeasure, answer_of, gold_text, told, unanswerable
from goldassay.judges.claim_tables import claimed
from goldassay.judges.evidence import Judged, known
from goldassay.measure import Assessment, failed
from goldassay.measures.answering.claim_measures import SOURCE
from goldassay.measures.answering.claims import Share
from goldassay.measures.answering.records import contexts


@dataclass(frozen=True)
class ClaimValue(JudgedMeasure):
    """One of the values of claims, of tables that a judge makes; its mean over answers."""

    gold_fields: ClassVar[tuple[str, ...]] = ("reference", "answers", "question")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "retrieved_contexts")
    source: ClassVar[str] = SOURCE
    tables: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    @property
    def share(self) -> str:
        """Which of the values it is."""
        return self.name

    def assess(self, gold: Any, pred: Any) -> Assessment[Judged]:
        """The value of one answer, and the claims that count against it."""
        texts = None if failed(pred) else contexts(pred)
        expected = gold_text(gold)
        needs_gold = any("gold" in table for table in self.tables)
        needs_texts = any("context" in table for table in self.tables)
        if (needs_gold and (unanswerable(gold) or not expected)) or (needs_texts and texts is None):
            return Assessment(Judged())
        wanted = told(gold, expected or "")
        made = claimed(self.bound, told(gold, answer_of(gold, pred)), wanted, texts, self.tables)
        support = made.support
        share = support.values.get(self.share)
        if share is None:
            return Assessment(Judged())
        tally = Judged.between(share.value, share.most, self.settled(support.values), support.unknown)
        return Assessment(tally, tuple(made.errors(self.shown)) if self.shown else ())

    def settled(self, values: dict[str, Share]) -> float | None:
        """The value over what is known."""
        return known(values[self.share])
