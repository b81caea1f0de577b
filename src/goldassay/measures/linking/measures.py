"""Linking's measures: where the right id stands, the mention and its id together, NIL, and means over documents.

A mention is keyed by (document, start, end). Ranks (hits@k, MRR) have one denominator, every gold mention that counts
(``over``: ``all``, ``inkb`` or ``nil``); a mention without an answer has rank 0, one that is NIL is right at rank 1
when the answer is NIL. Links count a mention and its id together: by overlap (HIPE fuzzy) or on the same span (HIPE
strict).

``equivalent`` holds pairs of ids that mean the same (redirects). With ``bounds="word"`` spans of both sides are widened
to whole words first, as ELEVANT does; its optional and child labels are a link's ``optional`` and ``parent``.
``matching`` is ``one-to-one`` with the most pairs, or ``hipe``, the order in which the official HIPE scorer takes
answers.

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import EMPTY, Assessment, Measure
from goldassay.measures.linking.matching import MATCHINGS, OVER, Matched
from goldassay.measures.linking.mistakes import errors
from goldassay.measures.linking.records import Pairs, sides
from goldassay.statistics.evidence import stacked
from goldassay.tally import Counts, Mean, PrecisionCounts, RecallCounts

HIPE = "Ehrmann et al. 2022 (HIPE: fuzzy, strict, @k); Hachey et al. 2014 (neleval)"
KEY = "document, start, end"
BOUNDS = ("given", "word")
FORMULAS = {"f1": "2 tp / (2 tp + fp + fn)", "precision": "tp / (tp + fp)", "recall": "tp / (tp + fn)"}
RATES: dict[str, Counts] = {"f1": Counts(), "precision": PrecisionCounts(), "recall": RecallCounts()}
TABLES = ("equivalent", "resolver")  # conventions that may be thousands of pairs


@dataclass(frozen=True)
class LinkMeasure(Measure[Any]):
    """A measure over the mentions and answers of a document."""

    task: ClassVar[str] = "linking"
    gold_fields: ClassVar[tuple[str, ...]] = ("text", "links")
    pred_fields: ClassVar[tuple[str, ...]] = ("links",)
    source: ClassVar[str] = HIPE
    shares: ClassVar[tuple[str, ...]] = ("equivalent", "bounds")
    counted: ClassVar[str] = ""  # pyright: ignore[reportIncompatibleMethodOverride]

    equivalent: Pairs = field(default=(), kw_only=True)
    bounds: str = field(default="given", kw_only=True)

    def __post_init__(self) -> None:
        _among("bounds", self.bounds, BOUNDS)
        _among("over", getattr(self, "over", "all"), OVER)
        _among("match", getattr(self, "match", "span"), ("overlap", "span"))
        _among("matching", getattr(self, "matching", "hipe"), MATCHINGS)
        k = getattr(self, "k", 1)
        if not isinstance(k, int) or k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {k!r}")

    def tally(self, found: Matched) -> Any:
        """The evidence of one document."""
        raise GoldassayError(f"{type(self).__name__} does not say how to count")

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> list[Matched]:
        """Every document, read and matched once."""
        return [Matched(sides(*pair, self.equivalent, self.bounds)) for pair in zip(gold, pred, strict=True)]

    def tallies(self, batch: Sequence[Matched]) -> Any:
        """The evidence of each document."""
        return stacked([self.tally(found) for found in batch], self.zero)

    def assess(self, gold: Any, pred: Any) -> Assessment[Any]:
        """The evidence of one document and its errors."""
        read = sides(gold, pred, self.equivalent, self.bounds)
        found, right = errors(read)
        return Assessment(self.tally(Matched(read)), found, right)

    @property
    def conventions(self) -> str:
        """The name with every convention; of a table, how many pairs it has and a mark that tells it from others."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in TABLES}
        tables = {name: _told(getattr(self, name)) for name in TABLES if getattr(self, name, ())}
        return f"{self.key}[{', '.join(f'{key}={value}' for key, value in {**chosen, **tables, **self.fixed}.items())}]"


def _told(table: Pairs) -> str:
    return f"{len(table)} pairs #{sha256(repr(table).encode()).hexdigest()[:8]}"


