"""Precision, recall and F1 of statements, their macro averages, open-world precision, novelty, calibration, ontology.

Most count in the one-to-one matching (`records`) under the same conventions, so a batch is matched once. Whether
predictions keep to an ontology, and occur in the text, is a matter of the predictions alone.

Closed world: what gold does not have is wrong. Open world: it is unknown, and precision lies between the bounds of
`PrecisionBound`, which people's verdicts narrow; `NovelDiscovery` is the share of the judged statements that is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import read
from goldassay.core.measure import NO_EVIDENCE, B, Conventions, Names, Review, gold_field, pred_field
from goldassay.core.tally import RATE_TALLIES, Counts, Macro, Mean, Number, PrecisionCounts, Sums, T, divide
from goldassay.measures import Examples, TaskMeasure
from goldassay.measures.calibration import CalibrationMeasure, Confidences
from goldassay.measures.triples import mistakes
from goldassay.measures.triples.objects import TripleMatching, canonical
from goldassay.measures.triples.records import VERDICT_TRUTH, VERDICTS, MatchedTriples, check_verdicts, listed, match
from goldassay.statistics.intervals import wilson

MATCHING_OPTIONS = tuple(TripleMatching.__dataclass_fields__)
MATCHING_TABLES = MATCHING_OPTIONS[:3]
Matchings = list[MatchedTriples]
"""The matching of each example, which `tally` gets."""


@dataclass(frozen=True)
class TripleMeasure(TaskMeasure[T, B]):
    """A measure of statements."""

    task = "triples"


MATCHED = {
    "match": "one-to-one",
    "repeated": "spurious",
    "subjects": "id or whole name",
    "texts": "normalised, same numbers, ratio from threshold on",
    "ranks": "not deprecated",
    "unaligned": "left out",
    "empty": NO_EVIDENCE,
}
"""The conventions of every measure on the one-to-one matching."""


@dataclass(frozen=True, kw_only=True)
class Matched(TripleMatching, TripleMeasure[T, Matchings]):
    """A measure on the one-to-one matching, whose options say how statements compare (`TripleMatching`).

    Source: Wikidata's data types (https://www.wikidata.org/wiki/Help:Data_type), matched one to one
    """

    shares = MATCHING_OPTIONS
    choices = {"times": ("gold", "coarser"), "rate": tuple(RATE_TALLIES), "bound": ("min", "max")}

    @property
    def fixed(self) -> Conventions:
        """How statements match."""
        return MATCHED

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.threshold <= 1.0 or self.tolerance < 0 or self.kilometres < 0:
            raise GoldassayError("threshold lies in (0, 1]; tolerance and kilometres are not negative")

    def batch(self, gold: Examples, pred: Examples) -> Matchings:
        """Every example, matched once, which `tally` gets."""
        return [match(*pair, self) for pair in zip(gold, pred, strict=True)]

    def reviews(self, batch: Matchings) -> list[Review]:
        """The errors of each example, written once for all measures that share its batch."""
        reviews = []
        for matching in batch:
            matching.review = matching.review or mistakes.errors(matching)
            reviews.append(matching.review)
        return reviews

    @property
    def chosen(self) -> Mapping[str, object]:
        """A table is its number of rows."""
        tables = {name: getattr(self, name) for name in MATCHING_TABLES}
        return {**super().chosen, **{name: f"{len(rows)} rows" if rows else "none" for name, rows in tables.items()}}


@dataclass(frozen=True, kw_only=True)
class F1(Matched[Counts]):
    """F1 (or ``rate`` precision, recall) of statements, closed world: what gold does not have is wrong.

    Precision is over the aligned predictions (for the open world see `PrecisionBound`), recall over the gold statements
    of aligned properties; with ``supported``, recall is over those that are annotated as said by the text.

    Formula: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn), one-to-one on subject,
        aligned predicate and object by type; P over aligned predictions, R over gold of aligned properties

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> triples = [*gold["triples"], {**gold["triples"][0], "object": "1802"}]
    >>> F1()(gold, {"triples": triples}).tally
    Counts(tp=1.0, fp=1.0, fn=0.0)
    >>> F1(rate="precision")(gold, {"triples": triples}).tally.value, F1(rate="recall").key
    (0.5, 'recall')
    """

    rate: str = "f1"
    supported: bool = False

    @property
    def key(self) -> str:
        """``f1``, ``precision``, ``recall``, ``recall_supported``."""
        return f"{self.rate}_supported" if self.supported else self.rate

    @property
    def in_key(self) -> Names:
        """The fields that the key states."""
        return ("rate",) if self.rate == "recall" else ("rate", "supported")

    @property
    def counted(self) -> str:
        """All rates share one set of counts."""
        return self.key if self.supported else "triples"

    @property
    def zero(self) -> Counts:
        """No evidence."""
        return RATE_TALLIES[self.rate]()

    def tally(self, matching: MatchedTriples) -> Counts:
        """The counts of one example, over all properties."""
        counts = sum(matching.counts.values(), Counts())
        if self.supported:
            tp = sum(row.supported for row in matching.covered)
            counts = Counts(tp, 0, sum(row.supported for row in matching.missed))
        return self.zero.from_state(counts.state())


@dataclass(frozen=True, kw_only=True)
class MacroF1(Matched[Macro]):
    """The mean F1 (or ``rate``) over the properties that gold has: rare properties count as much as common ones.

    Formula: mean of the rate over properties with gold, one-to-one on subject, aligned predicate and object by
        type

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> triples = [*gold["triples"], {**gold["triples"][0], "object": "1802"}]
    >>> [MacroF1(rate=rate)(gold, {"triples": triples}).tally.value for rate in ("precision", "recall")]
    [0.5, 1.0]
    """

    name = "macro_{rate}"
    in_key: ClassVar[Names] = ("rate",)
    fixed: ClassVar[Conventions] = {**MATCHED, "average": "properties with gold"}

    rate: str = "f1"

    @property
    def zero(self) -> Macro:
        """No evidence."""
        return Macro(rate=self.rate)

    def tally(self, matching: MatchedTriples) -> Macro:
        """The counts of one example, by property."""
        return Macro(matching.counts, self.rate)


@dataclass(frozen=True, slots=True)
class Known(Sums):
    """Predictions known to be true, known to be false, and unknown; ``value`` is the least precision."""

    credit = 0.0  # what an unknown statement counts
    true: Number = 0.0
    false: Number = 0.0
    unknown: Number = 0.0

    @property
    def weight(self) -> Number:
        """How many predictions there are."""
        return self.true + self.false + self.unknown

    @property
    def value(self) -> Number:
        """Precision if every unknown statement counts ``credit``."""
        return divide(self.true + self.credit * self.unknown, self.weight, empty=1.0)


class KnownOrUnknown(Known):
    """The same evidence; ``value`` is the greatest precision."""

    credit = 1.0


BOUNDS = {"min": (Known, "false"), "max": (KnownOrUnknown, "true")}
"""The tally, and what an unknown statement is taken for."""


@dataclass(frozen=True, kw_only=True)
class PrecisionBound(Matched[Known]):
    """The least (``bound="min"``) or greatest (``"max"``) precision in an open world, where gold is not complete.

    A statement that gold does not have is unknown: the least precision takes it as false, the greatest as true.
    Annotated verdicts (correct, incorrect, in_wikidata) narrow the distance; uncertain leaves it.

    Formula: true / all predictions, every unknown statement taken as false (min) or true (max)

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> triples = [*gold["triples"], {**gold["triples"][0], "object": "1802"}]
    >>> [PrecisionBound(bound=bound)(gold, {"triples": triples}).tally.value for bound in ("min", "max")]
    [0.5, 1.0]
    """

    name = "precision_{bound}"
    in_key: ClassVar[Names] = ("bound",)
    counted: ClassVar[str] = "known"

    bound: str = "min"

    @property
    def zero(self) -> Known:
        """No evidence."""
        return BOUNDS[self.bound][0]()

    @property
    def fixed(self) -> Conventions:
        """How an unknown statement counts."""
        return {**MATCHED, "unaligned": "unknown", "failed": "left out", "unknown": BOUNDS[self.bound][1]}

    def tally(self, matching: MatchedTriples) -> Known:
        """The known truths of the predictions of one example."""
        truths = [VERDICT_TRUTH.get(row.verdict) for row in matching.unmatched]
        return type(self.zero)(len(matching.pairs) + truths.count(True), truths.count(False), truths.count(None))


@dataclass(frozen=True, kw_only=True)
class NovelDiscovery(Matched[PrecisionCounts]):
    """NDR: correct / (correct + incorrect) among the annotated predictions that gold does not have.

    Formula: correct / (correct + incorrect) over annotated unmatched predictions

    >>> triples = [{"subject": "Louvre", "predicate": "P571", "object": "1793", "verdict": "correct"}]
    >>> NovelDiscovery()({"triples": []}, {"triples": triples}).tally.value
    1.0
    """

    name = "novel_discovery_rate"
    zero: ClassVar[PrecisionCounts] = PrecisionCounts()
    counted: ClassVar[str] = ""
    fixed: ClassVar[Conventions] = {
        **MATCHED,
        "uncertain": "left out",
        "in_wikidata": "left out",
        "failed": "left out",
    }

    def tally(self, matching: MatchedTriples) -> PrecisionCounts:
        """Correct as tp, incorrect as fp."""
        verdicts = [row.verdict for row in matching.unmatched]
        return PrecisionCounts(verdicts.count("correct"), verdicts.count("incorrect"))


@dataclass(frozen=True, kw_only=True)
class Calibration(CalibrationMeasure, Matched[Any]):
    """How well confidence says whether a statement is right, over four bins: 0–.25–.5–.75–1.

    ``statistic``: ``pearson`` as the specification asks; ``ece``, ``brier`` and their complements ``calibration``
    (1 − ECE) and ``brier_skill`` (1 − Brier) mean more. Predictions without a confidence are left out.

    >>> gold = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793"}]}
    >>> right = {**gold["triples"][0], "confidence": 0.9}
    >>> pred = {"triples": [right, {**right, "object": "1802", "confidence": 0.2}]}
    >>> [round(Calibration(statistic=name)(gold, pred).tally.value, 3) for name in ("ece", "brier", "pearson")]
    [0.15, 0.025, 1.0]
    """

    edges = 4
    counted: ClassVar[str] = ""
    choices = {**Matched.choices, **CalibrationMeasure.choices}

    @property
    def fixed(self) -> Conventions:
        """The predictions that count as right, and the number of bins."""
        bins = {} if self.statistic.startswith("brier") else {"buckets": str(self.edges)}
        return {**MATCHED, "unaligned": "wrong", "uncertain": "left out", "failed": "left out", **bins}

    def confidences(self, batch: Matchings) -> Confidences:
        """The predictions that have a confidence and a known truth."""
        return len(batch), [(row, *pair) for row, matching in enumerate(batch) for pair in matching.confidences]


def novel_discovery_rate(verdicts: Iterable[str], level: float = 0.95) -> dict[str, float | None]:
    """NDR = correct / (correct + incorrect), with its Wilson interval and the counts of all four verdicts.

    >>> result = novel_discovery_rate(["correct", "correct", "correct", "incorrect", "uncertain", "in_wikidata"])
    >>> result["novel_discovery_rate"], result["uncertain"]
    (0.75, 1.0)
    """
    counts = Counter(verdicts)
    check_verdicts(counts)
    judged = counts["correct"] + counts["incorrect"]
    low, high = wilson(counts["correct"], judged, level) if judged else (None, None)
    rate = counts["correct"] / judged if judged else None
    return {"novel_discovery_rate": rate, "low": low, "high": high} | {name: float(counts[name]) for name in VERDICTS}


@dataclass(frozen=True)
class OntologyConformance(TripleMeasure[Mean, Any]):
    """The share of predicted statements whose relation the ontology has.

    ``relations`` are names or property ids; without them the measure does not apply.

    Formula: predictions whose relation is in the ontology / predictions
    Source: Mihindukulasooriya et al., Text2KGBench, ISWC 2023

    >>> triples = [{"subject": "a", "predicate": name, "object": "b"} for name in ("wdt:P577", "likes")]
    >>> OntologyConformance(("author", "P577"))({"triples": []}, {"triples": triples}).tally.value
    0.5
    """

    name = "ontology_conformance"
    fixed: ClassVar[Conventions] = {"failed": "left out", "empty": NO_EVIDENCE}

    relations: Names = ()

    def tally(self, gold: object, pred: object) -> Mean:
        """The predictions of one example."""
        relations = {canonical(relation) for relation in self.relations}
        triples = listed(pred_field(pred, "triples")) if relations else ()
        conformant = sum(canonical(str(read(triple, "predicate"))) in relations for triple in triples)
        return Mean(float(conformant), float(len(triples)))

    @property
    def chosen(self) -> Mapping[str, object]:
        """The number of relations."""
        return {"ontology": f"{len(self.relations)} relations" if self.relations else "none"}


@dataclass(frozen=True)
class RelationHallucination(OntologyConformance):
    """The share of predicted statements whose relation the ontology lacks: 1 − ontology conformance.

    Formula: predictions whose relation is not in the ontology / predictions; 1 − ontology conformance

    >>> triples = [{"subject": "a", "predicate": name, "object": "b"} for name in ("author", "year", "likes", "P577")]
    >>> RelationHallucination(("author", "year", "P577"))({"triples": []}, {"triples": triples}).tally.value
    0.25
    """

    name = "relation_hallucination"
    lower_is_better: ClassVar[bool] = True

    def tally(self, gold: object, pred: object) -> Mean:
        """The predictions of one example."""
        conformant = super().tally(gold, pred)
        return Mean(conformant.weight - conformant.total, conformant.weight)


@dataclass(frozen=True)
class Hallucination(TripleMeasure[Mean, Any]):
    """The share of predicted subjects (or objects) that do not occur in the text.

    A value occurs in the text with its words, a time with its year, a quantity with its number. An id without a label
    cannot be looked for and is left out, as is an example without text.

    Formula: predictions whose part does not occur in the text / predictions; 1 − grounding
    Source: after Mihindukulasooriya et al., Text2KGBench, ISWC 2023 (without stemming)

    >>> gold = {"text": "The Louvre opened in 1793.", "triples": []}
    >>> pred = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793-08-10"}]}
    >>> Hallucination("object")(gold, pred).tally.value
    0.0
    """

    name = "{part}_hallucination"
    fixed: ClassVar[Conventions] = OntologyConformance.fixed
    lower_is_better: ClassVar[bool] = True
    attains_one: ClassVar[bool] = False
    choices = {"part": ("subject", "object")}

    part: str = "subject"

    def tally(self, gold: object, pred: object) -> Mean:
        """The predictions of one example."""
        text = mistakes.indexed(str(gold_field(gold, "text", None) or ""))
        triples = listed(pred_field(pred, "triples")) if text.text else ()
        answers = [text.has(read(triple, self.part)) for triple in triples]
        return Mean(float(answers.count(False)), float(len(answers) - answers.count(None)))
