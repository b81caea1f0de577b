"""The scorecard of linking: all its measures over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from goldassay.measure import Measure, check_choice
from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.measures.linking.clusters import METRICS, Clusterings, Clusters, ConsistencyRate, CoverageRate, overlaps
from goldassay.measures.linking.matching import OVER, Matching, hipe
from goldassay.measures.linking.measures import MRR, NILF1, Coverage, HitsAt, LinkF1, LinkMeasure, MacroDocLink
from goldassay.measures.linking.records import IdPairs
from goldassay.scorecard import Batches, Scorecard, fold, valued

RATES = ("precision", "recall", "f1")
TAC: dict[str, Any] = {
    **{
        f"strong{typing}_{name}_match": LinkF1(1, over, match="span", typed=bool(typing))
        for typing in ("", "_typed")
        for name, over in (("link", "inkb"), ("nil", "nil"), ("all", "all"))
    },
    "entity_match": LinkF1(match="entity"),
    "muc": Clusters("muc", scope="corpus"),
    "b_cubed": Clusters("b_cubed", scope="corpus"),
    "entity_ceaf": Clusters("ceaf_e", scope="corpus"),
    "mention_ceaf": Clusters("ceaf_m", scope="corpus"),
    "typed_mention_ceaf": Clusters("ceaf_m", scope="corpus", typed=True),
}
"""neleval's measures, by its names, over the whole corpus."""
PROTOCOLS: dict[str, dict[str, LinkMeasure[Any]]] = {
    "hipe": {},
    "hipe2020": {},
    "conll": {f"{metric}_{rate}": Clusters(metric, rate) for metric in METRICS for rate in RATES},
    "tac": {
        f"{name}_{rate.replace('f1', 'fscore')}": replace(measure, rate=rate)
        for rate in RATES
        for name, measure in TAC.items()
    },
}
"""What each official scorer prints, by name; HIPE's values are those of the scorecard, counted in its order."""
MATCHES = ("overlap", "span")
HIPE_VALUES = ("link_", "strong_link_", "macro_doc_")  # what the HIPE scorer counts
WARNINGS = {
    "repeated": "predictions repeat a mention; their candidates were put together, each counts once",
    "lost": "predicted mentions do not stand in their text and count as spurious",
}


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    equivalent: Mapping[str, str] | IdPairs | None = None,
    protocol: str | None = None,
    bounds: str = "given",
) -> Scorecard:
    """All values over aligned records.

    Args:
        gold: Documents with their ``links``.
        pred: The predictions, aligned with gold.
        equivalent: Maps an id to the one that counts in its place (redirects, the same entity).
        protocol: ``hipe`` counts in the order of the official HIPE scorer; so does ``hipe2020``, which differs only in
            what the format ``hipe`` reads. ``conll`` (coreference) and ``tac`` (neleval) compute the values of these
            scorers instead, which are 0 where there is nothing to count.
        bounds: ``word`` first widens spans to whole words.

    >>> gold = [{"text": "Paris", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]}]
    >>> card = scorecard(gold, [{"links": [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]}])
    >>> card.values["hits@1"], card.values["hits@5"], card.values["mrr"], card.values["link_f1"]
    (0.0, 1.0, 0.5, 0.0)
    """
    check_choice("protocol", protocol or "hipe", PROTOCOLS)
    shared, same = (
        Batches(gold, pred),
        dict[str, Any](equivalent=tuple(sorted(dict(equivalent or ()).items())), bounds=bounds),
    )
    if measures := PROTOCOLS.get(protocol or ""):
        card = fold("linking", {name: replace(measure, **same) for name, measure in measures.items()}, shared)
        for name, total in card.totals.items():
            counts = overlaps(total, total.metric) if isinstance(total, Clusterings) else total
            card.values[name] = card.values[name] if counts.weight else 0.0
        return card
    matching = "hipe" if protocol else "one-to-one"
    fates, counts = list[Any](), Counter[str]()

    def look(part: Batches) -> None:
        batch: list[tuple[Matching]] = part.of(Coverage(**same))
        for (matched,) in batch:
            counts["repeated"] += matched.document.repeated
            counts["lost"] += sum(answer.start < 0 for answer in matched.pred)
            fates.extend(matched.fates() if protocol else ())

    over = {over: _over(over, matching, same) for over in OVER}
    every, beside = _measures(matching, same), [measure for measures in over.values() for measure in measures]
    card = fold("linking", every, shared, look, beside={measure.key: measure for measure in beside})
    card.counts["mentions"] = {"gold": card.totals["coverage"].weight, "answered": card.totals["coverage"].total}
    card.by["over"] = {
        name: {plain.key: valued(card.totals[measure.key]) for plain, measure in zip(over["all"], part, strict=True)}
        | {"mentions": card.totals[Coverage(name).key].weight}
        for name, part in over.items()
    }
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(name for name in card.values if not name.startswith(HIPE_VALUES))
        card.counts |= {f"hipe_{schema}": hipe(fates, schema).state() for schema in SCHEMAS}
    card.warnings += [f"{counts[name]} {message}" for name, message in WARNINGS.items() if counts[name]]
    return card


def _over(over: str, matching: str, same: Mapping[str, Any], cuts: Sequence[int] = (1,)) -> list[LinkMeasure[Any]]:
    """The ranks and the links of the mentions in the knowledge base, of NIL, or of all."""
    links = product(MATCHES, RATES, cuts)
    return [
        *(HitsAt(k, over, **same) for k in (1, 3, 5, 10)),
        MRR(over, **same),
        Coverage(over, **same),
        *(LinkF1(k, over, matching, match=match, rate=rate, **same) for match, rate, k in links),
    ]


def _measures(matching: str, same: Mapping[str, Any]) -> list[Measure[Any]]:
    """Every measure of the scorecard, under the conventions asked for."""
    ranks_and_links = _over("all", matching, same, (1, 3, 5))
    return [
        *ranks_and_links[:6],
        *(NILF1(rate, **same) for rate in RATES),
        *ranks_and_links[6:],
        *(MacroDocLink(rate, match, matching, **same) for match, rate in product(MATCHES, RATES)),
        ConsistencyRate(**same),
        CoverageRate(**same),
    ]
