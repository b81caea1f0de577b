"""Linking: mentions of a text with their ids in a knowledge base, or NIL.

Read in this order: `records` (what is read from a pair, ids that mean the same), `matching` (which answers fit which
mentions, also in the official scorer's order), `measures` (ranks, NIL, links), `consistency` (whether the ids of a
mention in several knowledge bases belong together), `mistakes` (the errors, in words), `scorecard` (everything over a
set). Which mentions are one entity is measured by `goldassay.ext.protocols.clusters`.
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.linking.consistency import ConsistencyRate, CoverageRate, cross_kb_consistency
from goldassay.measures.linking.matching import Matching
from goldassay.measures.linking.measures import MRR, NILF1, Coverage, HitsAt, LinkF1, MacroDocLink
from goldassay.measures.linking.records import LinkPair, Mention, rank, sides
from goldassay.measures.linking.scorecard import scorecard

# CoverageRate is not among them: gold's NIL has no id, and the laws say that gold against gold is best.
MEASURES = (
    *(HitsAt(k) for k in (1, 5, 10)),
    HitsAt(1, "inkb"),
    HitsAt(1, "nil"),
    MRR(),
    MRR("inkb"),
    Coverage(),
    *(NILF1(rate) for rate in ("precision", "recall", "f1")),
    *(LinkF1(rate=rate) for rate in ("f1", "precision", "recall")),
    LinkF1(3),
    LinkF1(1, "inkb"),
    LinkF1(1, "nil"),
    LinkF1(equivalent=(("Q60", "Q11299"),)),
    *(LinkF1(match="span", rate=rate) for rate in ("f1", "precision", "recall")),
    LinkF1(5, "inkb", match="span"),
    LinkF1(matching="hipe"),
    LinkF1(match="span", bounds="word"),
    MacroDocLink(),
    MacroDocLink("precision"),
    MacroDocLink("recall", "span"),
    MacroDocLink("f1", "span", "hipe"),
    ConsistencyRate(),
)


__all__ = [
    "MEASURES",
    "MRR",
    "NILF1",
    "ConsistencyRate",
    "Coverage",
    "CoverageRate",
    "HitsAt",
    "LinkF1",
    "LinkPair",
    "MacroDocLink",
    "Matching",
    "Mention",
    "cross_kb_consistency",
    "rank",
    "scorecard",
    "sides",
]
__getattr__ = misspelled
