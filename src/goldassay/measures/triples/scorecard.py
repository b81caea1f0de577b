"""The scorecard of triples: all measures over a set, by property and by domain, and its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from goldassay._support.exceptions import DataError
from goldassay.core.fields import read
from goldassay.core.measure import Batches, Measure, Names
from goldassay.core.tally import Counts
from goldassay.measures.protocols import official_result
from goldassay.measures.triples.measures import (
    F1,
    MATCHING_TABLES,
    Calibration,
    Hallucination,
    MacroF1,
    Matchings,
    NovelDiscovery,
    OntologyConformance,
    PrecisionBound,
    RelationHallucination,
)
from goldassay.measures.triples.objects import pairs
from goldassay.measures.triples.records import VERDICTS
from goldassay.results.result import RATE_NAMES, Result, Sections, Values, facts_of, fold, rates

OntologyContent = Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
"""The content of an ontology file, or names or rows of relations alone."""


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    protocol: str | None = None,
    ontology: OntologyContent | None = None,
    **options: Any,
) -> Result:
    """Every value for triples, over a set.

    Args:
        gold: examples with ``triples``; ``text`` for hallucination, ``domain`` for values by domain.
        pred: predictions with ``triples``, aligned with gold.
        protocol: an official protocol: the numbers of that benchmark instead.
        ontology: the content of an ontology file of that form, or a list of relation names.
        options: those of `F1`; ``alignment``, ``prefixes`` and ``equivalents`` are mappings or pairs.

    Raises:
        DataError: a relation of the ontology has no name.

    >>> triple = {"subject": "Louvre", "predicate": "P571", "object": "1793"}
    >>> scorecard([{"triples": [triple]}], [{"triples": [triple]}]).values["f1"]
    1.0
    """
    shared = Batches(gold, pred)
    if official := official_result("triples", shared, protocol, ontology=ontology):
        return official
    options |= {name: pairs(options.get(name)) for name in MATCHING_TABLES}
    names: list[str] = []
    rows = ontology.get("relations", ()) if isinstance(ontology, Mapping) else ontology
    for row in rows or ():
        labels = [row] if isinstance(row, str) else [read(row, "label", None), read(row, "pid", None)]
        if not any(labels):
            raise DataError(f"a relation of the ontology has a 'label' or a 'pid', not {row!r}")
        names += [str(name) for name in labels if name]
    measures = every(tuple(names), **options)
    supported = measures[-1].key
    card = fold("triples", measures, shared, sections=TRIPLE_SECTIONS)
    if card.totals[supported].weight == 0:
        card = card.select(name for name in card.measures if name != supported)
    card.extra_counts["triples"] = {"unaligned": float(card.facts["unaligned"])}
    card.extra_counts["novel"] = {verdict: float(card.facts["verdict", verdict]) for verdict in VERDICTS}
    left_out = facts_of(card.facts, "left out")
    if left_out:
        kinds = ", ".join(f"{name} ({n})" for name, n in left_out.most_common())
        card.notes.append(f"{left_out.total()} gold statements of excluded value types are left out: {kinds}")
    return card


def every(relations: Names = (), **options: Any) -> list[Measure]:
    """The measures of a scorecard, with the relations of an ontology, and the options of `F1`."""
    return [
        *(F1(rate=rate, **options) for rate in RATE_NAMES),
        *(MacroF1(rate=rate, **options) for rate in RATE_NAMES),
        *(PrecisionBound(bound=bound, **options) for bound in ("min", "max")),
        *(Calibration(statistic=name, **options) for name in ("pearson", "ece", "brier")),
        NovelDiscovery(**options),
        OntologyConformance(relations),
        RelationHallucination(relations),
        *(Hallucination(role) for role in ("subject", "object")),
        F1(rate="recall", supported=True, **options),
    ]


def _facts(chunk: Batches, first: F1) -> Counter[Hashable]:
    """Unaligned predictions, verdicts, statements of excluded types, and the counts of each domain."""
    facts = Counter[Hashable]()
    matchings: Matchings = chunk.of(first)
    for example, matching in zip(chunk.gold, matchings, strict=True):
        facts.update(("verdict", row.verdict) for row in matching.unmatched)
        facts["unaligned"] += sum(not row.aligned for row in matching.unmatched)
        for triple in read(example, "triples"):
            if isinstance(triple, Mapping) and first.excludes(triple):
                facts["left out", str(triple.get("object_type"))] += 1
        if domain := read(example, "domain", None) or read(example, "strata.domain", None):
            total = sum(matching.counts.values(), Counts())
            facts.update({("domain", (str(domain), name)): int(n) for name, n in total.state().items()})
    return facts


def _by_property(card: Result) -> dict[str, Values]:
    """The counts and rates of each property, the most frequent first."""
    properties = sorted(card.totals["macro_f1"].items(), key=lambda row: (-row[1].support, row[0]))
    return {name: _row(counts) for name, counts in properties}


def _by_domain(card: Result) -> dict[str, Values] | None:
    numbers = facts_of(card.facts, "domain")
    domains = sorted({domain for domain, _ in numbers})
    return {domain: _row(Counts(*(numbers[domain, name] for name in ("tp", "fp", "fn")))) for domain in domains} or None


TRIPLE_SECTIONS = Sections(
    _facts,
    {"property": _by_property, "domain": _by_domain},
    {
        "unaligned": "{n} predictions have a predicate that the alignment table lacks: they are unknown, not wrong, "
        "and left out of precision"
    },
)


def breakdown(shared: Batches) -> Result:
    """The values by property and domain alone."""
    return fold("triples", [F1(), MacroF1()], shared, sections=TRIPLE_SECTIONS)


def _row(counts: Counts) -> Values:
    numbers = {name: float(value) for name, value in counts.state().items()}
    return {**rates(numbers), **numbers}
