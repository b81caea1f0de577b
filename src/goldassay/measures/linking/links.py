"""Links: a mention and its id together, by overlap (HIPE fuzzy) or on the same span (HIPE strict).

``matching`` is ``one-to-one`` with the most pairs, or ``hipe``, the order in which the official HIPE scorer takes
answers. Pooled over all documents, or as a mean over documents.

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from goldassay.measure import EMPTY
from goldassay.measures.linking.matching import Matching
from goldassay.measures.linking.measures import HIPE, RATES, LinkMeasure, among, suffix
from goldassay.tally import FORMULAS, Counts, Mean


@dataclass(frozen=True)
class _Link(LinkMeasure[Counts]):
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
        return f"{'strong_' if self.match == 'span' else ''}link{suffix(self.over)}"

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

    def tally(self, found: Matching) -> Counts:
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
class MacroDocLink(LinkMeasure[Mean]):
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
        among("rate", self.rate, tuple(RATES))

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

    def tally(self, found: Matching) -> Mean:
        """The rate of the document."""
        counts = found.counts(self.match, matching=self.matching)
        made, wanted = counts.tp + counts.fp > 0, counts.tp + counts.fn > 0
        if self.matching == "hipe" and not {"precision": made, "recall": wanted, "f1": made and wanted}[self.rate]:
            return Mean(0.0, 0.0)
        return Mean.of(float(getattr(counts, self.rate)) if counts.weight else 1.0)
