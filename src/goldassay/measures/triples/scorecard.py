"""The scorecard of triples: all measures over a set, by property and by domain, and its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Measure, check_choice
from goldassay.measures.triples import relations, text2kg
from goldassay.measures.triples.measures import (
    F1,
    TABLES,
    Calibration,
    Hallucination,
    MacroF1,
    NovelDiscovery,
    OntologyConformance,
    PrecisionBound,
    RelationHallucination,
)
from goldassay.measures.triples.objects import pairs
from goldassay.measures.triples.records import VERDICTS, MatchedTriples
from goldassay.scorecard import Batches, Scorecard, fold, rates
from goldassay.tally import Counts

RATES = ("precision", "recall", "f1")
PROTOCOLS: dict[str, Any] = {
    "text2kgbench": {},
    "docred": relations.DOCRED,
    "carb": relations.CARB,
    "webnlg": text2kg.WEBNLG,
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
        return text2kg.scorecard(shared, ontology)
    if protocol:
        return fold("triples", PROTOCOLS[protocol], shared)
    options |= {name: pairs(options.get(name)) for name in TABLES}
    measures = every(_relations(ontology), **options)
    supported: Any = measures[-1]
    facts, domains = Counter[tuple[str, str]](), dict[str, Counts]()
    card = fold("triples", measures, shared, lambda part: _look(part, supported, facts, domains))
    if card.values[supported.key] is None:
        for by_name in (card.values, card.counts, card.conventions, card.measures, card.totals):
            by_name.pop(supported.key, None)
    card.counts["triples"]["unaligned"] = float(facts["", "unaligned"])
    card.counts["novel"] = {verdict: float(facts["verdict", verdict]) for verdict in VERDICTS}
    properties = sorted(card.totals["macro_f1"].items(), key=lambda row: (-row[1].tp - row[1].fn, row[0]))
    card.by["property"] = {name: _row(counts) for name, counts in properties}
    if domains:
        card.by["domain"] = {name: _row(domains[name]) for name in sorted(domains)}
    left_out = {name: n for (what, name), n in facts.most_common() if what == "left out"}
    if left_out:
        kinds = ", ".join(f"{name} ({n})" for name, n in left_out.items())
        card.warnings.append(f"{sum(left_out.values())} gold statements of excluded value types are left out: {kinds}")
    if unaligned := facts["", "unaligned"]:
        unknown = "they are unknown, not wrong, and left out of precision"
        card.warnings.append(f"{unaligned} predictions have a predicate that the alignment table lacks: {unknown}")
    return card


def every(relations: tuple[str, ...] = (), **options: Any) -> list[Measure[Any]]:
    """The measures of a scorecard, with the relations of an ontology, and the options of `F1`."""
    return [
        *(F1(rate=rate, **options) for rate in RATES),
        *(MacroF1(rate=rate, **options) for rate in RATES),
        *(PrecisionBound(bound=bound, **options) for bound in ("min", "max")),
        *(Calibration(statistic=name, **options) for name in ("pearson", "ece", "brier")),
        NovelDiscovery(**options),
        OntologyConformance(relations),
        RelationHallucination(relations),
        *(Hallucination(part) for part in ("subject", "object")),
        F1(rate="recall", supported=True, **options),
    ]


def _look(part: Batches, matched: F1, facts: Counter[tuple[str, str]], domains: dict[str, Counts]) -> None:
    """Count what a scorecard tells beside values."""
    matchings: list[tuple[MatchedTriples]] = part.of(matched)
    for example, (matching,) in zip(part.gold, matchings, strict=True):
        facts.update(("verdict", row.verdict) for row in matching.unmatched)
        for triple in read(example, "triples"):
            if isinstance(triple, Mapping) and matched.excludes(triple):
                facts["left out", str(triple.get("object_type"))] += 1
        facts["", "unaligned"] += sum(not row.aligned for row in matching.unmatched)
        if domain := read(example, "domain", None) or read(example, "strata.domain", None):
            domains[str(domain)] = sum(matching.counts.values(), domains.get(str(domain), Counts()))


def _relations(ontology: Any) -> tuple[str, ...]:
    """The names and property ids of an ontology's relations."""
    names: list[str] = []
    for row in ontology.get("relations", ()) if isinstance(ontology, Mapping) else ontology or ():
        labels = [row] if isinstance(row, str) else [read(row, "label", None), read(row, "pid", None)]
        if not any(labels):
            raise DataError(f"a relation of the ontology has a 'label' or a 'pid', not {row!r}")
        names += [str(name) for name in labels if name]
    return tuple(names)


def _row(counts: Counts) -> dict[str, float | None]:
    numbers = {name: float(value) for name, value in counts.state().items()}
    return {**rates(numbers), **numbers}
