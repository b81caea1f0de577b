"""Linking: mentions of a text with the ids that a knowledge base gives them, or NIL.

Read in this order: `records` (what is read from a pair, ids that mean the same), `matching` (which answers fit which
mentions, also in the official scorer's order), `measures` (ranks, NIL) and `links` (a mention and its id together),
`consistency` (ids of several knowledge bases), `mistakes` (what was got wrong, in words), `scorecard` (everything over
a set).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure, gold_field
from goldassay.measures.linking.consistency import ConsistencyRate, CoverageRate, cross_kb_consistency
from goldassay.measures.linking.links import (
    LinkF1,
    LinkPrecision,
    LinkRecall,
    MacroDocLink,
    StrongLinkF1,
    StrongLinkPrecision,
    StrongLinkRecall,
)
from goldassay.measures.linking.matching import Matching, overlapping
from goldassay.measures.linking.measures import MRR, NILF1, Coverage, HitsAt, NILPrecision, NILRecall
from goldassay.measures.linking.mistakes import errors
from goldassay.measures.linking.records import Answer, Mention, rank, sides
from goldassay.measures.linking.scorecard import scorecard

# CoverageRate is not among them: gold's NIL carries no id, and the laws say that gold against gold is best.
MEASURES: tuple[Measure[Any], ...] = (
    *(HitsAt(k) for k in (1, 5, 10)),
    HitsAt(1, "inkb"),
    HitsAt(1, "nil"),
    MRR(),
    MRR("inkb"),
    Coverage(),
    NILPrecision(),
    NILRecall(),
    NILF1(),
    LinkF1(),
    LinkPrecision(),
    LinkRecall(),
    LinkF1(3),
    LinkF1(1, "inkb"),
    LinkF1(1, "nil"),
    LinkF1(equivalent=(("Q60", "Q11299"),)),
    StrongLinkF1(),
    StrongLinkPrecision(),
    StrongLinkRecall(),
    StrongLinkF1(5, "inkb"),
    LinkF1(matching="hipe"),
    StrongLinkF1(bounds="word"),
    MacroDocLink(),
    MacroDocLink("precision"),
    MacroDocLink("recall", "span"),
    MacroDocLink("f1", "span", "hipe"),
    ConsistencyRate(),
)


def perfect(gold: object) -> dict[str, list[dict[str, object]]]:
    """The prediction that gets everything right."""
    links = []
    for link in gold_field(gold, "links"):
        ids = {base: list(values) for base, values in (link.get("ids") or {}).items()}
        candidates = [{"id": one} for values in ids.values() for one in values]
        links.append({"start": link["start"], "end": link["end"], "candidates": candidates, "ids": ids})
    return {"links": links}


__all__ = [
    "MEASURES",
    "MRR",
    "NILF1",
    "Answer",
    "ConsistencyRate",
    "Coverage",
    "CoverageRate",
    "HitsAt",
    "LinkF1",
    "LinkPrecision",
    "LinkRecall",
    "MacroDocLink",
    "Matching",
    "Mention",
    "NILPrecision",
    "NILRecall",
    "StrongLinkF1",
    "StrongLinkPrecision",
    "StrongLinkRecall",
    "cross_kb_consistency",
    "errors",
    "overlapping",
    "perfect",
    "rank",
    "scorecard",
    "sides",
]