def _among(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise GoldassayError(f"{name} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}")


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

    def tally(self, found: Matched) -> Mean:
        """Hits of one document."""
        ranks = found.ranked(self.over)
        return Mean(float(sum(0 < place <= self.k for place in ranks)), len(ranks))


@dataclass(frozen=True)
class MRR(LinkMeasure):
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
        return f"mrr{_suffix(self.over)}"

    def tally(self, found: Matched) -> Mean:
        """Reciprocal ranks of one document."""
        ranks = found.ranked(self.over)
        return Mean(sum(1 / place for place in ranks if place), len(ranks))


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

    def tally(self, found: Matched) -> Mean:
        """Answered mentions of one document."""
        counted = found.wanted(self.over)
        return Mean(sum(i in found.answered for i in counted), len(counted))


@dataclass(frozen=True)
class _Link(LinkMeasure):
    k: int = 1
    over: str = "all"
    matching: str = "one-to-one"
    match: ClassVar[str] = "overlap"
    rate: ClassVar[str] = "f1"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``link_f1``, ``strong_link_inkb_f1@3`` and so on."""
        return f"{self._what}_{self.rate}{self._at}"

    @property
    def counted(self) -> str:  # type: ignore[override]
        """``link``, ``strong_link@3`` and so on."""
        return f"{self._what}{self._at}"

    @property
    def _what(self) -> str:
        return f"{'strong_' if self.match == 'span' else ''}link{_suffix(self.over)}"

    @property
    def _at(self) -> str:
        return f"@{self.k}" if self.k > 1 else ""

    @property
    def zero(self) -> Counts:
        """No evidence."""
        return RATES[self.rate]

    @property
    def formula(self) -> str:  # type: ignore[override]
        """How it is computed, and what the field calls it."""
        also = "HIPE fuzzy" if self.match == "overlap" else "HIPE strict"
        return f"{FORMULAS[self.rate]}; also known as {also}"

    def tally(self, found: Matched) -> Counts:
        """Counts of one document."""
        counts = found.counts(self.match, self.k, self.over, self.matching)
        return type(self.zero)(counts.tp, counts.fp, counts.fn)


OVERLAP = {"match": "overlap+id", "average": "micro", "empty": EMPTY}
SPAN = {"match": "span+id", "average": "micro", "empty": EMPTY}


@dataclass(frozen=True)
class LinkF1(_Link):
    """F1 of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"]}}]
    >>> LinkF1()(gold, [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally
    Counts(tp=1, fp=0, fn=0)
    """

    fixed: ClassVar[dict[str, str]] = OVERLAP


@dataclass(frozen=True)
class LinkPrecision(_Link):
    """Precision of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> LinkPrecision()([], [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally.value
    0.0
    """

    rate: ClassVar[str] = "precision"
    fixed: ClassVar[dict[str, str]] = OVERLAP


@dataclass(frozen=True)
class LinkRecall(_Link):
    """Recall of links: the mentions overlap and the right id is among the first ``k`` candidates (HIPE fuzzy).

    >>> LinkRecall()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 4, "candidates": []}]).tally.value
    1.0
    """

    rate: ClassVar[str] = "recall"
    fixed: ClassVar[dict[str, str]] = OVERLAP


@dataclass(frozen=True)
class StrongLinkF1(_Link):
    """F1 of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkF1()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 4, "candidates": []}]).tally
    Counts(tp=0, fp=1, fn=1)
    """

    match: ClassVar[str] = "span"
    fixed: ClassVar[dict[str, str]] = SPAN


@dataclass(frozen=True)
class StrongLinkPrecision(_Link):
    """Precision of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkPrecision()([], []).tally.value
    1.0
    """

    match: ClassVar[str] = "span"
    rate: ClassVar[str] = "precision"
    fixed: ClassVar[dict[str, str]] = SPAN


@dataclass(frozen=True)
class StrongLinkRecall(_Link):
    """Recall of links: the mention is the same and the right id is among the first ``k`` candidates (HIPE strict).

    >>> StrongLinkRecall()([{"start": 0, "end": 5, "ids": {}}], []).tally.value
    0.0
    """

    match: ClassVar[str] = "span"
    rate: ClassVar[str] = "recall"
    fixed: ClassVar[dict[str, str]] = SPAN


@dataclass(frozen=True)
class _Nil(LinkMeasure):
    rate: ClassVar[str] = "f1"
    counted: ClassVar[str] = "nil"
    fixed: ClassVar[dict[str, str]] = {"key": KEY, "average": "micro", "empty": EMPTY}

    def tally(self, found: Matched) -> Counts:
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


@dataclass(frozen=True)
class MacroDocLink(LinkMeasure):
    """The mean over documents of their links' precision, recall or F1, by overlap or on the span.

    A document that is empty on both sides has 1 (GERBIL). With ``matching="hipe"`` documents without answers leave
    precision and F1, and those without mentions leave recall and F1.

    >>> MacroDocLink()([], []).tally, MacroDocLink(matching="hipe")([], []).tally
    (Mean(total=1.0, weight=1.0), Mean(total=0.0, weight=0.0))
    """

    rate: str = "f1"
    match: str = "overlap"
    matching: str = "one-to-one"
    zero: ClassVar[Mean] = Mean()

    def __post_init__(self) -> None:
        super().__post_init__()
        _among("rate", self.rate, tuple(RATES))

    @property
    def name(self) -> str:  # type: ignore[override]
        """``macro_doc_link_f1``, ``macro_doc_strong_link_recall`` and so on."""
        return f"macro_doc_{'strong_' if self.match == 'span' else ''}link_{self.rate}"

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """What an empty document gives is part of the protocol."""
        return {"average": "macro by document", "empty document": "left out" if self.matching == "hipe" else "1"}

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The mean of the rate's formula."""
        return f"mean over documents of {FORMULAS[self.rate]}; empty documents: {self.fixed['empty document']}"

    @property
    def source(self) -> str:  # type: ignore[override]
        """Whose mean it is."""
        return HIPE if self.matching == "hipe" else "Röder et al. 2018 (GERBIL)"

    def tally(self, found: Matched) -> Mean:
        """The rate of the document."""
        counts = found.counts(self.match, matching=self.matching)
        made, wanted = counts.tp + counts.fp > 0, counts.tp + counts.fn > 0
        if self.matching == "hipe" and not {"precision": made, "recall": wanted, "f1": made and wanted}[self.rate]:
            return Mean(0.0, 0.0)
        return Mean.of(float(getattr(counts, self.rate)) if counts.weight else 1.0)
