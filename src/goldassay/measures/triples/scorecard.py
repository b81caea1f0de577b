"""The scorecard of triples: all measures over a set, by property and by domain, and its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure, check_choice
from goldassay.measures.triples import carb, docred, webnlg
from goldassay.measures.triples.measures import (
    F1,
    OPTIONS,
    TABLES,
    Batch,
    Calibration,
    MacroF1,
    NovelDiscovery,
    PrecisionBound,
)
from goldassay.measures.triples.objects import EXCLUDED, excluded
from goldassay.measures.triples.ontology import Hallucination, OntologyConformance, RelationHallucination
from goldassay.measures.triples.records import VERDICTS
from goldassay.measures.triples.terms import pairs
from goldassay.scorecard import Batches, Scorecard, fold, rates
from goldassay.tally import By, Counts

RATES = ("precision", "recall", "f1")
PROTOCOLS: dict[str, Any] = {
    "text2kgbench": {},
    "docred": docred.PROTOCOL,
    "carb": carb.PROTOCOL,
    "carb-binary": carb.BINARY,
    "webnlg": webnlg.PROTOCOL,
}


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    protocol: str | None = None,
    ontology: object = None,
    **options: Any,
) -> Scorecard:
    """Every value for triples, over a set.

    Args:
        gold: examples with ``triples``; ``text`` for hallucination, ``domain`` for values by domain.
        pred: predictions with ``triples``, aligned with gold.
        protocol: one of `PROTOCOLS`: the numbers of that benchmark instead.
        ontology: the content of an ontology file of that form, or a list of relation names.
        options: those of `F1`; ``alignment``, ``prefixes`` and ``equivalents`` are mappings or pairs.

    >>> triple = {"subject": "Louvre", "predicate": "P571", "object": "1793"}
    >>> scorecard([{"triples": [triple]}], [{"triples": [triple]}]).values["f1"]
    1.0
    """
    check_choice("protocol", protocol or "text2kgbench", PROTOCOLS)
    shared = Batches(gold, pred)
    if protocol == "text2kgbench":
        from goldassay.measures.triples import text2kgbench

        return text2kgbench.scorecard(shared, ontology)
    if protocol:
        return fold("triples", PROTOCOLS[protocol], shared)
    if wrong := [name for name in options if name not in OPTIONS]:
        raise GoldassayError(f"triples have no option {wrong[0]!r}; they have {', '.join(OPTIONS)}")
    options |= {name: pairs(options.get(name)) for name in TABLES}
    options["excluded"] = tuple(options.get("excluded", EXCLUDED))
    relations, supported = _relations(ontology), F1(rate="recall", supported=True, **options)
    measures: list[Measure[Any]] = [
        *(F1(rate=rate, **options) for rate in RATES),
        *(MacroF1(rate=rate, **options) for rate in RATES),
        *(PrecisionBound(bound=bound, **options) for bound in ("min", "max")),
        *(Calibration(statistic=name, **options) for name in ("pearson", "ece", "brier")),
        NovelDiscovery(**options),
        OntologyConformance(relations),
        RelationHallucination(relations),
        *(Hallucination(part) for part in ("subject", "object")),
        supported,
    ]
    facts = _Facts(supported)
    card = fold("triples", measures, shared, facts)
    if not facts.annotated:
        for by_name in (card.values, card.counts, card.conventions, card.measures, card.totals):
            by_name.pop(supported.key, None)
    card.counts["triples"]["unaligned"] = float(facts.unaligned)
    card.counts["novel"] = {verdict: float(facts.verdicts[verdict]) for verdict in VERDICTS}
    properties = sorted(card.totals["macro_f1"].items(), key=lambda row: (-row[1].tp - row[1].fn, row[0]))
    card.by["property"] = {name: _row(counts) for name, counts in properties}
    if facts.domains:
        card.by["domain"] = {name: _row(facts.domains[name]) for name in sorted(facts.domains)}
    card.warnings += facts.warnings()
    return card


def _relations(ontology: Any) -> tuple[str, ...]:
    """The names and property ids of an ontology's relations."""
    relations: list[str] = []
    for row in ontology.get("relations", ()) if isinstance(ontology, Mapping) else ontology or ():
        entry = {"label": row} if isinstance(row, str) else row
        names = [str(entry[key]) for key in ("label", "pid") if entry.get(key)] if isinstance(entry, Mapping) else []
        if not names:
            raise DataError(f"a relation of the ontology has a 'label' or a 'pid', not {row!r}")
        relations += names
    return tuple(relations)


class _Facts:
    """What a scorecard tells beside values, gathered chunk by chunk."""

    def __init__(self, matched: F1) -> None:
        self.matched = matched
        self.verdicts, self.left_out = Counter[str](), Counter[str]()
        self.domains: By[str, Counts] = By()
        self.unaligned, self.annotated = 0, False

    def __call__(self, part: Batches) -> None:
        """The next chunk."""
        batch: Batch = part.of(self.matched)
        for gold, matching, counts in zip(part.gold, batch.matchings, batch.by_property, strict=True):
            if wrong := set(matching.verdicts) - set(VERDICTS):
                message = f"a verdict is one of {', '.join(VERDICTS)}, not {wrong.pop()!r}"
                raise DataError(message, record=read(gold, "id", None), field="triples")
            self.verdicts.update(matching.verdicts)
            self.left_out.update(
                str(triple.get("object_type"))
                for triple in read(gold, "triples")
                if isinstance(triple, Mapping) and excluded(triple, self.matched.excluded)
            )
            self.unaligned += sum(not matching.pred[index].aligned for index in matching.unmatched)
            self.annotated |= any(each.triple.get("supported") is not None for each in matching.gold)
            if domain := read(gold, "domain", None) or read(gold, "strata.domain", None):
                self.domains += {str(domain): sum(counts.values(), Counts())}

    def warnings(self) -> list[str]:
        """What is left out."""
        kinds = ", ".join(f"{kind} ({count})" for kind, count in self.left_out.most_common())
        types = f"{self.left_out.total()} gold statements of excluded value types are left out: {kinds}"
        unaligned = (
            f"{self.unaligned} predictions have a predicate that the alignment table lacks: "
            "they are unknown, not wrong, and left out of precision"
        )
        return [types] * bool(self.left_out) + [unaligned] * bool(self.unaligned)


def _row(counts: Counts) -> dict[str, float | None]:
    numbers = {name: float(value) for name, value in counts.state().items()}
    return {**rates(numbers), **numbers}
