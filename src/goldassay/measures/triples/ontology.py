"""Whether predictions keep to an ontology, and whether what they speak of stands in the text.

Conformance and grounding, and their complements, relation, subject and object hallucination. They look at predictions
only, not at the matching.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import EMPTY, Assessment, Measure, gold_field, pred_field
from goldassay.measures.triples import numeric, objects, terms, times
from goldassay.measures.triples.terms import canonical
from goldassay.tally import Mean
from goldassay.text.normal import normal


@dataclass(frozen=True)
class OntologyConformance(Measure[Mean]):
    """The share of predicted statements whose relation the ontology has; 1 − it is relation hallucination.

    ``relations`` are names or property ids; without them the measure does not apply.

    >>> OntologyConformance(("author", "P577"))({"triples": []}, {"triples": [
    ...     {"subject": "a", "predicate": "wdt:P577", "object": "b"},
    ...     {"subject": "a", "predicate": "likes", "object": "b"}]}).tally.value
    0.5
    """

    task: ClassVar[str] = "triples"
    name: ClassVar[str] = "ontology_conformance"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("triples",)
    pred_fields: ClassVar[tuple[str, ...]] = ("triples",)
    fixed: ClassVar[dict[str, str]] = {"empty": EMPTY}
    formula: ClassVar[str] = "predictions whose relation is in the ontology / predictions"
    source: ClassVar[str] = "Mihindukulasooriya et al., Text2KGBench, ISWC 2023"

    relations: tuple[str, ...] = ()

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        if not self.relations:
            return Assessment(Mean())
        known = {canonical(relation) for relation in self.relations}
        said = [canonical(str(read(triple, "predicate"))) for triple in pred_field(pred, "triples") or ()]
        return Assessment(Mean(self._share(sum(predicate in known for predicate in said), len(said)), float(len(said))))

    def _share(self, found: int, said: int) -> float:
        return float(found)

    @property
    def conventions(self) -> str:
        """The name with the number of relations."""
        return f"{self.key}[ontology={f'{len(self.relations)} relations' if self.relations else 'none'}, empty={EMPTY}]"


@dataclass(frozen=True)
class RelationHallucination(OntologyConformance):
    """The share of predicted statements whose relation the ontology does not have; lower is better.

    >>> RelationHallucination(("author",))({"triples": []}, {"triples": [
    ...     {"subject": "a", "predicate": "likes", "object": "b"}]}).tally.value
    1.0
    """

    name: ClassVar[str] = "relation_hallucination"
    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "predictions whose relation is not in the ontology / predictions; 1 − ontology conformance"

    def _share(self, found: int, said: int) -> float:
        return float(said - found)


@dataclass(frozen=True)
class Grounding(Measure[Mean]):
    """The share of predicted subjects (or objects) that stand in the text; 1 − it is subject (object) hallucination.

    A value stands in the text with its words, a time with its year, a quantity with its number. An id without a label
    cannot be looked for and is left out, as is an example without text.

    >>> gold = {"text": "The Louvre opened in 1793.", "triples": []}
    >>> pred = {"triples": [{"subject": "Louvre", "predicate": "P571", "object": "1793-08-10"}]}
    >>> Grounding("object")(gold, pred).tally.value
    1.0
    """

    task: ClassVar[str] = "triples"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("text",)
    pred_fields: ClassVar[tuple[str, ...]] = ("triples",)
    attains_one: ClassVar[bool] = False
    fixed: ClassVar[dict[str, str]] = {"empty": EMPTY}
    formula: ClassVar[str] = "predictions whose part stands in the text / predictions"
    source: ClassVar[str] = "after Mihindukulasooriya et al., Text2KGBench, ISWC 2023 (without stemming)"

    part: str = "subject"

    def __post_init__(self) -> None:
        if self.part not in ("subject", "object"):
            raise GoldassayError(f"part is 'subject' or 'object', not {self.part!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``subject_grounding`` or ``object_grounding``."""
        return f"{self.part}_grounding"

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        text = str(gold_field(gold, "text", None) or "")
        if not text:
            return Assessment(Mean())
        seen = [stands_in(read(triple, self.part), text) for triple in pred_field(pred, "triples") or ()]
        judged = [float(found) for found in seen if found is not None]
        return Assessment(Mean(self._share(judged), float(len(judged))))

    def _share(self, judged: list[float]) -> float:
        return sum(judged)


@dataclass(frozen=True)
class Hallucination(Grounding):
    """The share of predicted subjects (or objects) that do not stand in the text; lower is better.

    >>> Hallucination("subject")({"text": "Delft is old."}, {"triples": [
    ...     {"subject": "Gouda", "predicate": "P31", "object": "city"}]}).tally.value
    1.0
    """

    lower_is_better: ClassVar[bool] = True
    formula: ClassVar[str] = "predictions whose part does not stand in the text / predictions; 1 − grounding"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``subject_hallucination`` or ``object_hallucination``."""
        return f"{self.part}_hallucination"

    def _share(self, judged: list[float]) -> float:
        return len(judged) - sum(judged)


NUMBERS = re.compile(r"\d+(?:[.,\s'’]\d{3})*(?:[.,]\d+)?")


def stands_in(value: object, text: str) -> bool | None:
    """True or False; None for an id without a label, which cannot be looked for.

    >>> stands_in("ex:Marie_Curie", "Marie Curie was born in Warsaw."), stands_in("Q90", "in Paris")
    (True, None)
    >>> stands_in("14 July 1789", "stormed in 1789"), stands_in("1000", "a thousand"), stands_in("art", "the party")
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
    found: set[float] = set()
    for number in NUMBERS.finditer(text):
        said = numeric.quantity(number[0])
        found.update(said.readings if said else ())
    return frozenset(found)
