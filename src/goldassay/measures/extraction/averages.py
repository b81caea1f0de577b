"""Means of F1 by type and by document: macro, weighted, macro by document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction.counting import MATCH, by_type, counts
from goldassay.measures.extraction.measures import MATCHING, SpanMeasure
from goldassay.measures.extraction.records import Span
from goldassay.measures.extraction.tally import MacroGold, MacroSeen, Weighted
from goldassay.tally import By, Counts, Mean

MATCHES = ("strict", "partial")


@dataclass(frozen=True)
class _Average(SpanMeasure):
    """A mean over types or documents of what one match counts."""

    match: str = "strict"
    what: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.match not in MATCHES:
            raise GoldassayError(f"match is strict or partial, not {self.match!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """``strict_macro_f1`` and so on."""
        return f"{self.match}_{self.what}"

    @property
    def conventions(self) -> str:
        """With what the match compares."""
        return super().conventions.replace(f"match={self.match}", f"match={MATCH[self.match]}", 1)


@dataclass(frozen=True)
class MacroF1(_Average):
    """The mean of the types' F1, over the types that stand in gold (``over="gold"``) or all that are seen (``"seen"``).

    A type that is only predicted counts 0 where all types seen are averaged, as in seqeval and scikit-learn.

    >>> MacroF1()([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.value
    1.0
    >>> MacroF1(over="seen")([(0, 5, "A")], [(0, 5, "A"), (7, 9, "B")]).tally.value
    0.5
    """

    over: str = "gold"
    what: ClassVar[str] = "macro_f1"
    fixed: ClassVar[dict[str, str]] = {"average": "macro by type", "matching": MATCHING, "empty": "1"}
    formula: ClassVar[str] = "mean over types of 2 tp / (2 tp + fp + fn)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in ("gold", "seen"):
            raise GoldassayError(f"over is gold or seen, not {self.over!r}")

    @property
    def key(self) -> str:
        """``strict_macro_f1``, or ``strict_macro_f1_seen`` over all types seen."""
        return self.name if self.over == "gold" else f"{self.name}_seen"

    @property
    def zero(self) -> By[str, Counts]:
        """No evidence."""
        return MacroGold() if self.over == "gold" else MacroSeen()

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> By[str, Counts]:
        """Counts by type."""
        return type(self.zero)(by_type(gold, pred, self.match))


@dataclass(frozen=True)
class WeightedF1(_Average):
    """The mean of the types' F1, weighted by how often each stands in gold.

    >>> round(WeightedF1()([(0, 5, "A"), (6, 7, "A"), (8, 9, "B")], [(8, 9, "B")]).tally.value, 3)
    0.333
    """

    what: ClassVar[str] = "weighted_f1"
    zero: ClassVar[Weighted] = Weighted()
    fixed: ClassVar[dict[str, str]] = {"average": "weighted by gold support", "matching": MATCHING, "empty": "1"}
    formula: ClassVar[str] = "Σ support · F1 / Σ support"

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Weighted:
        """Counts by type."""
        return Weighted(by_type(gold, pred, self.match))


@dataclass(frozen=True)
class _MacroDoc(_Average):
    zero: ClassVar[Mean] = Mean()
    rate: ClassVar[str] = ""
    fixed: ClassVar[dict[str, str]] = {"average": "macro by document", "matching": MATCHING, "empty": "left out"}
    source: ClassVar[str] = "Ehrmann et al. 2022 (HIPE)"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``macro_doc_f1`` and so on; ``macro_doc_partial_f1`` with partial matches."""
        return f"macro_doc_{'' if self.match == 'strict' else 'partial_'}{self.rate}"

    def tally(self, gold: Sequence[Span], pred: Sequence[Span], text: str) -> Mean:
        """The rate of the document; nothing where it has no value."""
        needed = {"precision": bool(pred), "recall": bool(gold), "f1": bool(gold and pred)}
        found = counts(gold, pred, self.match)
        return Mean.of(float(getattr(found, self.rate))) if needed[self.rate] else Mean()


@dataclass(frozen=True)
class MacroDocF1(_MacroDoc):
    """The mean of the documents' F1; documents without gold or without predictions are left out (HIPE).

    >>> MacroDocF1()([(0, 5, "A"), (8, 9, "B")], [(0, 5, "A")]).tally.value
    0.6666666666666666
    """

    rate: ClassVar[str] = "f1"
    formula: ClassVar[str] = "mean over documents of 2 tp / (2 tp + fp + fn)"


@dataclass(frozen=True)
class MacroDocPrecision(_MacroDoc):
    """The mean of the documents' precision; documents without predictions are left out (HIPE).

    >>> MacroDocPrecision()([(0, 5, "A"), (8, 9, "B")], [(0, 5, "A")]).tally.value
    1.0
    """

    rate: ClassVar[str] = "precision"
    formula: ClassVar[str] = "mean over documents of tp / (tp + fp)"


@dataclass(frozen=True)
class MacroDocRecall(_MacroDoc):
    """The mean of the documents' recall; documents without gold are left out (HIPE).

    >>> MacroDocRecall()([(0, 5, "A"), (8, 9, "B")], [(0, 5, "A")]).tally.value
    0.5
    """

    rate: ClassVar[str] = "recall"
    formula: ClassVar[str] = "mean over documents of tp / (tp + fn)"
