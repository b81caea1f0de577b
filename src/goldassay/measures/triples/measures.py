"""Precision, recall and F1 of statements, their macro averages, open-world precision, novelty and calibration.

All count in the one-to-one matching (`matching`) under the same conventions, so a batch is matched once.

Closed world: what gold does not have is wrong. Open world: it is unknown, and precision lies between the bounds of
`PrecisionBound`, which people's verdicts narrow; `NovelDiscovery` is the share of the judged statements that is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import EMPTY, Measure, Review, plain
from goldassay.measures.calibration import CalibrationMeasure, Confidences
from goldassay.measures.triples import mistakes, objects
from goldassay.measures.triples.matching import Matching, match
from goldassay.measures.triples.objects import Comparing
from goldassay.measures.triples.records import VERDICTS
from goldassay.measures.triples.terms import Alignment, NamePairs
from goldassay.statistics.evidence import stacked
from goldassay.statistics.intervals import wilson
from goldassay.tally import RATES, Counts, Macro, Number, PrecisionCounts, Sums, T, divide
from goldassay.text.normal import normal

MATCHING = "one-to-one on subject, aligned predicate and object by type"
FORMULAS = {
    "f1": "2 tp / (2 tp + fp + fn)",
    "precision": "tp / (tp + fp) over aligned predictions",
    "recall": "tp / (tp + fn) over gold of aligned properties",
}
TABLES = ("alignment", "prefixes", "equivalents")
OPTIONS = (*TABLES, "threshold", "tolerance", "kilometres", "times", "excluded")


class Batch:
    """The matchings of many examples, and what several measures count in them."""

    def __init__(self, matchings: list[Matching]) -> None:
        self.matchings = matchings

    @cached_property
    def by_property(self) -> list[dict[str, Counts]]:
        """The counts of each example."""
        return [matching.by_property() for matching in self.matchings]


@dataclass(frozen=True, kw_only=True)
class Matched(Measure[T]):
    """A measure on the one-to-one matching.

    ``alignment``: pairs of predicate and property. ``equivalents``: pairs of ids (or folded names) that are one thing.
    ``threshold``: the least similarity of texts. ``tolerance``: the greatest relative difference of quantities.
    ``kilometres``: the greatest distance of coordinates. ``times``: ``gold`` or ``coarser`` (see `times`).
    ``excluded``: value types that are left out.
    """

    task = "triples"
    gold_fields = ("triples",)
    pred_fields = ("triples",)
    fixed = {
        "match": "one-to-one",
        "repeated": "spurious",
        "subjects": "id or whole name",
        "texts": "normalised, same numbers, ratio from threshold on",
        "ranks": "not deprecated",
        "unaligned": "left out",
        "empty": EMPTY,
    }
    source = "Wikidata's data types (https://www.wikidata.org/wiki/Help:Data_type), matched one to one"
    shares = OPTIONS
    choices = {"times": ("gold", "coarser"), "rate": tuple(RATES), "bound": ("min", "max")}

    alignment: NamePairs = ()
    prefixes: NamePairs = ()
    equivalents: NamePairs = ()
    threshold: float = 0.9
    tolerance: float = 0.0
    kilometres: float = 1.0
    times: str = "gold"
    excluded: tuple[str, ...] = objects.EXCLUDED

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.threshold <= 1.0 or self.tolerance < 0 or self.kilometres < 0:
            raise GoldassayError("threshold lies in (0, 1]; tolerance and kilometres are not negative")

    def match(self, gold: object, pred: object) -> Matching:
        """The matching under this measure's conventions."""
        return match(gold, pred, _comparing(self))

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """Every example, matched once."""
        return Batch([self.match(*pair) for pair in zip(gold, pred, strict=True)])

    def tallies(self, batch: Batch) -> T:
        """The evidence of each example."""
        tallies: T = stacked([self.tally(matching) for matching in batch.matchings], self.zero)
        return tallies

    def review(self, gold: object, pred: object, batch: Batch) -> Review:
        """The errors of one example, written once for all measures that share its batch."""
        (matching,) = batch.matchings
        if matching.review is None:
            matching.review = mistakes.errors(matching, gold)
        return matching.review

    @property
    def conventions(self) -> str:
        """The name with every convention; a table is its number of rows."""
        values = {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name not in self.in_key}
        tables = {name: f"{n} rows" if (n := len(getattr(self, name))) else "none" for name in TABLES}
        return f"{self.key}[{', '.join(f'{key}={value}' for key, value in {**values, **tables, **self.fixed}.items())}]"


