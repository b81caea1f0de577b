"""The scorecard of triples: all measures over a set, by property and by domain, and its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Measure, Names, check_choice
from goldassay.measures.triples import relations, text2kg
from goldassay.measures.triples.measures import (
    F1,
    TABLES,
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
from goldassay.scorecard import RATES, Batches, Scorecard, Sections, Values, fold, rates
from goldassay.tally import Counts

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
    ontology: text2kg.Content | None = None,
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
    supported = measures[-1].key
    card = fold("triples", measures, shared, sections=SECTIONS)
    if card.values[supported] is None:
        for by_name in (card.values, card.counts, card.conventions, card.measures, card.totals):
            by_name.pop(supported, None)
    card.counts["triples"]["unaligned"] = float(card.facts["unaligned"])
    card.counts["novel"] = {verdict: float(card.facts["verdict", verdict]) for verdict in VERDICTS}
    left_out = _named(card.facts, "left out")
    if left_out:
        kinds = ", ".join(f"{name} ({n})" for name, n in left_out.most_common())
        card.warnings.append(f"{left_out.total()} gold statements of excluded value types are left out: {kinds}")
    return card


def every(relations: Names = (), **options: Any) -> list[Measure]:
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


def _facts(part: Batches, first: F1) -> Counter[Hashable]:
    """Unaligned predictions, verdicts, statements of excluded types, and the counts of each domain."""
    facts = Counter[Hashable]()
    matchings: Matchings = part.of(first)
    for example, matching in zip(part.gold, matchings, strict=True):
        facts.update(("verdict", row.verdict) for row in matching.unmatched)
        facts["unaligned"] += sum(not row.aligned for row in matching.unmatched)
        for triple in read(example, "triples"):
            if isinstance(triple, Mapping) and first.excludes(triple):
                facts["left out", str(triple.get("object_type"))] += 1
        if domain := read(example, "domain", None) or read(example, "strata.domain", None):
            total = sum(matching.counts.values(), Counts())
            facts.update({("domain", (str(domain), name)): int(n) for name, n in total.state().items()})
    return facts


def _named(facts: Counter[Hashable], kind: str) -> Counter[Any]:
    """The facts of one kind."""
    return Counter({fact[1]: n for fact, n in facts.items() if isinstance(fact, tuple) and fact[0] == kind})


def _by_property(card: Scorecard) -> dict[str, Values]:
    """The counts and rates of each property, the most frequent first."""
    properties = sorted(card.totals["macro_f1"].items(), key=lambda row: (-row[1].support, row[0]))
    return {name: _row(counts) for name, counts in properties}


def _by_domain(card: Scorecard) -> dict[str, Values] | None:
    numbers = _named(card.facts, "domain")
    domains = sorted({domain for domain, _ in numbers})
    return {domain: _row(Counts(*(numbers[domain, name] for name in ("tp", "fp", "fn")))) for domain in domains} or None


SECTIONS = Sections(
    _facts,
    {"property": _by_property, "domain": _by_domain},
    {
        "unaligned": "{n} predictions have a predicate that the alignment table lacks: they are unknown, not wrong, "
        "and left out of precision"
    },
)


def _relations(ontology: text2kg.Content | None) -> Names:
    """The names and property ids of an ontology's relations."""
    names: list[str] = []
    rows = ontology.get("relations", ()) if isinstance(ontology, Mapping) else ontology
    for row in rows or ():
        labels = [row] if isinstance(row, str) else [read(row, "label", None), read(row, "pid", None)]
        if not any(labels):
            raise DataError(f"a relation of the ontology has a 'label' or a 'pid', not {row!r}")
        names += [str(name) for name in labels if name]
    return tuple(names)


def _row(counts: Counts) -> Values:
    numbers = {name: float(value) for name, value in counts.state().items()}
    return {**rates(numbers), **numbers}
