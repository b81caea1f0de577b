"""The scorecard of linking: all its measures over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from goldassay.measure import Measure, check_choice
from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.measures.linking.clusters import METRICS, Clusterings, Clusters, overlaps
from goldassay.measures.linking.consistency import ConsistencyRate, CoverageRate
from goldassay.measures.linking.matching import OVER, Matching, hipe
from goldassay.measures.linking.measures import MRR, NILF1, Coverage, HitsAt, LinkF1, LinkMeasure, MacroDocLink
from goldassay.measures.linking.records import IdPairs, pairs
from goldassay.scorecard import Batches, Scorecard, fold, valued

RATES = ("precision", "recall", "f1")
TAC = {"strong_link_match": "inkb", "strong_nil_match": "nil", "strong_all_match": "all"}
CLUSTERS = {"muc": "muc", "b_cubed": "b_cubed", "entity_ceaf": "ceaf_e", "mention_ceaf": "ceaf_m"}


def _tac(rate: str) -> dict[str, Measure[Any]]:
    """neleval's measures, by its names, over the whole corpus."""
    matches: dict[str, Measure[Any]] = {}
    for typed in (False, True):
        for name, over in TAC.items():
            name = name.replace("strong_", "strong_typed_") if typed else name
            matches[name] = LinkF1(1, over, match="span", rate=rate, typed=typed)
    matches["entity_match"] = LinkF1(match="entity", rate=rate)
    clusters = {name: Clusters(metric, rate, scope="corpus") for name, metric in CLUSTERS.items()}
    return {**matches, **clusters, "typed_mention_ceaf": replace(clusters["mention_ceaf"], typed=True)}


PROTOCOLS: dict[str, dict[str, Measure[Any]]] = {
    "hipe": {},
    "hipe2020": {},
    "conll": {f"{metric}_{rate}": Clusters(metric, rate) for metric in METRICS for rate in RATES},
    "tac": {
        f"{name}_{rate.replace('f1', 'fscore')}": measure for rate in RATES for name, measure in _tac(rate).items()
    },
}
"""What each official scorer prints, by name; HIPE's values are those of the scorecard, counted in its order."""
MATCHES = ("overlap", "span")
HIPE_VALUES = ("link_", "strong_link_", "macro_doc_")  # what the HIPE scorer counts


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
    shared, same = Batches(gold, pred), dict[str, Any](equivalent=pairs(equivalent), bounds=bounds)
    if measures := PROTOCOLS.get(protocol or ""):
        card = fold("linking", {name: replace(measure, **same) for name, measure in measures.items()}, shared)
        card.values = {name: value if _counted(card.totals[name]) else 0.0 for name, value in card.values.items()}
        return card
    return _scorecard(shared, same, protocol)


def _counted(total: Any) -> bool:
    """Whether there is anything to count; of the clusters of a corpus, anything that their metric counts."""
    table: Any = total
    return bool((overlaps(table, total.metric) if isinstance(total, Clusterings) else total).weight)


WARNINGS = {
    "repeated": "predictions repeat a mention; their candidates were put together, each counts once",
    "lost": "predicted mentions do not stand in their text and count as spurious",
}


def _scorecard(shared: Batches, same: Mapping[str, Any], protocol: str | None) -> Scorecard:
    matching = "hipe" if protocol else "one-to-one"
    coverage = Coverage(**same)
    parts = {over: _over(over, matching, same) for over in OVER}
    fates, counts = list[Any](), Counter[str]()

    def look(part: Batches) -> None:
        batch: list[Matching] = part.of(coverage)
        counts["repeated"] += sum(matched.document.repeated for matched in batch)
        counts["lost"] += sum(answer.start < 0 for matched in batch for answer in matched.pred)
        if protocol:
            fates.extend(fate for matched in batch for fate in matched.fates())

    beside = {measure.key: measure for over in ("inkb", "nil") for measure in parts[over]}
    card = fold("linking", _measures(matching, same), shared, look, beside=beside)
    answered = card.totals["coverage"]
    card.counts["mentions"] = {"gold": answered.weight, "answered": answered.total}
    card.by["over"] = {
        over: {_plain(measure.key, over): valued(card.totals[measure.key]) for measure in part}
        | {"mentions": card.totals[Coverage(over).key].weight}
        for over, part in parts.items()
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


def _measures(matching: str, same: Mapping[str, Any]) -> list[LinkMeasure[Any]]:
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


def _plain(name: str, over: str) -> str:
    """The name of a value without what it is over."""
    return name if over == "all" else name.replace(f"_{over}", "", 1)
