"""Measures of ranks: where the right candidate of each gold mention stands.

There is one denominator, every gold mention that counts (``over``: ``all``, ``inkb`` or ``nil``); a mention without an
answer has rank 0. A mention that is NIL is right at rank 1 when the answer is NIL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.measures.linking.matching import chosen, same_span
from goldassay.measures.linking.measures import KEY, LinkMeasure
from goldassay.measures.linking.records import Mention, Pairs, Read, rank
from goldassay.tally import Mean


def ranks(read: Read, over: str = "all") -> list[int]:
    """For each gold mention that counts the rank of the right candidate; 0 where it is not there."""
    answers = dict(same_span(read.gold, read.pred))
    gold: Sequence[Mention] = read.gold
    wanted = {id(mention) for mention in chosen(gold, (), over)[0]}
    return [
        rank(mention, read.pred[answers[i]]) if i in answers else 0
        for i, mention in enumerate(gold)
        if id(mention) in wanted
    ]


def _suffix(over: str) -> str:
    return "" if over == "all" else f"_{over}"


@dataclass(frozen=True)
class HitsAt(LinkMeasure):
    """The share of gold mentions whose id is among the first ``k`` candidates.

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}, {"start": 9, "end": 12, "ids": {}}]
    >>> HitsAt(1)(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally.value
    0.0
    >>> HitsAt(5)(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally
    Mean(total=1.0, weight=2)
    """

    k: int = 1
    over: str = "all"
    equivalent: Pairs = ()
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {
        "key": KEY,
        "denominator": "every gold mention",
        "NIL": "right at 1 if answered NIL",
    }
    formula: ClassVar[str] = "mentions with rank ≤ k / gold mentions"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``hits@1`` and so on."""
        return f"hits@{self.k}{_suffix(self.over)}"

    def tally(self, read: Read) -> Mean:
        """Hits of one document."""
        found = ranks(read, self.over)
        return Mean(float(sum(0 < place <= self.k for place in found)), len(found))


@dataclass(frozen=True)
class MRR(LinkMeasure):
    """The mean over gold mentions of 1 / rank of the right candidate; 0 where it is not there.

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]
    >>> MRR()(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally.value
    0.5
    """

    over: str = "all"
    equivalent: Pairs = ()
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = HitsAt.fixed
    formula: ClassVar[str] = "mean over gold mentions of 1 / rank"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``mrr`` and so on."""
        return f"mrr{_suffix(self.over)}"

    def tally(self, read: Read) -> Mean:
        """Reciprocal ranks of one document."""
        found = ranks(read, self.over)
        return Mean(sum(1 / place for place in found if place), len(found))


@dataclass(frozen=True)
class Coverage(LinkMeasure):
    """The share of gold mentions that have an answer at all, be it NIL: what stands beside hits and MRR.

    >>> Coverage()([{"start": 0, "end": 5, "ids": {}}], []).tally
    Mean(total=0, weight=1)
    """

    over: str = "all"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = {"key": KEY}
    formula: ClassVar[str] = "answered gold mentions / gold mentions"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``coverage`` and so on."""
        return f"coverage{_suffix(self.over)}"

    def tally(self, read: Read) -> Mean:
        """Answered mentions of one document."""
        gold = chosen(read.gold, (), self.over)[0]
        return Mean(len(same_span(gold, read.pred)), len(gold))
