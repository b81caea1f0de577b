"""Linking's measures of ranks and of NIL: where the right id stands, and which mentions have none.

Those of a mention and its id together are in `links`.

A mention is keyed by (document, start, end). Ranks (hits@k, MRR) have one denominator, every gold mention that counts
(``over``: ``all``, ``inkb`` or ``nil``); a mention without an answer has rank 0, one that is NIL is right at rank 1
when the answer is NIL.

``equivalent`` holds pairs of ids that mean the same (redirects). With ``bounds="word"`` spans of both sides are widened
to whole words first, as ELEVANT does; its optional and child labels are a link's ``optional`` and ``parent``.

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import EMPTY, Assessment, Measure
from goldassay.measures.linking.matching import MATCHINGS, OVER, Matching
from goldassay.measures.linking.mistakes import errors
from goldassay.measures.linking.records import IdPairs, sides
from goldassay.statistics.evidence import stacked
from goldassay.tally import FORMULAS, Counts, Mean, PrecisionCounts, RecallCounts, T

HIPE = "Ehrmann et al. 2022 (HIPE: fuzzy, strict, @k); Hachey et al. 2014 (neleval)"
KEY = "document, start, end"
BOUNDS = ("given", "word")
RATES: dict[str, Counts] = {"f1": Counts(), "precision": PrecisionCounts(), "recall": RecallCounts()}
TABLES = ("equivalent", "resolver")  # conventions that may be thousands of pairs


@dataclass(frozen=True)
class LinkMeasure(Measure[T]):
    """A measure over the mentions and answers of a document."""

    task: ClassVar[str] = "linking"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "links")
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    source: ClassVar[str] = HIPE
    shares: ClassVar[tuple[str, ...]] = ("equivalent", "bounds")
    counted: ClassVar[str] = ""  # pyright: ignore[reportIncompatibleMethodOverride]

    equivalent: IdPairs = field(default=(), kw_only=True)
    bounds: str = field(default="given", kw_only=True)

    def __post_init__(self) -> None:
        among("bounds", self.bounds, BOUNDS)
        among("over", getattr(self, "over", "all"), OVER)
        among("match", getattr(self, "match", "span"), ("overlap", "span"))
        among("matching", getattr(self, "matching", "hipe"), MATCHINGS)
        k = getattr(self, "k", 1)
        if not isinstance(k, int) or k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")

    def tally(self, found: Matching) -> T:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> list[Matching]:
        """Every document, read and matched once."""
        return [Matching(sides(*pair, self.equivalent, self.bounds)) for pair in zip(gold, pred, strict=True)]

    def tallies(self, batch: Sequence[Matching]) -> T:
        """The evidence of each document."""
        made: T = stacked([self.tally(found) for found in batch], self.zero)
        return made

    def assess(self, gold: object, pred: object) -> Assessment[T]:
        """The evidence of one document and its errors."""
        read = sides(gold, pred, self.equivalent, self.bounds)
        found, right = errors(read)
        return Assessment(self.tally(Matching(read)), found, right)

    @property
    def conventions(self) -> str:
        """The name with every convention; of a table, how many pairs it has and a mark that tells it from others."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in TABLES}
        tables = {name: _told(getattr(self, name)) for name in TABLES if getattr(self, name, ())}
        return f"{self.key}[{', '.join(f'{key}={value}' for key, value in {**chosen, **tables, **self.fixed}.items())}]"


def _told(table: IdPairs) -> str:
    return f"{len(table)} pairs #{sha256(repr(table).encode()).hexdigest()[:8]}"


def among(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise where an argument is none of its choices."""
    if value not in choices:
        raise GoldassayError(f"{name} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}")


def suffix(over: str) -> str:
    """What the name of a value has where not all mentions count."""
    return "" if over == "all" else f"_{over}"


@dataclass(frozen=True)
class HitsAt(LinkMeasure[Mean]):
    """The share of gold mentions whose id is among the first ``k`` candidates.

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}, {"start": 9, "end": 12, "ids": {}}]
    >>> HitsAt(1)(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally.value
    0.0
    >>> HitsAt(5)(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally
    Mean(total=1.0, weight=2)
    """

    k: int = 1
    over: str = "all"
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
        return f"hits@{self.k}{suffix(self.over)}"

    def tally(self, found: Matching) -> Mean:
        """Hits of one document."""
        ranks = found.ranked(self.over)
        return Mean(float(sum(0 < place <= self.k for place in ranks)), len(ranks))


@dataclass(frozen=True)
class MRR(LinkMeasure[Mean]):
    """The mean over gold mentions of 1 / rank of the right candidate; 0 where it is not there.

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]
    >>> MRR()(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally.value
    0.5
    """

    over: str = "all"
    zero: ClassVar[Mean] = Mean()
    fixed: ClassVar[dict[str, str]] = HitsAt.fixed
    formula: ClassVar[str] = "mean over gold mentions of 1 / rank"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``mrr`` and so on."""
        return f"mrr{suffix(self.over)}"

    def tally(self, found: Matching) -> Mean:
        """Reciprocal ranks of one document."""
        ranks = found.ranked(self.over)
        return Mean(sum(1 / place for place in ranks if place), len(ranks))


@dataclass(frozen=True)
class Coverage(LinkMeasure[Mean]):
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
        return f"coverage{suffix(self.over)}"

    def tally(self, found: Matching) -> Mean:
        """Answered mentions of one document."""
        counted = found.wanted(self.over)
        return Mean(sum(i in found.answered for i in counted), len(counted))


@dataclass(frozen=True)
class _Nil(LinkMeasure[Counts]):
    rate: ClassVar[str] = "f1"
    counted: ClassVar[str] = "nil"
    fixed: ClassVar[dict[str, str]] = {"key": KEY, "average": "micro", "empty": EMPTY}

    def tally(self, found: Matching) -> Counts:
        """Answered NIL and NIL; answered NIL and not (or no mention); NIL and not answered so."""
        hits = sum(found.gold[i].nil and found.pred[j].nil for i, j in found.answered.items())
        made, wanted = sum(one.nil for one in found.pred), sum(one.nil for one in found.gold)
        return type(self.zero)(hits, made - hits, wanted - hits)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class NILPrecision(_Nil):
    """Of the mentions answered NIL, the share that are NIL.

    >>> NILPrecision()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 5, "candidates": []}]).tally.value
    1.0
    """

    name: ClassVar[str] = "nil_precision"
    zero: ClassVar[Counts] = PrecisionCounts()
    formula: ClassVar[str] = FORMULAS["precision"]


@dataclass(frozen=True)
class NILRecall(_Nil):
    """Of the mentions that are NIL, the share that were answered NIL.

    >>> NILRecall()([{"start": 0, "end": 5, "ids": {}}], []).tally.value
    0.0
    """

    name: ClassVar[str] = "nil_recall"
    zero: ClassVar[Counts] = RecallCounts()
    formula: ClassVar[str] = FORMULAS["recall"]


@dataclass(frozen=True)
class NILF1(_Nil):
    """F1 of finding the mentions that are in no knowledge base.

    >>> NILF1()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 5, "candidates": ["Q1"]}]).tally
    Counts(tp=0, fp=0, fn=1)
    """

    name: ClassVar[str] = "nil_f1"
    zero: ClassVar[Counts] = Counts()
    formula: ClassVar[str] = FORMULAS["f1"]
