"""One-to-one matching of predicted and gold statements: same subject, aligned predicate, same object.

A gold statement is covered once; the matching has as many pairs as possible, so neither the order of statements nor a
near miss decides. Where predictions compete for a statement, the more confident one is served first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from goldassay.fields import read
from goldassay.measure import Review
from goldassay.measures.assignment import assign
from goldassay.measures.triples import objects, records, terms
from goldassay.measures.triples.objects import EXACTLY, Comparing, Value
from goldassay.measures.triples.records import Triple
from goldassay.tally import Counts, Macro

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
        return sorted(set(range(len(self.gold))) - set(self.pairs.values()))

    @property
    def unmatched(self) -> list[int]:
        """Predictions that cover nothing."""
        return [index for index in range(len(self.pred)) if index not in self.pairs]

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
                counts += {min(gold.properties): Counts(0.0, 0.0, 1.0) if index in missed else Counts(1.0, 0.0, 0.0)}
        properties = {name for gold in self.gold for name in gold.properties}
        for prediction in () if supported else [self.pred[index] for index in self.unmatched]:
            if prediction.aligned:
                counts += {min(properties & prediction.properties or prediction.properties): Counts(0.0, 1.0, 0.0)}
        return {name: counts[name] for name in sorted(counts)}

    def truths(self) -> list[bool | None]:
        """Of each prediction whether it is true: matched, or judged so; None where that is not known."""
        verdicts = dict.fromkeys(TRUE, True) | {"incorrect": False}
        return [index in self.pairs or verdicts.get(str(each.verdict)) for index, each in enumerate(self.pred)]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts on predictions that gold does not have."""
        return [verdict for index in self.unmatched if (verdict := self.pred[index].verdict) is not None]

    def confidences(self) -> list[tuple[float, float]]:
        """Confidence and correctness of each prediction that has a confidence and a known truth.

        A prediction judged uncertain is left out; one neither judged nor matched counts as wrong, since gold does not
        have it.
        """
        return [
            (float(prediction.triple["confidence"]), float(bool(true)))
            for prediction, true in zip(self.pred, self.truths(), strict=True)
            if prediction.triple.get("confidence") is not None and (true or prediction.verdict != "uncertain")
        ]


def related(gold: Triple, pred: Triple, comparing: Comparing = EXACTLY) -> bool:
    """Whether both are about one property of one subject."""
    return bool(gold.properties & pred.properties) and terms.same_item(
        gold.subject, pred.subject, comparing.equivalents
    )


def match(gold: object, pred: object, comparing: Comparing = EXACTLY) -> Matching:
    """The matching of one example.

    >>> gold = {"triples": [{"subject": "Rijksmuseum", "predicate": "P571", "object": "1798-11-19"}]}
    >>> pred = {"triples": [{"subject": "rijksmuseum", "predicate": "wdt:P571", "object": "19 November 1798"}]}
    >>> match(gold, pred).pairs
    {0: 0}
    """
    statements = records.gold_triples(gold, comparing)
    matching = Matching(statements, records.predicted_triples(pred, comparing, read(gold, "id", None)))
    by_property: dict[str, list[int]] = {}
    for index, statement in enumerate(statements):
        for property_ in statement.properties:
            by_property.setdefault(property_, []).append(index)
    candidates: dict[int, list[int]] = {}
    for number, prediction in enumerate(matching.pred):
        values: dict[str, Value | None] = {}  # the object, read as each type that gold has
        candidates[number] = []
        for index in sorted({index for property_ in prediction.properties for index in by_property.get(property_, ())}):
            statement = statements[index]
            if statement.kind not in values:
                values[statement.kind] = objects.read(prediction.triple, statement.kind)
            same_object = objects.same(statement.value, values[statement.kind], comparing)
            if same_object and related(statement, prediction, comparing):
                candidates[number].append(index)
    matching.pairs = assign(candidates)
    return matching
