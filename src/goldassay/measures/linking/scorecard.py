"""The scorecard of linking: its measures, folded over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.linking.consistency import ConsistencyRate, CoverageRate, Resolver, known
from goldassay.measures.linking.links import (
    LinkF1,
    LinkPrecision,
    LinkRecall,
    MacroDocLink,
    StrongLinkF1,
    StrongLinkPrecision,
    StrongLinkRecall,
)
from goldassay.measures.linking.matching import OVER, Matching, hipe
from goldassay.measures.linking.measures import MRR, NILF1, Coverage, HitsAt, LinkMeasure, NILPrecision, NILRecall
from goldassay.measures.linking.records import IdPairs, pairs
from goldassay.scorecard import Batches, Scorecard, fold, valued

PROTOCOLS = (None, "hipe", "hipe2020")
KS = (1, 3, 5, 10)
CUTS = (1, 3, 5)
LINKS = (LinkPrecision, LinkRecall, LinkF1, StrongLinkPrecision, StrongLinkRecall, StrongLinkF1)
DEFINED = ("link_", "strong_link_", "macro_doc_")  # what the HIPE scorer counts


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    equivalent: Mapping[str, str] | IdPairs | None = None,
    resolver: Resolver | None = None,
    protocol: str | None = None,
    bounds: str = "given",
) -> Scorecard:
    """All values over aligned records.

    ``equivalent`` maps an id to the one that is counted in its place (redirects, the same entity). ``resolver`` says
    which ids of several knowledge bases belong together (see `cross_kb_consistency`); without one, the gold links of
    the document do. ``protocol="hipe"`` counts in the order of the official HIPE scorer (``hipe2020`` counts so, too;
    they differ in what the format ``hipe`` reads). ``bounds="word"`` widens spans to whole words first.

    Args:
        pred: The predictions, aligned with gold.

    >>> gold = [{"text": "Paris", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]}]
    >>> card = scorecard(gold, [{"links": [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]}])
    >>> card.values["hits@1"], card.values["hits@5"], card.values["mrr"], card.values["link_f1"]
    (0.0, 1.0, 0.5, 0.0)
    """
    if protocol not in PROTOCOLS:
        raise GoldassayError(f"no protocol {protocol!r} for linking; there are hipe and hipe2020")
    same, matching = pairs(equivalent), "hipe" if protocol else "one-to-one"
    shared, cover = Batches(gold, pred), Coverage(equivalent=same, bounds=bounds)
    answers = (one.bases for part in shared.chunks() for found in part.of(cover) for one in found.pred)
    told = known(resolver, answers) if resolver else ()
    parts = {over: _part(over, matching, equivalent=same, bounds=bounds) for over in OVER}
    fates, repeated, lost = Counter[str](), 0, 0

    def look(part: Batches) -> None:
        nonlocal repeated, lost
        batch: list[Matching] = part.of(cover)
        repeated += sum(found.read.repeated for found in batch)
        lost += sum(answer.start < 0 for found in batch for answer in found.pred)
        if protocol:
            fates.update(fate for found in batch for _, fate in found.fates())

    named = _measures(matching, told, equivalent=same, bounds=bounds)
    apart = {f"{over} {name}": measure for over, part in parts.items() for name, measure in part.items()}
    card = fold("linking", named, shared, look, beside=apart)
    answered = card.totals["coverage"]
    card.counts["mentions"] = {"gold": answered.weight, "answered": answered.total}
    card.by["over"] = {
        over: {name: valued(card.totals[f"{over} {name}"]) for name in part}
        | {"mentions": card.totals[f"{over} {cover.key}"].weight}
        for over, part in parts.items()
    }
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(name for name in card.values if not name.startswith(DEFINED))
        for scheme, counts in hipe(("", fate) for fate in fates.elements())["ALL"].items():
            card.counts[f"hipe_{scheme}"] = counts.state()
    _warned(card, repeated, lost)
    return card


def _measures(matching: str, told: IdPairs, **shared: Any) -> list[LinkMeasure[Any]]:
    """Every measure of the scorecard, under the conventions that were asked for."""
    return [
        *(HitsAt(k, **shared) for k in KS),
        *(kind(**shared) for kind in (MRR, Coverage, NILPrecision, NILRecall, NILF1)),
        *(kind(k, matching=matching, **shared) for kind in LINKS for k in CUTS),
        *(
            MacroDocLink(rate, match, matching, **shared)
            for match in ("overlap", "span")
            for rate in ("precision", "recall", "f1")
        ),
        *(kind(told, **shared) for kind in (ConsistencyRate, CoverageRate)),
    ]


def _part(over: str, matching: str, **shared: Any) -> dict[str, LinkMeasure[Any]]:
    """The ranks and the links of what is in the knowledge base, or is NIL, by themselves."""
    measures: dict[str, LinkMeasure[Any]] = {HitsAt(k).key: HitsAt(k, over, **shared) for k in KS}
    measures |= {kind().key: kind(over, **shared) for kind in (MRR, Coverage)}
    return measures | {kind().key: kind(1, over, matching, **shared) for kind in LINKS}


def _warned(card: Scorecard, repeated: int, lost: int) -> None:
    if repeated:
        card.warnings.append(
            f"{repeated} predictions repeat a mention; their candidates were put together, each counts once"
        )
    if lost:
        card.warnings.append(f"{lost} predicted mentions do not stand in their text and count as spurious")
