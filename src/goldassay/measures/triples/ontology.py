"""Whether predictions keep to an ontology, and whether their subjects and objects occur in the text.

Conformance and grounding, and their complements: relation, subject and object hallucination. They look at predictions
only, not at the matching.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from goldassay.fields import read
from goldassay.measure import EMPTY, Measure, gold_field, pred_field
from goldassay.measures.triples import numeric, objects, terms, times
from goldassay.measures.triples.terms import canonical
from goldassay.tally import Mean
from goldassay.text.normal import normal


@dataclass(frozen=True)
class _Share(Measure[Mean]):
    """The share of predicted statements that are as they should be; with ``hallucination`` the share that are not."""

    task = "triples"
    zero = Mean()
    pred_fields = ("triples",)
    fixed = {"failed": "left out", "empty": EMPTY}
    in_key = ("hallucination",)

    hallucination: bool = field(default=False, kw_only=True)

    @property
    def lower_is_better(self) -> bool:  # type: ignore[override]
        """Whether it counts hallucinations."""
        return self.hallucination

    def judged(self, gold: object, triples: Any) -> list[bool]:
        """Of each prediction that can be judged, whether it is as it should be."""
        raise NotImplementedError

    def tally(self, gold: object, pred: object) -> Mean:
        """The predictions of one example."""
        judged = self.judged(gold, pred_field(pred, "triples") or ())
        return Mean(float(judged.count(not self.hallucination)), float(len(judged)))


@dataclass(frozen=True)
class OntologyConformance(_Share):
    """The share of predicted statements whose relation the ontology has; its complement is relation hallucination.

    ``relations`` are names or property ids; without them the measure does not apply.

    >>> triples = [{"subject": "a", "predicate": name, "object": "b"} for name in ("wdt:P577", "likes")]
    >>> OntologyConformance(("author", "P577"))({"triples": []}, {"triples": triples}).tally.value
    0.5
    """

    gold_fields = ("triples",)
    source = "Mihindukulasooriya et al., Text2KGBench, ISWC 2023"

    relations: tuple[str, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]
        """``ontology_conformance`` or ``relation_hallucination``."""
        return "relation_hallucination" if self.hallucination else "ontology_conformance"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the share."""
        if self.hallucination:
            return "predictions whose relation is not in the ontology / predictions; 1 − ontology conformance"
        return "predictions whose relation is in the ontology / predictions"

    def judged(self, gold: object, triples: Any) -> list[bool]:
        """Whether the ontology has each relation."""
        relations = {canonical(relation) for relation in self.relations}
        return [canonical(str(read(triple, "predicate"))) in relations for triple in triples if relations]

    @property
    def conventions(self) -> str:
        """The name with the number of relations."""
        ontology = f"{len(self.relations)} relations" if self.relations else "none"
        return f"{self.key}[ontology={ontology}, failed=left out, empty={EMPTY}]"


@dataclass(frozen=True)
class Grounding(_Share):
    """The share of predicted subjects (or objects) that occur in the text; its complement is their hallucination.

    A value occurs in the text with its words, a time with its year, a quantity with its number. An id without a label
    cannot be looked for and is left out, as is an example without text.

    >>> gold = {"text": "The Louvre opened in 1793.", "triples": []}
    >>> pred = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793-08-10"}]}
    >>> Grounding("object")(gold, pred).tally.value
    1.0
    """

    gold_fields = ("text",)
    attains_one = False
    choices = {"part": ("subject", "object")}
    source = "after Mihindukulasooriya et al., Text2KGBench, ISWC 2023 (without stemming)"

    part: str = "subject"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``subject_grounding``, ``object_hallucination`` and so on."""
        return f"{self.part}_{'hallucination' if self.hallucination else 'grounding'}"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the share."""
        if self.hallucination:
            return "predictions whose part does not stand in the text / predictions; 1 − grounding"
        return "predictions whose part stands in the text / predictions"

    def judged(self, gold: object, triples: Any) -> list[bool]:
        """Whether each part occurs in the text."""
        text = str(gold_field(gold, "text", None) or "")
        seen = [occurs(read(triple, self.part), text) for triple in triples if text]
        return [each for each in seen if each is not None]


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
    looked, there = normal(words), f" {_folded(text)} "
    if looked and f" {looked} " in there:
        return True
    time = times.read(value if isinstance(value, dict) else words)
    if time is not None:
        return re.search(rf"(?<!\d)0*{abs(time.year)}(?!\d)", text) is not None
    number = numeric.quantity(value if isinstance(value, (dict, int, float)) else words)
    return number is not None and bool(set(number.readings) & _numbers(text))


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return normal(text)


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[float]:
    quantities = (numeric.quantity(number[0]) for number in NUMBERS.finditer(text))
    return frozenset(reading for quantity in quantities if quantity for reading in quantity.readings)
