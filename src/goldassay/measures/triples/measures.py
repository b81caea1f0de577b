"""Precision, recall and F1 of statements, their macro averages, open-world precision and novelty.

All count in the one-to-one matching (`matching`) under the same conventions, so that a batch is matched once.

Closed world: what gold does not have is wrong. Open world: it is unknown, and precision lies between `PrecisionMin` and
`PrecisionMax`, which people's verdicts narrow; of the judged, `NovelDiscovery` is the share that is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import EMPTY, Assessment, Measure
from goldassay.measures.triples import mistakes, objects
from goldassay.measures.triples import tally as evidence
from goldassay.measures.triples.matching import Matching, match
from goldassay.measures.triples.objects import Comparing
from goldassay.measures.triples.tally import (
    ByProperty,
    Known,
    KnownOrUnknown,
)
from goldassay.measures.triples.terms import NamePairs, alignment
from goldassay.statistics.evidence import stacked
from goldassay.tally import Counts, PrecisionCounts, RecallCounts, T
from goldassay.text.normal import normal

MATCHING = "one-to-one on subject, aligned predicate and object by type"
SOURCE = "Wikidata's data types (https://www.wikidata.org/wiki/Help:Data_type), matched one to one"
OPTIONS = ("alignment", "prefixes", "equivalents", "threshold", "tolerance", "kilometres", "times", "excluded")


@dataclass
class Batch:
    """The matchings of many examples, and what several measures count in them."""

    gold: Sequence[Any]
    found: list[Matching]

    @cached_property
    def by_property(self) -> list[ByProperty]:
        """The counts of each example."""
        return [evidence.by_property(found) for found in self.found]

    @cached_property
    def confidences(self) -> list[list[tuple[float, float]]]:
        """Confidence and correctness of the predictions of each example."""
        return [evidence.confidences(found) for found in self.found]


@dataclass(frozen=True, kw_only=True)
class Matched(Measure[T]):
    """A measure on the one-to-one matching.

    ``alignment``: pairs of predicate and property. ``equivalents``: pairs of ids (or folded names) that are one thing.
    ``threshold``: the least similarity of texts. ``tolerance``: the greatest relative difference of quantities.
    ``kilometres``: the greatest distance of coordinates. ``times``: ``gold`` or ``coarser`` (see `times`).
    ``excluded``: value types that are left out.
    """

    task: ClassVar[str] = "triples"
    gold_fields: ClassVar[tuple[str, ...]] = ("triples",)
    pred_fields: ClassVar[tuple[str, ...]] = ("triples",)
    fixed: ClassVar[dict[str, str]] = {
        "match": "one-to-one",
        "ranks": "not deprecated",
        "unaligned": "left out",
        "empty": EMPTY,
    }
    source: ClassVar[str] = SOURCE
    shares: ClassVar[tuple[str, ...]] = OPTIONS

    alignment: NamePairs = ()
    prefixes: NamePairs = ()
    equivalents: NamePairs = ()
    threshold: float = 0.9
    tolerance: float = 0.0
    kilometres: float = 1.0
    times: str = "gold"
    excluded: tuple[str, ...] = objects.EXCLUDED

    def __post_init__(self) -> None:
        if self.times not in ("gold", "coarser"):
            raise GoldassayError(f"times is 'gold' or 'coarser', not {self.times!r}")
        if not 0.0 < self.threshold <= 1.0 or self.tolerance < 0 or self.kilometres < 0:
            raise GoldassayError("threshold lies in (0, 1]; tolerance and kilometres are not negative")

    def match(self, gold: object, pred: object) -> Matching:
        """The matching under this measure's conventions."""
        table = alignment(self.alignment, self.prefixes)
        comparing = Comparing(self.threshold, self.tolerance, self.kilometres, self.times)
        return match(gold, pred, table, comparing, _table(self.equivalents), self.excluded)

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        return Batch(gold, [self.match(*pair) for pair in zip(gold, pred, strict=True)])

    def tally(self, found: Matching) -> T:
        """The evidence that a matching gives."""
        raise GoldassayError(f"{type(self).__name__} does not say what it counts")

    def tallies(self, batch: Batch) -> T:
        made: T = stacked([self.tally(found) for found in batch.found], self.zero)
        return made

    def assess(self, gold: object, pred: object) -> Assessment[T]:
        found = self.match(gold, pred)
        errors, right = mistakes.found(found, gold)
        return Assessment(self.tally(found), errors, right)

    @property
    def conventions(self) -> str:
        """As for every measure, with tables by their number of rows."""
        text = super().conventions
        for name in ("alignment", "prefixes", "equivalents"):
            pairs = getattr(self, name)
            shown = "+".join(map(str, pairs))
            text = text.replace(f"{name}={shown}", f"{name}={f'{len(pairs)} rows' if pairs else 'none'}", 1)
        return text


def _table(pairs: NamePairs) -> dict[str, str]:
    """Equivalent ids and names, both folded as items are."""
    out: dict[str, str] = {}
    for one, other in pairs:
        out[one], out[normal(one)] = other, normal(other)
    return out


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

    @property
    def counted(self) -> str:
        return "triples"

    def tally(self, found: Matching) -> Counts:
        return self._pooled(evidence.by_property(found))

    def tallies(self, batch: Batch) -> Counts:
        made: Counts = stacked([self._pooled(counts) for counts in batch.by_property], self.zero)
        return made

    def _pooled(self, counts: ByProperty) -> Counts:
        kind = type(self.zero)
        return kind(*(sum((getattr(c, name) for c in counts.values()), 0.0) for name in ("tp", "fp", "fn")))


