"""All values of a set of examples in one pass: overall, by property and by domain.

Which measure stands behind each value of a scorecard, and what the value says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure
from goldassay.measures.triples import measures as confidence
from goldassay.measures.triples import measures as m
from goldassay.measures.triples import tally as evidence
from goldassay.measures.triples.measures import F1
from goldassay.measures.triples.objects import excluded
from goldassay.measures.triples.ontology import Grounding, OntologyConformance
from goldassay.measures.triples.predicates import Pairs, pairs
from goldassay.measures.triples.tally import ByProperty, Calibrated, Known
from goldassay.scorecard import Scorecard, rates
from goldassay.statistics.intervals import wilson
from goldassay.tally import Counts, Mean, PrecisionCounts

OPTIONS = ("alignment", "prefixes", "equivalents", "threshold", "tolerance", "kilometres", "times", "excluded")


def scorecard(
    gold: Sequence[Any],
    pred: Sequence[Any],
    *,
    protocol: str | None = None,
    ontology: Any = None,
    **options: Any,
) -> Scorecard:
    """Every value of design §7 for triples.

    ``protocol="text2kgbench"`` computes the benchmark's own numbers instead. ``ontology`` is the content of an ontology
    file of that form, or a list of relation names. ``alignment``, ``prefixes`` and ``equivalents`` are mappings or
    pairs; the other options are those of `F1`.
    """
    if len(gold) != len(pred):
        raise DataError(f"{len(gold)} gold examples and {len(pred)} predictions; they must be aligned")
    if protocol not in (None, "text2kgbench"):
        raise GoldassayError(f"triples have the protocol text2kgbench, not {protocol!r}")
    if protocol:
        from goldassay.measures.triples import text2kgbench

        return text2kgbench.scorecard(gold, pred, ontology)
    wrong = [name for name in options if name not in OPTIONS]
    if wrong:
        raise GoldassayError(f"triples have no option {wrong[0]!r}; they have {', '.join(OPTIONS)}")
    tables: dict[str, Pairs] = {
        name: pairs(options.pop(name, None)) for name in ("alignment", "prefixes", "equivalents")
    }
    if "excluded" in options:
        options["excluded"] = tuple(options["excluded"])
    settings: dict[str, Any] = {**tables, **options}
    return _Card(F1(**settings), _relations(ontology)).of(gold, pred)


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


class _Card:
    """Folds the examples of one scorecard."""

    def __init__(self, measure: F1, relations: tuple[str, ...]) -> None:
        self.measure = measure
        shared = {name: getattr(measure, name) for name in OPTIONS}
        self.shared: dict[str, Any] = shared
        self.ontology = OntologyConformance(relations)
        self.grounding = {part: Grounding(part) for part in ("subject", "object")}
        self.properties = ByProperty()
        self.supported = ByProperty()
        self.domains: dict[str, ByProperty] = defaultdict(ByProperty)
        self.known, self.novel, self.bins = Known(), PrecisionCounts(), Calibrated()
        self.brier = self.conformant = Mean()
        self.grounded = {"subject": Mean(), "object": Mean()}
        self.verdicts = dict.fromkeys(evidence.VERDICTS, 0.0)
        self.annotated = self.unaligned = 0
        self.left_out: Counter[str] = Counter()

    def of(self, gold: Sequence[Any], pred: Sequence[Any]) -> Scorecard:
        """The scorecard of aligned examples."""
        for example, answer in zip(gold, pred, strict=True):
            self._add(example, answer)
        return self._made(len(gold))

    def _add(self, gold: Any, pred: Any) -> None:
        found = self.measure.match(gold, pred)
        for triple in read(gold, "triples"):
            if isinstance(triple, Mapping) and excluded(triple, self.measure.excluded):
                self.left_out[str(triple.get("object_type"))] += 1
        counts = evidence.by_property(found)
        self.properties += counts
        domain = _domain(gold)
        if domain:
            self.domains[domain] += counts
        self.supported += evidence.by_property(found, supported=True)
        self.annotated += sum(statement.triple.get("supported") is not None for statement in found.gold)
        self.unaligned += sum(not found.pred[index].aligned for index in found.unmatched)
        self.known += evidence.known(found)
        self.novel += evidence.novel(found)
        for index in found.unmatched:
            verdict = found.pred[index].triple.get("verdict")
            if verdict is not None and verdict not in self.verdicts:
                raise DataError(
                    f"a verdict is one of {', '.join(evidence.VERDICTS)}, not {verdict!r}",
                    record=read(gold, "id", None),
                    field="triples",
                )
            if verdict is not None:
                self.verdicts[verdict] += 1
        confidences = evidence.confidences(found)
        self.bins += evidence.bins(confidences)
        self.brier += Mean(sum((c - k) ** 2 for c, k in confidences), float(len(confidences)))
        self.conformant += self.ontology(gold, pred).tally
        for part, measure in self.grounding.items():
            self.grounded[part] += measure(gold, pred).tally

    def _made(self, examples: int) -> Scorecard:
        card = Scorecard("triples", examples)
        total = _total(self.properties)
        card.values |= rates(_state(total))
        has_gold = bool(self.properties.weight)
        for name in ("precision", "recall", "f1"):
            card.values[f"macro_{name}"] = float(self.properties.mean(name)) if has_gold else None
        card.values |= {
            "precision_min": float(self.known.low) if self.known.weight else None,
            "precision_max": float(self.known.high) if self.known.weight else None,
            "calibration_pearson": self.bins.correlation,
            "ece": float(self.bins.ece) if self.bins.weight else None,
            "brier": float(self.brier.value) if self.brier.weight else None,
        }
        if self.annotated:
            said = _total(self.supported)
            card.values["recall_supported"] = float(said.recall) if said.weight else None
        self._novel(card)
        card.values["ontology_conformance"] = _value(self.conformant)
        card.values["relation_hallucination"] = _rest(self.conformant)
        for part, grounded in self.grounded.items():
            card.values[f"{part}_hallucination"] = _rest(grounded)
        card.counts["triples"] = {**_state(total), "unaligned": float(self.unaligned)}
        card.counts["novel"] = self.verdicts
        card.by["property"] = {name: _row(counts) for name, counts in sorted(self.properties.items(), key=_support)}
        if self.domains:
            card.by["domain"] = {name: _row(_total(by)) for name, by in sorted(self.domains.items())}
        self._told(card)
        return card

    def _novel(self, card: Scorecard) -> None:
        judged = self.novel.tp + self.novel.fp
        low, high = wilson(self.novel.tp, judged) if judged else (None, None)
        card.values["novel_discovery_rate"] = float(self.novel.tp / judged) if judged else None
        card.values["novel_discovery_rate_low"], card.values["novel_discovery_rate_high"] = low, high

    def _told(self, card: Scorecard) -> None:
        """Conventions, explanations and warnings."""
        own = owners(self.shared, self.ontology, self.grounding)
        for name in card.values:
            measure = own[name]
            card.conventions[name] = measure.conventions.replace(measure.key, name, 1)
            card.explain[name] = f"{EXPLAIN.get(name, measure.formula)}. Source: {measure.source}."
        if self.left_out:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in self.left_out.most_common())
            card.warnings.append(
                f"{self.left_out.total()} gold statements of excluded value types are left out: {kinds}"
            )
        if self.unaligned:
            card.warnings.append(
                f"{self.unaligned} predictions have a predicate that the alignment table lacks: "
                "they are unknown, not wrong, and left out of precision"
            )


def _support(row: tuple[str, Counts]) -> tuple[float, str]:
    """Properties with the most gold first."""
    return -float(row[1].tp + row[1].fn), row[0]


def _total(by: ByProperty) -> Counts:
    return sum(by.values(), Counts())


def _state(counts: Counts) -> dict[str, float]:
    return {name: float(getattr(counts, name)) for name in ("tp", "fp", "fn")}


def _row(counts: Counts) -> dict[str, float | None]:
    return {**rates(_state(counts)), **_state(counts)}


def _value(mean: Mean) -> float | None:
    return float(mean.value) if mean.weight else None


def _rest(mean: Mean) -> float | None:
    return 1.0 - float(mean.value) if mean.weight else None


def _domain(gold: Any) -> str | None:
    found = read(gold, "domain", None) or read(gold, "strata.domain", None)
    return str(found) if found else None


EXPLAIN = {
    "macro_precision": "mean of precision over properties with gold",
    "macro_recall": "mean of recall over properties with gold",
    "precision_min": "known true / all predictions: every unknown statement taken as false",
    "precision_max": "(known true + unknown) / all predictions: every unknown statement taken as true",
    "recall_supported": "covered / gold statements annotated as supported by the text",
    "ece": "Σ_b n_b/n · |accuracy_b − mean confidence_b| over the buckets 0–.25–.5–.75–1",
    "brier": "mean (confidence − correct)²",
    "relation_hallucination": "1 − ontology conformance",
    "subject_hallucination": "predictions whose subject does not stand in the text / predictions",
    "object_hallucination": "predictions whose object does not stand in the text / predictions",
}


def owners(
    shared: Mapping[str, Any], ontology: Measure[Any], grounding: Mapping[str, Measure[Any]]
) -> dict[str, Measure[Any]]:
    """The measure of each value, with the conventions in ``shared``."""
    return {
        "precision": m.Precision(**shared),
        "recall": m.Recall(**shared),
        "f1": m.F1(**shared),
        "recall_supported": m.Recall(**shared, supported=True),
        **dict.fromkeys(("macro_precision", "macro_recall", "macro_f1"), m.MacroF1(**shared)),
        **dict.fromkeys(("precision_min", "precision_max"), m.PrecisionInterval(**shared)),
        "calibration_pearson": confidence.CalibrationPearson(**shared),
        "ece": confidence.Calibration(**shared),
        "brier": confidence.Brier(**shared),
        **dict.fromkeys(
            ("novel_discovery_rate", "novel_discovery_rate_low", "novel_discovery_rate_high"),
            m.NovelDiscovery(**shared),
        ),
        **dict.fromkeys(("ontology_conformance", "relation_hallucination"), ontology),
        **{f"{part}_hallucination": measure for part, measure in grounding.items()},
    }
