"""The scorecard of linking: its measures, folded over a set of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.linking.consistency import ConsistencyRate, CoverageRate, Resolver, known
from goldassay.measures.linking.hipe import hipe
from goldassay.measures.linking.links import (
    LinkF1,
    LinkPrecision,
    LinkRecall,
    MacroDocLink,
    StrongLinkF1,
    StrongLinkPrecision,
    StrongLinkRecall,
)
from goldassay.measures.linking.matching import OVER, Matching
from goldassay.measures.linking.measures import MRR, NILF1, Coverage, HitsAt, LinkMeasure, NILPrecision, NILRecall
from goldassay.measures.linking.records import Pairs, pairs
from goldassay.scorecard import Batches, Scorecard, fold

PROTOCOLS = (None, "hipe", "hipe2020")
KS = (1, 3, 5, 10)
CUTS = (1, 3, 5)
LINKS = (LinkPrecision, LinkRecall, LinkF1, StrongLinkPrecision, StrongLinkRecall, StrongLinkF1)
DEFINED = ("link_", "strong_link_", "macro_doc_")  # what the HIPE scorer counts


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    equivalent: Mapping[str, str] | Pairs | None = None,
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
    shared = Batches(gold, pred)
    batch: list[Matching] = shared.of(Coverage(equivalent=same, bounds=bounds))
    told = known(resolver, (one.bases for found in batch for one in found.pred)) if resolver else ()
    card = fold("linking", _measures(matching, told, equivalent=same, bounds=bounds), shared)
    answered = card.totals["coverage"]
    card.counts["mentions"] = {"gold": answered.weight, "answered": answered.total}
    card.by["over"] = {over: _part(over, matching, shared, equivalent=same, bounds=bounds) for over in OVER}
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(name for name in card.values if not name.startswith(DEFINED))
        for scheme, counts in hipe(one for found in batch for one in found.fates())["ALL"].items():
            card.counts[f"hipe_{scheme}"] = counts.state()
    _warned(card, batch)
    return card


def _measures(matching: str, told: Pairs, **shared: Any) -> list[LinkMeasure]:
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


def _part(over: str, matching: str, batches: Batches, **shared: Any) -> dict[str, float | None]:
    """The ranks and the links of what is in the knowledge base, or is NIL, by themselves."""
    measures: dict[str, LinkMeasure] = {HitsAt(k).key: HitsAt(k, over, **shared) for k in KS}
    measures |= {kind().key: kind(over, **shared) for kind in (MRR, Coverage)}
    measures |= {kind().key: kind(1, over, matching, **shared) for kind in LINKS}
    card = fold("linking", measures, batches)
    return {**card.values, "mentions": card.totals["coverage"].weight}


def _warned(card: Scorecard, batch: Sequence[Matching]) -> None:
    repeated = sum(found.read.repeated for found in batch)
    lost = sum(answer.start < 0 for found in batch for answer in found.pred)
    if repeated:
        card.warnings.append(
            f"{repeated} predictions repeat a mention; their candidates were put together, each counts once"
        )
    if lost:
        card.warnings.append(f"{lost} predicted mentions do not stand in their text and count as spurious")
