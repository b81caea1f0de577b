"""The scorecard of extraction: every value of a set of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.corpus import Corpus, corpus
from goldassay.measures.extraction.measures import MATCH, SCHEMES, SOURCE, sides
from goldassay.measures.extraction.official import as_counts, hipe, known_types
from goldassay.measures.extraction.spans import Span
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.scorecard import Scorecard, rates
from goldassay.tally import Counts

PROTOCOLS = (None, "hipe")
ALSO = {
    "strict": "HIPE strict, CoNLL, SemEval strict",
    "partial": "HIPE fuzzy, SemEval type",
    "exact": "SemEval exact",
    "type": "types of the document, wherever they stand",
}


def scorecard(gold: Sequence[Any], pred: Sequence[Any], *, protocol: str | None = None) -> Scorecard:
    """All values over aligned records; ``protocol="hipe"`` counts in the order of the official HIPE scorer.

    >>> card = scorecard([{"text": "Het Rijksmuseum", "entities": [(4, 15, "MUS")]}], [{"entities": [(4, 15, "MUS")]}])
    >>> card.values["strict_f1"], card.counts["strict"]
    (1.0, {'tp': 1, 'fp': 0, 'fn': 0})
    """
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
    if protocol not in PROTOCOLS:
        raise GoldassayError(f"no protocol {protocol!r} for extraction; there is hipe")
    read = [sides(g, p) for g, p in zip(gold, pred, strict=True)]
    found = corpus([g for g, _, _ in read], [p for _, p, _ in read], [text for _, _, text in read])
    if protocol == "hipe":
        _official(found, [(g, p) for g, p, _ in read])
    card = Scorecard("extraction", len(gold))
    for match in (*MATCH, "token"):
        counts = _plain(found.micro[match])
        card.counts[match] = counts
        _add(card, rates(counts, f"{match}_"), match, protocol)
    _semeval(card, found)
    _averages(card, found)
    card.by["type"] = {
        kind: {
            **rates(_plain(found.types["strict"][kind]), "strict_"),
            **rates(_plain(found.types["partial"].get(kind, Counts(0, 0, 0))), "partial_"),
            "support": int(found.types["strict"][kind].tp + found.types["strict"][kind].fn),
        }
        for kind in sorted(found.types["strict"])
    }
    card.by["confusion"] = {g: dict(row) for g, row in sorted(found.confusion.items())}
    if found.unlocated:
        card.warnings.append(f"{found.unlocated} predicted spans do not stand in their text and count as spurious")
    return card


OFFICIAL = {"strict": "strict", "partial": "type", "exact": "exact"}


def _official(found: Corpus, read: Sequence[tuple[list[Span], list[Span]]]) -> None:
    """Put the official scorer's counts in the place of ours."""
    types = known_types([g for g, _ in read])
    documents = [hipe(g, p, types) for g, p in read]
    for match, scheme in OFFICIAL.items():
        found.by_document[match] = [as_counts(document["ALL"][scheme]) for document in documents]
        found.micro[match] = sum(found.by_document[match], Counts(0, 0, 0))
    for match in ("strict", "partial"):
        found.types[match] = {}
        for document in documents:
            for kind in document.keys() - {"ALL"}:
                counts = as_counts(document[kind][OFFICIAL[match]])
                found.types[match][kind] = found.types[match].get(kind, Counts(0, 0, 0)) + counts
    for scheme in SCHEMES:
        found.semeval[scheme] = sum((d["ALL"][scheme] for d in documents), SemEvalCounts(0, 0, 0, 0, 0))


def _plain(counts: Counts) -> dict[str, float]:
    return {name: int(value) if value == int(value) else value for name, value in counts.state().items()}


def _add(card: Scorecard, values: dict[str, float | None], match: str, protocol: str | None) -> None:
    card.values |= values
    for name in values:
        how = f"match={MATCH.get(match, 'tokens by type')}, average=micro, matching={protocol or 'one-to-one, most pairs'}"
        card.conventions[name] = f"{name}[{how}, empty=null]"
        also = f"; also known as: {ALSO[match]}" if match in ALSO else ""
        card.explain[name] = f"P = tp/(tp+fp), R = tp/(tp+fn), F1 = 2tp/(2tp+fp+fn) over all documents{also}. {SOURCE}"


def _semeval(card: Scorecard, found: Corpus) -> None:
    for scheme in SCHEMES:
        counts, key = found.semeval[scheme], f"semeval_{scheme}"
        card.counts[key] = {name: int(value) for name, value in counts.state().items()}
        some = counts.weight > 0
        card.values[f"{key}_precision"] = float(counts.precision) if some else None
        card.values[f"{key}_recall"] = float(counts.recall) if some else None
        card.values[f"{key}_f1"] = float(counts.value) if some else None
        for rate in ("precision", "recall", "f1"):
            card.conventions[f"{key}_{rate}"] = f"{key}_{rate}[scheme={scheme}, partial credit=0.5, empty=null]"
            card.explain[f"{key}_{rate}"] = (
                "ACT = COR+INC+PAR+SPU, POS = COR+INC+PAR+MIS, P = (COR+½PAR)/ACT, R = (COR+½PAR)/POS. "
                "Segura-Bedmar et al. 2013 (SemEval-2013 task 9)"
            )


def _averages(card: Scorecard, found: Corpus) -> None:
    """Macro by type (both readings), weighted by support, macro by document."""
    types = found.types["strict"]
    in_gold = [counts for counts in types.values() if counts.tp + counts.fn]
    support = sum(counts.tp + counts.fn for counts in in_gold)
    card.values["strict_macro_f1"] = _mean([counts.f1 for counts in in_gold])
    card.values["strict_macro_f1_seen"] = _mean([counts.f1 for counts in types.values()])
    weighted = sum(counts.f1 * (counts.tp + counts.fn) for counts in in_gold)
    card.values["strict_weighted_f1"] = float(weighted / support) if support else None
    for name, over in (
        ("strict_macro_f1", "average=macro over types with gold"),
        ("strict_macro_f1_seen", "average=macro over all types seen"),
        ("strict_weighted_f1", "average=weighted by gold support"),
    ):
        card.conventions[name] = f"{name}[match=span+type, {over}, empty=null]"
        card.explain[name] = f"mean over types of F1 ({over}). {SOURCE}"
    for match in ("strict", "partial"):
        prefix = "macro_doc_" if match == "strict" else "macro_doc_partial_"
        documents = found.by_document[match]
        values = {
            "precision": _mean([c.precision for c in documents if c.tp + c.fp]),
            "recall": _mean([c.recall for c in documents if c.tp + c.fn]),
            "f1": _mean([c.f1 for c in documents if c.tp + c.fp and c.tp + c.fn]),
        }
        for rate, value in values.items():
            card.values[prefix + rate] = value
            card.conventions[prefix + rate] = f"{prefix}{rate}[match={MATCH[match]}, average=macro by document]"
            card.explain[prefix + rate] = (
                "mean over documents; those without predictions leave P and F1, those without gold leave R and F1. "
                "Ehrmann et al. 2022 (HIPE)"
            )


def _mean(values: Sequence[Any]) -> float | None:
    return float(sum(values) / len(values)) if values else None
