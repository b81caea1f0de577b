"""The scorecard of linking: every value of a set of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.tally import SemEvalCounts
from goldassay.measures.linking.consistency import (
    ConsistencyRate,
    MacroDocLinkF1,
    Resolver,
    bases_of,
    tallied,
    together,
)
from goldassay.measures.linking.hipe import SCHEMES, as_counts, hipe
from goldassay.measures.linking.matching import OVER, counts
from goldassay.measures.linking.measures import FORMULAS, HIPE, NILF1, NILPrecision, NILRecall, nil_counts
from goldassay.measures.linking.ranked import MRR, Coverage, HitsAt, ranks
from goldassay.measures.linking.records import Pairs, Read, pairs, sides
from goldassay.scorecard import Scorecard, rates
from goldassay.tally import Counts

PROTOCOLS = (None, "hipe", "hipe2020")
MATCHES = {"link": ("overlap", "overlap+id"), "strong_link": ("span", "span+id")}
KS = (1, 3, 5, 10)
CUTS = (1, 3, 5)


def scorecard(
    gold: Sequence[Any],
    pred: Sequence[Any],
    *,
    equivalent: Mapping[str, str] | Pairs | None = None,
    resolver: Resolver | None = None,
    protocol: str | None = None,
) -> Scorecard:
    """All values over aligned records.

    ``equivalent`` maps an id to the one that is counted in its place (redirects, the same entity). ``resolver`` says
    which ids of several knowledge bases belong together (see `cross_kb_consistency`); without one, gold's own links
    do. ``protocol="hipe"`` counts in the order of the official HIPE scorer.

    >>> gold = [{"text": "Paris", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]}]
    >>> card = scorecard(gold, [{"links": [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]}])
    >>> card.values["hits@1"], card.values["hits@5"], card.values["mrr"], card.values["link_f1"]
    (0.0, 1.0, 0.5, 0.0)
    """
    if len(gold) != len(pred):
        raise GoldassayError(f"{len(gold)} gold records against {len(pred)} predictions; they must be aligned")
    if protocol not in PROTOCOLS:
        raise GoldassayError(f"no protocol {protocol!r} for linking; there are hipe and hipe2020")
    table = pairs(equivalent)
    read = [sides(g, p, table) for g, p in zip(gold, pred, strict=True)]
    card = Scorecard("linking", len(read))
    _ranked(card, read, table)
    _nil(card, read)
    _links(card, read, table, protocol)
    _documents(card, read, table, protocol)
    _bases(card, read, resolver)
    _warned(card, read)
    return card


def _ranked(card: Scorecard, read: Sequence[Read], table: Pairs) -> None:
    """Hits and MRR with one denominator, and the coverage beside them; the same for InKB and NIL by themselves."""
    card.by["over"] = {}
    for over in OVER:
        found = [place for one in read for place in ranks(one, over)]
        answered = sum((Coverage(over).tally(one) for one in read), Coverage(over).zero)
        values: dict[str, float | None] = {f"hits@{k}": _share(sum(0 < p <= k for p in found), found) for k in KS}
        values["mrr"] = _share(sum(1 / place for place in found if place), found)
        values["coverage"] = float(answered.value) if found else None
        card.by["over"][over] = {**values, "mentions": len(found)}
        if over == "all":
            card.values |= values
            card.counts["mentions"] = {"gold": len(found), "answered": int(answered.total)}
    for measure in (*(HitsAt(k, equivalent=table) for k in KS), MRR(equivalent=table), Coverage()):
        _described(card, measure.key, measure.conventions, f"{measure.formula}. {measure.source}")


def _nil(card: Scorecard, read: Sequence[Read]) -> None:
    found = sum((nil_counts(one) for one in read), Counts(0, 0, 0))
    card.counts["nil"] = _plain(found)
    card.values |= rates(card.counts["nil"], "nil_")
    for measure in (NILPrecision(), NILRecall(), NILF1()):
        _described(
            card, measure.key, measure.conventions.replace("empty=1", "empty=null"), f"{measure.formula}. {HIPE}"
        )


def _links(card: Scorecard, read: Sequence[Read], table: Pairs, protocol: str | None) -> None:
    """Links by overlap and on the same span, at each cut-off, and for InKB and NIL by themselves."""
    for name, (match, how) in MATCHES.items():
        for k in CUTS:
            found = sum(_counted(read, match, k, protocol), Counts(0, 0, 0))
            at = f"@{k}" if k > 1 else ""
            card.counts[f"{name}{at}"] = _plain(found)
            for rate, value in rates(card.counts[f"{name}{at}"]).items():
                key = f"{name}_{rate}{at}"
                card.values[key] = value
                matching = protocol or "one-to-one, most pairs"
                same = "given table" if table else "none"
                convention = f"{key}[match={how}, k={k}, over=all, matching={matching}, equivalent={same}, empty=null]"
                also = "HIPE fuzzy" if match == "overlap" else "HIPE strict"
                _described(card, key, convention, f"{FORMULAS[rate]}; also known as {also}. {HIPE}")
        for over in OVER:
            found = sum((counts(one.gold, one.pred, match, 1, over) for one in read), Counts(0, 0, 0))
            card.by["over"][over] |= rates(_plain(found), f"{name}_")


def _counted(read: Sequence[Read], match: str, k: int, protocol: str | None) -> list[Counts]:
    if not protocol:
        return [counts(one.gold, one.pred, match, k) for one in read]
    scheme = "type" if match == "overlap" else "strict"
    return [as_counts(hipe(one.gold, one.pred, k)["ALL"][scheme]) for one in read]


def _documents(card: Scorecard, read: Sequence[Read], table: Pairs, protocol: str | None) -> None:
    """Means over documents: GERBIL's, or the official HIPE scorer's under its protocol."""
    for match, prefix in (("overlap", "macro_doc_link_"), ("span", "macro_doc_strong_link_")):
        found = _counted(read, match, 1, protocol)
        values = {
            "precision": [float(c.precision) for c in found if c.tp + c.fp],
            "recall": [float(c.recall) for c in found if c.tp + c.fn],
            "f1": [float(c.f1) for c in found if c.tp + c.fp and c.tp + c.fn],
        }
        empty = "documents without evidence left out"
        if not protocol:
            values["f1"] = [float(c.value) for c in found]
            for rate in ("precision", "recall"):
                values[rate] = [float(getattr(c, rate)) if c.weight else 1.0 for c in found]
            empty = "empty against empty is 1"
        for rate, each in values.items():
            card.values[prefix + rate] = _share(sum(each), each)
            source = HIPE if protocol else MacroDocLinkF1.source
            _described(
                card,
                prefix + rate,
                f"{prefix}{rate}[match={match}+id, average=macro by document, {empty}]",
                f"mean over documents of {FORMULAS[rate]}; {empty}. {source}",
            )
    if protocol:
        _schemes(card, read)


def _schemes(card: Scorecard, read: Sequence[Read]) -> None:
    """The official counts by scheme, as the scorer's own result files name them."""
    for scheme in SCHEMES:
        found = sum((hipe(one.gold, one.pred)["ALL"][scheme] for one in read), SemEvalCounts(0, 0, 0, 0, 0))
        card.counts[f"hipe_{scheme}"] = {name: int(value) for name, value in found.state().items()}


