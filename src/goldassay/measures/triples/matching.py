"""One-to-one matching of predicted and gold statements: same subject, aligned predicate, same object.

A gold statement is covered once; the matching has as many pairs as possible, so neither the order of statements nor a
near miss decides. Where predictions compete for a statement, the more confident one is served first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from goldassay.fields import read
from goldassay.measure import Review
from goldassay.measures.assignment import assign
from goldassay.measures.triples import objects, records, terms
from goldassay.measures.triples.objects import Comparing, Value
from goldassay.measures.triples.records import NO_TABLE, Triple
from goldassay.measures.triples.terms import Alignment
from goldassay.tally import Counts, Macro

EXACT, PARTIAL, NO_MATCH = "exact", "partial", "no_match"
TRUE = ("correct", "in_wikidata")  # the verdicts that a statement is true


@dataclass(slots=True)
class Matching:
    """The statements of one example and which prediction covers which gold statement."""

    gold: list[Triple]
    pred: list[Triple]
    pairs: dict[int, int] = field(default_factory=dict)
    """From the index of a prediction to that of the gold statement that it covers."""
    review: Review | None = None
    """Its errors, once they are written."""

    @property
    def missed(self) -> list[int]:
        """Gold statements that nothing covers."""
        covered = set(self.pairs.values())
        return [index for index in range(len(self.gold)) if index not in covered]

    @property
    def unmatched(self) -> list[int]:
        """Predictions that cover nothing."""
        return [index for index in range(len(self.pred)) if index not in self.pairs]

    def kind(self, index: int) -> str:
        """``exact``: covers gold; ``partial``: gold has other objects for it; ``no_match``: gold is silent."""
        if index in self.pairs:
            return EXACT
        return PARTIAL if any(related(gold, self.pred[index]) for gold in self.gold) else NO_MATCH

    def by_property(self, *, supported: bool = False) -> dict[str, Counts]:
        """tp and fn under gold's property, fp under the predicted one.

        Unaligned predictions are unknown, not wrong, and left out; so are unaligned gold statements. A wrong prediction
        whose predicate may mean several properties counts under one that gold has. ``supported``: only the gold
        statements that are annotated as supported by the text.
        """
        counts: Macro = Macro()
        missed = set(self.missed)
        for index, gold in enumerate(self.gold):
            if gold.aligned and (not supported or gold.triple.get("supported") is True):
                counts += {gold.counted_as: Counts(0.0, 0.0, 1.0) if index in missed else Counts(1.0, 0.0, 0.0)}
        properties = {name for gold in self.gold for name in gold.properties}
        for index in () if supported else self.unmatched:
            prediction = self.pred[index]
            if prediction.aligned:
                counts += {min(properties & prediction.properties or prediction.properties): Counts(0.0, 1.0, 0.0)}
        return {name: counts[name] for name in sorted(counts)}

    def known(self) -> tuple[float, float, float]:
        """How many predictions are matched or judged true, judged false, and unknown."""
        true = sum(index in self.pairs or prediction.verdict in TRUE for index, prediction in enumerate(self.pred))
        false = sum(self.pred[index].verdict == "incorrect" for index in self.unmatched)
        return float(true), float(false), float(len(self.pred) - true - false)

    @property
    def verdicts(self) -> list[str]:
        """The verdicts on predictions that gold does not have."""
        return [verdict for index in self.unmatched if (verdict := self.pred[index].verdict) is not None]

    def confidences(self) -> list[tuple[float, float]]:
        """Confidence and correctness of each prediction that has a confidence and a known truth.

        Correct: matched, or judged so. A prediction judged uncertain is left out; one neither judged nor matched counts
        as wrong, since gold does not have it.
        """
        return [
            (float(prediction.triple["confidence"]), float(index in self.pairs or prediction.verdict in TRUE))
            for index, prediction in enumerate(self.pred)
            if prediction.triple.get("confidence") is not None
            and (index in self.pairs or prediction.verdict != "uncertain")
        ]


def related(gold: Triple, pred: Triple, equivalents: Mapping[str, str] | None = None) -> bool:
    """Whether both are about one property of one subject."""
    return bool(gold.properties & pred.properties) and same_subject(gold, pred, equivalents)


def same_subject(gold: Triple, pred: Triple, equivalents: Mapping[str, str] | None) -> bool:
    """Whether both are about one subject."""
    if gold.subject is None or pred.subject is None:
        return False
    return terms.same_item(gold.subject, pred.subject, equivalents)


def match(
    gold: object,
    pred: object,
    table: Alignment = NO_TABLE,
    comparing: Comparing | None = None,
    equivalents: Mapping[str, str] | None = None,
    excluded: Iterable[str] = objects.EXCLUDED,
) -> Matching:
    """The matching of one example; statements of the ``excluded`` value types are left out on both sides.

    Args:
        gold: The gold example.
        pred: The prediction.
        table: Which predicates mean a property.
        comparing: How objects compare: thresholds and tolerances.
        equivalents: Ids that count as another one.
        excluded: Value types that are left out.

    >>> gold = {"triples": [{"subject": "Rijksmuseum", "predicate": "P571", "object": "1798-11-19"}]}
    >>> pred = {"triples": [{"subject": "rijksmuseum", "predicate": "wdt:P571", "object": "19 November 1798"}]}
    >>> match(gold, pred).pairs
    {0: 0}
    """
    name = read(gold, "id", None)
    matching = Matching(
        records.gold_triples(gold, table, excluded), records.predicted_triples(pred, table, excluded, name)
    )
    by_property: dict[str, list[int]] = {}
    for index, statement in enumerate(matching.gold):
        for property_ in statement.properties:
            by_property.setdefault(property_, []).append(index)
    candidates: dict[int, list[int]] = {}
    for number, prediction in enumerate(matching.pred):
        values: dict[str, Value | None] = {}  # the object, read as each type that gold has
        candidates[number] = []
        for index in sorted({index for property_ in prediction.properties for index in by_property.get(property_, ())}):
            statement = matching.gold[index]
            if statement.kind not in values:
                values[statement.kind] = objects.read(prediction.triple, statement.kind)
            value = values[statement.kind]
            if same_subject(statement, prediction, equivalents) and objects.same(
                statement.value, value, comparing or Comparing(), equivalents
            ):
                candidates[number].append(index)
    matching.pairs = assign(candidates)
    return matching
