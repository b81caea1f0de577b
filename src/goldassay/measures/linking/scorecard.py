"""The scorecard of linking: all its measures over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from goldassay.fields import Fields, Record
from goldassay.measure import EMPTY, Measure, check_choice
from goldassay.measures.extraction.matching import SCHEMAS
from goldassay.measures.linking.clusters import METRICS, Clusterings, Clusters, overlaps
from goldassay.measures.linking.consistency import ConsistencyRate, CoverageRate
from goldassay.measures.linking.matching import OVER, hipe
from goldassay.measures.linking.measures import (
    MRR,
    NILF1,
    Coverage,
    HitsAt,
    LinkF1,
    LinkMeasure,
    MacroDocLink,
    MentionBatch,
)
from goldassay.measures.linking.records import IdPairs
from goldassay.scorecard import RATES, Batches, Scorecard, Sections, Values, fold, valued

TAC: Fields = {
    **{
        f"strong{typing}_{name}_match": LinkF1(1, over, match="span", typed=bool(typing))
        for typing in ("", "_typed")
        for name, over in (("link", "inkb"), ("nil", "nil"), ("all", "all"))
    },
    "strong_mention_match": LinkF1(match="mention"),
    "strong_typed_mention_match": LinkF1(match="mention", typed=True),
    "strong_linked_mention_match": LinkF1(1, "inkb", match="mention"),
    "entity_match": LinkF1(match="entity"),
    "muc": Clusters("muc", scope="corpus"),
    "b_cubed": Clusters("b_cubed", scope="corpus"),
    "b_cubed_plus": Clusters("b_cubed", scope="corpus", linked=True),
    "entity_ceaf": Clusters("ceaf_e", scope="corpus"),
    "mention_ceaf": Clusters("ceaf_m", scope="corpus"),
    "mention_ceaf_plus": Clusters("ceaf_m", scope="corpus", linked=True),
    "typed_mention_ceaf": Clusters("ceaf_m", scope="corpus", typed=True),
    "typed_mention_ceaf_plus": Clusters("ceaf_m", scope="corpus", typed=True, linked=True),
    "pairwise": Clusters("pairwise", scope="corpus"),
}
"""neleval's measures, by its names, over the whole corpus."""
PROTOCOLS: dict[str, dict[str, LinkMeasure]] = {
    "hipe": {},
    "hipe2020": {},
    "conll": {
        f"{metric}_{rate}": Clusters(metric, rate) for metric in METRICS if metric != "pairwise" for rate in RATES
    },
    "tac": {
        f"{name}_{rate.replace('f1', 'fscore')}": replace(measure, rate=rate)
        for rate in RATES
        for name, measure in TAC.items()
    },
}
"""The values of each official scorer, by name; HIPE's are those of the scorecard, counted in its order."""
MATCHES = ("overlap", "span")
HIPE_VALUES = ("link_", "strong_link_", "macro_doc_")  # what the HIPE scorer counts
WARNINGS = {
    "repeated": "{n} predictions repeat a mention; their candidates were put together, each counts once",
    "lost": "{n} predicted mentions are not in their text and count as spurious",
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

    Raises:
        GoldassayError: There is no such protocol.

    >>> gold = [{"text": "Paris", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]}]
    >>> card = scorecard(gold, [{"links": [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]}])
    >>> card.values["hits@1"], card.values["hits@5"], card.values["mrr"], card.values["link_f1"]
    (0.0, 1.0, 0.5, 0.0)
    """
    check_choice("protocol", protocol or "hipe", PROTOCOLS)
    shared = Batches(gold, pred)
    same: Fields = {"equivalent": tuple(sorted(dict(equivalent or ()).items())), "bounds": bounds}
    if measures := PROTOCOLS.get(protocol or ""):
        card = fold("linking", {name: replace(measure, **same) for name, measure in measures.items()}, shared)
        for name, total in card.totals.items():
            counts = overlaps(total, total.metric) if isinstance(total, Clusterings) else total
            card.values[name] = card.values[name] if counts.weight else 0.0
            card.conventions[name] = card.conventions[name].replace(f"empty={EMPTY}", "empty=0")
        return card
    matching = "hipe" if protocol else "one-to-one"
    over = {name: _over(name, matching, same) for name in OVER}
    beside = {measure.key: measure for measures_over in over.values() for measure in measures_over}
    by_over = {name: [measure.key for measure in measures_over] for name, measures_over in over.items()}
    sections = Sections(_hipe_facts if protocol else _facts, {"over": partial(_values_over, by_over)}, WARNINGS)
    card = fold("linking", _measures(matching, same), shared, beside=beside, sections=sections)
    card.counts["mentions"] = {"gold": card.totals["coverage"].weight, "answered": card.totals["coverage"].total}
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(name for name in card.values if not name.startswith(HIPE_VALUES))
        outcomes = [fact for fact in card.facts.elements() if isinstance(fact, tuple)]
        card.counts |= {f"hipe_{schema}": hipe(outcomes, schema).state() for schema in SCHEMAS}
    return card


def _facts(part: Batches, first: HitsAt) -> Counter[Any]:
    facts = Counter[Any]()
    batch: MentionBatch = part.of(first)
    for matching in batch:
        facts["repeated"] += matching.document.repeated
        facts["lost"] += sum(answer.start < 0 for answer in matching.pred)
    return facts


def _hipe_facts(part: Batches, first: HitsAt) -> Counter[Any]:
    """The same, and the outcome of each answer and each mention without one."""
    batch: MentionBatch = part.of(first)
    outcomes = Counter(outcome for matching in batch for _, outcome in matching.outcomes())
    return _facts(part, first) + outcomes


def _values_over(by_over: Mapping[str, Sequence[str]], card: Scorecard) -> dict[str, Values]:
    """The values of the mentions in the knowledge base, of NIL, and of all, under the names of those of all."""
    return {
        name: {all_key: valued(card.totals[key]) for all_key, key in zip(by_over["all"], keys, strict=True)}
        | {"mentions": card.totals[Coverage(name).key].weight}
        for name, keys in by_over.items()
    }


def _over(over: str, matching: str, same: Record, cuts: Sequence[int] = (1,)) -> list[LinkMeasure]:
    """The ranks and the links of the mentions in the knowledge base, of NIL, or of all."""
    links = product(MATCHES, RATES, cuts)
    return [
        *(HitsAt(k, over, **same) for k in (1, 3, 5, 10)),
        MRR(over, **same),
        Coverage(over, **same),
        *(LinkF1(k, over, matching, match=match, rate=rate, **same) for match, rate, k in links),
    ]


def _measures(matching: str, same: Record) -> list[Measure]:
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