def _bases(card: Scorecard, read: Sequence[Read], resolver: Resolver | None) -> None:
    """Whether predicted ids of several knowledge bases belong together."""
    table = resolver or together(mention.bases for one in read for mention in one.gold)
    found = tallied([_entity(answer) for one in read for answer in one.pred], table)
    card.values["consistency_rate"], card.values["coverage_rate"] = found.rate, found.coverage
    card.counts["consistency"] = {
        "consistent": found.consistent,
        "inconsistent": found.inconsistent,
        "partial": found.partial,
        "entities": found.total,
    }
    told = "given" if resolver else "gold's own links"
    _described(
        card,
        "consistency_rate",
        f"consistency_rate[bases=wikidata+viaf+isil, resolver={told}, no evidence=null]",
        f"{ConsistencyRate.formula}. {ConsistencyRate.source}",
    )
    _described(
        card,
        "coverage_rate",
        "coverage_rate[entities=predicted links]",
        "(consistent + inconsistent + partial) / all: the share of predicted links that carry an id. "
        "For how many gold mentions are answered see coverage",
    )


def _entity(answer: Any) -> Any:
    """The ids of a predicted link: those it names by knowledge base; else its first candidate, as Wikidata's."""
    if answer.bases:
        return bases_of(answer.bases)
    return bases_of({} if answer.nil else {"wikidata": [answer.candidates[0]]})


def _warned(card: Scorecard, read: Sequence[Read]) -> None:
    repeated = sum(one.repeated for one in read)
    lost = sum(answer.start < 0 for one in read for answer in one.pred)
    if repeated:
        card.warnings.append(
            f"{repeated} predictions repeat a mention; their candidates were put together, each counts once"
        )
    if lost:
        card.warnings.append(f"{lost} predicted mentions do not stand in their text and count as spurious")


def _described(card: Scorecard, name: str, convention: str, explain: str) -> None:
    card.conventions[name], card.explain[name] = convention, explain


def _plain(found: Counts) -> dict[str, float]:
    return {name: int(value) for name, value in found.state().items()}


def _share(part: float, whole: Sequence[Any]) -> float | None:
    return part / len(whole) if whole else None
