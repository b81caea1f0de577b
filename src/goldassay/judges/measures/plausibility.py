"""Is a predicted type, or a predicted link, possible at all? One verdict a mention; pooled over all mentions.

It needs no gold annotation: it shows what is absurd (a year as a museum, a river as a person), not what is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Error, failed, gold_field, pred_field
from goldassay.measures.extraction.records import PRED, spans
from goldassay.measures.judged import JudgedMean, JudgedMeasure, Verdict, unknown
from goldassay.measures.linking import records as mentions

AROUND = 200  # characters on either side of a mention that the judge reads


@dataclass(frozen=True)
class TypePlausibility(JudgedMeasure):
    """The share of predicted entities whose type their mention can have in this text.

    ``types`` says what codes mean, as pairs: ``(("MUS", "a museum"),)``. Words that do not stand in the text are left
    out: they are an error of another measure.

    >>> class NoNumbers:
    ...     name = "no numbers"
    ...     def type_plausible(self, text, mention, type):
    ...         return Verdict("no" if mention.isdigit() else "yes")
    >>> entities = [{"start": 0, "end": 5, "type": "TOP"}, {"start": 9, "end": 13, "type": "TOP"}]
    >>> TypePlausibility(NoNumbers())({"text": "Delft in 1885"}, {"entities": entities}).tally.value
    0.5
    """

    task: ClassVar[str] = "judges"
    name: ClassVar[str] = "type_plausibility"
    gold_fields: ClassVar[tuple[str, ...]] = ("text",)
    pred_fields: ClassVar[tuple[str, ...]] = ("entities",)
    fixed: ClassVar[Mapping[str, str]] = {**JudgedMeasure.fixed, "average": "micro"}
    formula: ClassVar[str] = "entities with a type that their mention can have / entities judged"
    source: ClassVar[str] = "goldassay"

    judge: Any
    types: tuple[tuple[str, str], ...] = ()

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The entities of one text."""
        text = str(gold_field(gold, "text"))
        meant = dict(self.types)
        tally, errors = JudgedMean(), []
        for span in [] if failed(pred) else spans(pred_field(pred, "entities") or [], PRED):
            if span.start < 0:
                continue
            mention = text[span.start : span.end]
            kind = f"{span.type}: {meant[span.type]}" if span.type in meant else span.type
            found = self.bound.type_plausible(around(text, span.start, span.end), mention, kind)
            one, error = _judged(found, f"“{mention}” cannot be of type {kind} here.", "implausible_type", "entities")
            tally += one
            if error:
                errors.append(_placed(error, mention, span.type, span.start, span.end))
        return Assessment(tally, tuple(errors))


@dataclass(frozen=True)
class LinkPlausibility(JudgedMeasure):
    """The share of predicted links whose mention can mean the first candidate in this text.

    ``described`` turns an id into words: a function, or a table such as `goldassay.sources.labels.LabelTable`. An
    entity without a description cannot be judged and is unknown; the answer NIL is left out.

    >>> class Namesake:
    ...     name = "namesake"
    ...     def link_plausible(self, text, mention, entity):
    ...         return Verdict("yes" if mention in entity else "no")
    >>> links = [{"start": 0, "end": 5, "candidates": ["Q90"]}]
    >>> measure = LinkPlausibility(Namesake(), {"Q90": "Paris, capital of France"})
    >>> measure({"text": "Paris is big"}, {"links": links}).tally.value
    1.0
    """

    task: ClassVar[str] = "judges"
    name: ClassVar[str] = "link_plausibility"
    gold_fields: ClassVar[tuple[str, ...]] = ("text",)
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    fixed: ClassVar[Mapping[str, str]] = {
        **JudgedMeasure.fixed,
        "average": "micro",
        "candidate": "first",
        "NIL": "skip",
    }
    formula: ClassVar[str] = "links whose mention can mean the first candidate / links judged"
    source: ClassVar[str] = "goldassay"

    judge: Any
    described: Any = field(default=None, repr=False, compare=False)

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The links of one text."""
        if failed(pred):
            return Assessment(JudgedMean())
        text = str(gold_field(gold, "text"))
        tally, errors = JudgedMean(), []
        for answer in mentions.sides([], pred_field(pred, "links") or []).pred:
            if answer.start < 0 or answer.nil:
                continue
            mention, one = text[answer.start : answer.end], answer.candidates[0]
            words = description(self.described, one)
            found = (
                self.bound.link_plausible(around(text, answer.start, answer.end), mention, words)
                if words
                else Verdict(None)
            )
            told = f"“{mention}” cannot mean {one} ({words}) here."
            judged, error = _judged(found, told, "implausible_link", "links")
            tally += judged
            if error:
                errors.append(_placed(error, mention, one, answer.start, answer.end))
        return Assessment(tally, tuple(errors))


def around(text: str, start: int, end: int) -> str:
    """The words around a mention, cut at spaces.

    >>> around("a" * 300 + " in Delft " + "b" * 300, 304, 309)
    'in Delft'
    """
    low, high = max(0, start - AROUND), min(len(text), end + AROUND)
    if low:
        low = min((text.find(" ", low, start) + 1) or start, start)
    if high < len(text):
        high = max(text.rfind(" ", end, high), end)
    return text[low:high]


def description(described: Callable[[str], Any] | Any, one: str) -> str:
    """What an id means, in words; empty where nobody says.

    >>> description({"Q55": "the Netherlands, a country"}, "Q55"), description(None, "Q1")
    ('the Netherlands, a country', '')
    """
    if described is None:
        return ""
    if callable(described):
        return str(described(one) or "")
    if not hasattr(described, "__getitem__"):
        raise GoldassayError(f"described is a function or a table of ids, not {type(described).__name__}")
    entry = described[one] if one in described else ""  # noqa: SIM401  a LabelTable has no get
    if isinstance(entry, str):
        return entry
    parts = (getattr(entry, name, "") for name in ("label", "kind", "description"))
    return ", ".join(part for part in parts if part)


def _judged(found: Verdict, told: str, kind: str, where: str) -> tuple[JudgedMean, Error | None]:
    if found.label is None:
        return JudgedMean.of(None), unknown(f"Whether {told.replace('cannot', 'can').rstrip('.')}", where)
    if found.label == "yes":
        return JudgedMean.of(1.0), None
    return JudgedMean.of(0.0), Error(kind, f"{told} The judge: {found.reason}" if found.reason else told, field=where)


def _placed(error: Error, mention: str, kind: str, start: int, end: int) -> Error:
    return Error(error.kind, error.message, pred=mention, pred_type=kind, start=start, end=end, field=error.field)
