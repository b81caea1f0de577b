"""Context entity recall with entities that a judge finds, or a program of one's own.

|CE ∩ GE| / |GE| as in `goldassay.measures.answering.entities`; only who finds the entities of the reference differs. A
program is called with the text and returns names (or a prediction with ``entities``); its names are taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.judges.measures.base import Judged, JudgedMeasure, unknown
from goldassay.measure import Assessment, Error, failed
from goldassay.measures.answering import entities as plain
from goldassay.measures.answering.records import answers, contexts, extra, reference


@dataclass(frozen=True)
class ContextEntityRecall(JudgedMeasure):
    """The share of the reference's entities that the retrieved contexts hold; ``judge`` may be any such function.

    >>> def capitals(text: str) -> list[str]:
    ...     return [word for word in text.split() if word.istitle()]
    >>> pred = {"retrieved_contexts": ["The Kunsthal is new."]}
    >>> ContextEntityRecall(capitals)({"reference": "Kunsthal in Rotterdam"}, pred).tally.value
    0.5
    """

    name: ClassVar[str] = "context_entity_recall"
    gold_fields: ClassVar[tuple[str, ...]] = ("reference", "answers")
    pred_fields: ClassVar[tuple[str, ...]] = ("retrieved_contexts",)
    fixed: ClassVar[dict[str, str]] = {**JudgedMeasure.fixed, "duplicates": "once", "empty_reference": "skip"}
    formula: ClassVar[str] = plain.ContextEntityRecall.formula
    source: ClassVar[str] = plain.ContextEntityRecall.source

    match: str = "normalised"
    aliases: plain.Aliases = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.match not in plain.MATCHES:
            raise GoldassayError(f"match is one of {', '.join(plain.MATCHES)}, not {self.match!r}")

    def assess(self, gold: Any, pred: Any) -> Assessment[Judged]:
        """The entities of one reference in one set of contexts."""
        lost = bool(failed(pred))
        listed = None if lost else extra(pred, "context_entities")
        texts = () if lost else contexts(pred)
        text = reference(gold) or " ".join(answers(gold))
        if not text or (texts is None and listed is None):
            return Assessment(Judged())
        found = self._found(text)
        if found is None:
            return Assessment(Judged.of(None), (unknown("Which names the reference has", "retrieved_contexts"),))
        n = len(plain.distinct(found, self.match, self.aliases))
        if not n:
            return Assessment(Judged())
        missing = plain.lacking(found, texts or (), listed, self.match, self.aliases)
        errors = tuple(
            Error("not_retrieved", f"The retrieved texts lack “{name}”.", gold=name, field="retrieved_contexts")
            for name in missing
        )
        return Assessment(Judged.of((n - len(missing)) / n), errors)

    def _found(self, text: str) -> Sequence[Any] | None:
        judge = self.bound
        if hasattr(judge, "entities"):
            named: list[str] | None = judge.entities(text)
            return named
        made = judge(text)
        listed = read(made, "entities", None)
        return [_words(one) for one in (made if listed is None else listed)]


def _words(entity: Any) -> Any:
    """An entity's text, of a record that has one; ids stay with it."""
    return entity if isinstance(entity, str) or read(entity, "id", None) else read(entity, "text", str(entity))
