"""Whether predictions keep to an ontology, and whether their subjects and objects occur in the text.

They look at predictions only, not at the matching.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from goldassay.fields import read
from goldassay.measure import EMPTY, Measure, gold_field, pred_field
from goldassay.measures.triples import numeric, objects, terms, times
from goldassay.measures.triples.terms import canonical
from goldassay.tally import Mean
from goldassay.text.normal import normal


@dataclass(frozen=True)
class OntologyConformance(Measure[Mean]):
    """The share of predicted statements whose relation the ontology has.

    ``relations`` are names or property ids; without them the measure does not apply.

    >>> triples = [{"subject": "a", "predicate": name, "object": "b"} for name in ("wdt:P577", "likes")]
    >>> OntologyConformance(("author", "P577"))({"triples": []}, {"triples": triples}).tally.value
    0.5
    """

    task = "triples"
    name = "ontology_conformance"
    zero = Mean()
    gold_fields = ("triples",)
    pred_fields = ("triples",)
    fixed = {"failed": "left out", "empty": EMPTY}
    formula = "predictions whose relation is in the ontology / predictions"
    source = "Mihindukulasooriya et al., Text2KGBench, ISWC 2023"

    relations: tuple[str, ...] = ()

    def tally(self, gold: object, pred: object) -> Mean:
        """The predictions of one example."""
        relations = {canonical(relation) for relation in self.relations}
        triples = (pred_field(pred, "triples") or ()) if relations else ()
        conformant = sum(canonical(str(read(triple, "predicate"))) in relations for triple in triples)
        return Mean(float(conformant), float(len(triples)))

    @property
    def conventions(self) -> str:
        """The name with the number of relations."""
        ontology = f"{len(self.relations)} relations" if self.relations else "none"
        return f"{self.key}[ontology={ontology}, failed=left out, empty={EMPTY}]"


@dataclass(frozen=True)
class RelationHallucination(OntologyConformance):
    """The share of predicted statements whose relation the ontology lacks: 1 − ontology conformance.

    >>> triples = [{"subject": "a", "predicate": name, "object": "b"} for name in ("author", "year", "likes", "P577")]
    >>> RelationHallucination(("author", "year", "P577"))({"triples": []}, {"triples": triples}).tally.value
    0.25
    """

    name = "relation_hallucination"
    lower_is_better = True
    formula = "predictions whose relation is not in the ontology / predictions; 1 − ontology conformance"

    def tally(self, gold: object, pred: object) -> Mean:
        """The predictions of one example."""
        conformant = super().tally(gold, pred)
        return Mean(conformant.weight - conformant.total, conformant.weight)


@dataclass(frozen=True)
class Hallucination(Measure[Mean]):
    """The share of predicted subjects (or objects) that do not occur in the text.

    A value occurs in the text with its words, a time with its year, a quantity with its number. An id without a label
    cannot be looked for and is left out, as is an example without text.

    >>> gold = {"text": "The Louvre opened in 1793.", "triples": []}
    >>> pred = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793-08-10"}]}
    >>> Hallucination("object")(gold, pred).tally.value
    0.0
    """

    task = "triples"
    name = "{part}_hallucination"
    zero = Mean()
    gold_fields = ("text",)
    pred_fields = ("triples",)
    fixed = OntologyConformance.fixed
    formula = "predictions whose part does not stand in the text / predictions; 1 − grounding"
    source = "after Mihindukulasooriya et al., Text2KGBench, ISWC 2023 (without stemming)"
    lower_is_better = True
    attains_one = False
    choices = {"part": ("subject", "object")}

    part: str = "subject"

    def tally(self, gold: object, pred: object) -> Mean:
        """The predictions of one example."""
        text = str(gold_field(gold, "text", None) or "")
        triples: Any = (pred_field(pred, "triples") or ()) if text else ()
        judged = [there for triple in triples if (there := occurs(read(triple, self.part), text)) is not None]
        return Mean(float(judged.count(False)), float(len(judged)))


NUMBERS = re.compile(r"\d+(?:[.,\s'’]\d{3})*(?:[.,]\d+)?")


def occurs(value: object, text: str) -> bool | None:
    """True or False; None for an id without a label, which cannot be looked for.

    >>> occurs("ex:Marie_Curie", "Marie Curie was born in Warsaw."), occurs("Q90", "in Paris")
    (True, None)
    >>> occurs("14 July 1789", "stormed in 1789"), occurs("1000", "a thousand"), occurs("art", "the party")
    (True, False, False)
    """
    words = terms.label(objects.written(value))
    if terms.QID.fullmatch(words):
        return None
    if (looked := normal(words)) and f" {looked} " in f" {_folded(text)} ":
        return True
    time = times.read(value if isinstance(value, dict) else words)
    if time is not None:
        return re.search(rf"(?<!\d)0*{abs(time.year)}(?!\d)", text) is not None
    number = numeric.quantity(value if isinstance(value, (dict, int, float)) else words)
    return number is not None and not _numbers(text).isdisjoint(number.readings)


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return normal(text)


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[float]:
    quantities = (numeric.quantity(number[0]) for number in NUMBERS.finditer(text))
    return frozenset(reading for quantity in quantities if quantity for reading in quantity.readings)
