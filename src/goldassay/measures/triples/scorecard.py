"""The scorecard: what it holds by default, by property and by domain, and what it warns of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure
from goldassay.measures.triples import calibration as c
from goldassay.measures.triples import measures as m
from goldassay.measures.triples.measures import OPTIONS, Batch
from goldassay.measures.triples.objects import excluded
from goldassay.measures.triples.ontology import Hallucination, OntologyConformance, RelationHallucination
from goldassay.measures.triples.tally import VERDICTS, ByProperty
from goldassay.measures.triples.terms import NamePairs, pairs
from goldassay.scorecard import Batches, Scorecard, fold, rates
from goldassay.tally import Counts


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
        protocol: ``text2kgbench`` computes the benchmark's own numbers instead.
        ontology: the content of an ontology file of that form, or a list of relation names.
        options: those of `F1`; ``alignment``, ``prefixes`` and ``equivalents`` are mappings or pairs.

    >>> triple = {"subject": "Louvre", "predicate": "P571", "object": "1793"}
    >>> scorecard([{"triples": [triple]}], [{"triples": [triple]}]).values["f1"]
    1.0
    """
    if protocol not in (None, "text2kgbench"):
        raise GoldassayError(f"triples have the protocol text2kgbench, not {protocol!r}")
    shared = Batches(gold, pred)
    if protocol:
        from goldassay.measures.triples import text2kgbench

        return text2kgbench.scorecard(shared, ontology)
    wrong = [name for name in options if name not in OPTIONS]
    if wrong:
        raise GoldassayError(f"triples have no option {wrong[0]!r}; they have {', '.join(OPTIONS)}")
    tables: dict[str, NamePairs] = {
        name: pairs(options.pop(name, None)) for name in ("alignment", "prefixes", "equivalents")
    }
    if "excluded" in options:
        options["excluded"] = tuple(options["excluded"])
    settings: dict[str, Any] = {**tables, **options}
    matched = m.F1(**settings)
    verdicts: dict[str, float] = dict.fromkeys(VERDICTS, 0.0)
    left_out, domains = Counter[str](), dict[str, ByProperty]()
    unaligned, annotated = 0, False

    def look(part: Batches) -> None:
        nonlocal unaligned, annotated
        batch: Batch = part.of(matched)
        _judge(batch, verdicts)
        left_out.update(_left_out(part.gold, matched.excluded))
        unaligned += sum(not found.pred[index].aligned for found in batch.found for index in found.unmatched)
        annotated |= any(one.triple.get("supported") is not None for found in batch.found for one in found.gold)
        for example, counts in zip(part.gold, batch.by_property, strict=True):
            if domain := _domain(example):
                domains[domain] = domains.get(domain, ByProperty()) + counts

    supported = m.Recall(**settings, supported=True)
    card = fold("triples", _measures(settings, _relations(ontology), supported), shared, look)
    if not annotated:
        for known in (card.values, card.counts, card.conventions, card.explain, card.measures, card.totals):
            known.pop(supported.key, None)
    card.counts["triples"]["unaligned"] = float(unaligned)
    card.counts["novel"] = verdicts
    properties: ByProperty = card.totals["macro_f1"]
    card.by["property"] = {name: _row(counts) for name, counts in sorted(properties.items(), key=_support)}
    if domains:
        card.by["domain"] = {name: _row(sum(by.values(), Counts())) for name, by in sorted(domains.items())}
    card.warnings += _warnings(left_out, unaligned)
    return card


def _measures(settings: Mapping[str, Any], relations: tuple[str, ...], supported: Measure[Any]) -> list[Measure[Any]]:
    """What a scorecard holds, with recall over what the text supports, which is for gold that is annotated so."""
    return [
        m.Precision(**settings),
        m.Recall(**settings),
        m.F1(**settings),
        m.MacroPrecision(**settings),
        m.MacroRecall(**settings),
        m.MacroF1(**settings),
        m.PrecisionMin(**settings),
        m.PrecisionMax(**settings),
        c.CalibrationPearson(**settings),
        c.ECE(**settings),
        c.BrierScore(**settings),
        supported,
        m.NovelDiscovery(**settings),
        OntologyConformance(relations),
        RelationHallucination(relations),
        Hallucination("subject"),
        Hallucination("object"),
    ]


def _relations(found: Any) -> tuple[str, ...]:
    """The names and property ids of an ontology's relations."""
    if found is None:
        return ()
    rows: Iterable[Any] = found.get("relations", ()) if isinstance(found, Mapping) else found
    relations: list[str] = []
    for row in rows:
        if isinstance(row, str):
            relations.append(row)
            continue
        if not isinstance(row, Mapping) or not (row.get("label") or row.get("pid")):
            raise DataError(f"a relation of the ontology has a 'label' or a 'pid', not {row!r}")
        known = [str(row[key]) for key in ("label", "pid") if row.get(key)]
        relations += known
    return tuple(relations)


def _judge(batch: Batch, counts: dict[str, float]) -> None:
    """Count how often each verdict was given on a prediction that gold does not have."""
    for gold, found in zip(batch.gold, batch.found, strict=True):
        for index in found.unmatched:
            verdict = found.pred[index].triple.get("verdict")
            if verdict is not None and verdict not in counts:
                raise DataError(
                    f"a verdict is one of {', '.join(VERDICTS)}, not {verdict!r}",
                    record=read(gold, "id", None),
                    field="triples",
                )
            if verdict is not None:
                counts[verdict] += 1


def _left_out(gold: Sequence[Any], types: tuple[str, ...]) -> Iterator[str]:
    """The value types of gold statements that are excluded."""
    for example in gold:
        for triple in read(example, "triples"):
            if isinstance(triple, Mapping) and excluded(triple, types):
                yield str(triple.get("object_type"))


def _warnings(left_out: Counter[str], unaligned: int) -> list[str]:
    out = []
    if left_out:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in left_out.most_common())
        out.append(f"{left_out.total()} gold statements of excluded value types are left out: {kinds}")
    if unaligned:
        out.append(
            f"{unaligned} predictions have a predicate that the alignment table lacks: "
            "they are unknown, not wrong, and left out of precision"
        )
    return out


def _support(row: tuple[str, Counts]) -> tuple[float, str]:
    """Properties with the most gold first."""
    return -float(row[1].tp + row[1].fn), row[0]


def _row(counts: Counts) -> dict[str, float | None]:
    found = {name: float(getattr(counts, name)) for name in ("tp", "fp", "fn")}
    return {**rates(found), **found}


def _domain(gold: Any) -> str | None:
    found = read(gold, "domain", None) or read(gold, "strata.domain", None)
    return str(found) if found else None
