"""Measures by document: link F1 of each, and whether its predicted ids belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measures.linking.base import LinkMeasure
from goldassay.measures.linking.consistency import bases_of, together, verdict
from goldassay.measures.linking.equivalence import Pairs
from goldassay.measures.linking.matching import counts
from goldassay.measures.linking.mentions import Read
from goldassay.tally import Mean


@dataclass(frozen=True)
class MacroDocLinkF1(LinkMeasure):
    """The mean of the documents' link F1 (``match``: overlap or span); a document empty on both sides has 1 (GERBIL).

    >>> MacroDocLinkF1()([], []).tally
    Mean(total=1.0, weight=1.0)
    """

    match: str = "overlap"
    equivalent: Pairs = ()
    name: ClassVar[str] = "macro_doc_link_f1"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {"average": "macro by document", "empty": "1"}
    formula: ClassVar[str] = "mean over documents of 2 tp / (2 tp + fp + fn)"
    source: ClassVar[str] = "Röder et al. 2018 (GERBIL)"

    def __post_init__(self) -> None:
        if self.match not in ("overlap", "span"):
            raise GoldassayError(f"match is overlap or span, not {self.match!r}")

    def tally(self, read: Read) -> Mean:
        """F1 of the document."""
        return Mean.of(float(counts(read.gold, read.pred, self.match).value))


@dataclass(frozen=True)
class ConsistencyRate(LinkMeasure):
    """Of the predicted links with ids in several knowledge bases, the share whose ids belong together.

    What belongs together is told by ``table``, pairs (id, ``base:id``); empty is what the document's gold links say.
    Links that it says nothing of are no evidence.

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"], "viaf": ["7"]}}]
    >>> wrong = [{"start": 0, "end": 5, "candidates": ["Q1"], "ids": {"wikidata": ["Q1"], "viaf": ["8"]}}]
    >>> ConsistencyRate()(gold, wrong).tally.value, ConsistencyRate()(gold, []).tally.weight
    (0.0, 0.0)
    """

    table: Pairs = ()
    name: ClassVar[str] = "consistency_rate"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {"bases": "wikidata+viaf+isil", "no evidence": "null"}
    formula: ClassVar[str] = "consistent / (consistent + inconsistent)"
    source: ClassVar[str] = "the founding documents, repaired: all three bases, a resolver that is given"

    def tally(self, read: Read) -> Mean:
        """Consistent links of one document, of those with evidence."""
        table = by_base(self.table) if self.table else together(m.bases for m in read.gold)
        verdicts = [verdict(bases_of(answer.bases), table) for answer in read.pred]
        right = verdicts.count("consistent")
        return Mean(float(right), float(right + verdicts.count("inconsistent")))


def by_base(table: Pairs) -> dict[str, dict[str, list[str]]]:
    """Pairs (id, ``base:id``) as a resolver's table."""
    out: dict[str, dict[str, list[str]]] = {}
    for one, other in table:
        base, _, there = other.partition(":")
        out.setdefault(one, {}).setdefault(base, []).append(there)
    return out
