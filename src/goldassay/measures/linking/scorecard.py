"""The scorecard of linking: all its measures over a set of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from goldassay.core.fields import Record
from goldassay.core.measure import Batches, Measure
from goldassay.measures.extraction.matching import SCHEMAS
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
from goldassay.measures.protocols import official_result
from goldassay.results.result import RATE_NAMES, Result, Sections, Values, fold, valued

MATCHES = ("overlap", "span")
HIPE_VALUES = ("link_", "strong_link_", "macro_doc_")  # what the HIPE scorer counts


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    equivalent: Mapping[str, str] | IdPairs | None = None,
    protocol: str | None = None,
    bounds: str = "given",
) -> Result:
    """All values over aligned records.

    Args:
        gold: Documents with their ``links``.
        pred: The predictions, aligned with gold.
        equivalent: Maps an id to the one that counts in its place (redirects, the same entity).
        protocol: ``hipe`` counts in the order of the official HIPE scorer; so does ``hipe2020``, which differs only in
            what the format ``hipe`` reads. Another protocol computes its own values instead.
        bounds: ``word`` first widens spans to whole words.

    Raises:
        GoldassayError: There is no such protocol.

    >>> gold = [{"text": "Paris", "links": [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]}]
    >>> card = scorecard(gold, [{"links": [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]}])
    >>> card.values["hits@1"], card.values["hits@5"], card.values["mrr"], card.values["link_f1"]
    (0.0, 1.0, 0.5, 0.0)
    """
    shared = Batches(gold, pred)
    if official := official_result("linking", shared, protocol, equivalent=equivalent, bounds=bounds):
        return official
    same: dict[str, Any] = {"equivalent": tuple(sorted(dict(equivalent or ()).items())), "bounds": bounds}
    matching = "hipe" if protocol else "one-to-one"
    ranks_and_links = _over("all", matching, same, (1, 3, 5))
    measures: list[Measure] = [
        *ranks_and_links[:6],
        *(NILF1(rate, **same) for rate in RATE_NAMES),
        *ranks_and_links[6:],
        *(MacroDocLink(rate, match, matching, **same) for match, rate in product(MATCHES, RATE_NAMES)),
        ConsistencyRate(**same),
        CoverageRate(**same),
    ]
    over = {name: _over(name, matching, same) for name in OVER}

    def by_over(card: Result) -> dict[str, Values]:
        """The values of the mentions in the knowledge base, of NIL, and of all, under the names of those of all."""
        facet: dict[str, Values] = {}
        for name, members in over.items():
            pairs = zip(over["all"], members, strict=True)
            facet[name] = {of_all.key: valued(card.totals[measure.key]) for of_all, measure in pairs}
            facet[name]["mentions"] = card.totals[Coverage(name).key].weight
        return facet

    def facts(chunk: Batches, first: HitsAt) -> Counter[str | tuple[int, ...]]:
        """Predictions that are merged or lost, and under a protocol of HIPE each outcome."""
        counted = Counter[str | tuple[int, ...]]()
        batch: MentionBatch = chunk.of(first)
        for matching in batch:
            counted["repeated"] += matching.document.repeated
            counted["lost"] += sum(answer.start < 0 for answer in matching.pred)
            if protocol:
                counted.update(outcome for _, outcome in matching.outcomes())
        return counted

    warnings = {
        "repeated": "{n} predictions repeat a mention; their candidates were put together, each counts once",
        "lost": "{n} predicted mentions are not in their text and count as spurious",
    }
    parts = {measure.key: measure for members in over.values() for measure in members}
    sections = Sections(facts, {"over": by_over}, warnings)
    card = fold("linking", measures, shared, parts=parts, sections=sections)
    card.extra_counts["mentions"] = {"gold": card.totals["coverage"].weight, "answered": card.totals["coverage"].total}
    if protocol:
        card.protocol = protocol
        card.undefined = tuple(name for name in card.measures if not name.startswith(HIPE_VALUES))
        outcomes = [fact for fact in card.facts.elements() if isinstance(fact, tuple)]
        card.extra_counts |= {f"hipe_{schema}": hipe(outcomes, schema).state() for schema in SCHEMAS}
    return card


def _over(over: str, matching: str, same: Record, cuts: Sequence[int] = (1,)) -> list[LinkMeasure]:
    """The ranks and the links of the mentions in the knowledge base, of NIL, or of all."""
    links = product(MATCHES, RATE_NAMES, cuts)
    return [
        *(HitsAt(k, over, **same) for k in (1, 3, 5, 10)),
        MRR(over, **same),
        Coverage(over, **same),
        *(LinkF1(k, over, matching, match=match, rate=rate, **same) for match, rate, k in links),
    ]
