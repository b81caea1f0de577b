"""The scorecard of triples: all measures over a set, by property and by domain, and its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from goldassay.measures.triples.objects import excluded
from goldassay.measures.triples.ontology import Grounding, OntologyConformance
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
    if protocol and protocol != "text2kgbench":
        return fold("triples", PROTOCOLS[protocol], shared)
    if protocol:
        from goldassay.measures.triples import text2kgbench

        return text2kgbench.scorecard(shared, ontology)
    wrong = [name for name in options if name not in OPTIONS]
    if wrong:
        raise GoldassayError(f"triples have no option {wrong[0]!r}; they have {', '.join(OPTIONS)}")
    options |= {name: pairs(options.get(name)) for name in TABLES}
    if "excluded" in options:
        options["excluded"] = tuple(options["excluded"])
    matched, supported = F1(**options), F1(rate="recall", supported=True, **options)
    look = _Facts(matched)
    card = fold("triples", [*_measures(options, _relations(ontology)), supported], shared, look)
    if not look.annotated:
        for by_name in (card.values, card.counts, card.conventions, card.explain, card.measures, card.totals):
            by_name.pop(supported.key, None)
    card.counts["triples"]["unaligned"] = float(look.unaligned)
    card.counts["novel"] = {verdict: float(look.verdicts[verdict]) for verdict in VERDICTS}
    properties = sorted(card.totals["macro_f1"].items(), key=lambda row: (-row[1].tp - row[1].fn, row[0]))
    card.by["property"] = {name: _row(counts) for name, counts in properties}
    if look.domains:
        card.by["domain"] = {name: _row(look.domains[name]) for name in sorted(look.domains)}
    card.warnings += look.warnings()
    return card


def _measures(options: Mapping[str, Any], relations: tuple[str, ...]) -> list[Measure[Any]]:
    return [
        *(F1(rate=rate, **options) for rate in RATES),
        *(MacroF1(rate=rate, **options) for rate in RATES),
        *(PrecisionBound(bound=bound, **options) for bound in ("min", "max")),
        *(Calibration(statistic=name, **options) for name in ("pearson", "ece", "brier")),
        NovelDiscovery(**options),
        OntologyConformance(relations),
        OntologyConformance(relations, hallucination=True),
        *(Grounding(part, hallucination=True) for part in ("subject", "object")),
    ]


def _relations(ontology: Any) -> tuple[str, ...]:
    """The names and property ids of an ontology's relations."""
    rows: Iterable[Any] = ontology.get("relations", ()) if isinstance(ontology, Mapping) else ontology or ()
    relations: list[str] = []
    for row in rows:
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
            wrong = next((verdict for verdict in matching.verdicts if verdict not in VERDICTS), None)
            if wrong is not None:
                message = f"a verdict is one of {', '.join(VERDICTS)}, not {wrong!r}"
                raise DataError(message, record=read(gold, "id", None), field="triples")
            self.verdicts.update(matching.verdicts)
            self.left_out.update(_left_out(gold, self.matched.excluded))
            self.unaligned += sum(not matching.pred[index].aligned for index in matching.unmatched)
            self.annotated |= any(each.triple.get("supported") is not None for each in matching.gold)
            if domain := read(gold, "domain", None) or read(gold, "strata.domain", None):
                self.domains += {str(domain): sum(counts.values(), Counts())}

    def warnings(self) -> list[str]:
        """What is left out."""
        lines = []
        if self.left_out:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in self.left_out.most_common())
            lines.append(f"{self.left_out.total()} gold statements of excluded value types are left out: {kinds}")
        if self.unaligned:
            lines.append(
                f"{self.unaligned} predictions have a predicate that the alignment table lacks: "
                "they are unknown, not wrong, and left out of precision"
            )
        return lines


def _left_out(gold: Any, types: tuple[str, ...]) -> Iterator[str]:
    """The value types of gold statements that are excluded."""
    for triple in read(gold, "triples"):
        if isinstance(triple, Mapping) and excluded(triple, types):
            yield str(triple.get("object_type"))


def _row(counts: Counts) -> dict[str, float | None]:
    numbers = {name: float(value) for name, value in counts.state().items()}
    return {**rates(numbers), **numbers}