@lru_cache(maxsize=64)
def _comparing(measure: Matched[Any]) -> Comparing:
    """A measure's conventions; ids and names that are one thing are looked up as given and folded."""
    own = {name: getattr(measure, name) for name in OPTIONS[len(TABLES) :]}
    folded = {normal(name): normal(other) for name, other in measure.equivalents}
    table = Alignment(measure.alignment, measure.prefixes)
    return Comparing(**own, table=table, equivalents=dict(measure.equivalents) | folded)


@dataclass(frozen=True, kw_only=True)
class F1(Matched[Counts]):
    """F1 (or ``rate`` precision, recall) of statements, closed world: what gold does not have is wrong.

    Precision is over the aligned predictions (for the open world see `PrecisionBound`), recall over the gold statements
    of aligned properties; with ``supported``, recall is over those that are annotated as said by the text.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> triples = [*gold["triples"], {**gold["triples"][0], "object": "1802"}]
    >>> F1()(gold, {"triples": triples}).tally
    Counts(tp=1.0, fp=1.0, fn=0.0)
    >>> F1(rate="precision")(gold, {"triples": triples}).tally.value, F1(rate="recall").key
    (0.5, 'recall')
    """

    rate: str = "f1"
    supported: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.supported and self.rate != "recall":
            raise GoldassayError("supported is for rate='recall'")

    @property
    def key(self) -> str:
        """``f1``, ``precision``, ``recall``, ``recall_supported``."""
        return f"{self.rate}_supported" if self.supported else self.rate

    @property
    def in_key(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields that the key states."""
        return ("rate",) if self.rate == "recall" else ("rate", "supported")

    @property
    def counted(self) -> str:
        """All rates share one set of counts."""
        return self.key if self.supported else "triples"

    @property
    def zero(self) -> Counts:  # type: ignore[override]
        """No evidence."""
        return RATES[self.rate]()

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The formula of the rate."""
        return f"{FORMULAS[self.rate]}, {MATCHING}"

    def tallies(self, batch: Batch) -> Counts:
        """The counts of each example, over all properties."""
        rows = [each.by_property(supported=True) for each in batch.matchings] if self.supported else batch.by_property
        pooled = [sum(row.values(), Counts()).state() for row in rows]
        return RATES[self.rate](*(np.array([row[name] for row in pooled], float) for name in ("tp", "fp", "fn")))


@dataclass(frozen=True, kw_only=True)
class MacroF1(Matched[Macro]):
    """The mean F1 (or ``rate``) over the properties that gold has: rare properties count as much as common ones.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> triples = [*gold["triples"], {**gold["triples"][0], "object": "1802"}]
    >>> [MacroF1(rate=rate)(gold, {"triples": triples}).tally.value for rate in ("precision", "recall")]
    [0.5, 1.0]
    """

    name = "macro_{rate}"
    in_key = ("rate",)
    fixed = {**Matched.fixed, "average": "properties with gold"}

    rate: str = "f1"

    @property
    def zero(self) -> Macro:  # type: ignore[override]
        """No evidence."""
        return Macro(rate=self.rate)

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The mean of the rate."""
        return f"mean of {self.rate.replace('f1', 'F1')} over properties with gold, {MATCHING}"

    def tallies(self, batch: Batch) -> Macro:
        """The counts of each example, by property."""
        return stacked([Macro(counts, self.rate) for counts in batch.by_property], self.zero)


@dataclass(frozen=True, slots=True)
class Known(Sums):
    """Predictions known to be true, known to be false, and unknown; ``value`` is the least precision."""

    true: Number = 0.0
    false: Number = 0.0
    unknown: Number = 0.0

    @property
    def weight(self) -> Number:
        """How many predictions there are."""
        return self.true + self.false + self.unknown

    @property
    def value(self) -> Number:
        """Precision if every unknown statement is false."""
        return divide(self.true, self.weight, empty=1.0)


@dataclass(frozen=True, slots=True)
class KnownOrUnknown(Known):
    """The same evidence; ``value`` is the greatest precision."""

    @property
    def value(self) -> Number:
        """Precision if every unknown statement is true."""
        return divide(self.true + self.unknown, self.weight, empty=1.0)


@dataclass(frozen=True, kw_only=True)
class PrecisionBound(Matched[Known]):
    """The least (``bound="min"``) or greatest (``"max"``) precision in an open world, where gold is not complete.

    A statement that gold does not have is unknown: the least precision takes it as false, the greatest as true.
    Annotated verdicts (correct, incorrect, in_wikidata) narrow the distance; uncertain leaves it.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> triples = [*gold["triples"], {**gold["triples"][0], "object": "1802"}]
    >>> [PrecisionBound(bound=bound)(gold, {"triples": triples}).tally.value for bound in ("min", "max")]
    [0.5, 1.0]
    """

    name = "precision_{bound}"
    in_key = ("bound",)
    counted = "known"  # pyright: ignore[reportAssignmentType]

    bound: str = "min"

    @property
    def zero(self) -> Known:  # type: ignore[override]
        """No evidence."""
        return Known() if self.bound == "min" else KnownOrUnknown()

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """What an unknown statement is taken for."""
        taken_for = "false" if self.bound == "min" else "true"
        return {**Matched.fixed, "unaligned": "unknown", "failed": "left out", "unknown": taken_for}

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the bound."""
        true = "known true" if self.bound == "min" else "(known true + unknown)"
        return f"{true} / all predictions: every unknown statement taken as {self.fixed['unknown']}"

    def tally(self, matching: Matching) -> Known:
        """What is known about the predictions of one example."""
        return type(self.zero)(*map(float, map(matching.truths().count, (True, False, None))))


@dataclass(frozen=True, kw_only=True)
class NovelDiscovery(Matched[PrecisionCounts]):
    """NDR: correct / (correct + incorrect) among the annotated predictions that gold does not have.

    >>> triples = [{"subject": "Louvre", "predicate": "P571", "object": "1793", "verdict": "correct"}]
    >>> NovelDiscovery()({"triples": []}, {"triples": triples}).tally.value
    1.0
    """

    name = "novel_discovery_rate"
    zero = PrecisionCounts()
    counted = ""  # pyright: ignore[reportAssignmentType]
    fixed = {**Matched.fixed, "uncertain": "left out", "in_wikidata": "left out", "failed": "left out"}
    formula = "correct / (correct + incorrect) over annotated unmatched predictions"

    def tally(self, matching: Matching) -> PrecisionCounts:
        """Correct as tp, incorrect as fp."""
        return PrecisionCounts(*map(float, map(matching.verdicts.count, ("correct", "incorrect"))))


@dataclass(frozen=True, kw_only=True)
class Calibration(CalibrationMeasure, Matched[Any]):  # type: ignore[override]
    """How well confidence says whether a statement is right, over four bins: 0–.25–.5–.75–1.

    ``statistic``: ``pearson`` as the founding documents ask; ``ece``, ``brier`` and their complements ``calibration``
    (1 − ECE) and ``brier_skill`` (1 − Brier) mean more. Predictions without a confidence are left out.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> right = {**gold["triples"][0], "confidence": 0.9}
    >>> pred = {"triples": [right, {**right, "object": "1802", "confidence": 0.2}]}
    >>> [round(Calibration(statistic=name)(gold, pred).tally.value, 3) for name in ("ece", "brier", "pearson")]
    [0.15, 0.025, 1.0]
    """

    edges = 4
    counted = ""  # pyright: ignore[reportAssignmentType]
    choices = {**Matched.choices, **CalibrationMeasure.choices}

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """What counts as right, and how many bins there are."""
        bins = {} if self.statistic.startswith("brier") else {"buckets": str(self.edges)}
        return {**Matched.fixed, "unaligned": "wrong", "uncertain": "left out", "failed": "left out", **bins}

    def confidences(self, batch: Batch) -> Confidences:
        """The predictions that have a confidence and a known truth."""
        rows = [(row, *pair) for row, each in enumerate(batch.matchings) for pair in each.confidences()]
        row, confidence, correct = np.array(rows, float).reshape(-1, 3).T
        return Confidences(len(batch.matchings), row.astype(int), confidence, correct)


def novel_discovery_rate(verdicts: Iterable[str], level: float = 0.95) -> dict[str, float | None]:
    """NDR = correct / (correct + incorrect), with its Wilson interval and the counts of all four verdicts.

    >>> result = novel_discovery_rate(["correct", "correct", "correct", "incorrect", "uncertain", "in_wikidata"])
    >>> result["novel_discovery_rate"], result["uncertain"]
    (0.75, 1.0)
    """
    counts = Counter(verdicts)
    unknown = next((verdict for verdict in counts if verdict not in VERDICTS), None)
    if unknown is not None:
        raise DataError(f"a verdict is one of {', '.join(VERDICTS)}, not {unknown!r}")
    judged = counts["correct"] + counts["incorrect"]
    low, high = wilson(counts["correct"], judged, level) if judged else (None, None)
    return {
        "novel_discovery_rate": counts["correct"] / judged if judged else None,
        "low": low,
        "high": high,
        **{verdict: float(counts[verdict]) for verdict in VERDICTS},
    }
