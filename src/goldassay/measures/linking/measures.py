"""Linking's measures: candidates at ranks, NIL, links on the same span or by overlap.

``over`` says which mentions count: ``all``, ``inkb`` (those in the knowledge base) or ``nil``. Ranks have one
denominator, every gold mention that counts; a mention without an answer has rank 0. A gold mention that is NIL is right
at rank 1 when the answer is NIL. ``equivalent`` is a table of pairs (id, id that is counted).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure
from goldassay.measures.linking.consistency import bases_of, together, verdict
from goldassay.measures.linking.equivalence import Pairs
from goldassay.measures.linking.matching import OVER, chosen, counts, same_span
from goldassay.measures.linking.mentions import Mention, Read, rank, sides
from goldassay.measures.linking.mistakes import errors
from goldassay.tally import Counts, Mean, PrecisionCounts, RecallCounts

HIPE = "Ehrmann et al. 2022 (HIPE: fuzzy, strict, @k); Hachey et al. 2014 (neleval)"
KEY = "document, start, end"
FORMULAS = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}
RATES: dict[str, Counts] = {"f1": Counts(), "precision": PrecisionCounts(), "recall": RecallCounts()}


@dataclass(frozen=True)
class _LinkMeasure(Measure[Any]):
    task: ClassVar[str] = "linking"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "links")
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    source: ClassVar[str] = HIPE

    def __post_init__(self) -> None:
        if getattr(self, "over", "all") not in OVER:
            raise GoldassayError(f"over is all, inkb or nil, not {getattr(self, 'over', None)!r}")
        k = getattr(self, "k", 1)
        if not isinstance(k, int) or k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")

    def tally(self, read: Read) -> Any:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one document and its errors."""
        read = sides(gold, pred, getattr(self, "equivalent", ()))
        found, right = errors(read)
        return Assessment(self.tally(read), found, right)


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
class HitsAt(_LinkMeasure):
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
class MRR(_LinkMeasure):
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
class Coverage(_LinkMeasure):
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


def nil_counts(read: Read) -> Counts:
    """Mentions answered NIL that are NIL; answered NIL that are not (or are no mention); NIL not answered so."""
    hits = sum(read.gold[i].nil and read.pred[j].nil for i, j in same_span(read.gold, read.pred))
    return Counts(hits, sum(a.nil for a in read.pred) - hits, sum(m.nil for m in read.gold) - hits)


@dataclass(frozen=True)
class _Nil(_LinkMeasure):
    fixed: ClassVar[dict[str, str]] = {"key": KEY, "average": "micro", "empty": "1"}

    def tally(self, read: Read) -> Counts:
        found = nil_counts(read)
        return type(self.zero)(found.tp, found.fp, found.fn)  # type: ignore[no-any-return]


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


@dataclass(frozen=True)
class _Link(_LinkMeasure):
    k: int = 1
    over: str = "all"
    equivalent: Pairs = ()
    match: ClassVar[str] = "overlap"
    rate: ClassVar[str] = "f1"
    attains_one: ClassVar[bool] = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """``link_f1``, ``strong_link_inkb_f1@3`` and so on."""
        middle = "" if self.over == "all" else f"{self.over}_"
        return (
            f"{'strong_' if self.match == 'span' else ''}link_{middle}{self.rate}{f'@{self.k}' if self.k > 1 else ''}"
        )

    @property
    def zero(self) -> Counts:
        """No evidence."""
        return RATES[self.rate]

    def tally(self, read: Read) -> Counts:
        found = counts(read.gold, read.pred, self.match, self.k, self.over)
        return type(self.zero)(found.tp, found.fp, found.fn)


OVERLAP = {"match": "overlap+id", "matching": "one-to-one, most pairs", "average": "micro", "empty": "1"}
SPAN = {"match": "span+id", "average": "micro", "empty": "1"}


@dataclass(frozen=True)
class LinkF1(_Link):
    """F1 of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"]}}]
    >>> LinkF1()(gold, [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally
    Counts(tp=1, fp=0, fn=0)
    """

    fixed: ClassVar[dict[str, str]] = OVERLAP
    formula: ClassVar[str] = FORMULAS["f1"]


@dataclass(frozen=True)
class LinkPrecision(_Link):
    """Precision of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> LinkPrecision()([], [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally.value
    0.0
    """

    rate: ClassVar[str] = "precision"
    fixed: ClassVar[dict[str, str]] = OVERLAP
    formula: ClassVar[str] = FORMULAS["precision"]


@dataclass(frozen=True)
class LinkRecall(_Link):
    """Recall of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> LinkRecall()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 4, "candidates": []}]).tally.value
    1.0
    """

    rate: ClassVar[str] = "recall"
    fixed: ClassVar[dict[str, str]] = OVERLAP
    formula: ClassVar[str] = FORMULAS["recall"]


@dataclass(frozen=True)
class StrongLinkF1(_Link):
    """F1 of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkF1()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 4, "candidates": []}]).tally
    Counts(tp=0, fp=1, fn=1)
    """

    match: ClassVar[str] = "span"
    fixed: ClassVar[dict[str, str]] = SPAN
    formula: ClassVar[str] = FORMULAS["f1"]


@dataclass(frozen=True)
class StrongLinkPrecision(_Link):
    """Precision of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkPrecision()([], []).tally.value
    1.0
    """

    match: ClassVar[str] = "span"
    rate: ClassVar[str] = "precision"
    fixed: ClassVar[dict[str, str]] = SPAN
    formula: ClassVar[str] = FORMULAS["precision"]


@dataclass(frozen=True)
class StrongLinkRecall(_Link):
    """Recall of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkRecall()([{"start": 0, "end": 5, "ids": {}}], []).tally.value
    0.0
    """

    match: ClassVar[str] = "span"
    rate: ClassVar[str] = "recall"
    fixed: ClassVar[dict[str, str]] = SPAN
    formula: ClassVar[str] = FORMULAS["recall"]


@dataclass(frozen=True)
class MacroDocLinkF1(_LinkMeasure):
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
class ConsistencyRate(_LinkMeasure):
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
