"""What measures with one verdict an answer share: its worth from 0 to 1, the judge's reason where it is not 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.judges.bound import JudgedMeasure, answer_of, unknown
from goldassay.judges.evidence import Judged
from goldassay.judges.verdict import Verdict
from goldassay.measure import Assessment, Error


@dataclass(frozen=True)
class Rated(JudgedMeasure):
    """One verdict an answer. Subclasses say how to ask, what a label is worth, and what is wrong with a low one."""

    gold_fields: ClassVar[tuple[str, ...]] = ("question",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    source: ClassVar[str] = "goldassay"
    about: ClassVar[str] = "How good the answer is"

    def verdict(self, gold: Any, pred: Any) -> Verdict | None:
        """What the judge says; ``None`` where there is nothing to judge."""
        raise GoldassayError(f"{type(self).__name__} does not say how to ask")

    def worth(self, label: str) -> float:
        """A label's value from 0 to 1."""
        return float(label == "yes")

    def says(self, label: str, gold: Any) -> str:
        """What is wrong, in words."""
        return f"The judge says {label!r}."

    def assess(self, gold: Any, pred: Any) -> Assessment[Judged]:
        """The worth of one answer, with the judge's reason where it is not the highest."""
        found = self.verdict(gold, pred)
        if found is None:
            return Assessment(Judged())
        if found.label is None:
            return Assessment(Judged.of(None), (unknown(self.about),))
        value = self.worth(found.label)
        if value == 1:
            return Assessment(Judged.of(value))
        why = f" The judge: {found.reason}" if found.reason else ""
        told = f"{self.says(found.label, gold)}{why}"
        return Assessment(Judged.of(value), (Error(self.key, told, pred=answer_of(gold, pred), field="answer"),))
