"""Whether predictions keep to an ontology, and whether what they speak of stands in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Measure, gold_field, pred_field
from goldassay.measures.triples.grounding import stands_in
from goldassay.measures.triples.predicates import canonical
from goldassay.tally import Mean


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
    formula: ClassVar[str] = "predictions whose relation is in the ontology / predictions"
    source: ClassVar[str] = "Mihindukulasooriya et al., Text2KGBench, ISWC 2023"

    relations: tuple[str, ...] = ()

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        if not self.relations:
            return Assessment(Mean())
        known = {canonical(relation) for relation in self.relations}
        said = [canonical(str(read(triple, "predicate"))) for triple in pred_field(pred, "triples") or ()]
        return Assessment(Mean(float(sum(predicate in known for predicate in said)), float(len(said))))

    @property
    def conventions(self) -> str:
        """The name with the number of relations."""
        return f"{self.key}[ontology={f'{len(self.relations)} relations' if self.relations else 'none'}]"


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

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        text = str(gold_field(gold, "text", None) or "")
        if not text:
            return Assessment(Mean())
        seen = [stands_in(read(triple, self.part), text) for triple in pred_field(pred, "triples") or ()]
        judged = [float(found) for found in seen if found is not None]
        return Assessment(Mean(sum(judged), float(len(judged))))
