"""Precision, recall and F1 of one-to-one matching, their macro average, and what open-world knowledge makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldassay.measures.triples import evidence
from goldassay.measures.triples.evidence import ByProperty, Known
from goldassay.measures.triples.matched import MATCHING, Matched
from goldassay.measures.triples.matching import Matching
from goldassay.tally import Counts, PrecisionCounts, RecallCounts


@dataclass(frozen=True, kw_only=True)
class F1(Matched[Counts]):
    """F1 of statements: 2 tp / (2 tp + fp + fn), closed world (what gold does not have is wrong).

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> F1()(gold, {"triples": [{"subject": "Louvre", "predicate": "wdt:P571", "object": "1793"}]}).tally
    Counts(tp=1.0, fp=0.0, fn=0.0)
    """

    name: ClassVar[str] = "f1"
    zero: ClassVar[Counts] = Counts()
    formula: ClassVar[str] = f"2 tp / (2 tp + fp + fn), {MATCHING}"

    def tally(self, found: Matching) -> Counts:
        counts = evidence.by_property(found).values()
        return type(self.zero)(*(sum((getattr(c, name) for c in counts), 0.0) for name in ("tp", "fp", "fn")))


@dataclass(frozen=True, kw_only=True)
class Precision(F1):
    """Precision: tp / (tp + fp) over aligned predictions, closed world (see `PrecisionInterval` for the open one)."""

    name: ClassVar[str] = "precision"
    zero: ClassVar[PrecisionCounts] = PrecisionCounts()
    formula: ClassVar[str] = f"tp / (tp + fp) over aligned predictions, {MATCHING}"


@dataclass(frozen=True, kw_only=True)
class Recall(F1):
    """Recall: covered gold statements / gold statements of aligned properties.

    With ``supported`` over the gold statements that are annotated as said by the text.
    """

    name: ClassVar[str] = "recall"
    zero: ClassVar[RecallCounts] = RecallCounts()
    formula: ClassVar[str] = f"tp / (tp + fn) over gold of aligned properties, {MATCHING}"

    supported: bool = False

    @property
    def key(self) -> str:
        return "recall_supported" if self.supported else self.name

    def tally(self, found: Matching) -> Counts:
        counts = evidence.by_property(found, supported=self.supported).values()
        return type(self.zero)(*(sum((getattr(c, name) for c in counts), 0.0) for name in ("tp", "fp", "fn")))


@dataclass(frozen=True, kw_only=True)
class MacroF1(Matched[ByProperty]):
    """The mean F1 over the properties that gold has: rare properties count as much as common ones."""

    name: ClassVar[str] = "macro_f1"
    zero: ClassVar[ByProperty] = ByProperty()
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "average": "properties with gold"}
    formula: ClassVar[str] = f"mean of F1 over properties with gold, {MATCHING}"

    def tally(self, found: Matching) -> ByProperty:
        return evidence.by_property(found)


@dataclass(frozen=True, kw_only=True)
class PrecisionInterval(Matched[Known]):
    """The least precision under open-world knowledge; `Known.high` is the greatest.

    A statement that gold does not have is unknown, not wrong. Annotated verdicts (correct, incorrect, in_wikidata)
    narrow the interval; uncertain leaves it.
    """

    name: ClassVar[str] = "precision_min"
    zero: ClassVar[Known] = Known()
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "unknown": "false"}
    formula: ClassVar[str] = "known true / all predictions; precision_max counts the unknown as true"

    def tally(self, found: Matching) -> Known:
        return evidence.known(found)


@dataclass(frozen=True, kw_only=True)
class NovelDiscovery(Matched[PrecisionCounts]):
    """NDR: correct / (correct + incorrect) among the annotated predictions that gold does not have."""

    name: ClassVar[str] = "novel_discovery_rate"
    zero: ClassVar[PrecisionCounts] = PrecisionCounts()
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "uncertain": "left out", "in_wikidata": "left out"}
    formula: ClassVar[str] = "correct / (correct + incorrect) over annotated unmatched predictions; Wilson interval"

    def tally(self, found: Matching) -> PrecisionCounts:
        return evidence.novel(found)