@dataclass(frozen=True, kw_only=True)
class Precision(F1):
    """Precision: tp / (tp + fp) over aligned predictions, closed world (see `PrecisionInterval` for the open one).

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(Precision()(gold, {"triples": found}).tally.value, 6)
    0.5
    """

    name: ClassVar[str] = "precision"
    zero: ClassVar[PrecisionCounts] = PrecisionCounts()
    formula: ClassVar[str] = f"tp / (tp + fp) over aligned predictions, {MATCHING}"


@dataclass(frozen=True, kw_only=True)
class Recall(F1):
    """Recall: covered gold statements / gold statements of aligned properties.

    With ``supported`` over the gold statements that are annotated as said by the text.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(Recall()(gold, {"triples": found}).tally.value, 6)
    1.0
    """

    name: ClassVar[str] = "recall"
    zero: ClassVar[RecallCounts] = RecallCounts()
    formula: ClassVar[str] = f"tp / (tp + fn) over gold of aligned properties, {MATCHING}"

    supported: bool = False

    @property
    def key(self) -> str:
        return "recall_supported" if self.supported else self.name

    @property
    def counted(self) -> str:
        return self.key if self.supported else "triples"

    def tally(self, found: Matching) -> Counts:
        return self._pooled(evidence.by_property(found, supported=self.supported))

    def tallies(self, batch: Batch) -> Counts:
        return Matched.tallies(self, batch) if self.supported else super().tallies(batch)


@dataclass(frozen=True, kw_only=True)
class MacroF1(Matched[ByProperty]):
    """The mean F1 over the properties that gold has: rare properties count as much as common ones.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(MacroF1()(gold, {"triples": found}).tally.value, 6)
    0.666667
    """

    name: ClassVar[str] = "macro_f1"
    zero: ClassVar[ByProperty] = ByProperty()
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "average": "properties with gold"}
    formula: ClassVar[str] = f"mean of F1 over properties with gold, {MATCHING}"

    def tally(self, found: Matching) -> ByProperty:
        return self.zero.with_items(evidence.by_property(found))

    def tallies(self, batch: Batch) -> ByProperty:
        made: ByProperty = stacked(batch.by_property, self.zero)
        return made


@dataclass(frozen=True, kw_only=True)
class MacroPrecision(MacroF1):
    """The mean precision over the properties that gold has.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(MacroPrecision()(gold, {"triples": found}).tally.value, 6)
    0.5
    """

    name: ClassVar[str] = "macro_precision"
    zero: ClassVar[ByProperty] = ByProperty(rate="precision")
    formula: ClassVar[str] = f"mean of precision over properties with gold, {MATCHING}"


@dataclass(frozen=True, kw_only=True)
class MacroRecall(MacroF1):
    """The mean recall over the properties that gold has.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(MacroRecall()(gold, {"triples": found}).tally.value, 6)
    1.0
    """

    name: ClassVar[str] = "macro_recall"
    zero: ClassVar[ByProperty] = ByProperty(rate="recall")
    formula: ClassVar[str] = f"mean of recall over properties with gold, {MATCHING}"


@dataclass(frozen=True, kw_only=True)
class PrecisionMin(Matched[Known]):
    """The least precision under open-world knowledge: every unknown statement taken as false.

    A statement that gold does not have is unknown, not wrong. Annotated verdicts (correct, incorrect, in_wikidata)
    narrow the distance to `PrecisionMax`; uncertain leaves it.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(PrecisionMin()(gold, {"triples": found}).tally.value, 6)
    0.5
    """

    name: ClassVar[str] = "precision_min"
    zero: ClassVar[Known] = Known()
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "unaligned": "unknown", "unknown": "false"}
    formula: ClassVar[str] = "known true / all predictions: every unknown statement taken as false"

    @property
    def counted(self) -> str:
        return "known"

    def tally(self, found: Matching) -> Known:
        known = evidence.known(found)
        return type(self.zero)(known.true, known.false, known.unknown)


@dataclass(frozen=True, kw_only=True)
class PrecisionMax(PrecisionMin):
    """The greatest precision under open-world knowledge: every unknown statement taken as true.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> found = [{**gold["triples"][0], "confidence": 0.9}, {**gold["triples"][0], "object": "1802", "confidence": 0.2}]
    >>> round(PrecisionMax()(gold, {"triples": found}).tally.value, 6)
    1.0
    """

    name: ClassVar[str] = "precision_max"
    zero: ClassVar[Known] = KnownOrUnknown()
    fixed: ClassVar[dict[str, str]] = {**PrecisionMin.fixed, "unknown": "true"}
    formula: ClassVar[str] = "(known true + unknown) / all predictions: every unknown statement taken as true"


@dataclass(frozen=True, kw_only=True)
class NovelDiscovery(Matched[PrecisionCounts]):
    """NDR: correct / (correct + incorrect) among the annotated predictions that gold does not have.

    >>> found = [{"subject": "Louvre", "predicate": "P571", "object": "1793", "verdict": "correct"}]
    >>> NovelDiscovery()({"triples": []}, {"triples": found}).tally.value
    1.0
    """

    name: ClassVar[str] = "novel_discovery_rate"
    zero: ClassVar[PrecisionCounts] = PrecisionCounts()
    fixed: ClassVar[dict[str, str]] = {**Matched.fixed, "uncertain": "left out", "in_wikidata": "left out"}
    formula: ClassVar[str] = "correct / (correct + incorrect) over annotated unmatched predictions"

    @property
    def counted(self) -> str:
        return ""

    def tally(self, found: Matching) -> PrecisionCounts:
        return evidence.novel(found)
